/* b_eff.c - effective bandwidth: messages around a ring of all ranks.
 *
 * Every rank has two chains of bytes. One step: it sends a window of one chain to one neighbour,
 * the right and the left one in turn, and receives that of the other neighbour into its other
 * chain, a hop further; the next step takes the other chain, and a window two hops further. So a
 * message is what came in the step before, but for its last bytes, which no other message has;
 * and bytes that slide out of the window stay in the chains. At the end of a sample the chains
 * hold every byte of every message: see docs/adr/0005.
 *
 * Over kernel-routed schemes a sample is one launch of all pairs of kernels, and one step a
 * message of each pair: see b_eff_stream.cl.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "b_eff.h"
#include "b_eff_payload.h"
#include "core/error.h"
#include "core/pages.h"
#include "core/random.h"
#include "verdict.h"

enum {
    N_CHAINS = 2,
    N_FILL_ARGS = 5,
    N_CHECK_ARGS = 9,
    HOP_LOG_SHORT = 3,
    MAX_PAGES = 1024
};

/* The state over host-routed schemes. */
typedef struct ring {
    b_eff base;
    hf_buffer *chains[N_CHAINS];
    hf_verdict verdict;
    hf_kernel *fill, *check;
    hf_plan
        *plans[2]
              [N_CHAINS]; /* of the current point: to the left, to the right; from each
                                    chain to the other */
    size_t taken;         /* steps of this sample */
    bool astray;          /* a chain began with other bytes */
} ring;

static const hf_param params[] = {
    HF_SWEEP_PARAMS,
    {"replications",
     "pairs of kernels on a device, each with its own messages; kernel-routed schemes "
     "only",
     "2", NULL, NULL, 1, HF_MAX_NUMBERED, HF_INT},
    HF_TOPOLOGY_PARAM,
    HF_DEPTH_PARAM,
    HF_CHUNK_PARAMS,
    {0},
};

static const hf_quantity labels[] = {{"message_size", "B", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"bandwidth", "B/s", HF_F64, NULL}, {0}};
static const hf_figure figures[] = {
    {"b_eff", "B/s", "bandwidth", HF_FIGURE_MEAN}, /* Eq. 1 */
    {"latency", "s", "time", HF_FIGURE_SMALLEST},
    {0}};

/* ---- what both paths share ---- */

void b_eff_take(b_eff *s, const hf_args *args, const hf_env *env, hf_outline *out) {
    s->env = *env;
    s->sweep = hf_sweep_of(args);
    out->n_points = s->sweep.n;
    out->longest = (size_t)hf_args_largest(args, "sizes");
    if (env->size == 1)
        out->note = "one rank: every message goes to the rank itself";
}

/* ---- the payload, known to every rank ---- */

static int neighbour(const b_eff *s, int rank, int distance) {
    return (rank + distance + s->env.size) % s->env.size;
}

/* Sample and origin in each byte, by another odd multiple: any two of 256 origins differ in
 * every byte, as successive samples do, even of the shortest message. From byte 4 on the
 * partner is in it too. */
uint64_t b_eff_stamp(uint64_t sample, int origin, int partner) {
    uint64_t stamp = 0;
    for (unsigned i = 0; i < 8; i++) {
        uint64_t byte = (31 + 2 * i) * sample + (97 + 6 * i) * (uint64_t)origin;
        if (i >= 4)
            byte += (8 + 10 * i) * (uint64_t)partner;
        stamp |= (byte & 0xFF) << (8 * i);
    }
    return stamp;
}

/* The first step of odd samples goes left, so that both directions are always tried. */
static bool step_goes_right(const b_eff *s, size_t step) {
    return (step + s->sample) % 2 == 0;
}

/* Of a rank's two chains. */
static uint64_t chain_stamp(const b_eff *s, int origin, int chain) {
    return b_eff_stamp(s->sample, N_CHAINS * origin + chain, 0);
}

/* Another one for each sample, so that no outcome of one is right in another. */
uint32_t b_eff_key(const b_eff *s, size_t point) {
    return (uint32_t)hf_random(hf_random(s->env.seed, s->sample),
                               (uint64_t)s->sweep.sizes[point]);
}

/* ---- set-up ---- */

/* Logarithm of how far a byte moves on with each step [B]; two windows lie twice as far apart.
 * Messages in the host's memory are copied from process to process: the longer ones by pages,
 * where a window that does not begin with a page costs one more, unless steps are so many that
 * pages would take most of the time of a run, to fill and to check; the others through the caches,
 * where few bytes stay in few lines. */
static uint32_t hop_of(const b_eff *s, size_t message) {
    if (!s->env.exchange->ops->host_memory)
        return HF_SLIDE_LOG;
    bool pages = message >= HF_PAGE && hf_sweep_steps(&s->sweep, message) <= MAX_PAGES;
    return pages ? HF_PAGE_LOG : HOP_LOG_SHORT;
}

static uint32_t slide_of(const b_eff *s, size_t message) {
    return hop_of(s, message) + 1;
}

/* For the windows of a sample, beside the first, and the last hop. */
static size_t slide_bytes(const b_eff *s, size_t message) {
    return hf_slide_room(hf_sweep_steps(&s->sweep, message), hop_of(s, message));
}

static size_t chain_bytes(const b_eff *s, size_t message) {
    return message + slide_bytes(s, message);
}

/* A long message whose chain has at most `room` bytes; shorter ones take more steps. */
static size_t longest(const b_eff *s, size_t room) {
    size_t message = room;
    while (message > 0 && chain_bytes(s, message) > room) {
        size_t windows = slide_bytes(s, message);
        message = room > windows ? room - windows : 0;
    }
    return message;
}

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

static hf_status memory_check(const b_eff *s, size_t message) {
    const hf_device_info *info = &s->env.device->info;
    size_t room = hf_device_room(info, N_CHAINS), most = longest(s, room);
    uint32_t slide = slide_of(s, message);
    size_t hop = (size_t)1 << hop_of(s, message);
    if (chain_bytes(s, message) <= room)
        return HF_OK;
    if (message >= room || (most > 0 && most < message))
        return b_eff_memory_check(s, N_CHAINS, message, most);
    return hf_fail(
        HF_ENOMEM,
        "loop_upper: %zu steps of %zu B each do not fit \"%s\"; the most for "
        "messages of %zu B is %zu",
        s->sweep.loop_upper, (size_t)1 << slide, info->name, message,
        room - message > hop ? (room - message - hop) >> slide : 0);
}

static hf_status memory_take(ring *s) {
    hf_device *device = s->base.env.device;
    size_t most = 0;
    for (size_t i = 0; i < s->base.sweep.n; i++) {
        HF_TRY(memory_check(&s->base, (size_t)s->base.sweep.sizes[i]));
        size_t bytes = chain_bytes(&s->base, (size_t)s->base.sweep.sizes[i]);
        most = bytes > most ? bytes : most;
    }
    for (int i = 0; i < N_CHAINS; i++)
        HF_TRY(device->ops->alloc(&s->chains[i], device, most, NULL));
    HF_TRY(hf_verdict_new(&s->verdict, &s->base.env, device->info.items, NULL));
    HF_TRY(device->ops->kernel(&s->fill, device, "b_eff_fill", 0));
    return device->ops->kernel(&s->check, device, "b_eff_check", 0);
}

static hf_status ring_setup(void *state, const hf_args *args, const hf_env *env,
                            hf_outline *out) {
    ring *s = state;
    b_eff_take(&s->base, args, env, out);
    return memory_take(s);
}

static void plans_free(ring *s) {
    for (int right = 0; right < 2; right++)
        for (int from = 0; from < N_CHAINS; from++) {
            hf_plan_free(s->plans[right][from]);
            s->plans[right][from] = NULL;
        }
}

static void ring_teardown(void *state) {
    ring *s = state;
    if (!s->base.env.device)
        return;
    const hf_device_ops *ops = s->base.env.device->ops;
    plans_free(s);
    for (int i = 0; i < N_CHAINS; i++)
        ops->free(s->chains[i]);
    hf_verdict_free(&s->verdict);
    ops->kernel_free(s->fill);
    ops->kernel_free(s->check);
}

/* ---- a sample ---- */

static hf_status ring_plan(void *state, size_t point, hf_setting *out) {
    ring *s = state;
    size_t bytes = (size_t)s->base.sweep.sizes[point];
    hf_sweep_plan(&s->base.sweep, point, out);
    plans_free(s);
    for (int i = 0; i < 2 * N_CHAINS; i++) {
        int right = i / N_CHAINS, from = i % N_CHAINS, rank = s->base.env.rank;
        const hf_message message = {
            .to = neighbour(&s->base, rank, right ? 1 : -1),
            .from = neighbour(&s->base, rank, right ? -1 : 1),
            .send_bytes = bytes,
            .recv_bytes = bytes,
        };
        HF_TRY(hf_plan_new(&s->plans[right][from], s->base.env.exchange,
                           s->chains[1 - from], s->chains[from], 1, &message));
    }
    return HF_OK;
}

static hf_status chain_fill(ring *s, size_t point, int chain) {
    uint64_t bytes = chain_bytes(&s->base, (size_t)s->base.sweep.sizes[point]),
             stamp = chain_stamp(&s->base, s->base.env.rank, chain);
    uint32_t slide = slide_of(&s->base, (size_t)s->base.sweep.sizes[point]),
             key = b_eff_key(&s->base, point);
    const hf_arg args[N_FILL_ARGS] = {{.buffer = s->chains[chain]},
                                      HF_VALUE(bytes),
                                      HF_VALUE(slide),
                                      HF_VALUE(key),
                                      HF_VALUE(stamp)};
    hf_device *device = s->base.env.device;
    return device->ops->launch(
        device, &(hf_launch){s->fill, args, N_FILL_ARGS, s->verdict.items, 0}, NULL,
        NULL);
}

/* Do some bytes of a chain have the values of our formula? The check has that of the kernels. */
static hf_status chain_look(ring *s, size_t point, int chain) {
    enum { LOOKED = 64 };
    unsigned char wanted[LOOKED];
    size_t message = (size_t)s->base.sweep.sizes[point],
           all = chain_bytes(&s->base, message), bytes = all < LOOKED ? all : LOOKED;
    uint64_t stamp = chain_stamp(&s->base, s->base.env.rank, chain),
             first = hf_random(stamp, s->base.sample) % (all - bytes + 1);
    uint32_t slide = slide_of(&s->base, message), key = b_eff_key(&s->base, point);
    for (size_t i = 0; i < bytes; i++)
        wanted[i] = b_eff_payload((uint32_t)(first + i), slide, key, stamp);
    return hf_verdict_look(&s->astray, s->base.env.device, s->chains[chain], first,
                           wanted, bytes);
}

static hf_status ring_prepare(void *state, size_t point, uint64_t sample) {
    ring *s = state;
    hf_device *device = s->base.env.device;
    s->base.sample = sample;
    s->taken = 0;
    s->astray = false;
    for (int chain = 0; chain < N_CHAINS; chain++)
        HF_TRY(chain_fill(s, point, chain));
    for (int chain = 0; chain < N_CHAINS; chain++)
        HF_TRY(chain_look(s, point, chain));
    return device->ops->finish(device);
}

static hf_status ring_step(void *state, size_t point, size_t inner) {
    ring *s = state;
    uint32_t hop = hop_of(&s->base, (size_t)s->base.sweep.sizes[point]);
    for (size_t end = s->taken + inner; s->taken < end; s->taken++) {
        size_t from = s->taken % 2;
        hf_plan *plan = s->plans[step_goes_right(&s->base, s->taken)][from];
        plan->messages->send_at = hf_slide_from(s->taken, hop);
        plan->messages->recv_at = plan->messages->send_at + ((size_t)1 << hop);
        HF_TRY(s->taken + 1 < end ? hf_plan_enqueue(plan) : hf_plan_run(plan));
    }
    return HF_OK;
}

/* Add the wrong bytes of a chain. */
static hf_status chain_check(ring *s, size_t point, int chain, uint64_t steps,
                             double *error) {
    uint64_t message = (uint64_t)s->base.sweep.sizes[point],
             bytes = chain_bytes(&s->base, (size_t)message);
    uint32_t slide = slide_of(&s->base, (size_t)message),
             key = b_eff_key(&s->base, point), which = (uint32_t)chain;
    int other =
            1 - chain, /* where a step begins that ends here: an even one in chain 0 */
        side = step_goes_right(&s->base, (size_t)other) ? -1 : 1;
    uint64_t own = chain_stamp(&s->base, s->base.env.rank, chain),
             from = chain_stamp(&s->base, neighbour(&s->base, s->base.env.rank, side),
                                other);
    double wrong;
    hf_arg args[N_CHECK_ARGS + HF_VERDICT_ARGS] = {{.buffer = s->chains[chain]},
                                                   HF_VALUE(bytes),
                                                   HF_VALUE(message),
                                                   HF_VALUE(steps),
                                                   HF_VALUE(slide),
                                                   HF_VALUE(which),
                                                   HF_VALUE(key),
                                                   HF_VALUE(own),
                                                   HF_VALUE(from)};
    HF_TRY(hf_verdict_take(&s->verdict, HF_VERDICT_COUNT, s->check, args, N_CHECK_ARGS,
                           0, bytes, &wrong));
    *error += wrong;
    return HF_OK;
}

static hf_status ring_verify(void *state, size_t point, size_t steps, hf_outcome *out) {
    double wrong = 0;
    for (int chain = 0; chain < N_CHAINS; chain++)
        HF_TRY(chain_check(state, point, chain, steps, &wrong));
    out->error = ((ring *)state)->astray ? NAN : wrong;
    out->work[0] = ((ring *)state)->base.sweep.sizes[point];
    return HF_OK;
}

static const hf_bench_path blocks = {
    .state_size = sizeof(ring),
    .setup = ring_setup,
    .plan = ring_plan,
    .prepare = ring_prepare,
    .step = ring_step,
    .verify = ring_verify,
    .teardown = ring_teardown,
};

const hf_bench hf_bench_b_eff = {
    .name = "b_eff",
    .summary = "effective bandwidth of messages around a ring of all ranks",
    .params = params,
    .problem = {"sizes", 1, false},
    .brief = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_STREAM,
    .labels = labels,
    .metrics = metrics,
    .figures = figures,
    .blocks = &blocks,
    .streams = &b_eff_streams,
};
