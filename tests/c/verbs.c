/* verbs.c - faults in every call of the table of a session's transport, and of a group of it.
 *
 * Each call moves data that its caller can check, in a few rounds.
 */
#include "verbs.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>

#include "agree.h"
#include "core/digest.h"
#include "core/error.h"
#include "core/random.h"
#include "plant_state.h"

enum { ROUNDS = 4, WORDS = 300, MAX_RANKS = 64 };

/* ---- the calls ---- */

/* What a rank tells in a round: no two are the same. */
static uint64_t word_of(int rank, uint64_t round, size_t i) {
    return hf_random(round, (uint64_t)rank * WORDS + i);
}

static void words_write(uint64_t *words, int rank, uint64_t round) {
    for (size_t i = 0; i < WORDS; i++)
        words[i] = word_of(rank, round, i);
}

static size_t words_check(const uint64_t *words, int rank, uint64_t round) {
    size_t wrong = 0;
    for (size_t i = 0; i < WORDS; i++)
        wrong += words[i] != word_of(rank, round, i);
    return wrong;
}

static int next_of(const hf_transport *net) {
    return (net->rank + 1) % net->size;
}

static int before(const hf_transport *net) {
    return (net->rank + net->size - 1) % net->size;
}

static hf_status sendrecv_make(hf_transport *net, uint64_t round, size_t *wrong) {
    uint64_t out[WORDS], in[WORDS] = {0};
    words_write(out, net->rank, round);
    HF_TRY(net->ops->sendrecv(net, out, next_of(net), in, before(net), sizeof in));
    *wrong += words_check(in, before(net), round);
    return HF_OK;
}

/* What failed may still be under way: its memory stays. */
static hf_status start_make(hf_transport *net, uint64_t round, size_t *wrong) {
    static uint64_t out[WORDS], in[WORDS];
    hf_transfer sends, receives;
    words_write(out, net->rank, round);
    memset(in, 0, sizeof in);
    HF_TRY(hf_recv(net, &receives, in, sizeof in, before(net)));
    hf_status status = hf_send(net, &sends, out, sizeof out, next_of(net));
    while (status == HF_OK && !(sends.over && receives.over)) {
        status = net->ops->test(net, &receives);
        if (status == HF_OK)
            status = net->ops->test(net, &sends);
        sched_yield();
    }
    if (!receives.over)
        net->ops->abandon(net, &receives);
    if (!sends.over)
        net->ops->abandon(net, &sends);
    *wrong += status == HF_OK ? words_check(in, before(net), round) : 0;
    return status;
}

static hf_status gather_make(hf_transport *net, uint64_t round, size_t *wrong) {
    uint64_t all[MAX_RANKS] = {0}, mine = word_of(net->rank, round, 0);
    HF_TRY(net->ops->gather(net, all, &mine, sizeof mine));
    for (int rank = 0; rank < net->size; rank++)
        *wrong += all[rank] != word_of(rank, round, 0);
    return HF_OK;
}

static hf_status broadcast_make(hf_transport *net, uint64_t round, size_t *wrong) {
    uint64_t words[WORDS] = {0};
    int root = (int)(round % (uint64_t)net->size);
    if (net->rank == root)
        words_write(words, root, round);
    HF_TRY(net->ops->broadcast(net, words, sizeof words, root));
    *wrong += words_check(words, root, round);
    return HF_OK;
}

/* Numbers whose sum has no rounding. */
static double number_of(int rank, uint64_t round) {
    return (double)(word_of(rank, round, 0) >> 20);
}

static hf_status reduce_make(hf_transport *net, uint64_t round, size_t *wrong) {
    hf_reduction how = round % 2 ? HF_SUM : HF_MAX;
    double value = number_of(net->rank, round), due = 0;
    for (int rank = 0; rank < net->size; rank++) {
        double one = number_of(rank, round);
        due = how == HF_SUM ? due + one : one > due ? one : due;
    }
    HF_TRY(net->ops->reduce(net, &value, 1, how));
    *wrong += value != due;
    return HF_OK;
}

static hf_status any_make(hf_transport *net, uint64_t round, size_t *wrong) {
    uint64_t who = round % (uint64_t)(net->size + 1); /* nobody, every now and then */
    bool flag = (uint64_t)net->rank == who;
    HF_TRY(net->ops->any(net, &flag));
    *wrong += flag != (who < (uint64_t)net->size);
    return HF_OK;
}

static hf_status barrier_make(hf_transport *net, uint64_t round, size_t *wrong) {
    (void)round, (void)wrong;
    return net->ops->barrier(net);
}

/* The members of a group are those that gave the same color, in their order. */
static hf_status group_make(hf_transport *net, uint64_t round, size_t *wrong) {
    hf_transport *group;
    int color = (int)(word_of(net->rank, round, 0) % 2), members[MAX_RANKS], n = 0;
    HF_TRY(net->ops->group(&group, net, color));
    hf_status status = group->ops->gather(group, members, &net->rank, sizeof *members);
    for (int rank = 0; status == HF_OK && rank < net->size; rank++)
        if ((int)(word_of(rank, round, 0) % 2) == color)
            *wrong += n >= group->size || members[n++] != rank;
    *wrong += status == HF_OK && n != group->size;
    group->ops->close(group);
    return status;
}

static const struct verb {
    int call;
    bool proves; /* it fails where what came is not what was sent */
    hf_status (*make)(hf_transport *net, uint64_t round, size_t *wrong);
} verbs[] = {
    {PLANT_SENDRECV, false, sendrecv_make}, {PLANT_START, false, start_make},
    {PLANT_GATHER, true, gather_make},      {PLANT_BROADCAST, true, broadcast_make},
    {PLANT_REDUCE, true, reduce_make},      {PLANT_ANY, true, any_make},
    {PLANT_BARRIER, true, barrier_make},    {PLANT_GROUP, true, group_make},
};

/* ---- evidence ---- */

static bool no_evidence; /* the digest of everything is the same */

uint64_t __real_hf_digest(uint64_t digest, const void *data, size_t bytes);
uint64_t __wrap_hf_digest(uint64_t digest, const void *data, size_t bytes);
uint64_t __wrap_hf_digest(uint64_t digest, const void *data, size_t bytes) {
    return no_evidence ? digest : __real_hf_digest(digest, data, bytes);
}

/* ---- a fault ---- */

/* What came of a fault, on all ranks together. */
typedef struct ending {
    unsigned long reached, acted, wrong, failed;
} ending;

static ending verb_run(const struct verb *v, const plant_fault *f, bool in_group) {
    hf_transport *net = now.session->net, *of = net;
    double deadline = net->deadline;
    size_t wrong = 0;
    net->ops->renew(net);
    net->deadline = 5;
    if (in_group)
        plant_must(net->ops->group(&of, net, rank == 0 && size > 2) == HF_OK);
    MPI_Barrier(MPI_COMM_WORLD);
    plant_start(f, 0);
    no_evidence = f && asked.broken;
    hf_status status = HF_OK;
    for (uint64_t round = 0; round < ROUNDS && status == HF_OK; round++)
        status = v->make(of, round, &wrong);
    no_evidence = false;
    plant_report report = plant_end();
    status = hf_agree(net, status); /* no rank goes on where one has failed */
    if (in_group)
        of->ops->close(of);
    unsigned long mine[] = {report.reached, report.acted, wrong, status != HF_OK};
    ending all;
    MPI_Allreduce(mine, &all, 4, MPI_UNSIGNED_LONG, MPI_SUM, MPI_COMM_WORLD);
    net->deadline = deadline;
    if (all.failed > 0) {
        session_close();
        plant_must(session_open() == HF_OK);
    }
    return all;
}

static void verb_try(const struct verb *v, const plant_fault *f, bool in_group,
                     score *s) {
    ending e = verb_run(v, f, in_group);
    s->planted++;
    s->acted += e.acted > 0;
    /* What comes may be zeros, or the same again. A root is told nothing. */
    bool may_be_same = f->kind == PLANT_ZERO || f->kind == PLANT_STALE || size == 1 ||
                       f->rank != PLANT_ALL_RANKS;
    bool fails = e.failed == (unsigned long)size, /* no rank goes on */
        wrong = e.failed == 0 && e.wrong > 0,
         nothing = e.acted == 0 && e.reached > 0 && may_be_same,
         same = e.failed == 0 && !wrong && (f->kind == PLANT_REPEAT || nothing),
         missed = !same && (e.acted == 0 || (!fails && (v->proves || !wrong)));
    s->errors += fails;
    s->harmless += same;
    s->unverified += wrong && !missed;
    s->misses += missed;
    if (missed && !asked.broken && rank == 0)
        printf("%s %s%s spot %zu rank %d of %d: %lu ranks fail, %lu wrong\n",
               plant_kinds[f->kind], plant_calls[f->call],
               in_group ? " in a group" : "", f->spot, f->rank, size, e.failed,
               e.wrong);
}

score verbs_try(void) {
    score s = {0};
    size_t n = 1 + asked.faults / 10;
    for (size_t i = 0; i < 2 * sizeof verbs / sizeof *verbs && goes_on(&s); i++) {
        const struct verb *v = &verbs[i / 2];
        bool in_group = i % 2;
        plant_learn();
        for (int run = 0; run < 2; run++) {
            ending e = verb_run(v, NULL, in_group);
            plant_must(e.failed == 0 && e.wrong == 0);
        }
        for (size_t k = 0; k < n * 3 * PLANT_KINDS && goes_on(&s); k++) {
            int who = (int)(k % 3);
            plant_fault f = {.call = v->call,
                             .kind = (int)(k / 3 % PLANT_KINDS),
                             .phase = PLANT_SETUP,
                             .place = PLANT_MIDDLE,
                             .count = 1 + k / (3 * PLANT_KINDS) % 2,
                             .spot = k / (3 * PLANT_KINDS) + (size_t)who,
                             .rank = who == 0   ? PLANT_ALL_RANKS
                                     : who == 1 ? 0
                                                : size - 1};
            bool shared = size == 1 || asked.share == 1 || f.kind == PLANT_REPEAT ||
                          (i + k + k / 3 + (size_t)size + asked.part) %
                                  (asked.share < 3 ? 2 : 3) ==
                              0;
            if (plant_can(f.call, f.kind) && shared &&
                (who == 0 || (size > 1 && f.kind != PLANT_REPEAT)))
                verb_try(v, &f, in_group, &s);
        }
    }
    return s;
}
