/* graph_persistent.h - supersteps of one rank on a CPU, up to 256 in a launch: its work-items take
 * chunks of phase after phase, as launches of graph_start, graph_pull, graph_push, graph_apply and
 * graph_admit would, and pushes by ranges (graph_reach.h). The one that leads takes supersteps of
 * few vertices in between. A launch costs as much as a superstep of 10,000 edges, most of it
 * threads that fall asleep and are woken.
 *
 * The work-item that leads decides as the host would, and leaves it a sealed count of each
 * superstep.
 */
#ifndef GRAPH_PERSISTENT_H
#define GRAPH_PERSISTENT_H

#include "graph_apply.h"
#include "graph_few.h"
#include "graph_phase.h"
#include "graph_pull.h"
#include "graph_push.h"
#include "graph_start.h"
#include "hf_phases.h"

/** Supersteps first .. end - 1 of the launch took the time since *clock. */
static inline void graph_tick(HF_GLOBAL ulong *ticks, ulong *clock, uint first,
                              uint end) {
    const ulong now = HF_PHASES_CLOCK(), took = now > *clock ? now - *clock : 0;
    for (uint step = first; step < end; step++)
        ticks[step] = took / (end - first);
    *clock = now;
}

HF_KERNEL(graph_persistent, HF_READ(uint, chunks), HF_READ(ulong, rows),
          HF_READ(uint, from), HF_READ(uint, weights), HF_READ(uint, degrees),
          HF_READ(uint, names), HF_READ(graph_run, run), HF_WRITE(uchar, inbox),
          HF_WRITE(uchar, outbox), HF_WRITE(hf_vertex, state), HF_WRITE(uint, waiting),
          HF_WRITE(hf_update, later), HF_READ(uint, pieces), HF_READ(ulong, outs),
          HF_READ(uint, to), HF_READ(uint, to_weights), HF_WRITE(uint, got),
          HF_WRITE(uint, touched), HF_WRITE(uint, lists), HF_WRITE(uchar, place)) {
    HF_GLOBAL graph_control *control = GRAPH_AT(graph_control, place, 0);
    HF_GLOBAL ulong *made = GRAPH_AT(ulong, place, sizeof *control);
    HF_GLOBAL hf_phases *meets = &control->meets;
    const uint n = run->chunks, seal = control->seal, leads = hf_phases_join(meets);
    const ulong all = control->all;
    uint phases = 0, kind = control->starts ? GRAPH_STARTING : GRAPH_NONE, turned = 0;
    graph_course at = graph_course_of(control);
    ulong clock = HF_PHASES_CLOCK();
    for (;;) {
        const uint ticket = hf_phases_ticket(meets);
        if (!leads && !hf_phases_await(meets, ticket / n))
            return;
        while (leads && ticket / n >= phases) {
            hf_phases_meet(meets, n * phases);
            if (kind == GRAPH_PUSHING) {
                kind = GRAPH_APPLYING;
            } else if (phases > 0 || kind == GRAPH_NONE) {
                uint goes = 1, step = at.step;
                if (phases > 0) {
                    goes = graph_phase_count(
                        &at,
                        GRAPH_AT(const graph_count, turned % 2 ? inbox : outbox, 0), n);
                    turned++;
                    graph_tick(control->ticks, &clock, step, at.step);
                }
                while (!GRAPH_ALL && goes &&
                       graph_is_few(at.active, at.pending, at.edges)) {
                    step = at.step;
                    goes = graph_few_take(outs, to, to_weights, names, run,
                                          turned % 2 ? outbox : inbox, state, waiting,
                                          later, got, lists, 1, &at);
                    graph_tick(control->ticks, &clock, step, at.step);
                }
                control->reach = graph_reach_chunks(n, hf_phases_joined(meets));
                kind =
                    goes ? graph_phase_next(&at, all, run->vertices, n, control->reach)
                         : GRAPH_NONE;
            }
            if (kind == GRAPH_NONE) {
                control->turned = turned;
                hf_phases_end(meets);
                return;
            }
            control->phase = kind;
            control->turned = turned;
            control->phase_superstep = at.superstep;
            control->phase_window = at.window;
            control->everyone = at.active == run->heard;
            hf_phases_begin(meets, ++phases);
        }
        const uint c = ticket % n, superstep = control->phase_superstep;
        const ulong window = control->phase_window;
        HF_GLOBAL uchar *in = control->turned % 2 ? outbox : inbox,
                        *out = control->turned % 2 ? inbox : outbox;
        switch (control->phase) {
        case GRAPH_STARTING:
            graph_start_part(c, n, chunks, degrees, names, run, state, out, waiting,
                             later, got, touched, in, !GRAPH_ALL, window, seal);
            break;
        case GRAPH_PULLING:
            graph_pull_part(c, n, chunks, rows, from, weights, degrees, names, run, in,
                            state, out, waiting, later, superstep, control->everyone,
                            window, seal);
            break;
        case GRAPH_PUSHING:
            graph_push_part(c, n, pieces, outs, to, to_weights, run, in, state, got,
                            touched, made, window);
            break;
        case GRAPH_REACHING:
            graph_reach_part(c, n, chunks, outs, to, to_weights, degrees, names, run,
                             in, state, got, touched, made, out, waiting, later,
                             control->reach, superstep, window, seal);
            break;
        case GRAPH_APPLYING:
            graph_apply_part(c, n, chunks, degrees, names, run, made, got, touched,
                             state, out, waiting, later, superstep, window, seal);
            break;
        default:
            graph_admit_part(c, n, chunks, degrees, run, out, waiting, later, superstep,
                             window, seal);
        }
        hf_phases_done(meets);
    }
}

#endif
