/* ptrans_stale.c - blocks of a former run, still in memory that comes back, are no result.
 *
 * Two ranks in one process on a device that hands out the memory of the run before, where
 * all is right already under the same seed: what does not arrive, or is not written, shows.
 * And the buffers of two replications lie in the memory banks that were asked for.
 */
#include <stdlib.h>
#include <string.h>

#include "bench/ptrans.h"
#include "check.h"
#include "core/error.h"

extern const hf_bench hf_bench_ptrans;
extern const hf_device_ops hf_device_host;

enum { RANKS = 2, ROOM = 32 }; /* seven buffers for each of two replications */

/** What goes wrong: bytes at the end of a message that are lost; kernels that do not run. */
static size_t lost;
static bool idle;

static ptrans states[RANKS];

/* ---- a device that keeps its buffers: the same calls get the same memory ---- */

static hf_buffer *kept[ROOM];
static int banks[ROOM];
static size_t n_taken;

static hf_status kept_alloc(hf_buffer **out, hf_device *device, size_t bytes,
                            const hf_spot *spot) {
    CHECK(n_taken < ROOM);
    banks[n_taken] = spot ? (int)spot->bank - 1 : -1;
    hf_buffer **buffer = &kept[n_taken++];
    if (*buffer && (*buffer)->bytes != bytes) {
        hf_device_host.free(*buffer);
        *buffer = NULL;
    }
    if (!*buffer)
        HF_TRY(hf_device_host.alloc(buffer, device, bytes, spot));
    *out = *buffer;
    return HF_OK;
}

static void kept_free(hf_buffer *buffer) {
    n_taken -= buffer != NULL;
}

static hf_status idle_launch(hf_device *device, const hf_launch *launch,
                             const hf_order *order, hf_event **done) {
    if (!idle || launch->kernel != states[0].replicas[0].add)
        return hf_device_host.launch(device, launch, order, done);
    *done = NULL;
    return HF_OK;
}

/* ---- an exchange that reaches into the other rank's memory ---- */

static hf_status lossy_start(hf_plan *plan, const hf_order *order) {
    CHECK(plan->n == 1 && !order);
    return HF_OK;
}

static hf_status lossy_progress(hf_plan *plan, bool wait, bool *done) {
    const hf_message *m = plan->messages;
    const ptrans *from = &states[m->from], *to = &states[1 - m->from];
    size_t r = plan->send == to->replicas[0].a ? 0 : 1;
    const ptrans_layout *layout = &from->layouts[0];
    const hf_message *theirs = layout->messages + layout->parts[r].message;
    CHECK(theirs->send_bytes == m->recv_bytes && wait);
    memcpy((char *)plan->recv->host + m->recv_at,
           (char *)from->replicas[r].a->host + theirs->send_at, m->recv_bytes - lost);
    *done = true;
    return HF_OK;
}

static void lossy_free(hf_plan *plan) {
    (void)plan;
}

/** Plans without the other rank, which is not another process. */
static void plans_make(ptrans *s, hf_exchange *exchange) {
    const ptrans_layout *layout = &s->layouts[0];
    for (size_t r = 0; r < s->replications; r++) {
        const ptrans_part *part = &layout->parts[r];
        hf_plan *plan = malloc(sizeof *plan);
        hf_message *message = malloc(sizeof *message);
        *message = layout->messages[part->message];
        *plan = (hf_plan){.exchange = exchange,
                          .recv = s->replicas[r].got,
                          .send = s->replicas[r].a,
                          .n = part->n_messages,
                          .messages = message};
        s->replicas[r].plan = plan;
    }
}

/** The largest residual of a run of one sample. */
static double run(hf_device *device, const hf_args *args) {
    static const hf_block_ops blocks = {
        .start = lossy_start, .progress = lossy_progress, .free = lossy_free};
    static const hf_exchange_ops ops = {.name = "lossy", .blocks = &blocks};
    hf_exchange exchange = {.ops = &ops, .device = device};
    hf_seals seals = {0};
    double worst = 0;
    const hf_bench_path *path = hf_bench_ptrans.blocks;
    hf_outline outline = {0};
    for (int rank = 0; rank < RANKS; rank++) {
        const hf_env env = {.device = device,
                            .exchange = &exchange,
                            .rank = rank,
                            .size = RANKS,
                            .seed = 1,
                            .seals = &seals};
        states[rank] = (ptrans){0};
        CHECK(path->setup(&states[rank], args, &env, &outline) == HF_OK, "%s",
              hf_error());
        plans_make(&states[rank], &exchange);
        CHECK(path->prepare(&states[rank], 0, 0) == HF_OK);
    }
    for (int rank = 0; rank < RANKS; rank++) {
        hf_outcome outcome;
        CHECK(path->step(&states[rank], 0, 1) == HF_OK, "%s", hf_error());
        CHECK(path->verify(&states[rank], 0, 1, &outcome) == HF_OK);
        worst = outcome.error > worst ? outcome.error : worst;
    }
    for (int rank = 0; rank < RANKS; rank++)
        path->teardown(&states[rank]);
    return worst;
}

/** Bank of a buffer of the last run, whose memory is still known. */
static int bank_of(const hf_buffer *buffer) {
    for (size_t i = 0; i < ROOM; i++)
        if (kept[i] == buffer)
            return banks[i];
    return -2;
}

static void banks_test(hf_device *device, hf_args *args) {
    CHECK(run(device, args) == 0);
    for (int rank = 0; rank < RANKS; rank++)
        CHECK(bank_of(states[rank].replicas[0].a) == -1);
    static const char *const words[][2] = {{"sizes", "2048"},
                                           {"replications", "2"},
                                           {"bank_a", "0,1"},
                                           {"bank_b", "3,2"},
                                           {"bank_c", "4"}};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        CHECK(hf_args_set(args, words[i][0], 0, NULL, words[i][1]) == HF_OK);
    CHECK(run(device, args) == 0);
    for (int r = 0; r < RANKS * 2; r++) {
        const replica *p = &states[r / 2].replicas[r % 2];
        int a = r % 2; /* that of the lists, too */
        CHECK(bank_of(p->a) == a && bank_of(p->got) == a, "%d", bank_of(p->a));
        CHECK(bank_of(p->b) == 3 - a, "%d", bank_of(p->b));
        CHECK(bank_of(p->c) == 4, "%d", bank_of(p->c));
        CHECK(bank_of(p->places) == a && bank_of(p->sources) == a &&
              bank_of(p->verdict.buffer) == a);
    }
}

int main(void) {
    hf_device *device;
    hf_args *args;
    CHECK(hf_device_host.open(&device, "", 0, NULL) == HF_OK);
    hf_device_ops ops = hf_device_host;
    ops.alloc = kept_alloc;
    ops.free = kept_free;
    ops.launch = idle_launch;
    device->ops = &ops;
    CHECK(ops.load(device, "ptrans_memory_float", NULL, 0) == HF_OK, "%s", hf_error());
    CHECK(hf_args_new(&args, "ptrans") == HF_OK);
    CHECK(hf_args_set(args, "sizes", 0, NULL, "1024") == HF_OK);

    static const size_t ends[] = {1, sizeof(float), 512 * 512 * sizeof(float)};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++) {
        lost = 0;
        CHECK(run(device, args) == 0, "right blocks have a residual");
        lost = ends[i];
        CHECK(run(device, args) > 0, "%zu B that never came verify", ends[i]);
    }
    lost = 0;
    CHECK(run(device, args) == 0);
    idle = true;
    CHECK(run(device, args) > 0, "blocks that no kernel wrote verify");
    idle = false;
    banks_test(device, args);

    hf_args_free(args);
    for (size_t i = 0; i < ROOM; i++)
        hf_device_host.free(kept[i]);
    hf_device_host.close(device);
    return check_failures != 0;
}
