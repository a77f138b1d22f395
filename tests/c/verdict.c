/* verdict.c - a finding that this very check did not write is no verdict.
 *
 * The device is one piece of memory, which stays from run to run; its kernel finds that two
 * values are right, or is lost.
 */
#include "verdict.h"

#include <math.h>
#include <string.h>

#include "check.h"
#include "core/error.h"

enum { ITEMS = 3 };

static hf_finding memory[ITEMS];
static hf_buffer buffer = {.bytes = sizeof memory, .host = memory};
static bool lost;
static uint64_t seen = 2;

static hf_status one_alloc(hf_buffer **out, hf_device *device, size_t bytes,
                           const hf_spot *spot) {
    (void)device;
    (void)spot;
    CHECK(bytes == sizeof memory);
    *out = &buffer;
    return HF_OK;
}

static void one_free(hf_buffer *which) {
    CHECK(which == &buffer);
}

static hf_status one_launch(hf_device *device, const hf_launch *what,
                            const hf_order *order, hf_event **done) {
    (void)device;
    (void)order;
    (void)done;
    CHECK(what->n_args == HF_VERDICT_ARGS && what->items == ITEMS);
    const uint32_t *seal = what->args[1].value;
    for (size_t i = 0; !lost && i < ITEMS; i++)
        memory[i] = hf_finding_make(0, seen, *seal);
    return HF_OK;
}

static hf_status one_read(hf_device *device, const hf_buffer *from, size_t at, void *to,
                          size_t bytes, const hf_order *order, hf_event **done) {
    (void)device;
    (void)from;
    (void)order;
    (void)done;
    CHECK(at == 0 && bytes == sizeof memory);
    memcpy(to, memory, bytes);
    return HF_OK;
}

static const hf_device_ops ops = {
    .alloc = one_alloc, .free = one_free, .launch = one_launch, .read = one_read};
static hf_device device = {.ops = &ops};

/* What a run says after its check, the second of them lost if told so. */
static double run(uint64_t key, int checks, bool last_lost) {
    hf_seals seals = {.key = key};
    const hf_env env = {.device = &device, .seals = &seals};
    hf_verdict verdict = {0};
    hf_arg args[HF_VERDICT_ARGS];
    double error = NAN;
    CHECK(hf_verdict_new(&verdict, &env, ITEMS, NULL) == HF_OK);
    for (int i = 0; i < checks; i++) {
        lost = last_lost && i == checks - 1;
        CHECK(hf_verdict_take(&verdict, HF_VERDICT_COUNT, NULL, args, 0, 0,
                              2 * (uint64_t)ITEMS, &error) == HF_OK,
              "%s", hf_error());
    }
    hf_verdict_free(&verdict);
    return error;
}

int main(void) {
    CHECK(run(1, 1, false) == 0);
    CHECK(isnan(run(2, 1, true)), "the finding of another run passes");
    CHECK(run(3, 2, false) == 0);
    CHECK(isnan(run(3, 2, true)), "the finding of the sample before passes");
    CHECK(run(4, 1, false) == 0);
    for (size_t byte = 0; byte < sizeof memory; byte++) {
        CHECK(run(5, 1, false) == 0);
        ((unsigned char *)memory)[byte] ^= 0x40;
        CHECK(isnan(run(5, 1, true)), "byte %zu is not sealed", byte);
    }
    seen = 1;
    CHECK(isnan(run(6, 1, false)), "values that nobody looked at");
    return check_failures != 0;
}
