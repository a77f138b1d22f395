/* graph_file.h - files of graphs: regular ones, read by place, and seen to change. */
#ifndef HF_GRAPH_FILE_H
#define HF_GRAPH_FILE_H

#include <time.h>

#include "edges.h"

typedef struct graph_file {
    int fd;
    uint64_t bytes;
    struct timespec modified;
    char *path;
    const char *what; /**< for messages: "graph" */
} graph_file;

/** The first member of every graph that is a file. */
typedef struct file_graph {
    hf_graph graph;
    graph_file file;
    bool numbered; /**< vertices end with the largest number; no header tells them */
    bool twice;    /**< it names each undirected edge at both ends */
    uint64_t told; /**< edges that its header tells; UINT64_MAX: it does not */
} file_graph;

/** Formats: each makes what the file's header tells, and takes the file where it succeeds.
 *  `weights`: wanted, if there are some. */
typedef hf_status (*file_reader)(file_graph **out, const graph_file *file,
                                 bool weights);
hf_status el_open(file_graph **out, const graph_file *file, bool weights);
hf_status wel_open(file_graph **out, const graph_file *file, bool weights);
hf_status gr_open(file_graph **out, const graph_file *file, bool weights);
hf_status mtx_open(file_graph **out, const graph_file *file, bool weights);
hf_status metis_open(file_graph **out, const graph_file *file, bool weights);
hf_status sg_open(file_graph **out, const graph_file *file, bool weights);
hf_status wsg_open(file_graph **out, const graph_file *file, bool weights);
hf_status hfg_open(file_graph **out, const graph_file *file, bool weights);

/** Open a file of any known format and go through it once. */
hf_status file_graph_open(hf_graph **out, const char *path, bool weights);

hf_status file_graph_same(const hf_graph *graph);

hf_status graph_file_open(graph_file *out, const char *what, const char *path);
void graph_file_close(graph_file *file);
/** Read `bytes` from place `at`; fails where the file has none. */
hf_status graph_file_read(const graph_file *file, void *to, uint64_t at, size_t bytes);
/** Refuses a header's number of vertices. */
hf_status vertices_check(const graph_file *file, uint64_t vertices);
/** Room of the flow for `bytes`, kept for the next block. */
hf_status flow_room(edge_flow *flow, size_t bytes);

#endif
