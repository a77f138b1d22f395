/* graph_scarce.c - graphs of files where memory lacks. */
#include <unistd.h>

#include "folder.h"
#include "graph/graph.h"
#include "scarce.h"

static hf_status all_done(const char *name) {
    hf_graph *graph;
    hf_part *part;
    hf_survey survey;
    hf_status status = hf_graph_open(&graph, path_of(name), 0);
    if (status != HF_OK)
        return status;
    status = hf_part_new(&part, graph, "sorted", 1, 2, false,
                         hf_graph_info_of(graph)->weighted, UINT64_MAX);
    if (status == HF_OK) {
        hf_part_free(part);
        status = hf_survey_make(&survey, graph, "edges", 2, UINT64_MAX);
    }
    if (status == HF_OK)
        hf_survey_free(&survey);
    hf_graph_close(graph);
    return status;
}

/* Every allocation fails once: an error each time, and nothing is lost. */
static void files_test(void) {
    static const char *const names[] = {"simple:m.wel", "w.graph", "d.sg"};
    static const char lists[] = "0 1 7\n0 1 3\n2 0 2\n1 2 1\n",
                      metis[] = "3 2 011 2\n1 1 2 9 3 8\n5 5 1 9\n7 7 1 8\n\n";
    static const struct __attribute__((packed)) {
        unsigned char directed;
        int64_t edges, rows;
        struct __attribute__((packed)) {
            int64_t begins[4];
            int32_t ends[4];
        } out, in;
    } stored = {1, 4, 3, {{0, 2, 3, 4}, {1, 2, 0, 0}}, {{0, 2, 3, 4}, {1, 2, 0, 0}}};
    put("m.wel", lists, sizeof lists - 1);
    put("w.graph", metis, sizeof metis - 1);
    put("d.sg", &stored, sizeof stored);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        hf_status status = HF_ENOMEM;
        int n = 0;
        for (; n < 1000 && status == HF_ENOMEM; n++) {
            lacked = false;
            scarce = n;
            status = all_done(names[i]);
            scarce = -1;
            CHECK((status == HF_ENOMEM) == lacked, "%s: allocation %d", names[i], n);
        }
        CHECK(status == HF_OK && n > 20, "%s: %d allocations: %s", names[i], n,
              hf_error());
    }
}

int main(void) {
    folder_make();
    files_test();
    folder_remove();
    return check_failures != 0;
}
