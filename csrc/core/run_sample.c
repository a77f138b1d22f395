/* run_sample.c - the clock of samples: one of all ranks, timed and verified. */
#include <math.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/run.h"

static hf_status series_grow(hf_series *s, size_t ranks) {
    if (s->n < s->room)
        return HF_OK;
    size_t room = s->room ? 2 * s->room : 16;
    double *all = realloc(s->ranks, room * ranks * sizeof *all);
    s->ranks = all ? all : s->ranks;
    double *slowest = realloc(s->slowest, room * sizeof *slowest);
    s->slowest = slowest ? slowest : s->slowest;
    if (!all || !slowest)
        return hf_fail(HF_ENOMEM, "no memory for %zu samples", room);
    s->room = room;
    return HF_OK;
}

double hf_series_best(const hf_series *s) {
    double best = INFINITY;
    for (size_t i = 0; i < s->n; i++)
        best = fmin(best, s->slowest[i]);
    return best;
}

/* A step ends by the deadline, or when the caller asks for it. Kernels that send to each other
 * are not left so: those of other ranks would wait for ever. */
hf_status hf_go_on(const hf_env *env, bool ends) {
    hf_loop *l = env->loop;
    double now = hf_clock_now(), deadline = l->session->net->deadline;
    if (!ends && now - l->step_began > deadline)
        return hf_fail(
            HF_EDEVICE,
            "a step, or its check, has not ended within the deadline of %g s",
            deadline);
    if (!l->run->tick || now - l->heard < HF_HEARING ||
        l->session->exchange->ops->streams)
        return HF_OK;
    l->heard = now;
    return l->run->tick(l->run->context, NULL);
}

/* The timed part. Where it is long, Ctrl-C is heard between two steps. */
static hf_status steps_take(const hf_loop *l, size_t index, size_t inner) {
    const hf_series *warmup = &l->points[index].warmup;
    size_t most = inner;
    if (warmup->n > 0 && l->run->tick && !l->session->exchange->ops->streams)
        most =
            (size_t)fmax(1, fmin((double)inner, HF_HEARING / hf_series_best(warmup)));
    for (size_t taken = 0; taken < inner; taken += most) {
        if (taken > 0)
            HF_TRY(l->run->tick(l->run->context, NULL));
        size_t left = inner - taken;
        HF_TRY(l->path->step(l->state, index, left < most ? left : most));
    }
    return HF_OK;
}

/* What still runs when the clock is read is in no sample's time. */
static hf_status idle_check(const hf_device *device) {
    return device->ops->idle(device)
               ? HF_OK
               : hf_fail(HF_EDEVICE,
                         "a command of device \"%s\" outlasted the steps that gave it",
                         device->info.name);
}

static double power_now(hf_device *device) {
    return device->ops->power ? device->ops->power(device) : NAN;
}

/* Take what `laps` counted, and start it anew. */
static void parts_add(double *parts, hf_laps *laps, size_t inner) {
    for (size_t i = 0; i < HF_N_LAPS; i++)
        parts[i] += laps->seconds[i] / (double)inner;
    *laps = (hf_laps){.since = hf_clock_now()};
}

/* Sample all ranks at once; each of them leaves with the same reports, and with room for
 * them in `s`. Numbers in `s` are even and odd in turn, and so from point to point of a round:
 * by them benchmarks take turns. */
static hf_status sample_take(hf_loop *l, size_t index, hf_series *s, size_t inner,
                             double began) {
    hf_transport *net = l->session->net;
    hf_status status = series_grow(s, (size_t)net->size);
    if (status == HF_OK && l->run->tick)
        status = l->run->tick(l->run->context, NULL);
    hf_sample mine = {.outcome.error = NAN};
    for (size_t i = 0; i < HF_MAX_FINDINGS; i++)
        mine.outcome.findings[i] = NAN;
    l->laps = (hf_laps){.since = hf_clock_now()};
    if (l->rounds > 1)
        l->sample += (l->sample + index + s->n) % 2;
    if (status == HF_OK)
        status = l->path->prepare(l->state, index, l->sample);
    l->sample++;
    parts_add(mine.parts, &l->laps, 1);
    if (status == HF_OK && l->settling && s == &l->points[index].timed)
        status = hf_device_settle(l->session->device, l->settling);
    if (status == HF_OK)
        status = hf_trace_ready(l->session->trace);
    HF_TRY(hf_agree(net, status));
    HF_TRY(net->ops->barrier(net));
    hf_exchange_used(l->session->exchange); /* what `prepare` moves does not count */
    hf_trace_begin(l->session->trace);
    hf_stages_begin(&l->stages);
    double start = hf_clock_now();
    l->laps.since = l->step_began = l->heard = start;
    status = steps_take(l, index, inner);
    double end = hf_clock_now();
    if (status == HF_OK)
        status = idle_check(l->session->device);
    hf_trace_end(l->session->trace, start, end);
    mine.schemes = hf_exchange_used(l->session->exchange);
    mine.power = power_now(l->session->device);
    mine.seconds = (end - start) / (double)inner;
    mine.elapsed = end - began;
    mine.clock_cost = l->clock_cost;
    parts_add(mine.parts, &l->laps, inner);
    if (status != HF_OK)
        net->ops->alarm(net);
    HF_TRY(hf_agree(net, status)); /* nobody verifies while another rank is timed */
    status = hf_trace_settle(l->session->trace);
    l->laps.since = l->step_began = hf_clock_now();
    if (status == HF_OK)
        status = l->path->verify(l->state, index, inner, &mine.outcome);
    if (status != HF_OK)
        net->ops->alarm(net); /* others may wait for this rank */
    hf_lap(&l->laps, HF_LAP_VERIFY);
    parts_add(mine.parts, &l->laps, 1);
    const hf_exchange *exchange = l->session->exchange;
    if (exchange->ops->streams)
        exchange->ops->streams->traffic(exchange, &mine.traffic);
    mine.status = (int)status;
    mine.number = l->sample;
    HF_TRY(net->ops->gather(net, l->reports, &mine, sizeof mine));
    for (int rank = 0; rank < net->size; rank++)
        if (l->reports[rank].number != l->sample) {
            net->ops->alarm(net);
            return hf_fail(HF_ECOMM,
                           "the report of rank %d is not of sample %llu, but of %llu",
                           rank, (unsigned long long)l->sample,
                           (unsigned long long)l->reports[rank].number);
        }
    for (int rank = 0; rank < net->size; rank++)
        if (l->reports[rank].status != HF_OK)
            return hf_agree(net, status);
    return HF_OK;
}

static void traffic_add(hf_traffic *sum, const hf_traffic *one) {
    sum->packets += one->packets;
    sum->stalls += one->stalls;
    sum->high_water = hf_larger(sum->high_water, one->high_water);
}

static void worst_take(hf_outcome *worst, const hf_outcome *one) {
    worst->error = hf_larger(worst->error, one->error);
    for (size_t i = 0; i < HF_MAX_FINDINGS; i++)
        worst->findings[i] = hf_larger(worst->findings[i], one->findings[i]);
}

hf_status hf_sample_keep(hf_loop *l, size_t index, hf_series *s, size_t inner,
                         double began) {
    size_t ranks = (size_t)l->session->net->size;
    HF_TRY(sample_take(l, index, s, inner, began));
    hf_point *p = &l->points[index];
    bool timed = s == &p->timed;
    double slowest = 0;
    size_t last = 0;
    for (size_t rank = 0; rank < ranks; rank++) {
        if (timed)
            traffic_add(&p->traffic, &l->reports[rank].traffic);
        p->schemes |= l->reports[rank].schemes;
        s->ranks[s->n * ranks + rank] = l->reports[rank].seconds;
        if (l->reports[rank].seconds > slowest)
            last = rank;
        slowest = l->reports[last].seconds;
        worst_take(&p->shares[rank].worst, &l->reports[rank].outcome);
        worst_take(&p->worst, &p->shares[rank].worst);
    }
    if (timed && (s->n == 0 || slowest < p->best)) {
        hf_trace_keep(l->session->trace);
        hf_stages_keep(&l->stages);
        p->best = slowest;
        p->slowest = (int)last;
        for (size_t rank = 0; rank < ranks; rank++)
            p->shares[rank].best = l->reports[rank];
    }
    s->slowest[s->n++] = slowest;
    return HF_OK;
}
