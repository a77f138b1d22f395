/* graph_crew.h - all supersteps of one rank in one launch: its work-items take chunks of phase
 * after phase, as launches of graph_start, graph_pull, graph_push, graph_apply and graph_admit
 * would, and the one that leads takes supersteps of few vertices in between. On a CPU a launch
 * costs as much as a superstep of 10,000 edges, most of it threads that fall asleep and are woken.
 *
 * The work-item that leads decides as the host would, and leaves it a sealed count of each
 * superstep.
 */
#ifndef GRAPH_CREW_H
#define GRAPH_CREW_H

#include "graph_apply.h"
#include "graph_course.h"
#include "graph_few.h"
#include "graph_pull.h"
#include "graph_push.h"
#include "graph_start.h"
#include "hf_crew.h"

#ifdef __x86_64__
#define GRAPH_CLOCK() ((ulong)__builtin_ia32_rdtsc())
#else
#define GRAPH_CLOCK() 0ul
#endif

/** Supersteps first .. end - 1 of the launch took the time since *clock. */
static inline void graph_crew_tick(HF_GLOBAL ulong *ticks, ulong *clock, uint first,
                                   uint end) {
    const ulong now = GRAPH_CLOCK(), took = now - *clock;
    for (uint step = first; step < end; step++)
        ticks[step] = took / (end - first);
    *clock = now;
}

HF_KERNEL(graph_crew, HF_READ(uint, chunks), HF_READ(ulong, rows), HF_READ(uint, from),
          HF_READ(uint, weights), HF_READ(uint, degrees), HF_READ(uint, names),
          HF_READ(graph_run, run), HF_WRITE(uchar, inbox), HF_WRITE(uchar, outbox),
          HF_WRITE(hf_vertex, state), HF_WRITE(uint, waiting),
          HF_WRITE(hf_update, later), HF_READ(uint, pieces), HF_READ(ulong, outs),
          HF_READ(uint, to), HF_READ(uint, to_weights), HF_WRITE(uint, got),
          HF_WRITE(uint, touched), HF_WRITE(uint, lists), HF_WRITE(uchar, place)) {
    HF_GLOBAL graph_shift *shift = GRAPH_AT(graph_shift, place, 0);
    HF_GLOBAL ulong *made = GRAPH_AT(ulong, place, sizeof *shift);
    HF_GLOBAL hf_crew *meets = &shift->meets;
    const uint n = run->chunks, seal = shift->seal, leads = hf_crew_join(meets);
    const ulong told = shift->told, all = shift->all;
    uint phases = 0, kind = shift->starts ? GRAPH_STARTING : GRAPH_NONE, turned = 0;
    graph_course at = graph_course_of(shift);
    ulong clock = GRAPH_CLOCK();
    for (;;) {
        const uint ticket = hf_crew_ticket(meets);
        if (!leads && !hf_crew_await(meets, ticket / n))
            return;
        while (leads && ticket / n >= phases) {
            hf_crew_meet(meets, n * phases);
            if (kind == GRAPH_PUSHING) {
                kind = GRAPH_APPLYING;
            } else if (phases > 0 || kind == GRAPH_NONE) {
                uint goes = 1, step = at.step;
                if (phases > 0) {
                    goes = graph_crew_count(
                        &at,
                        GRAPH_AT(const graph_count, turned % 2 ? inbox : outbox, 0), n,
                        told);
                    turned++;
                    graph_crew_tick(shift->ticks, &clock, step, at.step);
                }
                while (goes && graph_is_few(at.active, at.pending, at.edges)) {
                    step = at.step;
                    graph_few_take(outs, to, to_weights, names, run,
                                   turned % 2 ? outbox : inbox, state, waiting, later,
                                   got, lists, 0, &at);
                    goes = at.step > step && graph_goes_on(&at, told);
                    if (goes)
                        graph_few_go_on(&at);
                    graph_crew_tick(shift->ticks, &clock, step, at.step);
                }
                kind = goes ? graph_crew_begin(&at, all, run->vertices) : GRAPH_NONE;
            }
            if (kind == GRAPH_NONE) {
                shift->turned = turned;
                hf_crew_end(meets);
                return;
            }
            shift->kind = kind;
            shift->turned = turned;
            shift->now = at.superstep;
            shift->due = at.window;
            shift->everyone = at.active == run->vertices;
            hf_crew_begin(meets, ++phases);
        }
        const uint c = ticket % n, now = shift->now;
        const ulong due = shift->due;
        HF_GLOBAL uchar *in = shift->turned % 2 ? outbox : inbox,
                        *out = shift->turned % 2 ? inbox : outbox;
        switch (shift->kind) {
        case GRAPH_STARTING:
            graph_start_part(c, n, chunks, degrees, names, run, state, out, waiting,
                             later, got, touched, in, 1, due, seal);
            break;
        case GRAPH_PULLING:
            graph_pull_part(c, n, chunks, rows, from, weights, degrees, names, run, in,
                            state, out, waiting, later, now, shift->everyone, due,
                            seal);
            break;
        case GRAPH_PUSHING:
            graph_push_part(c, n, pieces, outs, to, to_weights, run, in, state, got,
                            touched, made, due);
            break;
        case GRAPH_APPLYING:
            graph_apply_part(c, n, chunks, degrees, names, run, made, got, touched,
                             state, out, waiting, later, now, due, seal);
            break;
        default:
            graph_admit_part(c, n, chunks, degrees, run, out, waiting, later, now, due,
                             seal);
        }
        hf_crew_done(meets);
    }
}

#endif
