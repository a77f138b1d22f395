/* graph_files.c - files of graphs: what they mean, what is refused, and that no file of any
 * bytes does harm. */
#include "graph/graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/random.h"
#include "folder.h"

typedef struct bytes {
    size_t n;
    unsigned char at[512];
} bytes;

/* ---- what files mean ---- */

typedef struct wanted {
    uint32_t vertices;
    uint64_t edges, kept;
    bool directed, weighted;
    const char *rows; /**< "0: 1*5 2*1; 1: ...": in-edges and their weights */
} wanted;

static void rows_show(char *to, size_t room, const hf_part *p) {
    size_t used = 0;
    *to = 0;
    for (uint32_t i = 0; i < p->own; i++) {
        if (p->rows[i] < p->rows[i + 1])
            used += (size_t)snprintf(to + used, room - used, "%u:", i);
        for (uint64_t k = p->rows[i]; k < p->rows[i + 1]; k++) {
            used += (size_t)snprintf(to + used, room - used, " %u", p->from[k]);
            if (p->weights)
                used += (size_t)snprintf(to + used, room - used, "*%u", p->weights[k]);
        }
        if (p->rows[i] < p->rows[i + 1])
            used += (size_t)snprintf(to + used, room - used, "; ");
    }
}

static void means(const char *name, const void *data, size_t n, wanted want) {
    put(name, data, n);
    hf_graph *graph;
    hf_status status = hf_graph_open(&graph, path_of(name), 0);
    CHECK(status == HF_OK, "%s: %s", name, hf_error());
    if (status != HF_OK)
        return;
    const hf_graph_info *info = hf_graph_info_of(graph);
    CHECK(info->vertices == want.vertices && info->edges == want.edges, "%s: %zu %zu",
          name, (size_t)info->vertices, (size_t)info->edges);
    CHECK(info->directed == want.directed && info->weighted == want.weighted, "%s",
          name);
    hf_part *part;
    char rows[256];
    status = hf_part_whole(&part, graph, false, want.weighted, UINT64_MAX);
    CHECK(status == HF_OK, "%s: %s", name, hf_error());
    if (status == HF_OK) {
        rows_show(rows, sizeof rows, part);
        CHECK(strcmp(rows, want.rows) == 0, "%s: %s", name, rows);
        hf_part_free(part);
    }
    hf_graph_close(graph);
}

static void text_means(const char *name, const char *text, wanted want) {
    means(name, text, strlen(text), want);
}

static void texts_check(void) {
    text_means("a.el", "0 1\n# no edge\n\n 1\t2 \r\n2 1",
               (wanted){3, 3, 3, true, false, "1: 0 2; 2: 1; "});
    text_means("a.wel", "0 1 7\n0 1 3.0\n2 0 2e0\n",
               (wanted){3, 3, 3, true, true, "0: 2*2; 1: 0*3 0*7; "});
    text_means("simple:a.wel", "0 1 7\n0 1 3\n1 1 2\n",
               (wanted){2, 3, 1, true, true, "1: 0*3; "});
    text_means("undirected:a.wel", "0 1 7\n1 0 3\n1 1 2\n",
               (wanted){2, 3, 5, false, true, "0: 1*3 1*7; 1: 0*3 0*7 1*2; "});
    text_means("undirected:simple:unweighted:a.wel", "0 1 nan\n1 0 -3\n1 1 x\n",
               (wanted){2, 3, 2, false, false, "0: 1; 1: 0; "});
    text_means("a.gr", "c road\np sp 3 2\na 1 3 4\nc\na 3 1 5\n",
               (wanted){3, 2, 2, true, true, "0: 2*5; 2: 0*4; "});
    text_means("a.graph", "% mesh\n4 2\n2 3\n1\n% between\n1\n\n",
               (wanted){4, 2, 4, false, false, "0: 1 2; 1: 0; 2: 0; "});
    text_means("w.graph", "3 2 011 2\n1 1 2 9 3 8\n5 5 1 9\n7 7 1 8\n\n",
               (wanted){3, 2, 4, false, true, "0: 1*9 2*8; 1: 0*9; 2: 0*8; "});
    text_means("a.mtx",
               "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n"
               "1 2 1.000e+00\n3 1 2.5e1\n",
               (wanted){3, 2, 2, true, true, "0: 2*25; 1: 0*1; "});
    text_means("s.mtx",
               "%%MatrixMarket matrix coordinate Pattern Symmetric\n3 3 2\n2 1\n3 3\n",
               (wanted){3, 2, 3, false, false, "0: 1; 1: 0; 2: 2; "});
    text_means("e.mtx", "%%MatrixMarket matrix coordinate pattern general\n2 2 0\n",
               (wanted){2, 0, 0, true, false, ""});
}

/* ---- binary files ---- */

static void add(bytes *b, const void *data, size_t n) {
    memcpy(b->at + b->n, data, n);
    b->n += n;
}

static bytes serialized(unsigned char directed, int64_t edges, int64_t rows,
                        const int64_t *begins, const int32_t *entries, size_t n) {
    bytes b = {0};
    add(&b, &directed, 1);
    add(&b, &edges, sizeof edges);
    add(&b, &rows, sizeof rows);
    for (int copy = 0; copy <= directed; copy++) {
        add(&b, begins, ((size_t)rows + 1) * sizeof *begins);
        add(&b, entries, n * sizeof *entries);
    }
    return b;
}

static bytes own(uint64_t vertices, uint64_t edges, uint32_t directed,
                 uint32_t weighted, const uint32_t *words, size_t n) {
    bytes b = {0};
    add(&b, "HFGRAPH1", 8);
    add(&b, &vertices, sizeof vertices);
    add(&b, &edges, sizeof edges);
    add(&b, &directed, sizeof directed);
    add(&b, &weighted, sizeof weighted);
    add(&b, words, n * sizeof *words);
    return b;
}

static const int64_t begins[] = {0, 2, 3, 4};
static const int32_t ends[] = {1, 2, 0, 0}, weighted_ends[] = {1, 9, 2, 8, 0, 9, 0, 8};
static const uint32_t arrays[] = {0, 0, 2, 1, 2, 2, 5, 6, 7};

static void refused(const char *name, const void *data, size_t n, const char *said) {
    hf_graph *graph = NULL;
    put(name, data, n);
    hf_status status = hf_graph_open(&graph, path_of(name), 0);
    CHECK(status == HF_EARG, "%s: %.40s", name, (const char *)data);
    CHECK(status == HF_OK || strstr(hf_error(), said), "%s: %s", name, hf_error());
    if (status == HF_OK)
        hf_graph_close(graph);
}

static void text_refused(const char *name, const char *text, const char *said) {
    refused(name, text, strlen(text), said);
}

static void binaries_check(void) {
    bytes b = serialized(0, 4, 3, begins, ends, 4);
    means("a.sg", b.at, b.n, (wanted){3, 2, 4, false, false, "0: 1 2; 1: 0; 2: 0; "});
    refused("a.sg", b.at, b.n - 1, "should have 65 B");
    refused("a.sg", b.at, 12, "ends at byte 12");
    b.at[0] = 2;
    refused("a.sg", b.at, b.n, "first byte is 2");
    b = serialized(1, 4, 3, begins, ends, 4);
    means("d.sg", b.at, b.n, (wanted){3, 4, 4, true, false, "0: 1 2; 1: 0; 2: 0; "});
    b = serialized(0, 4, 3, begins, weighted_ends, 8);
    means("a.wsg", b.at, b.n,
          (wanted){3, 2, 4, false, true, "0: 1*9 2*8; 1: 0*9; 2: 0*8; "});
    b = serialized(0, 4, 3, begins, (const int32_t[]){1, 9, 2, 8, 0, 9, 0, 7}, 8);
    refused("a.wsg", b.at, b.n, "with another weight");
    b = serialized(0, 4, 3, begins, (const int32_t[]){1, 9, 2, 0, 0, 9, 0, 7}, 8);
    refused("a.wsg", b.at, b.n, "edge 1: weight 0");
    b = serialized(0, 4, 3, begins, (const int32_t[]){1, 2, 0, 1}, 4);
    refused("a.sg", b.at, b.n, "at one of its ends");
    b = serialized(0, 4, 3, begins, (const int32_t[]){1, 2, 0, -1}, 4);
    refused("a.sg", b.at, b.n, "edge 3: vertex -1");
    b = serialized(0, 4, 3, begins, (const int32_t[]){1, 3, 0, 0}, 4);
    refused("a.sg", b.at, b.n, "edge 1: vertex 3 is no whole number from 0 to 2");
    b = serialized(0, 4, 3, (const int64_t[]){0, 3, 2, 4}, ends, 4);
    refused("a.sg", b.at, b.n, "do not ascend at row 1");
    b = serialized(0, 4, 3, (const int64_t[]){0, 2, 3, 5}, ends, 4);
    refused("a.sg", b.at, b.n, "end at 5 of 4");
    b = serialized(0, -1, 3, begins, ends, 4);
    refused("a.sg", b.at, b.n, "tells -1 edges");
    b = serialized(0, INT64_MAX / 2, 3, begins, ends, 4);
    refused("a.sg", b.at, b.n, "tells 4611686018427387903 edges");
    b = own(3, 3, 1, 1, arrays, 9);
    means("a.hfg", b.at, b.n, (wanted){3, 3, 3, true, true, "1: 0*5; 2: 0*6 2*7; "});
    refused("a.hfg", b.at, b.n - 4, "should have 68 B");
    refused("a.hfg", b.at, 4, "ends at byte 4");
    b.at[7] = '2';
    refused("a.hfg", b.at, b.n, "no .hfg file of this version");
    b = own(2, 3, 1, 0, arrays, 6);
    refused("a.hfg", b.at, b.n, "edge 1: vertex 2");
    b = own(3, 3, 1, 1, (const uint32_t[]){0, 0, 2, 1, 2, 2, 5, 0, 7}, 9);
    refused("a.hfg", b.at, b.n, "edge 1: weight 0");
    b = own(UINT32_MAX, 3, 1, 0, arrays, 6);
    refused("a.hfg", b.at, b.n, "4294967295 vertices");
    b = own(0, 0, 1, 0, arrays, 0);
    refused("a.hfg", b.at, b.n, "0 vertices");
    b = own(3, INT64_MAX, 1, 0, arrays, 6);
    refused("a.hfg", b.at, b.n, "tells 9223372036854775807 edges");
}

/* ---- what is refused ---- */

static void refusals_check(void) {
    static const char cut[] =
        "%%Matrix\0Market matrix coordinate real general\n1 1 1\n";
    char banner[128];
    refused("a.mtx", cut, sizeof cut - 1, "its first line should be");
    text_refused("a.el", "", "no vertices");
    text_refused("a.el", "0 1\n1 -2\n", "line 2: vertex \"-2\"");
    text_refused("a.el", "0 4294967296\n", "vertex \"4294967296\"");
    text_refused("a.el", "0 4294967294\n", "vertex \"4294967294\"");
    text_refused("a.el", "0 99999999999999999999999\n", "is no whole number");
    text_refused("a.el", "0 1.5\n", "vertex \"1.5\"");
    text_refused("a.el", "0\n", "line 1: vertex \"\"");
    text_refused("a.el", "0 1 2\n", "here the line should end");
    text_refused("a.el",
                 "\x7f"
                 "ELF\n",
                 "vertex \"?ELF\"");
    refused("a.el", "0 1\n\0\0", 6, "vertex \"??\"");
    text_refused("a.wel", "0 1\n", "weight \"\"");
    text_refused("a.wel", "0 1\n1 2 3\n", "line 1: weight \"\"");
    const char *const weights[] = {"0",    "-1",  "nan", "1.5", "inf", "4294967296",
                                   "1e10", "0x0", ".",   "1..", "x",   "1 2"};
    for (size_t i = 0; i < sizeof weights / sizeof *weights; i++) {
        snprintf(banner, sizeof banner, "0 1 1\n1 0 %s\n", weights[i]);
        text_refused("a.wel", banner, "line 2: ");
    }
    text_refused("a.gr", "a 1 2 3\n", "line 1 should be");
    text_refused("a.gr", "c\n", "ends in its header");
    text_refused("a.gr", "p sp 2\na 1 2 3\n", "line 1 should be");
    text_refused("a.gr", "p sp 2 1\na 0 1 3\n",
                 "vertex \"0\" is no whole number from 1");
    text_refused("a.gr", "p sp 2 1\na 1 3 3\n", "from 1 to 2");
    text_refused("a.gr", "p sp 2 2\na 1 2 3\n", "tells 2 edges, it has 1");
    text_refused("a.gr", "p sp 2 1\ne 1 2 3\n", "neither an arc");
    text_refused("a.gr", "p sp 4294967295 1\na 1 2 3\n", "4294967295 vertices");
    text_refused("a.gr", "p sp 99999999999999999999 1\n", "line 1 should be");
    text_refused("a.graph", "", "ends in its header");
    text_refused("a.graph", "2\n2\n1\n", "VERTICES EDGES");
    text_refused("a.graph", "2 1\n2\n2\n", "own neighbour");
    text_refused("a.graph", "3 2\n2\n3\n2\n", "at one of its ends");
    text_refused("a.graph", "2 1\n2\n0\n", "neighbour \"0\"");
    text_refused("a.graph", "2 1\n2\n3\n", "neighbour \"3\"");
    text_refused("a.graph", "3 1\n2\n1\n", "lines for 2");
    text_refused("a.graph", "2 1\n2\n1\n1\n", "all vertices had");
    text_refused("a.graph", "2 2\n2\n1\n", "tells 2 edges, it has 1");
    text_refused("a.graph", "2 1 1\n2 1.5\n1 1.5\n", "weight \"1.5\"");
    text_refused("a.graph", "2 1 1\n2 1\n1 2\n", "another weight");
    text_refused("a.graph", "2 1 2\n2\n1\n", "should be");
    text_refused("a.graph", "2 1 10 99\n2\n1\n", "should be");
    text_refused("a.mtx", "3 3 2\n1 2\n", "first line");
    text_refused("a.mtx", "%%MatrixMarket matrix array real general\n1 1\n1\n",
                 "array");
    text_refused("a.mtx",
                 "%%MatrixMarket matrix coordinate complex general\n1 1 1\n1 1 1 1\n",
                 "complex");
    text_refused("a.mtx",
                 "%%MatrixMarket matrix coordinate real skew-symmetric\n1 1 0\n",
                 "skew-symmetric");
    text_refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 3 0\n",
                 "2 x 3");
    text_refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n2 2\n",
                 "line 2 should be");
    text_refused("a.mtx", "%%MatrixMarket matrix coordinate real general\n0 0 0\n",
                 "0 vertices");
    text_refused("a.mtx",
                 "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 -3\n",
                 "\"unweighted:\"");
    text_refused("a.mtx",
                 "%%MatrixMarket matrix coordinate pattern general\n2 2 1\n1 2 3\n",
                 "here the line should end");
    text_refused("a.txt", "0 1\n", "known: .el, .wel");
    text_refused("a.grahp", "0 1\n", "did you mean \".graph\"?");
    char *line = malloc(1 << 20);
    memset(line, '1', 1 << 20);
    refused("a.el", line, 1 << 20, "is longer than 4096 B");
    refused("a.mtx", line, 1 << 20, "line 1 is longer");
    refused("a.graph", line, 1 << 20, "line 1 is longer");
    free(line);
}

static void places_check(void) {
    hf_graph *graph;
    CHECK(hf_graph_open(&graph, path_of("none.el"), 0) == HF_EARG);
    CHECK(strstr(hf_error(), "No such file"), "%s", hf_error());
    CHECK(mkdir(path_of("folder.el"), 0700) == 0);
    CHECK(hf_graph_open(&graph, path_of("folder.el"), 0) == HF_EARG);
    CHECK(strstr(hf_error(), "is a folder"), "%s", hf_error());
    CHECK(rmdir(path_of("folder.el")) == 0);
    CHECK(mkfifo(path_of("fifo.el"), 0600) == 0);
    CHECK(hf_graph_open(&graph, path_of("fifo.el"), 0) == HF_EARG);
    CHECK(strstr(hf_error(), "no regular file"), "%s", hf_error());
    CHECK(unlink(path_of("fifo.el")) == 0);
}

/* A file that gets other bytes, or fewer, between opening it and making a part. */
static void change_check(const char *name, const char *before, const char *after,
                         bool later) {
    hf_graph *graph;
    hf_part *part;
    put(name, before, strlen(before));
    struct stat found;
    CHECK(stat(path_of(name), &found) == 0);
    CHECK(hf_graph_open(&graph, path_of(name), 0) == HF_OK, "%s", hf_error());
    put(name, after, strlen(after));
    const struct timespec times[] = {found.st_atim, found.st_mtim};
    if (!later) /* nothing but the edges tells */
        CHECK(utimensat(0, path_of(name), times, 0) == 0);
    CHECK(hf_part_new(&part, graph, "cyclic", 0, 1, false, true, UINT64_MAX) ==
          HF_EARG);
    CHECK(strstr(hf_error(), "changed while it was read"), "%s", hf_error());
    hf_graph_close(graph);
}

static void changes_check(void) {
    change_check("a.wel", "0 1 2\n1 2 3\n", "0 1 2\n1 2 4\n", true);
    change_check("a.wel", "0 1 2\n1 2 3\n", "0 1 2\n1 2 4\n", false);
    change_check("a.wel", "0 1 2\n1 2 3\n", "0 1 2\n1 1 3\n", false);
    change_check("a.wel", "0 1 2\n1 2 3\n", "1 2 3\n1 2 3\n", false);
    change_check("a.wel", "0 1 2\n1 2 3\n", "0 1 2\n", false);
    change_check("a.wel", "0 1 2\n#     \n", "0 1 2\n1 1 3\n", false);
}

/* ---- files of any bytes ---- */

static void harmless_check(const char *name, const void *data, size_t n) {
    enum { ROUNDS = 200 };
    bytes b;
    uint64_t word = 0;
    for (const char *c = name; *c; c++)
        word = word * 31 + (unsigned char)*c;
    for (uint64_t round = 0; round < ROUNDS; round++) {
        memcpy(b.at, data, n);
        b.n = n;
        for (uint64_t i = 0; i <= round % 3; i++) {
            uint64_t r = hf_random(word, 4 * round + i);
            const char plain[] = "0123456789 \n-.e%";
            size_t at = (size_t)(r >> 32) % n;
            b.at[at] = r % 2 ? (unsigned char)(r >> 8)
                             : (unsigned char)plain[(r >> 8) % (sizeof plain - 1)];
        }
        if (round % 4 == 3)
            b.n = (size_t)hf_random(word, 4 * round + 3) % n;
        put(name, b.at, b.n);
        hf_graph *graph;
        hf_part *part;
        if (hf_graph_open(&graph, path_of(name), 0) != HF_OK)
            continue;
        const hf_graph_info *info = hf_graph_info_of(graph);
        if (info->vertices < 1 << 16 &&
            hf_part_new(&part, graph, "edges", 1, 3, round & 4, info->weighted,
                        UINT64_MAX) == HF_OK)
            hf_part_free(part);
        hf_graph_close(graph);
    }
}

static void any_bytes_check(void) {
    static const struct {
        const char *name, *text;
    } texts[] = {
        {"f.el", "0 1\n# no edge\n\n 1\t2 \r\n2 1"},
        {"f.wel", "0 1 7\n0 1 3.0\n2 0 2e0\n"},
        {"f.gr", "c road\np sp 3 2\na 1 3 4\nc\na 3 1 5\n"},
        {"f.graph", "% mesh\n4 2\n2 3\n1\n% between\n1\n\n"},
        {"g.graph", "3 2 011 2\n1 1 2 9 3 8\n5 5 1 9\n7 7 1 8\n\n"},
        {"f.mtx", "%%MatrixMarket matrix coordinate real general\n% c\n3 3 2\n1 2 "
                  "1.000e+00\n3 1 2.5e1\n"},
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        harmless_check(texts[i].name, texts[i].text, strlen(texts[i].text));
    bytes b = serialized(1, 4, 3, begins, ends, 4);
    harmless_check("f.sg", b.at, b.n);
    b = serialized(0, 4, 3, begins, weighted_ends, 8);
    harmless_check("f.wsg", b.at, b.n);
    b = own(3, 3, 1, 1, arrays, 9);
    harmless_check("f.hfg", b.at, b.n);
}

/* ---- partitions ---- */

static hf_status dealt(const char *text, int rank, char *rows, size_t room) {
    hf_graph *graph;
    hf_part *part;
    put("a.part", text, strlen(text));
    put("p.el", "0 1\n1 2\n3 0\n", 12);
    CHECK(hf_graph_open(&graph, path_of("p.el"), 0) == HF_OK, "%s", hf_error());
    hf_status status =
        hf_part_new(&part, graph, path_of("a.part"), rank, 2, false, false, UINT64_MAX);
    if (status == HF_OK) {
        rows_show(rows, room, part);
        hf_part_free(part);
    }
    hf_graph_close(graph);
    return status;
}

static void partitions_check(void) {
    char rows[64];
    CHECK(dealt("1\n0\n1\n1", 0, rows, sizeof rows) == HF_OK, "%s", hf_error());
    CHECK(strcmp(rows, "0: 32; ") == 0, "%s", rows);
    CHECK(dealt(" 1\n0 \n1\r\n1\n", 1, rows, sizeof rows) == HF_OK, "%s", hf_error());
    /* 0 and 3 come first: no edge leaves 2 */
    CHECK(strcmp(rows, "0: 33; 2: 0; ") == 0, "%s", rows);
    const char *const wrong[][2] = {
        {"1\n0\n1\n", "has 3 lines"},
        {"1\n0\n1\n1\n1\n", "more than 4 lines"},
        {"1\n0\n2\n1\n", "line 3: \"2\" is none of the ranks 0 to 1"},
        {"1\n0\n\033[31m\n1\n", "line 3: \"?[31m\" is none"},
        {"1\n0\n12345678901234567890123456\n",
         "line 3: \"12345678901234567890123\" is"},
        {"1\n0\n\n1\n", "line 3"},
        {"1\n0 1\n1\n1\n", "line 2"},
        {"", "has 0 lines"}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        CHECK(dealt(wrong[i][0], 0, rows, sizeof rows) == HF_EARG);
        CHECK(strstr(hf_error(), wrong[i][1]), "%s", hf_error());
    }
}

/* ---- many blocks ---- */

/* The edges of a generator as text, and a line too far: the same graph, the right line. */
static void long_check(void) {
    enum { VERTICES = 100000 };
    FILE *file = fopen(path_of("long.graph"), "w");
    fprintf(file, "%d %d\n2\n", VERTICES, VERTICES - 1);
    for (int v = 2; v < VERTICES; v++)
        fprintf(file, "%d %d\n", v - 1, v + 1);
    fprintf(file, "%d\n", VERTICES - 1);
    fclose(file);
    hf_graph *graph;
    hf_part *part;
    CHECK(hf_graph_open(&graph, path_of("long.graph"), 0) == HF_OK, "%s", hf_error());
    CHECK(hf_part_new(&part, graph, "cyclic", 1, 2, false, false, UINT64_MAX) == HF_OK);
    CHECK(part->own == VERTICES / 2 && part->in_edges == VERTICES - 1);
    hf_part_free(part);
    file = fopen(path_of("long.part"), "w");
    for (int v = 0; v < VERTICES; v++)
        fprintf(file, "%d\n", v % 3);
    fclose(file);
    CHECK(hf_part_new(&part, graph, path_of("long.part"), 2, 3, false, false,
                      UINT64_MAX) == HF_OK);
    CHECK(part->own == VERTICES / 3 && part->names[part->starts[2] + 20000] == 60002);
    hf_part_free(part);
    hf_graph_close(graph);
    file = fopen(path_of("long.el"), "w");
    for (int v = 1; v < VERTICES; v++)
        fprintf(file, "%d %d\n", v - 1, v == 76543 ? -1 : v);
    fclose(file);
    CHECK(hf_graph_open(&graph, path_of("long.el"), 0) == HF_EARG);
    CHECK(strstr(hf_error(), "line 76543: vertex \"-1\""), "%s", hf_error());
}

int main(void) {
    folder_make();
    texts_check();
    binaries_check();
    refusals_check();
    places_check();
    changes_check();
    any_bytes_check();
    partitions_check();
    long_check();
    folder_remove();
    return check_failures != 0;
}
