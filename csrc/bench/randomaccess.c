/* randomaccess.c - RandomAccess: updates of random words of one table over all ranks.
 *
 * Rank r has the r-th part of the table, and applies those numbers of HPC Challenge's
 * sequence whose low bits name a word of its part; nothing travels. A step is 4 updates for
 * each word of the whole table. Word i starts as i ^ stamp, where the stamp belongs to the
 * sample: a table that was left from another sample is wrong in every word.
 */
#include "randomaccess.h"

#include <stdio.h>
#include <stdlib.h>

#include "core/error.h"
#include "core/random.h"
#include "core/work.h"

enum { N_ARGS = 6, GENERATORS_PER_GPU_ITEM = 8 };
static const double ALLOWED = 0.01; /* wrong words, by the rules of HPC Challenge */

typedef struct randomaccess {
    hf_env env;
    const double *sizes; /* [n_sizes] words of the whole table */
    size_t n_sizes, n_tables;
    hf_buffer *tables[HF_MAX_NUMBERED], *starts;
    hf_kernel *kernels[HF_MAX_NUMBERED];
    uint64_t *numbers;      /* what `starts` gets */
    size_t max_generators;  /* elements of both */
    bool shared;            /* one generator for each work-item */
    bool lossy;             /* updates of a word that are close together may get lost */
    randomaccess_part part; /* at the point of the last `prepare` */
    size_t items, started;  /* work-items there; 1 + the point that `starts` is for */
    uint64_t generators, stamp;
    randomaccess_check *check;
} randomaccess;

static const hf_param params[] = {
    {"sizes", "words of the whole table over all ranks, 8 B each; powers of two",
     "16777216", NULL, NULL, 64, 1099511627776.0, HF_INTS},
    HF_SHAPE_PARAM,
    {"replications",
     "kernels of a device, each with a part of the table in a memory bank of its own; "
     "1 for shape ndrange",
     "1", "1|2|4", "HF_REPLICATIONS", 1, HF_MAX_NUMBERED, HF_INT},
    {"rng_count_log", "log2 of the generators of a kernel", "5", NULL,
     "HF_RNG_COUNT_LOG", 0, 8, HF_INT},
    {"rng_distance", "slots of the shift register from one generator to the next", "5",
     NULL, "HF_RNG_DISTANCE", 1, 64, HF_INT},
    {"buffer_size_log",
     "log2 of the updates that are read, then written together; 0: each by itself", "0",
     NULL, "HF_BUFFER_SIZE_LOG", 0, 10, HF_INT},
    {0},
};

static const hf_quantity labels[] = {{"words", "1", HF_I64, NULL}, {0}};
static const hf_quantity metrics[] = {{"updates", "1/s", HF_F64, NULL}, {0}};
/* HPC Challenge's figure: the rate at the largest table. */
static const hf_figure figures[] = {{"updates", "1/s", "updates", HF_FIGURE_LARGEST},
                                    {0}};

static bool is_power_of_two(uint64_t n) {
    return n > 0 && (n & (n - 1)) == 0;
}

/* ---- set-up ---- */

/* The largest table of which the rank's parts fit the device. */
static uint64_t max_words(const randomaccess *s) {
    uint64_t each = 1; /* words of a kernel's part */
    size_t room = hf_device_room(&s->env.device->info, s->n_tables) / sizeof each;
    while (2 * each <= room)
        each *= 2;
    return each * s->n_tables * (uint64_t)s->env.size;
}

static hf_status sizes_check(const randomaccess *s) {
    uint64_t most = max_words(s), tables = (uint64_t)s->env.size * s->n_tables;
    for (size_t i = 0; i < s->n_sizes; i++) {
        uint64_t words = (uint64_t)s->sizes[i];
        if (!is_power_of_two(words))
            return hf_fail(HF_EARG, "sizes: %llu words are not a power of two",
                           (unsigned long long)words);
        if (words < tables)
            return hf_fail(HF_EARG, "sizes: %llu words are too few for %llu kernels",
                           (unsigned long long)words, (unsigned long long)tables);
        if (words > most)
            return hf_fail(HF_ENOMEM,
                           "sizes: a table of %llu words does not fit %d times \"%s\"; "
                           "the largest size is %llu words",
                           (unsigned long long)words, s->env.size,
                           s->env.device->info.name, (unsigned long long)most);
    }
    return HF_OK;
}

static hf_status params_take(randomaccess *s, const hf_args *args) {
    const hf_device_info *info = &s->env.device->info;
    bool buffered = hf_args_number(args, "buffer_size_log") > 0;
    s->sizes = hf_args_list(args, "sizes", &s->n_sizes);
    s->n_tables = (size_t)hf_args_number(args, "replications");
    s->shared = s->env.ndrange && info->type == HF_GPU;
    bool overlapped = info->type == HF_ACCELERATOR && !info->emulated;
    s->lossy = !s->env.ndrange && (buffered || overlapped);
    s->items = s->env.ndrange ? info->workers : 1;
    s->max_generators = (size_t)1 << (size_t)hf_args_number(args, "rng_count_log");
    while (s->shared && s->max_generators < GENERATORS_PER_GPU_ITEM * info->items)
        s->max_generators *= 2;
    HF_TRY(hf_replicas_check(s->n_tables, s->env.ndrange));
    return sizes_check(s);
}

static hf_status randomaccess_ranks_check(const hf_args *args, const char *exchange,
                                          int ranks) {
    (void)args, (void)exchange;
    if (is_power_of_two((uint64_t)ranks))
        return HF_OK;
    return hf_fail(
        HF_EARG, "ranks: %d ranks are not a power of two, and share one table", ranks);
}

static hf_status randomaccess_setup(void *state, const hf_args *args, const hf_env *env,
                                    hf_outline *out) {
    randomaccess *s = state;
    hf_device *device = env->device;
    s->env = *env;
    HF_TRY(params_take(s, args));
    out->n_points = s->n_sizes;
    if (s->lossy)
        out->note = "updates may get lost: up to 1 % of the words may be wrong, as HPC "
                    "Challenge allows";
    uint64_t words = (uint64_t)hf_args_largest(args, "sizes") / (uint64_t)env->size;
    for (size_t i = 0; i < s->n_tables; i++) {
        char name[48] = "randomaccess_shared";
        if (!s->shared)
            snprintf(name, sizeof name, "randomaccess_update_%zu", i);
        HF_TRY(device->ops->kernel(&s->kernels[i], device, name, 0));
        const hf_spot spot = {.kernel = s->kernels[i],
                              .bank = hf_replica_unit(i, s->n_tables)};
        HF_TRY(device->ops->alloc(&s->tables[i], device,
                                  (size_t)(words / s->n_tables * sizeof(uint64_t)),
                                  &spot));
    }
    size_t bytes = s->max_generators * sizeof(uint64_t);
    const hf_spot spot = {.kernel = s->kernels[0], .arg = 1};
    HF_TRY(device->ops->alloc(&s->starts, device, bytes, &spot));
    s->numbers = malloc(bytes);
    if (!s->numbers)
        return hf_fail(HF_ENOMEM, "no memory for %zu generators", s->max_generators);
    return randomaccess_check_new(&s->check, words);
}

static void randomaccess_teardown(void *state) {
    randomaccess *s = state;
    if (!s->env.device)
        return;
    const hf_device_ops *ops = s->env.device->ops;
    for (size_t i = 0; i < HF_MAX_NUMBERED; i++) {
        ops->free(s->tables[i]);
        ops->kernel_free(s->kernels[i]);
    }
    ops->free(s->starts);
    randomaccess_check_free(s->check);
    free(s->numbers);
}

/* ---- a sample ---- */

/* The generators split the sequence into equal runs. */
static hf_status generators_start(randomaccess *s, size_t point) {
    uint64_t updates = HF_RANDOMACCESS_UPDATES * s->part.words;
    s->generators = s->max_generators < updates ? s->max_generators : updates;
    if (s->shared)
        s->items = s->generators;
    for (uint64_t i = 0; i < s->generators; i++)
        s->numbers[i] = randomaccess_number(1 + i * (updates / s->generators));
    s->started = 1 + point;
    hf_device *device = s->env.device;
    return device->ops->write(device, s->starts, 0, s->numbers,
                              s->generators * sizeof *s->numbers, NULL, NULL);
}

static hf_status tables_map(randomaccess *s) {
    hf_device *device = s->env.device;
    for (size_t i = 0; i < s->n_tables; i++) {
        void *words;
        HF_TRY(device->ops->map(device, s->tables[i], &words));
        s->part.tables[i] = words;
    }
    return HF_OK;
}

static hf_status tables_unmap(randomaccess *s) {
    hf_device *device = s->env.device;
    for (size_t i = 0; i < s->n_tables; i++)
        HF_TRY(device->ops->unmap(device, s->tables[i], s->part.tables[i]));
    return device->ops->finish(device);
}

static hf_status randomaccess_prepare(void *state, size_t point, uint64_t sample) {
    randomaccess *s = state;
    uint64_t words = (uint64_t)s->sizes[point], count = words / (uint64_t)s->env.size;
    s->part = (randomaccess_part){.n_tables = s->n_tables,
                                  .words = words,
                                  .first = count * (uint64_t)s->env.rank,
                                  .count = count};
    s->stamp = hf_random(s->env.seed, sample);
    if (s->started != 1 + point)
        HF_TRY(generators_start(s, point));
    HF_TRY(tables_map(s));
    randomaccess_fill(&s->part, s->stamp);
    return tables_unmap(s);
}

static void table_add(hf_launches *l, const randomaccess *s, size_t table) {
    uint64_t count = s->part.count / s->n_tables, first = s->part.first + table * count,
             steps = HF_RANDOMACCESS_UPDATES * s->part.words / s->generators;
    const hf_arg args[N_ARGS] = {{.buffer = s->tables[table]},
                                 {.buffer = s->starts},
                                 HF_VALUE(s->part.words),
                                 HF_VALUE(first),
                                 HF_VALUE(count),
                                 HF_VALUE(steps)};
    hf_launch launch = {.kernel = s->kernels[table], .args = args, .n_args = N_ARGS};
    launch.items = s->items;
    launch.group = s->shared ? 0 : 1; /* a group is a core's */
    hf_launches_add(l, &launch, (unsigned)table);
}

static hf_status randomaccess_step(void *state, size_t point, size_t inner) {
    const randomaccess *s = state;
    hf_launches all = {.device = s->env.device};
    (void)point, (void)inner;
    for (size_t table = 0; table < s->n_tables; table++)
        table_add(&all, s, table);
    return hf_launches_wait(&all);
}

static hf_status randomaccess_verify(void *state, size_t point, size_t steps,
                                     hf_outcome *out) {
    randomaccess *s = state;
    (void)point, (void)steps; /* one */
    HF_TRY(tables_map(s));
    uint64_t wrong = randomaccess_check_run(s->check, &s->part, s->stamp);
    HF_TRY(tables_unmap(s));
    out->error = (double)wrong / (double)s->part.count;
    out->work[0] = HF_RANDOMACCESS_UPDATES * (double)s->part.count;
    return HF_OK;
}

static hf_status randomaccess_plan(void *state, size_t point, hf_setting *out) {
    const randomaccess *s = state;
    out->labels[0] = s->sizes[point];
    out->tolerance = s->lossy ? ALLOWED : 0;
    return HF_OK;
}

static const hf_bench_path blocks = {
    .state_size = sizeof(randomaccess),
    .ranks_check = randomaccess_ranks_check,
    .setup = randomaccess_setup,
    .plan = randomaccess_plan,
    .prepare = randomaccess_prepare,
    .step = randomaccess_step,
    .verify = randomaccess_verify,
    .teardown = randomaccess_teardown,
};

const hf_bench hf_bench_randomaccess = {
    .name = "randomaccess",
    .summary = "updates of random words of one table over all ranks",
    .params = params,
    .problem = {"sizes", 1, true},
    .banked = true,
    .computes = true,
    .kernels = HF_KERNELS_MEMORY | HF_KERNELS_NDRANGE,
    .error = "error_rate",
    .labels = labels,
    .metrics = metrics,
    .figures = figures,
    .blocks = &blocks,
};
