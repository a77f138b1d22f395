/* stream.c - STREAM: sustained bandwidth of a device's memory, by four operations.
 *
 *     copy c = s b    scale c = s b    add c = b + s a    triad c = b + s a
 *
 * A point is one operation. A sample starts from fresh arrays, written by the host, and
 * applies the operation `steps` times, in turn from b to c and from c to b, so that each step
 * goes on from what the one before made. It ends with all three arrays read back and
 * compared. Step number k leaves
 *
 *     level(k) b  in copy and scale,    b + level(k) a  in add and triad,
 *
 * of the arrays that the sample began with. The factor s leads from one level to the next, and
 * levels only grow. If steps are lost, the array that the last lost step should have written
 * keeps a lower level. The steps after it pass this lower level on to the end.
 *
 * All elements are whole numbers from 1 to 255, in half to 15, and steps are no more than the
 * type has room for, so that results are exact and compared bit by bit.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "core/element.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/pages.h"
#include "core/random.h"
#include "core/work.h"

enum {
    N_ARRAYS = 3,
    N_OPERATIONS = 4,
    N_ARGS = 6,
    MAX_BANKS = HF_MAX_QUEUES,
    GPU_FILL = 8,    /* times the work-items that fill a GPU */
    PERIOD = 16381,  /* prime: no block of a round size looks like another */
    PIECE = 4 << 20, /* bytes that stay in the caches of a CPU */
};

/* Parts of a sample; the last is in no column. */
enum { LAP_WRITE, LAP_READ, LAP_OTHER };

static const hf_param params[] = {
    HF_ELEMENT_PARAM,
    {"size", "elements of an array of a rank", "16777216", NULL, NULL, 1, 1e12, HF_INT},
    {"steps", "times that a sample applies its operation", "10", NULL, NULL, 1, 1e9,
     HF_INT},
    {"replications",
     "kernels at the same time, each with its share of the arrays in its "
     "own memory bank",
     "1", NULL, "HF_REPLICATIONS", 1, MAX_BANKS, HF_INT},
    {"vector", "elements of a vector, a power of two", "16", NULL, "HF_VECTOR", 1, 64,
     HF_INT},
    {"unroll", "vectors that a kernel takes at the same time", "1", NULL,
     "HF_GLOBAL_MEM_UNROLL", 1, 16, HF_INT},
    {"buffer_size", "elements of a kernel's local buffer; shape pipeline only", "4096",
     NULL, "HF_BUFFER_SIZE", 1, 1 << 20, HF_INT},
    HF_SHAPE_PARAM,
    {0},
};

#define OPERATIONS "copy|scale|add|triad"
static const hf_quantity labels[] = {{"operation", "1", HF_NAME, OPERATIONS}, {0}};
static const hf_quantity metrics[] = {{"bandwidth", "B/s", HF_F64, NULL}, {0}};
static const hf_quantity parts[] = {
    {"write_time", "s", HF_F64, NULL}, {"read_time", "s", HF_F64, NULL}, {0}};
static const hf_figure figures[] = {{"copy", "B/s", "bandwidth", HF_FIGURE_POINT},
                                    {"scale", "B/s", "bandwidth", HF_FIGURE_POINT + 1},
                                    {"add", "B/s", "bandwidth", HF_FIGURE_POINT + 2},
                                    {"triad", "B/s", "bandwidth", HF_FIGURE_POINT + 3},
                                    {0}};

/* out = s * one, and + two where `sum`; level(k) is what `steps` steps make. */
typedef struct stream stream;

typedef struct operation {
    uint32_t sum;
    double (*level)(size_t step);
} operation;

struct stream {
    hf_env env;
    const hf_element *type;
    int bits;              /* of an input: a type holds 2^steps times it exactly */
    size_t n, width;       /* elements of an array, bytes of an element */
    size_t n_banks, steps; /* replications */
    size_t items, group;   /* work-items of a kernel, of its work-groups */
    hf_kernel *kernels[MAX_BANKS];
    hf_buffer *arrays[MAX_BANKS][N_ARRAYS];
    unsigned char *host;     /* [PIECE] a piece of an array */
    unsigned char *pattern;  /* [2 PERIOD] input, twice */
    unsigned char *expected; /* [2 PERIOD] outcome of a step, twice */
    uint64_t sample;
    size_t taken; /* steps of this sample */
};

/* ---- the elements, known to every rank ---- */

static unsigned element(const stream *s, size_t i) {
    return 1 + (unsigned)(hf_random(s->env.seed, i % PERIOD) % ((1U << s->bits) - 1));
}

/* Element i of an array is number (i + turn) modulo PERIOD of the pattern, and `turn` is
 * another for each array, rank and sample, and for each PERIOD elements of one array. */
static size_t turn(const stream *s, size_t array, size_t block) {
    uint64_t ranks = (uint64_t)s->env.size, rank = (uint64_t)s->env.rank;
    uint64_t stamp = (s->sample * N_ARRAYS + array) % PERIOD * ranks + rank;
    return (size_t)((stamp % PERIOD * 10007 + block % PERIOD * 5003) % PERIOD);
}

static void pattern_fill(const stream *s) {
    for (size_t i = 0; i < (size_t)2 * PERIOD; i++)
        hf_element_write(s->type, s->pattern + i * s->width, element(s, i));
}

/* ---- what steps make of them ---- */

/* s is 2. */
static double scale_level(size_t step) {
    return ldexp(1, (int)step);
}

/* s is 1. */
static double add_level(size_t step) {
    return (double)step;
}

/* s is 3. */
static double triad_level(size_t step) {
    return 3 * (double)step;
}

static const operation operations[N_OPERATIONS] = {
    {.sum = 0, .level = scale_level},
    {.sum = 0, .level = scale_level},
    {.sum = 1, .level = add_level},
    {.sum = 1, .level = triad_level},
};

/* What leads from one level to the next. */
static float step_factor(const operation *o, size_t step) {
    double from = o->level(step - 1), to = o->level(step);
    return (float)(o->sum ? to - from : to / from);
}

/* The array that a step writes; before the first, the one that it reads. */
static size_t step_array(size_t step) {
    return step % 2 == 0 ? 1 : 2;
}

/* The outcome of a step in place of the pattern of array 1. */
static void expected_fill(const stream *s, const operation *o, size_t step) {
    double level = o->level(step), a = o->sum ? level : 0, b = o->sum ? 1 : level;
    size_t ahead = PERIOD + turn(s, 0, 0) - turn(s, 1, 0);
    for (size_t i = 0; i < (size_t)2 * PERIOD; i++)
        hf_element_write(s->type, s->expected + i * s->width,
                         a * element(s, i + ahead) + b * element(s, i));
}

/* ---- set-up ---- */

static hf_status steps_check(stream *s) {
    s->bits = s->type->digits < FLT_MANT_DIG ? 4 : 8; /* sums are exact, too */
    size_t most = (size_t)(s->type->exponent - s->bits);
    if (s->steps <= most)
        return HF_OK;
    return hf_fail(
        HF_EARG,
        "steps: the results of %zu steps are too large for %s; the most is %zu",
        s->steps, s->type->name, most);
}

/* Each replication takes whole words: elements of a size are a multiple of this. */
static size_t unit_of(const hf_args *args) {
    return (size_t)(hf_args_number(args, "replications") *
                    hf_args_number(args, "vector") * hf_args_number(args, "unroll"));
}

static hf_status stream_ranks_check(const hf_args *args, const char *exchange,
                                    int ranks) {
    size_t n = (size_t)hf_args_number(args, "size"), unit = unit_of(args);
    (void)exchange, (void)ranks;
    if (n % unit == 0)
        return HF_OK;
    return hf_fail(HF_EARG,
                   "size: %zu is not a multiple of replications x vector x unroll, "
                   "%zu; the next is %zu",
                   n, unit, (n / unit + 1) * unit);
}

static hf_status room_check(const stream *s, size_t unit) {
    const hf_device_info *info = &s->env.device->info;
    size_t most = hf_device_room(info, N_ARRAYS * s->n_banks) /
                  (unit / s->n_banks * s->width) * unit;
    if (s->n > most)
        return hf_fail(HF_ENOMEM,
                       "size: three arrays of %zu elements do not fit \"%s\"; the "
                       "largest size is %zu",
                       s->n, info->name, most);
    return HF_OK;
}

static hf_status stream_setup(void *state, const hf_args *args, const hf_env *env,
                              hf_outline *out) {
    stream *s = state;
    const hf_device_info *info = &env->device->info;
    s->env = *env;
    s->n = (size_t)hf_args_number(args, "size");
    s->steps = (size_t)hf_args_number(args, "steps");
    s->n_banks = (size_t)hf_args_number(args, "replications");
    s->type = hf_element_of(args);
    s->width = s->type->bytes;
    HF_TRY(steps_check(s));
    HF_TRY(room_check(s, unit_of(args)));
    if (info->emulated) /* the device's memory is the host's */
        HF_TRY(hf_host_memory_check("size: three arrays", N_ARRAYS * s->n * s->width,
                                    env->memory_left));
    s->items = s->group = 1;
    if (env->ndrange) {
        s->group = hf_device_group(info);
        s->items = hf_device_fill(info) * (s->group > 1 ? GPU_FILL : 1);
    }
    const hf_device_ops *ops = env->device->ops;
    for (size_t bank = 0; bank < s->n_banks; bank++) {
        unsigned unit = hf_replica_unit(bank, s->n_banks);
        HF_TRY(ops->kernel(&s->kernels[bank], env->device, "stream_apply", unit));
        for (unsigned i = 0; i < N_ARRAYS; i++) {
            const hf_spot spot = {.kernel = s->kernels[bank], .arg = i, .bank = unit};
            HF_TRY(ops->alloc(&s->arrays[bank][i], env->device,
                              s->n / s->n_banks * s->width, &spot));
        }
    }
    s->pattern = malloc(s->width * 2 * PERIOD);
    s->expected = malloc(s->width * 2 * PERIOD);
    s->host = hf_pages_new(PIECE);
    if (!s->host || !s->pattern || !s->expected)
        return hf_fail(HF_ENOMEM, "no host memory for pieces of an array");
    pattern_fill(s);
    out->n_points = N_OPERATIONS;
    return HF_OK;
}

static void stream_teardown(void *state) {
    stream *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    for (size_t bank = 0; bank < MAX_BANKS; bank++) {
        for (size_t i = 0; i < N_ARRAYS; i++)
            ops->free(s->arrays[bank][i]);
        ops->kernel_free(s->kernels[bank]);
    }
    free(s->host);
    free(s->pattern);
    free(s->expected);
}

/* ---- a sample ---- */

/* Elements first .. first + count - 1 of an array, all of one bank, in which they lie `at` B
 * from its begin: as many as the host's piece holds. */
typedef struct piece {
    size_t bank, first, count, at;
} piece;

/* The next piece, the first after {0}; false: there is none. */
static bool piece_next(const stream *s, piece *p) {
    size_t share = s->n / s->n_banks, most = PIECE / s->width;
    p->first += p->count;
    p->bank = p->first / share;
    p->at = p->first % share * s->width;
    p->count = share - p->first % share;
    p->count = p->count < most ? p->count : most;
    return p->first < s->n;
}

/* How many elements from `first` on, before `end`, lie in one block. */
static size_t run_length(size_t first, size_t end) {
    size_t left = PERIOD - first % PERIOD;
    return left < end - first ? left : end - first;
}

/* Where such elements are among `values`, the blocks of which are turned as that array. */
static const unsigned char *run_of(const stream *s, const unsigned char *values,
                                   size_t array, size_t first) {
    return values + (turn(s, array, first / PERIOD) + first % PERIOD) * s->width;
}

static void piece_fill(const stream *s, const piece *p, size_t array) {
    size_t end = p->first + p->count, length;
    for (size_t i = p->first; i < end; i += length) {
        length = run_length(i, end);
        memcpy(s->host + (i - p->first) * s->width, run_of(s, s->pattern, array, i),
               length * s->width);
    }
}

static hf_status array_write(stream *s, size_t array) {
    hf_device *device = s->env.device;
    for (piece p = {0}; piece_next(s, &p);) {
        piece_fill(s, &p, array);
        hf_lap(s->env.laps, LAP_OTHER);
        HF_TRY(device->ops->write(device, s->arrays[p.bank][array], p.at, s->host,
                                  p.count * s->width, NULL, NULL));
        hf_lap(s->env.laps, LAP_WRITE);
    }
    return HF_OK;
}

static hf_status stream_prepare(void *state, size_t point, uint64_t sample) {
    stream *s = state;
    (void)point;
    s->sample = sample;
    s->taken = 0;
    for (size_t array = 0; array < N_ARRAYS; array++)
        HF_TRY(array_write(s, array));
    return HF_OK;
}

/* The operation on one bank's share. */
static void share_add(hf_launches *l, const stream *s, const operation *o,
                      size_t bank) {
    hf_buffer *const *arrays = s->arrays[bank];
    hf_buffer *last = arrays[step_array(s->taken - 1)];
    float factor = step_factor(o, s->taken);
    uint64_t n = s->n / s->n_banks;
    const hf_arg args[N_ARGS] = {{.buffer = arrays[step_array(s->taken)]},
                                 {.buffer = o->sum ? arrays[0] : last},
                                 {.buffer = last},
                                 HF_VALUE(factor),
                                 HF_VALUE(o->sum),
                                 HF_VALUE(n)};
    hf_launches_add(l, &(hf_launch){s->kernels[bank], args, N_ARGS, s->items, s->group},
                    (unsigned)bank);
}

static hf_status stream_step(void *state, size_t point, size_t inner) {
    stream *s = state;
    for (size_t step = 0; step < inner; step++) {
        hf_launches all = {.device = s->env.device};
        s->taken++;
        for (size_t bank = 0; bank < s->n_banks; bank++)
            share_add(&all, s, &operations[point], bank);
        HF_TRY(hf_launches_wait(&all));
    }
    return HF_OK;
}

/* Wrong elements of a piece; blocks of `values` are turned as that array. */
static size_t piece_compare(const stream *s, const piece *p,
                            const unsigned char *values, size_t turned) {
    size_t wrong = 0, end = p->first + p->count, length;
    for (size_t i = p->first; i < end; i += length) {
        const unsigned char *got = s->host + (i - p->first) * s->width;
        const unsigned char *right = run_of(s, values, turned, i);
        length = run_length(i, end);
        if (memcmp(got, right, length * s->width) == 0)
            continue;
        for (size_t k = 0; k < length; k++)
            wrong += memcmp(got + k * s->width, right + k * s->width, s->width) != 0;
    }
    return wrong;
}

/* Read an array back and add its wrong elements. */
static hf_status array_check(stream *s, size_t array, const unsigned char *values,
                             size_t turned, size_t *wrong) {
    hf_device *device = s->env.device;
    for (piece p = {0}; piece_next(s, &p);) {
        HF_TRY(device->ops->read(device, s->arrays[p.bank][array], p.at, s->host,
                                 p.count * s->width, NULL, NULL));
        hf_lap(s->env.laps, LAP_READ);
        *wrong += piece_compare(s, &p, values, turned);
        hf_lap(s->env.laps, HF_LAP_VERIFY);
    }
    return HF_OK;
}

static hf_status stream_verify(void *state, size_t point, size_t steps,
                               hf_outcome *out) {
    stream *s = state;
    size_t wrong = 0;
    HF_TRY(array_check(s, 0, s->pattern, 0, &wrong));
    for (size_t step = steps - 1; step <= steps; step++) {
        expected_fill(s, &operations[point], step);
        hf_lap(s->env.laps, HF_LAP_VERIFY);
        HF_TRY(array_check(s, step_array(step), s->expected, 1, &wrong));
    }
    out->error = (double)wrong;
    out->work[0] = hf_stream_arrays(point) * (double)s->n * (double)s->width;
    return HF_OK;
}

/* ---- numbers ---- */

static hf_status stream_plan(void *state, size_t point, hf_setting *out) {
    const stream *s = state;
    out->labels[0] = (double)point;
    out->fewest = out->most = s->steps;
    return HF_OK;
}

static const hf_bench_path blocks = {
    .state_size = sizeof(stream),
    .ranks_check = stream_ranks_check,
    .setup = stream_setup,
    .plan = stream_plan,
    .prepare = stream_prepare,
    .step = stream_step,
    .verify = stream_verify,
    .teardown = stream_teardown,
};

const hf_bench hf_bench_stream = {
    .name = "stream",
    .summary = "STREAM: bandwidth of device memory by copy, scale, add and triad",
    .params = params,
    .problem = {"size", 1, false},
    .banked = true,
    .computes = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_NDRANGE,
    .labels = labels,
    .metrics = metrics,
    .parts = parts,
    .figures = figures,
    .blocks = &blocks,
};
