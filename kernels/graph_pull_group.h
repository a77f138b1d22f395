/* graph_pull_group.h - graph_pull for GPUs: a work-group has a chunk.
 *
 * Messages of a block's edges, laid end to end, go through local memory, where each work-item
 * gathers those of its vertex. Where few are often enough, a work-item looks along the first of
 * its own edges before.
 */
#ifndef GRAPH_PULL_GROUP_H
#define GRAPH_PULL_GROUP_H

#include "graph_along.h"
#include "graph_change.h"
#include "graph_keep.h"
#include "graph_lay.h"

/** Messages that local memory has room for, and edges that a work-item looks along before. */
#define GRAPH_STAGE ((uint)(GRAPH_ITEMS * GRAPH_ALIGN / sizeof(hf_message)))
#define GRAPH_LOOK  16

/** What the work-items of a group know of a pull. */
typedef struct graph_puller {
    GRAPH_LOCAL graph_team *team;
    HF_GLOBAL const ulong *rows; /**< of the block's vertices */
    HF_GLOBAL const uint *from, *weights, *active;
    HF_GLOBAL const hf_update *mirror;
    uint everyone, settled;
    uint messages; /**< that this one saw */
} graph_puller;

/** Gather the message of edge `e`, if there is one; is there? */
static inline uint graph_hear(graph_puller *p, hf_message *got, ulong e) {
    const uint u = p->from[e];
    if (!p->everyone && !(p->active[u / 32] >> u % 32 & 1))
        return 0;
    *got = hf_gather(*got, graph_along(p->from, p->weights, p->mirror, e));
    p->messages++;
    return 1;
}

/** Gather along the `n` edges that were laid end to end. */
static inline void graph_short(graph_puller *p, hf_message *got, uint n) {
    GRAPH_LOCAL graph_team *team = p->team;
    GRAPH_LOCAL hf_message *stage = (GRAPH_LOCAL hf_message *)team->room;
    for (uint first = 0; first < n; first += GRAPH_STAGE) {
        const uint end = n - first < GRAPH_STAGE ? n : first + GRAPH_STAGE;
        for (uint k = first + GRAPH_ME; k < end; k += GRAPH_ITEMS) {
            const uint i = graph_whose(team, k);
            hf_message m = HF_NOTHING;
            if (graph_hear(p, &m, team->rows[i] + (k - team->ends[i])))
                team->heard[i] = 1;
            stage[k - first] = m;
        }
        GRAPH_MEET();
        const uint begin = team->ends[GRAPH_ME], stop = team->ends[GRAPH_ME + 1];
        for (uint k = begin > first ? begin : first; k < stop && k < end; k++)
            *got = hf_gather(*got, stage[k - first]);
        GRAPH_MEET();
    }
}

/** Gather along the long rows. */
static inline void graph_long(graph_puller *p, hf_message *got) {
    GRAPH_LOCAL graph_team *team = p->team;
    GRAPH_LOCAL hf_message *stage = (GRAPH_LOCAL hf_message *)team->room;
    for (uint j = 0; j < team->n_longs; j++) {
        const uint i = team->longs[j];
        hf_message m = HF_NOTHING;
        for (ulong e = team->rows[i] + GRAPH_ME; e < p->rows[i + 1]; e += GRAPH_ITEMS)
            if (graph_hear(p, &m, e)) {
                team->heard[i] = 1;
                if (HF_ENOUGH(m, p->settled))
                    break;
            }
        stage[GRAPH_ME] = m;
        for (uint n = GRAPH_ITEMS / 2; n > 0; n /= 2) {
            GRAPH_MEET();
            if (GRAPH_ME < n)
                stage[GRAPH_ME] = hf_gather(stage[GRAPH_ME], stage[GRAPH_ME + n]);
        }
        GRAPH_MEET();
        if (GRAPH_ME == i)
            *got = hf_gather(*got, stage[0]);
        GRAPH_MEET();
    }
}

/** Gather for the block's vertices, of which this work-item has number GRAPH_ME if it `wants`
 *  messages; did it get some? */
static inline uint graph_gather(graph_puller *p, hf_message *got, uint wants) {
    const ulong row = wants ? p->rows[GRAPH_ME] : 0,
                stop = wants ? p->rows[GRAPH_ME + 1] : 0;
    ulong e = row;
    uint heard = 0, enough = 0;
    *got = HF_NOTHING;
    for (; GRAPH_HINTED && !enough && e < stop && e < row + GRAPH_LOOK; e++)
        if (graph_hear(p, got, e)) {
            heard = 1;
            enough = HF_ENOUGH(*got, p->settled);
        }
    graph_short(p, got, graph_lay(p->team, e, enough ? 0 : stop - e));
    graph_long(p, got);
    return heard | p->team->heard[GRAPH_ME];
}

/** As in graph_pull.h. */
HF_KERNEL(graph_pull, HF_READ(uint, chunks), HF_READ(ulong, rows), HF_READ(uint, from),
          HF_READ(uint, weights), HF_READ(uint, degrees), HF_READ(uint, names),
          HF_READ(graph_run, run), HF_READ(uchar, inbox), HF_WRITE(hf_vertex, state),
          HF_WRITE(uchar, outbox), HF_WRITE(uint, waiting), HF_WRITE(hf_update, later),
          HF_VALUE(uint, superstep), HF_VALUE(uint, everyone), HF_VALUE(ulong, window),
          HF_VALUE(uint, seal)) {
    GRAPH_LOCAL graph_team team;
    graph_puller p;
    p.team = &team;
    p.from = from;
    p.weights = weights;
    p.active = GRAPH_AT(const uint, inbox, run->in_bits);
    p.mirror = GRAPH_AT(const hf_update, inbox, run->in_updates);
    p.everyone = everyone;
    p.settled = (uint)window;
    for (uint c = GRAPH_TEAM; c < run->chunks; c += GRAPH_TEAMS) {
        const uint end = chunks[c + 1];
        graph_out out = graph_open(&team, outbox, run, c, chunks, superstep, window);
        for (uint first = chunks[c]; first < end; first += GRAPH_BLOCK) {
            const uint v = first + GRAPH_ME, at = first + 32 * GRAPH_WORD;
            graph_word word = {0, 0};
            hf_message got;
            if (v < end && (p.active[(run->first + v) / 32] & GRAPH_MINE))
                out.count.known += degrees[v] + graph_teller(run, v);
            p.rows = rows + first;
            p.messages = 0;
#ifndef GRAPH_NO_PRIORITIES
            if (at < end)
                word.late = waiting[at / 32] & GRAPH_MINE;
#endif
            uint any = graph_gather(&p, &got, v < end && HF_WANTS(state[v], p.settled));
            out.count.messages += p.messages;
#ifdef HF_ALWAYS
            any = v < end;
#endif
            if (any)
                graph_change(&out, &word, run, names, degrees, state, later, v, got);
            graph_keep(&out, waiting, word, at, end);
        }
        graph_wait(&out, waiting, later, chunks[c], end);
        graph_close(outbox, &out, c, run->list_words, seal, window);
    }
}

#endif
