/* choice.c - exchange `auto`: each plan is made by a scheme that is expected to be as fast as the
 * fastest for its longest message. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "exchange.h"

typedef struct choice {
    hf_exchange base;
    size_t n;
    double *sizes; /* logarithms of lengths [n] */
    double *times; /* of seconds [schemes, n] */
    double *at;    /* of each scheme, for one length [schemes] */
} choice;

size_t hf_fastest(const double *times, size_t n) {
    double least = INFINITY;
    size_t last = 0;
    for (size_t i = 0; i < n; i++)
        least = fmin(least, times[i]);
    for (size_t i = 0; i < n; i++)
        if ((1 - HF_EQUAL) * times[i] <= least)
            last = i;
    return last;
}

static hf_status expected_check(const hf_expected *e) {
    for (size_t i = 0; i < e->n; i++)
        if (!(e->sizes[i] > (i > 0 ? e->sizes[i - 1] : 0) && isfinite(e->sizes[i])))
            return hf_fail(HF_EARG,
                           "expected times: length number %zu is %g B; lengths rise, "
                           "and are above 0",
                           i, e->sizes[i]);
    for (size_t i = 0; i < e->n_schemes * e->n; i++)
        if (!(e->times[i] > 0 && isfinite(e->times[i])))
            return hf_fail(HF_EARG,
                           "expected times: %g s over exchange \"%s\" for %g B is not "
                           "above 0",
                           e->times[i], e->schemes[i / e->n], e->sizes[i % e->n]);
    if (e->n_schemes == 0 || e->n == 0)
        return hf_fail(HF_EARG,
                       "expected times: %zu schemes, %zu lengths; one at least",
                       e->n_schemes, e->n);
    return HF_OK;
}

/* Times of a scheme between those that are expected, on logarithmic axes; outside, the nearest:
 * beyond the lengths that are known the same scheme is taken. */
static double time_of(const choice *c, size_t scheme, double length) {
    const double *times = c->times + scheme * c->n, at = log(length);
    size_t i = 0;
    while (i < c->n && c->sizes[i] < at)
        i++;
    if (i == 0 || i == c->n)
        return times[i == 0 ? 0 : c->n - 1];
    double part = (at - c->sizes[i - 1]) / (c->sizes[i] - c->sizes[i - 1]);
    return times[i - 1] + part * (times[i] - times[i - 1]);
}

static hf_exchange *choice_of(hf_exchange *base, size_t bytes) {
    const choice *c = (const choice *)base;
    for (size_t i = 0; i < base->n_choices; i++)
        c->at[i] = exp(time_of(c, i, (double)bytes));
    return base->choices[hf_fastest(c->at, base->n_choices)];
}

static void choice_close(hf_exchange *base) {
    choice *c = (choice *)base;
    if (!c)
        return;
    for (size_t i = 0; i < base->n_choices; i++)
        base->choices[i]->ops->close(base->choices[i]);
    free(base->choices);
    free(c->sizes);
    free(c->times);
    free(c->at);
    free(c);
}

static const hf_block_ops blocks = {.choose = choice_of};

static const hf_exchange_ops ops = {
    .name = HF_AUTO,
    .device = "opencl",
    .blocks = &blocks,
    .close = choice_close,
};

hf_status hf_choice_add(hf_exchange *base, hf_exchange *scheme) {
    if (scheme->ops->blocks && !scheme->ops->host_memory) {
        base->choices[base->n_choices++] = scheme;
        return HF_OK;
    }
    hf_status status =
        hf_fail(HF_EARG, "expected times: exchange \"%s\" moves no blocks of devices",
                scheme->ops->name);
    scheme->ops->close(scheme);
    return status;
}

static hf_status memory_take(choice *c, const hf_expected *e) {
    size_t n = e->n_schemes * e->n;
    c->n = e->n;
    c->sizes = malloc(e->n * sizeof *c->sizes);
    c->times = malloc(n * sizeof *c->times);
    c->at = malloc(e->n_schemes * sizeof *c->at);
    c->base.choices = calloc(e->n_schemes, sizeof(hf_exchange *));
    if (!c->sizes || !c->times || !c->at || !c->base.choices)
        return hf_fail(HF_ENOMEM, "no memory for %zu expected times", n);
    for (size_t i = 0; i < e->n; i++)
        c->sizes[i] = log(e->sizes[i]);
    for (size_t i = 0; i < n; i++)
        c->times[i] = log(e->times[i]);
    return HF_OK;
}

hf_status hf_choice_open(hf_exchange **out, hf_device *device, hf_transport *net,
                         const hf_expected *expected) {
    HF_TRY(expected_check(expected));
    choice *c = calloc(1, sizeof *c);
    if (!c)
        return hf_fail(HF_ENOMEM, "no memory for an exchange");
    c->base = (hf_exchange){.ops = &ops, .device = device, .net = net};
    hf_status status = memory_take(c, expected);
    if (status == HF_OK)
        *out = &c->base;
    else
        choice_close(&c->base);
    return status;
}

void hf_exchange_lap(hf_exchange *exchange, hf_laps *laps) {
    exchange->laps = laps;
    for (size_t i = 0; i < exchange->n_choices; i++)
        exchange->choices[i]->laps = laps;
}

unsigned hf_exchange_used(hf_exchange *exchange) {
    unsigned used = 0;
    for (size_t i = 0; i < exchange->n_choices; i++) {
        used |= (unsigned)exchange->choices[i]->used << i;
        exchange->choices[i]->used = false;
    }
    return used;
}
