/* b_eff.c - effective bandwidth: messages around a ring of all ranks.
 *
 * One step: every rank sends the block it holds to its right neighbour in odd steps and to
 * its left in even steps, and holds the block it received afterwards. So a block goes out
 * and comes back, and a byte that is damaged once in a sample is still wrong at its end. Three
 * buffers take turns: send and receive memory are separate, and a step that delivers
 * nothing leaves the block of three steps ago, which is another rank's.
 *
 * Over kernel-routed schemes a sample is one launch of all pairs of kernels, and one step a
 * message of each pair: see b_eff_stream.cl.
 */
#include <stdlib.h>
#include <string.h>

#include "b_eff.h"
#include "core/error.h"
#include "core/random.h"

enum { N_FILL_ARGS = 4, N_CHECK_ARGS = 5 };

static const hf_param params[] = {
    HF_SWEEP_PARAMS,
    {"replications",
     "pairs of kernels on a device, each with its own messages; kernel-routed schemes "
     "only",
     "2", NULL, NULL, 1, MOST_PAIRS, HF_INT},
    {"topology",
     "wiring of the external channels: published, ring, pairs, torus:PxQ, or a list of "
     "cables RANK:PORT-RANK:PORT; kernel-routed schemes only",
     "published", NULL, NULL, 0, 0, HF_TEXT},
    {"channel_depth", "packets that an emulated external channel holds", "16384", NULL,
     NULL, 1, 1 << 30, HF_INT},
    {0},
};

static const hf_quantity labels[] = {{"message_size", "B", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"bandwidth", "B/s", HF_F64, NULL}, {0}};
static const hf_quantity figures[] = {
    {"b_eff", "B/s", HF_F64, NULL}, {"latency", "s", HF_F64, NULL}, {0}};

/* ---- the payload, known to every rank ---- */

static int neighbour(const b_eff *s, int rank, int distance) {
    return (rank + distance + s->env.size) % s->env.size;
}

/* Sample and origin in each byte, by another odd multiple: any two of 256 origins differ in
 * every byte, as successive samples do, even of the shortest message. From byte 4 on the
 * partner is in it too. */
uint64_t b_eff_stamp(uint64_t sample, int origin, int partner) {
    uint64_t stamp = 0;
    for (unsigned lane = 0; lane < 8; lane++) {
        uint64_t byte = (31 + 2 * lane) * sample + (97 + 6 * lane) * (uint64_t)origin;
        if (lane >= 4)
            byte += (8 + 10 * lane) * (uint64_t)partner;
        stamp |= (byte & 0xFF) << (8 * lane);
    }
    return stamp;
}

/* The first step of odd samples goes left, so that both directions are always tried. */
static bool step_goes_right(const b_eff *s, size_t step) {
    return (step + s->sample) % 2 == 0;
}

/* The block of `origin` travels between it and the neighbour that the first step has. */
static uint64_t payload_stamp(const b_eff *s, int origin) {
    return b_eff_stamp(s->sample, origin,
                       neighbour(s, origin, step_goes_right(s, 0) ? 1 : -1));
}

uint32_t b_eff_key(const b_eff *s, size_t point) {
    return (uint32_t)hf_random(s->env.seed, (uint64_t)s->sweep.sizes[point]);
}

/* ---- set-up ---- */

hf_status b_eff_memory_check(const b_eff *s, size_t n, size_t largest, size_t most) {
    const hf_device_info *info = &s->env.device->info;
    if (largest <= most)
        return HF_OK;
    return hf_fail(
        HF_ENOMEM,
        "sizes: %zu messages of %zu B do not fit \"%s\"; the largest size is "
        "%zu B",
        n, largest, info->name, most);
}

static hf_status memory_take(b_eff *s, size_t largest) {
    hf_device *device = s->env.device;
    HF_TRY(b_eff_memory_check(s, N_BUFFERS, largest,
                              hf_device_room(&device->info, N_BUFFERS)));
    for (int i = 0; i < N_BUFFERS; i++)
        HF_TRY(device->ops->alloc(&s->blocks[i], device, largest, HF_ANY_BANK));
    s->items = device->info.items;
    HF_TRY(device->ops->alloc(&s->wrong, device, s->items * sizeof *s->counts,
                              HF_ANY_BANK));
    s->counts = malloc(s->items * sizeof *s->counts);
    if (!s->counts)
        return hf_fail(HF_ENOMEM, "no memory for %zu counts", s->items);
    HF_TRY(device->ops->kernel(&s->fill, device, "b_eff_fill"));
    HF_TRY(device->ops->kernel(&s->check, device, "b_eff_check"));
    return HF_OK;
}

static hf_status b_eff_setup(void *state, const hf_args *args, const hf_env *env,
                             size_t *n_points) {
    b_eff *s = state;
    s->env = *env;
    s->sweep = hf_sweep_of(args);
    *n_points = s->sweep.n;
    size_t largest = (size_t)hf_args_largest(args, "sizes");
    return env->exchange->ops->kernel_routed ? b_eff_pairs_take(s, args, largest)
                                             : memory_take(s, largest);
}

static void b_eff_teardown(void *state) {
    b_eff *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    for (int i = 0; i < N_BUFFERS; i++)
        ops->free(s->blocks[i]);
    ops->free(s->wrong);
    ops->kernel_free(s->fill);
    ops->kernel_free(s->check);
    b_eff_pairs_free(s);
    free(s->counts);
}

/* ---- a sample ---- */

static const hf_message *b_eff_plan(void *state, size_t point, size_t *n) {
    b_eff *s = state;
    for (int right = 0; right < 2; right++)
        s->messages[right] = (hf_message){
            .to = neighbour(s, s->env.rank, right ? 1 : -1),
            .from = neighbour(s, s->env.rank, right ? -1 : 1),
            .bytes = (size_t)s->sweep.sizes[point],
        };
    *n = s->n_pairs > 0 ? 0 : 2; /* the links tell where packets go */
    return s->messages;
}

static size_t b_eff_inner(const void *state, size_t point) {
    return hf_sweep_inner(&((const b_eff *)state)->sweep, point);
}

static hf_status b_eff_prepare(void *state, size_t point, uint64_t sample) {
    b_eff *s = state;
    size_t n;
    b_eff_plan(s, point, &n);
    s->sample = sample;
    s->held = s->taken = 0;
    if (s->n_pairs > 0)
        return b_eff_pairs_prepare(s, point);
    uint64_t bytes = (uint64_t)s->sweep.sizes[point],
             stamp = payload_stamp(s, s->env.rank);
    uint32_t key = b_eff_key(s, point);
    const hf_arg args[N_FILL_ARGS] = {
        {.buffer = s->blocks[0]},
        {.value = &bytes, .bytes = sizeof bytes},
        {.value = &key, .bytes = sizeof key},
        {.value = &stamp, .bytes = sizeof stamp},
    };
    hf_device *device = s->env.device;
    HF_TRY(device->ops->launch(
        device, &(hf_launch){s->fill, args, N_FILL_ARGS, s->items, 0, 0}, NULL));
    return device->ops->finish(device);
}

static hf_status b_eff_step(void *state, size_t point, size_t inner) {
    b_eff *s = state;
    hf_exchange *exchange = s->env.exchange;
    (void)point;
    s->steps = inner;
    if (s->n_pairs > 0)
        return exchange->ops->stream(exchange);
    for (size_t end = s->taken + inner; s->taken < end; s->taken++) {
        size_t next = (s->held + 1) % N_BUFFERS;
        HF_TRY(exchange->ops->move(exchange, s->blocks[next], s->blocks[s->held], 1,
                                   &s->messages[step_goes_right(s, s->taken)]));
        s->held = next;
    }
    return HF_OK;
}

static hf_status b_eff_verify(void *state, size_t point, size_t inner, double *error) {
    b_eff *s = state;
    hf_device *device = s->env.device;
    if (s->n_pairs > 0)
        return b_eff_pairs_verify(s, point, error);
    /* After an even number of steps our block is back; after an odd number we hold that
     * of the rank on the side where the first step's message came from. */
    int origin = inner % 2 == 0
                     ? s->env.rank
                     : neighbour(s, s->env.rank, step_goes_right(s, 0) ? -1 : 1);
    uint64_t bytes = (uint64_t)s->sweep.sizes[point], stamp = payload_stamp(s, origin);
    uint32_t key = b_eff_key(s, point);
    const hf_arg args[N_CHECK_ARGS] = {
        {.buffer = s->blocks[s->held]},
        {.value = &bytes, .bytes = sizeof bytes},
        {.value = &key, .bytes = sizeof key},
        {.value = &stamp, .bytes = sizeof stamp},
        {.buffer = s->wrong},
    };
    HF_TRY(device->ops->launch(
        device, &(hf_launch){s->check, args, N_CHECK_ARGS, s->items, 0, 0}, NULL));
    HF_TRY(device->ops->read(device, s->wrong, 0, s->counts,
                             s->items * sizeof *s->counts, NULL));
    double wrong = 0;
    for (size_t i = 0; i < s->items; i++)
        wrong += (double)s->counts[i];
    *error = wrong;
    return HF_OK;
}

/* ---- numbers ---- */

static void b_eff_label(const void *state, size_t point, double *values) {
    values[0] = ((const b_eff *)state)->sweep.sizes[point];
}

/* Bytes sent by all ranks per second: the published definition, one message per rank or
 * per pair of kernels. */
static double bandwidth(const b_eff *s, size_t point, double seconds) {
    double senders = s->env.size * (s->n_pairs > 0 ? (double)s->n_pairs : 1);
    return senders * s->sweep.sizes[point] / seconds;
}

static void b_eff_metric(const void *state, size_t point, double seconds,
                         double *values) {
    values[0] = bandwidth(state, point, seconds);
}

/* Eq. 1: the mean of the bandwidths over the sizes. */
static void b_eff_figure(const void *state, const double *seconds, double *values) {
    const b_eff *s = state;
    double sum = 0;
    for (size_t i = 0; i < s->sweep.n; i++)
        sum += bandwidth(s, i, seconds[i]);
    values[0] = sum / (double)s->sweep.n;
    values[1] = seconds[hf_sweep_smallest(&s->sweep)];
}

static const char *b_eff_note(const void *state) {
    const b_eff *s = state;
    return s->env.size == 1 ? "one rank: every message goes to the rank itself" : NULL;
}

const hf_bench_ops hf_bench_b_eff = {
    .name = "b_eff",
    .summary = "effective bandwidth of messages around a ring of all ranks",
    .params = params,
    .problem = {"sizes", 1, false},
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_STREAM,
    .state_size = sizeof(b_eff),
    .labels = labels,
    .metrics = metrics,
    .figures = figures,
    .setup = b_eff_setup,
    .connect = b_eff_connect,
    .label = b_eff_label,
    .plan = b_eff_plan,
    .inner = b_eff_inner,
    .prepare = b_eff_prepare,
    .step = b_eff_step,
    .verify = b_eff_verify,
    .metric = b_eff_metric,
    .figure = b_eff_figure,
    .note = b_eff_note,
    .teardown = b_eff_teardown,
};
