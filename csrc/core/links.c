/* links.c - topologies by name and by list, and whether they can be. */
#include "core/links.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/known.h"

/* ---- checks ---- */

const hf_link *hf_links_to(size_t n, const hf_link *links, int to, int in) {
    for (size_t i = 0; i < n; i++)
        if (links[i].to == to && links[i].in == in)
            return &links[i];
    return NULL;
}

const hf_link *hf_links_from(size_t n, const hf_link *links, int from, int out) {
    for (size_t i = 0; i < n; i++)
        if (links[i].from == from && links[i].out == out)
            return &links[i];
    return NULL;
}

static hf_status end_check(int rank, int port, int ranks, int ports) {
    if (rank < 0 || rank >= ranks)
        return hf_fail(HF_EARG, "topology: %d:%d: ranks are 0 .. %d", rank, port,
                       ranks - 1);
    if (port < 0 || port >= ports)
        return hf_fail(HF_EARG, "topology: %d:%d: ports are 0 .. %d", rank, port,
                       ports - 1);
    return HF_OK;
}

static hf_status link_check(size_t n, const hf_link *links, const hf_link *link) {
    const hf_link *first = hf_links_from(n, links, link->from, link->out);
    if (first != link)
        return hf_fail(HF_EARG, "topology: %d:%d sends twice, to %d:%d and to %d:%d",
                       link->from, link->out, first->to, first->in, link->to, link->in);
    first = hf_links_to(n, links, link->to, link->in);
    if (first != link)
        return hf_fail(
            HF_EARG, "topology: %d:%d receives twice, from %d:%d and from %d:%d",
            link->to, link->in, first->from, first->out, link->from, link->out);
    const hf_link *back = hf_links_from(n, links, link->to, link->in);
    if (!back || back->to != link->from || back->in != link->out)
        return hf_fail(HF_EARG,
                       "topology: %d:%d sends to %d:%d, which does not send back: "
                       "a cable is both",
                       link->from, link->out, link->to, link->in);
    return HF_OK;
}

/* Ends exist; each port sends once and receives once, from where it sends to. */
static hf_status links_check(size_t n, const hf_link *links, int ranks, int ports) {
    for (size_t i = 0; i < n; i++) {
        HF_TRY(end_check(links[i].from, links[i].out, ranks, ports));
        HF_TRY(end_check(links[i].to, links[i].in, ranks, ports));
    }
    for (size_t i = 0; i < n; i++)
        HF_TRY(link_check(n, links, &links[i]));
    for (int rank = 0; rank < ranks; rank++)
        for (int port = 0; port < ports; port++)
            if (!hf_links_from(n, links, rank, port))
                return hf_fail(HF_EARG, "topology: %d:%d is not connected", rank, port);
    return HF_OK;
}

/* ---- by name: where each port's cable goes ---- */

typedef struct shape {
    int ranks, ports;
    int rows, columns; /* of a torus */
} shape;

static hf_link link_to(int rank, int port, int to, int in) {
    return (hf_link){rank, port, to, in};
}

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
        s->rows * s->columns != s->ranks)
        return hf_fail(HF_EARG, "topology: \"%s\" is no torus:PxQ of %d ranks",
                       topology, s->ranks);
    if (s->ports % 4 != 0)
        return hf_fail(HF_EARG,
                       "topology: a torus needs 4 ports a rank, or 8; there are %d",
                       s->ports);
    return HF_OK;
}

/* ---- by list ---- */

/* Refuse the first word of a list of cables. */
static hf_status cable_refuse(const char *at) {
    char word[32];
    snprintf(word, sizeof word, "%.*s", (int)strcspn(at, ","), at);
    hf_known known = {.wanted = word};
    static const char *const names[] = {"published", "ring", "pairs", "torus:PxQ",
                                        "RANK:PORT-RANK:PORT"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        hf_known_add(&known, names[i]);
    return hf_fail(HF_EARG, "topology: no wiring \"%s\"; %s", word,
                   hf_known_text(&known));
}

static hf_status cables_parse(hf_link *links, size_t *n, const char *topology) {
    const char *at = topology;
    for (*n = 0; *at;) {
        hf_link link;
        char kind = 0;
        int end = 0;
        if (sscanf(at, "%6d:%6d%c%6d:%6d%n", &link.from, &link.out, &kind, &link.to,
                   &link.in, &end) != 5 ||
            (kind != '-' && kind != '>') || (at[end] && at[end] != ','))
            return cable_refuse(at);
        links[(*n)++] = link;
        bool loop = link.from == link.to && link.out == link.in;
        if (kind == '-' && !loop)
            links[(*n)++] = link_to(link.to, link.in, link.from, link.out);
        at += end;
        at += *at == ',';
    }
    return HF_OK;
}

static size_t cables_count(const char *topology) {
    size_t n = 1;
    for (const char *c = topology; *c; c++)
        n += *c == ',';
    return n;
}

static hf_status links_fill(hf_link *links, size_t *n, const char *topology, shape *s) {
    size_t length = strcspn(topology, ":"), i = 0;
    while (i < N_WIRINGS &&
           (strncmp(wirings[i].name, topology, length) != 0 || wirings[i].name[length]))
        i++;
    if (i == N_WIRINGS)
        return cables_parse(links, n, topology);
    if (wirings[i].link == torus_link)
        HF_TRY(torus_check(s, topology));
    *n = 0;
    for (int rank = 0; rank < s->ranks; rank++)
        for (int port = 0; port < s->ports; port++)
            links[(*n)++] = wirings[i].link(s, rank, port);
    return HF_OK;
}

hf_status hf_links_make(hf_link **links, size_t *n, const char *topology, int ranks,
                        int ports) {
    shape s = {.ranks = ranks, .ports = ports};
    if (ranks < 1 || ports < 1)
        return hf_fail(HF_EARG, "topology: %d ranks with %d ports: at least 1 of each",
                       ranks, ports);
    size_t room = (size_t)ranks * (size_t)ports + 2 * cables_count(topology), count = 0;
    hf_link *made = malloc(room * sizeof *made);
    if (!made)
        return hf_fail(HF_ENOMEM, "no memory for %zu links", room);
    hf_status status = links_fill(made, &count, topology, &s);
    if (status == HF_OK)
        status = links_check(count, made, ranks, ports);
    if (status != HF_OK) {
        free(made);
        return status;
    }
    *links = made;
    *n = count;
    return HF_OK;
}
