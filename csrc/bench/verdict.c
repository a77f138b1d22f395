/* verdict.c - what a check kernel says of a sample, and whether it said it at all. */
#include "verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/random.h"
#include "core/stats.h"

hf_status hf_verdict_new(hf_verdict *v, const hf_env *env, size_t items,
                         const hf_spot *spot) {
    v->device = env->device;
    v->seals = env->seals;
    v->items = items;
    v->findings = malloc(items * sizeof *v->findings);
    if (!v->findings)
        return hf_fail(HF_ENOMEM, "no memory for the findings of %zu work-items",
                       items);
    return v->device->ops->alloc(&v->buffer, v->device, items * sizeof *v->findings,
                                 spot);
}

void hf_verdict_free(hf_verdict *v) {
    if (v->device)
        v->device->ops->free(v->buffer);
    free(v->findings);
}

static double magnitude(uint32_t bits) {
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

/* NaN for findings that are not of this seal, or not of all values. */
static double findings_reduce(const hf_verdict *v, hf_verdict_kind kind, uint32_t seal,
                              uint64_t values) {
    double error = 0;
    uint64_t seen = 0;
    for (size_t i = 0; i < v->items; i++) {
        const hf_finding *f = &v->findings[i];
        if (f->sealed != hf_finding_seal(f->bits, f->seen, seal))
            return NAN;
        seen += f->seen;
        error = kind == HF_VERDICT_COUNT ? error + f->bits
                                         : hf_larger(error, magnitude(f->bits));
    }
    return seen == values ? error : NAN;
}

hf_status hf_verdict_take(hf_verdict *v, hf_verdict_kind kind, hf_kernel *check,
                          hf_arg *args, size_t n_args, size_t group, uint64_t values,
                          double *error) {
    const hf_device_ops *ops = v->device->ops;
    uint32_t seal = (uint32_t)hf_random(v->seals->key, v->seals->drawn++);
    size_t bytes = v->items * sizeof *v->findings;
    args[n_args] = (hf_arg){.buffer = v->buffer};
    args[n_args + 1] = (hf_arg)HF_VALUE(seal);
    const hf_launch launch = {.kernel = check,
                              .args = args,
                              .n_args = n_args + HF_VERDICT_ARGS,
                              .items = v->items,
                              .group = group};
    *error = NAN;
    HF_TRY(ops->launch(v->device, &launch, NULL, NULL));
    HF_TRY(ops->read(v->device, v->buffer, 0, v->findings, bytes, NULL, NULL));
    *error = findings_reduce(v, kind, seal, values);
    return HF_OK;
}

hf_status hf_verdict_look(bool *astray, hf_device *device, const hf_buffer *buffer,
                          size_t at, const void *wanted, size_t bytes) {
    const unsigned char *as = wanted;
    unsigned char *found = malloc(bytes);
    if (!found)
        return hf_fail(HF_ENOMEM, "no memory to look at %zu B", bytes);
    for (size_t i = 0; i < bytes; i++)
        found[i] = (unsigned char)~as[i]; /* of a read that does nothing */
    hf_status status = device->ops->read(device, buffer, at, found, bytes, NULL, NULL);
    *astray = *astray || memcmp(found, wanted, bytes) != 0;
    free(found);
    return status;
}

hf_status hf_verdict_look_reals(bool *astray, hf_device *device,
                                const hf_buffer *buffer, size_t at,
                                const double *wanted, size_t real) {
    float single[HF_LOOKED];
    for (size_t i = 0; i < HF_LOOKED; i++)
        single[i] = (float)wanted[i];
    return hf_verdict_look(astray, device, buffer, at * real,
                           real == sizeof(float) ? (const void *)single : wanted,
                           HF_LOOKED * real);
}
