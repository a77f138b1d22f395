/* edges.c - all edges of a graph, block by block, on all cores. */
#include "edges.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/parallel.h"
#include "core/random.h"

typedef struct pass {
    const hf_graph *graph;
    const edge_taker *taker;
    bool weights;
    _Atomic uint64_t next; /**< block that nobody has taken */
    pthread_mutex_t lock;  /**< of what follows */
    edge_sums sums;
    hf_status status;
    uint64_t failed; /**< block of `status` */
    char message[HF_MESSAGE_ROOM];
} pass;

static void sums_take(edge_flow *flow) {
    for (size_t i = 0; i < flow->waiting; i++) {
        const edge *e = &flow->edges[i];
        uint64_t hash = hf_random((uint64_t)e->from << 32 | e->to, 0);
        flow->sums.ends += hash;
        flow->sums.weights += flow->weights ? hf_random(hash, e->weight) : 0;
    }
    flow->sums.n += flow->waiting;
}

void edge_flow_empty(edge_flow *flow) {
    sums_take(flow);
    if (flow->taker && flow->waiting)
        flow->taker->take(flow->taker->context, flow->edges, flow->waiting);
    flow->waiting = 0;
}

void edge_mirror(edge_flow *flow, uint32_t at, uint32_t other, uint32_t weight) {
    uint64_t low = at < other ? at : other, high = at < other ? other : at;
    uint64_t hash = hf_random(low << 32 | high, weight);
    if (low != high)
        flow->sums.mirror += low == at ? hash : -hash;
    if (low == at)
        edge_put(flow, at, other, weight);
}

/* Blocks are handed out in order, so those before one that failed are in work at least. */
static void pass_fail(pass *p, uint64_t block, hf_status status) {
    pthread_mutex_lock(&p->lock);
    if (p->status == HF_OK || block < p->failed) {
        p->status = status;
        p->failed = block;
        snprintf(p->message, sizeof p->message, "%s", hf_error());
    }
    pthread_mutex_unlock(&p->lock);
    atomic_store(&p->next, p->graph->blocks);
}

static void pass_work(void *context, size_t i) {
    (void)i;
    pass *p = context;
    edge_flow *flow = malloc(sizeof *flow);
    if (!flow) {
        pass_fail(p, 0, hf_fail(HF_ENOMEM, "no memory for edges on their way"));
        return;
    }
    flow->taker = p->taker;
    flow->weights = p->weights;

    flow->sums = (edge_sums){0};
    flow->waiting = flow->room_bytes = 0;
    flow->room = NULL;
    for (uint64_t block; (block = atomic_fetch_add(&p->next, 1)) < p->graph->blocks;) {
        hf_status status = p->graph->ops->block(p->graph, block, flow);
        if (status != HF_OK)
            pass_fail(p, block, status);
    }
    edge_flow_empty(flow);
    pthread_mutex_lock(&p->lock);
    p->sums.n += flow->sums.n;
    p->sums.ends += flow->sums.ends;
    p->sums.weights += flow->sums.weights;
    p->sums.mirror += flow->sums.mirror;
    pthread_mutex_unlock(&p->lock);
    free(flow->room);
    free(flow);
}

hf_status edges_pass(edge_sums *out, const hf_graph *graph, bool weights,
                     const edge_taker *taker) {
    pass p = {.graph = graph, .taker = taker, .weights = weights};
    pthread_mutex_init(&p.lock, NULL);
    size_t threads = hf_cores();
    if (threads > graph->blocks)
        threads = graph->blocks ? (size_t)graph->blocks : 1;
    hf_parallel(threads, pass_work, &p);
    pthread_mutex_destroy(&p.lock);
    if (p.status != HF_OK)
        return hf_fail(p.status, "%s", p.message);
    HF_TRY(graph->ops->same(graph));
    *out = p.sums;
    return HF_OK;
}

hf_status edges_again(const hf_graph *graph, bool weights, const edge_taker *taker) {
    edge_sums found = {0}, first = graph->sums;
    HF_TRY(edges_pass(&found, graph, weights, taker));
    if (graph->again && (found.n != first.n || found.ends != first.ends ||
                         (weights && found.weights != first.weights)))
        return hf_fail(HF_EARG, "graph %s changed while it was read", graph->text);
    return HF_OK;
}
