/* links.c - topologies by name and by list, and whether they can be. */
#include "core/links.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/known.h"

typedef struct shape {
    int ranks, ports;
    int rows, columns; /* of a torus */
} shape;

static hf_link link_to(int rank, int port, int to, int in) {
    return (hf_link){rank, port, to, in};
}

/* ---- checks ---- */

static const hf_link nothing = {-1, -1, -1, -1};

static size_t links_count(const shape *s) {
    return (size_t)s->ranks * (size_t)s->ports;
}

static hf_link *link_at(hf_link *links, const shape *s, int rank, int port) {
    return &links[(size_t)rank * (size_t)s->ports + (size_t)port];
}

static hf_status end_check(int rank, int port, const shape *s) {
    if (rank < 0 || rank >= s->ranks)
        return hf_fail(HF_EARG, "topology: %d:%d: ranks are 0 .. %d", rank, port,
                       s->ranks - 1);
    if (port < 0 || port >= s->ports)
        return hf_fail(HF_EARG, "topology: %d:%d: ports are 0 .. %d", rank, port,
                       s->ports - 1);
    return HF_OK;
}

static hf_status link_take(hf_link *links, const shape *s, hf_link link) {
    HF_TRY(end_check(link.from, link.out, s));
    HF_TRY(end_check(link.to, link.in, s));
    hf_link *own = link_at(links, s, link.from, link.out);
    if (own->to >= 0)
        return hf_fail(HF_EARG, "topology: %d:%d sends twice, to %d:%d and to %d:%d",
                       link.from, link.out, own->to, own->in, link.to, link.in);
    *own = link;
    return HF_OK;
}

/* What it sends to sends back. */
static hf_status link_check(hf_link *links, const shape *s, const hf_link *link) {
    const hf_link *back = link_at(links, s, link->to, link->in),
                  *theirs = back->to < 0 ? back : link_at(links, s, back->to, back->in);
    if (theirs == link)
        return HF_OK;
    if (theirs->to == link->to && theirs->in == link->in)
        return hf_fail(
            HF_EARG, "topology: %d:%d receives twice, from %d:%d and from %d:%d",
            link->to, link->in, theirs->from, theirs->out, link->from, link->out);
    return hf_fail(HF_EARG,
                   "topology: %d:%d sends to %d:%d, which does not send back: "
                   "a cable is both",
                   link->from, link->out, link->to, link->in);
}

/* Each port sends once and receives once, from where it sends to. */
static hf_status links_check(hf_link *links, const shape *s) {
    size_t n = links_count(s);
    for (size_t i = 0; i < n; i++)
        if (links[i].to >= 0)
            HF_TRY(link_check(links, s, &links[i]));
    for (size_t i = 0; i < n; i++)
        if (links[i].to < 0)
            return hf_fail(HF_EARG, "topology: %zu:%zu is not connected",
                           i / (size_t)s->ports, i % (size_t)s->ports);
    return HF_OK;
}

/* ---- by name: where each port's cable goes ---- */

static hf_link pairs_link(const shape *s, int rank, int port) {
    int partner = rank ^ 1;
    return link_to(rank, port, partner < s->ranks ? partner : rank, port);
}

/* Port groups of `width` ports: an even one leads to the next rank's odd one. */
static hf_link groups_link(const shape *s, int rank, int port, int width) {
    int group = port / width;
    if (group % 2 == 0 && (group + 2) * width > s->ports)
        return pairs_link(s, rank, port);
    return group % 2 == 0
               ? link_to(rank, port, (rank + 1) % s->ranks, port + width)
               : link_to(rank, port, (rank + s->ranks - 1) % s->ranks, port - width);
}

static hf_link published_link(const shape *s, int rank, int port) {
    return groups_link(s, rank, port, 2);
}

static hf_link ring_link(const shape *s, int rank, int port) {
    return groups_link(s, rank, port, 1);
}

/* Of four ports: east, west, south, north. */
static hf_link torus_link(const shape *s, int rank, int port) {
    static const int ahead[] = {1, -1, 0, 0}, down[] = {0, 0, 1, -1};
    int side = port % 4;
    int row = (rank / s->columns + down[side] + s->rows) % s->rows;
    int column = (rank % s->columns + ahead[side] + s->columns) % s->columns;
    return link_to(rank, port, row * s->columns + column, port ^ 1);
}

static const struct {
    const char *name;
    hf_link (*link)(const shape *s, int rank, int port);
} wirings[] = {
    {"published", published_link},
    {"ring", ring_link},
    {"pairs", pairs_link},
    {"torus", torus_link},
};
enum { N_WIRINGS = sizeof wirings / sizeof wirings[0] };

static hf_status torus_check(shape *s, const char *topology) {
    int end = 0;
    if (sscanf(topology, "torus:%6dx%6d%n", &s->rows, &s->columns, &end) != 2 ||
        topology[end] || s->rows < 1 || s->columns < 1 ||
        (long long)s->rows * s->columns != s->ranks)
        return hf_fail(HF_EARG,
                       "topology: \"%s\" is no torus:PxQ of %d ranks; P x Q must be "
                       "%d, as in torus:1x%d",
                       topology, s->ranks, s->ranks, s->ranks);
    if (s->ports % 4 != 0)
        return hf_fail(HF_EARG,
                       "topology: a torus needs 4 ports a rank, or 8; there are %d",
                       s->ports);
    return HF_OK;
}

/* ---- by list ---- */

static hf_status cable_refuse(const char *cable) {
    hf_known known = {.wanted = cable};
    static const char *const names[] = {"published", "ring", "pairs", "torus:PxQ",
                                        "RANK:PORT-RANK:PORT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        hf_known_add(&known, names[i]);
    return hf_fail(HF_EARG, "topology: no wiring \"%s\"; %s", cable,
                   hf_known_text(&known));
}

static hf_status cable_take(hf_link *links, const shape *s, const char *cable) {
    hf_link link;
    char kind = 0;
    int end = 0;
    if (sscanf(cable, "%6d:%6d%c%6d:%6d%n", &link.from, &link.out, &kind, &link.to,
               &link.in, &end) != 5 ||
        (kind != '-' && kind != '>') || cable[end])
        return cable_refuse(cable);
    HF_TRY(link_take(links, s, link));
    bool loop = link.from == link.to && link.out == link.in;
    return kind == '>' || loop
               ? HF_OK
               : link_take(links, s, link_to(link.to, link.in, link.from, link.out));
}

static hf_status cables_take(hf_link *links, const shape *s, const char *topology) {
    for (const char *at = topology; *at;) {
        char cable[32]; /* more than the longest: what is cut off is refused */
        int length = (int)strcspn(at, ",");
        snprintf(cable, sizeof cable, "%.*s", length, at);
        HF_TRY(cable_take(links, s, cable));
        at += length;
        at += *at == ',';
    }
    return HF_OK;
}

static hf_status links_fill(hf_link *links, const char *topology, shape *s) {
    size_t length = strcspn(topology, ":"), i = 0;
    while (i < N_WIRINGS &&
           (strncmp(wirings[i].name, topology, length) != 0 || wirings[i].name[length]))
        i++;
    if (i == N_WIRINGS)
        return cables_take(links, s, topology);
    if (wirings[i].link == torus_link)
        HF_TRY(torus_check(s, topology));
    for (int rank = 0; rank < s->ranks; rank++)
        for (int port = 0; port < s->ports; port++)
            *link_at(links, s, rank, port) = wirings[i].link(s, rank, port);
    return HF_OK;
}

hf_status hf_links_make(hf_link **links, const char *topology, int ranks, int ports) {
    shape s = {.ranks = ranks, .ports = ports};
    if (ranks < 1 || ports < 1)
        return hf_fail(HF_EARG, "topology: %d ranks with %d ports: at least 1 of each",
                       ranks, ports);
    size_t n = links_count(&s);
    hf_link *made = malloc(n * sizeof *made);
    if (!made)
        return hf_fail(HF_ENOMEM, "no memory for %zu links", n);
    for (size_t i = 0; i < n; i++)
        made[i] = nothing;
    hf_status status = links_fill(made, topology, &s);
    if (status == HF_OK)
        status = links_check(made, &s);
    if (status == HF_OK)
        *links = made;
    else
        free(made);
    return status;
}
