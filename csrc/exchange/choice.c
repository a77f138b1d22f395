/* choice.c - exchange `auto`: each plan is made by the scheme that is expected to be the fastest
 * for its longest message. */
#include <assert.h>
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
    size_t *best;  /* scheme for each length [n] */
} choice;

/* How many lengths from the one at `from` on is a scheme as fast as the fastest for? */
static size_t stretch_of(const hf_expected *e, size_t scheme, size_t from) {
    for (size_t at = from; at < e->n; at++)
        for (size_t other = 0; other < e->n_schemes; other++)
            if (e->times[other * e->n + at] <
                (1 - HF_EQUAL) * e->times[scheme * e->n + at])
                return at - from;
    return e->n - from;
}

void hf_fastest(const hf_expected *e, size_t *best) {
    assert(e->n_schemes > 0);
    for (size_t at = 0, end; at < e->n; at = end) {
        size_t longest = 0, chosen = 0;
        for (size_t scheme = 0; scheme < e->n_schemes; scheme++) {
            size_t stretch = stretch_of(e, scheme, at);
            chosen = stretch > longest ? scheme : chosen;
            longest = stretch > longest ? stretch : longest;
        }
        assert(longest > 0);
        end = at + longest;
        for (size_t i = at; i < end; i++)
            best[i] = chosen;
    }
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

/* Time of a scheme between the lengths before and at `i`, on logarithmic axes. */
static double time_of(const choice *c, size_t scheme, size_t i, double at) {
    const double *times = c->times + scheme * c->n;
    double part = (at - c->sizes[i - 1]) / (c->sizes[i] - c->sizes[i - 1]);
    return times[i - 1] + part * (times[i] - times[i - 1]);
}

/* Between two lengths it is the faster one of their schemes, beyond all that of the nearest. */
static hf_exchange *choice_of(hf_exchange *base, size_t bytes) {
    const choice *c = (const choice *)base;
    double at = log((double)bytes);
    size_t i = 0;
    while (i < c->n && c->sizes[i] < at)
        i++;
    if (i == 0 || i == c->n)
        return base->choices[c->best[i == 0 ? 0 : c->n - 1]];
    size_t before = c->best[i - 1], after = c->best[i];
    bool sooner = time_of(c, before, i, at) <= time_of(c, after, i, at);
    return base->choices[sooner ? before : after];
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
    free(c->best);
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
    c->best = malloc(e->n * sizeof *c->best);
    c->base.choices = calloc(e->n_schemes, sizeof(hf_exchange *));
    if (!c->sizes || !c->times || !c->best || !c->base.choices)
        return hf_fail(HF_ENOMEM, "no memory for %zu expected times", n);
    for (size_t i = 0; i < e->n; i++)
        c->sizes[i] = log(e->sizes[i]);
    for (size_t i = 0; i < n; i++)
        c->times[i] = log(e->times[i]);
    hf_fastest(e, c->best);
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
