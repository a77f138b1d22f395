/* run_turns.c - the samples of a run, which may be taken in several calls: a visit to a point in
 * each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/param.h"
#include "core/run.h"

/* No round is without a repetition; as many as are needed (`reps` is 0) are one round. */
static size_t rounds_of(const hf_args *args) {
    size_t reps = (size_t)hf_args_number(args, "reps"),
           most = (size_t)hf_args_number_or(args, "rounds", 1),
           rounds = most < reps ? most : reps;
    return rounds < 1 ? 1 : rounds;
}

hf_turns hf_turns_whole(const hf_args *args) {
    return (hf_turns){.rounds = rounds_of(args), .n_turns = 1};
}

hf_status hf_turns_new(hf_turns **out, const hf_args *args, bool whole) {
    hf_turns *turns = calloc(1, sizeof *turns);
    if (!turns)
        return hf_fail(HF_ENOMEM, "no memory for the turns of a run");
    *turns = hf_turns_whole(args);
    if (!whole && hf_args_number_or(args, "rounds", 0) > 0) { /* a sweep has sizes */
        size_t sizes;
        hf_args_list(args, "sizes", &sizes);
        turns->n_turns = sizes * turns->rounds;
    }
    *out = turns;
    return HF_OK;
}

size_t hf_turns_left(const hf_turns *turns) {
    return turns->n_turns - turns->taken;
}

static bool fits(const hf_turns *turns, uint64_t run, const hf_args *args,
                 size_t n_points) {
    return (!turns->points || turns->run == run) && turns->taken < turns->n_turns &&
           turns->rounds == rounds_of(args) &&
           (turns->n_turns == 1 || turns->n_turns == n_points * turns->rounds);
}

hf_status hf_turns_begin(hf_turns *turns, uint64_t run, const hf_args *args,
                         size_t n_points, size_t ranks) {
    if (!fits(turns, run, args, n_points))
        return hf_fail(HF_EARG, "%zu of %zu turns were taken: they are not of this run",
                       turns->taken, turns->n_turns);
    if (turns->points)
        return HF_OK;
    hf_point *points = calloc(n_points, sizeof *points);
    struct hf_share *shares = calloc(n_points * ranks, sizeof *shares);
    if (!points || !shares) {
        free(points);
        free(shares);
        return hf_fail(HF_ENOMEM, "no memory for %zu points", n_points);
    }
    for (size_t i = 0; i < n_points; i++)
        points[i].shares = shares + i * ranks;
    turns->run = run;
    turns->points = points;
    turns->n_points = n_points;
    return HF_OK;
}

void hf_turns_clear(hf_turns *turns) {
    for (size_t i = 0; i < turns->n_points; i++) {
        hf_point *p = &turns->points[i];
        free(p->warmup.ranks);
        free(p->warmup.slowest);
        free(p->timed.ranks);
        free(p->timed.slowest);
        free(p->stages);
        free(p->stages_at);
    }
    if (turns->points)
        free(turns->points->shares); /* of all */
    free(turns->points);
}

void hf_turns_note(hf_turns *turns, const char *note) {
    size_t n = 0;
    for (; n < HF_TURN_NOTES && *turns->notes[n]; n++)
        if (strcmp(turns->notes[n], note) == 0)
            return;
    if (n < HF_TURN_NOTES)
        snprintf(turns->notes[n], sizeof turns->notes[n], "%s", note);
}

void hf_turns_free(hf_turns *turns) {
    if (!turns)
        return;
    hf_turns_clear(turns);
    free(turns);
}
