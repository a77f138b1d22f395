/* graph_file.c - files of graphs: regular ones, read by place, and seen to change. */
#include "graph_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/digest.h"
#include "core/error.h"
#include "core/known.h"

static const struct {
    const char *end;
    file_reader open;
} known[] = {{".el", el_open},       {".wel", wel_open}, {".gr", gr_open},
             {".graph", metis_open}, {".mtx", mtx_open}, {".sg", sg_open},
             {".wsg", wsg_open},     {".hfg", hfg_open}};

static hf_status reader_find(file_reader *out, const char *path) {
    const char *dot = strrchr(path, '.');
    const char *slash = strrchr(path, '/');
    hf_known names = {.wanted = dot && (!slash || dot > slash) ? dot : path};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        hf_known_add(&names, known[i].end);
        if (strcmp(names.wanted, known[i].end) == 0) {
            *out = known[i].open;
            return HF_OK;
        }
    }
    hf_known_add(&names, ".npz"); /* Python reads it */
    return hf_fail(HF_EARG,
                   "graph: \"%.200s\" is neither kron:SCALE, urand:SCALE or grid:SCALE "
                   "nor a file that ends in a known way; %s",
                   path, hf_known_text(&names));
}

/* ---- bytes ---- */

hf_status graph_file_open(graph_file *out, const char *what, const char *path) {
    /* O_NONBLOCK: a named pipe would wait for a writer. */
    int fd = open(path, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    if (fd < 0)
        return hf_fail(HF_EARG, "%s %s: %s", what, path, strerror(errno));
    struct stat found;
    char *name = malloc(strlen(path) + 1);
    if (!name || fstat(fd, &found) != 0 || !S_ISREG(found.st_mode)) {
        hf_status status =
            !name ? hf_fail(HF_ENOMEM, "no memory for %s %s", what, path)
                  : hf_fail(HF_EARG, "%s %s is %s", what, path,
                            S_ISDIR(found.st_mode) ? "a folder" : "no regular file");
        free(name);
        close(fd);
        return status;
    }
    *out = (graph_file){.fd = fd,
                        .bytes = (uint64_t)found.st_size,
                        .modified = found.st_mtim,
                        .what = what,
                        .path = memcpy(name, path, strlen(path) + 1)};
    return HF_OK;
}

void graph_file_close(graph_file *file) {
    close(file->fd);
    free(file->path);
}

static bool times_equal(struct timespec a, struct timespec b) {
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

static hf_status file_same(const graph_file *file) {
    struct stat now;
    bool same = fstat(file->fd, &now) == 0 && (uint64_t)now.st_size == file->bytes &&
                times_equal(now.st_mtim, file->modified);
    return same ? HF_OK
                : hf_fail(HF_EARG, "%s %s changed while it was read", file->what,
                          file->path);
}

hf_status graph_file_read(const graph_file *file, void *to, uint64_t at, size_t bytes) {
    unsigned long long end = at + bytes;
    for (size_t done = 0; done < bytes;) {
        ssize_t n =
            pread(file->fd, (char *)to + done, bytes - done, (off_t)(at + done));
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return hf_fail(HF_EARG, "%s %s: %s", file->what, file->path,
                           strerror(errno));
        if (n == 0) {
            HF_TRY(file_same(file));
            return hf_fail(HF_EARG, "%s %s ends at byte %llu of %llu", file->what,
                           file->path, (unsigned long long)file->bytes, end);
        }
        done += (size_t)n;
    }
    return HF_OK;
}

hf_status vertices_check(const graph_file *file, uint64_t vertices) {
    if (vertices >= 1 && vertices < HF_NO_VERTEX)
        return HF_OK;
    return hf_fail(HF_EARG, "graph %s: its header tells %llu vertices, not 1 to %u",
                   file->path, (unsigned long long)vertices, HF_NO_VERTEX - 1);
}

hf_status flow_room(edge_flow *flow, size_t bytes) {
    if (bytes <= flow->room_bytes)
        return HF_OK;
    free(flow->room);
    flow->room = malloc(bytes);
    flow->room_bytes = flow->room ? bytes : 0;
    return flow->room ? HF_OK
                      : hf_fail(HF_ENOMEM, "no memory to read %zu B of a graph", bytes);
}

/* ---- graphs ---- */

hf_status file_graph_same(const hf_graph *graph) {
    return file_same(&((const file_graph *)graph)->file);
}

static void largest_take(void *context, const edge *edges, size_t n) {
    _Atomic uint64_t *vertices = context;
    uint32_t largest = 0;
    for (size_t i = 0; i < n; i++) {
        uint32_t end = edges[i].from > edges[i].to ? edges[i].from : edges[i].to;
        largest = end > largest ? end : largest;
    }
    uint64_t before = atomic_load(vertices), now = largest;
    now++;
    while (before < now && !atomic_compare_exchange_weak(vertices, &before, now))
        ;
}

/* Go through all edges once: what they are, and that they are what the header tells. */
static hf_status file_survey(file_graph *g) {
    hf_graph_info *info = &g->graph.info;
    _Atomic uint64_t vertices = 0;
    edge_taker taker = {largest_take, &vertices};
    HF_TRY(edges_pass(&g->graph.sums, &g->graph, info->weighted,
                      g->numbered ? &taker : NULL));
    if (g->numbered)
        info->vertices = atomic_load(&vertices);
    if (info->vertices == 0)
        return hf_fail(HF_EARG, "graph %s has no edges, so no vertices", g->file.path);
    if (g->twice && g->graph.sums.mirror != 0)
        return hf_fail(HF_EARG,
                       "graph %s: an edge stands at one of its ends and not, or with "
                       "another weight, at the other",
                       g->file.path);
    info->edges = g->graph.sums.n;
    if (g->told != UINT64_MAX && info->edges != g->told)
        return hf_fail(HF_EARG, "graph %s: its header tells %llu edges, it has %llu",
                       g->file.path, (unsigned long long)g->told,
                       (unsigned long long)info->edges);
    uint64_t made_of[] = {info->vertices, info->edges, info->directed,
                          g->graph.sums.ends, g->graph.sums.weights};
    info->digest = hf_digest(HF_DIGEST_START, made_of, sizeof made_of);
    g->graph.again = true;
    return HF_OK;
}

hf_status file_graph_open(hf_graph **out, const char *path, bool weights) {
    file_reader reader;
    graph_file file;
    file_graph *g;
    HF_TRY(reader_find(&reader, path));
    HF_TRY(graph_file_open(&file, "graph", path));
    hf_status status = reader(&g, &file, weights);
    if (status != HF_OK) {
        graph_file_close(&file);
        return status;
    }
    g->file = file;
    status = file_survey(g);
    if (status == HF_OK)
        *out = &g->graph;
    else
        g->graph.ops->close(&g->graph);
    return status;
}
