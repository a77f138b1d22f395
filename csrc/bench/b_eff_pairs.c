/* b_eff_pairs.c - b_eff over kernel-routed schemes: the host's side of b_eff_stream.cl. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "b_eff.h"
#include "b_eff_payload.h"
#include "core/error.h"

/* Chunks that a receive kernel hands back beside those of the last message. */
enum { MORE_CHUNKS = 2 };
enum { N_SEND_ARGS = 5, N_RECV_ARGS = 4, N_ENDS = 3 };

/* A send and a receive kernel, their two ports, and what they are told. */
typedef struct pair {
    char names[2][40];
    hf_kernel *send, *recv;
    hf_buffer *last;    /* [chunks + 2, 2] packets */
    uint64_t stamps[2]; /* of the ports */
    hf_arg send_args[N_SEND_ARGS], recv_args[N_RECV_ARGS];
    hf_end send_ends[N_ENDS], recv_ends[N_ENDS];
} pair;

typedef struct pairs {
    b_eff base;
    size_t n_pairs;
    pair pairs[HF_MAX_NUMBERED];
    hf_stream streams[2 * HF_MAX_NUMBERED];
    hf_link *links;
    size_t depth;
    unsigned char *got;     /* a `last` on the host */
    uint64_t steps, chunks; /* arguments of the kernels */
    uint32_t key;
} pairs;

static size_t last_bytes(const pairs *s, size_t bytes) {
    return (hf_sweep_chunks(&s->base.sweep, bytes) + MORE_CHUNKS) * 2 *
           s->base.sweep.channel_width;
}

/* The longest message whose last copies fit the device. */
static size_t longest(const pairs *s) {
    size_t chunk = 2 * s->base.sweep.channel_width;
    size_t chunks = hf_device_room(&s->base.env.device->info, s->n_pairs) / chunk;
    return chunks > MORE_CHUNKS ? (chunks - MORE_CHUNKS) * chunk : 0;
}

/* Arguments and channel ends, in the order of b_eff_stream.cl. */
static void pair_fill(pairs *s, int i) {
    pair *p = &s->pairs[i];
    const hf_arg values[N_SEND_ARGS] = {HF_VALUE(s->steps), HF_VALUE(s->chunks),
                                        HF_VALUE(s->key), HF_VALUE(p->stamps[0]),
                                        HF_VALUE(p->stamps[1])};
    memcpy(p->send_args, values, sizeof values);
    memcpy(p->recv_args, values, sizeof p->recv_args);
    p->recv_args[N_RECV_ARGS - 1] = (hf_arg){.buffer = p->last};
    for (int k = 0; k < 2; k++) {
        p->send_ends[k] = (hf_end){2 * i + k, false, true};
        p->recv_ends[k] = (hf_end){2 * i + k, false, false};
    }
    p->send_ends[2] = (hf_end){i, true, false};
    p->recv_ends[2] = (hf_end){i, true, true};
    hf_stream *streams = &s->streams[2 * (size_t)i];
    streams[0] = (hf_stream){
        p->names[0], {p->send, p->send_args, N_SEND_ARGS, 1, 0}, p->send_ends, N_ENDS};
    streams[1] = (hf_stream){
        p->names[1], {p->recv, p->recv_args, N_RECV_ARGS, 1, 0}, p->recv_ends, N_ENDS};
}

static hf_status pair_take(pairs *s, int i, size_t largest) {
    pair *p = &s->pairs[i];
    hf_device *device = s->base.env.device;
    snprintf(p->names[0], sizeof p->names[0], "b_eff_send_%d", i);
    snprintf(p->names[1], sizeof p->names[1], "b_eff_recv_%d", i);
    HF_TRY(device->ops->alloc(&p->last, device, last_bytes(s, largest), NULL));
    HF_TRY(device->ops->kernel(&p->send, device, p->names[0], 0));
    HF_TRY(device->ops->kernel(&p->recv, device, p->names[1], 0));
    pair_fill(s, i);
    return HF_OK;
}

static hf_status pairs_setup(void *state, const hf_args *args, const hf_env *env,
                             hf_outline *out) {
    pairs *s = state;
    b_eff_take(&s->base, args, env, out);
    size_t largest = (size_t)hf_args_largest(args, "sizes");
    s->n_pairs = (size_t)hf_args_number(args, "replications");
    s->depth = (size_t)hf_args_number(args, "channel_depth");
    int ports = 2 * (int)s->n_pairs;
    HF_TRY(b_eff_memory_check(&s->base, s->n_pairs, largest, longest(s)));
    HF_TRY(hf_links_make(&s->links, hf_args_word(args, "topology"), env->size, ports));
    s->got = malloc(last_bytes(s, largest));
    if (!s->got)
        return hf_fail(HF_ENOMEM, "no host memory for a message of %zu B", largest);
    for (int i = 0; i < (int)s->n_pairs; i++)
        HF_TRY(pair_take(s, i, largest));
    return HF_OK;
}

static hf_status pairs_connect(void *state) {
    pairs *s = state;
    hf_exchange *exchange = s->base.env.exchange;
    int n = (int)s->n_pairs;
    const hf_wiring wiring = {s->links, 2 * n,         n, s->base.sweep.channel_width,
                              s->depth, HF_INNER_DEPTH};
    return exchange->ops->streams->connect(exchange, &wiring);
}

static hf_status pairs_plan(void *state, size_t point, hf_setting *out) {
    const pairs *s = state;
    hf_sweep_plan(&s->base.sweep, point, out);
    return HF_OK;
}

static const hf_link *link_of(const pairs *s, int rank, int port) {
    return &s->links[rank * 2 * (int)s->n_pairs + port];
}

/* What a port sends first; its number on the whole machine stands for the rank. */
static uint64_t port_stamp(const pairs *s, const hf_link *link) {
    int ports = 2 * (int)s->n_pairs;
    return b_eff_stamp(s->base.sample, link->from * ports + link->out,
                       link->to * ports + link->in);
}

static hf_status pairs_prepare(void *state, size_t point, uint64_t sample) {
    pairs *s = state;
    s->base.sample = sample;
    hf_exchange *exchange = s->base.env.exchange;
    s->chunks = hf_sweep_chunks(&s->base.sweep, (size_t)s->base.sweep.sizes[point]);
    s->key = b_eff_key(&s->base, point);
    for (int i = 0; i < (int)s->n_pairs; i++)
        for (int k = 0; k < 2; k++)
            s->pairs[i].stamps[k] =
                port_stamp(s, link_of(s, s->base.env.rank, 2 * i + k));
    return exchange->ops->streams->prepare(exchange);
}

static hf_status pairs_step(void *state, size_t point, size_t inner) {
    pairs *s = state;
    hf_exchange *exchange = s->base.env.exchange;
    (void)point;
    s->steps = inner;
    return exchange->ops->streams->stream(exchange, 2 * s->n_pairs, s->streams);
}

/* Bytes in which two words differ. */
static size_t bytes_differ(uint64_t a, uint64_t b) {
    size_t n = 0;
    for (uint64_t bits = a ^ b; bits; bits >>= 8)
        n += (bits & 0xFF) != 0;
    return n;
}

/* Bytes that are not the payload of what came in at `port`, in every other packet: the neighbour's
 * and our own in turn. */
static size_t port_wrong(const pairs *s, int port, size_t steps,
                         const unsigned char *packets) {
    enum { WORD = sizeof(uint64_t) };
    size_t width = s->base.sweep.channel_width, wrong = 0;
    const hf_link *link = link_of(s, s->base.env.rank, port);
    uint64_t own = port_stamp(s, link),
             other = port_stamp(s, link_of(s, link->to, link->in));
    uint64_t mark = s->key + steps * s->chunks * B_EFF_MARK;
    for (size_t at = 0; at < width; at += WORD) {
        unsigned word = (unsigned)(at / WORD);
        uint64_t ours = b_eff_word(word, HF_SLIDE_LOG, s->key, own),
                 theirs = b_eff_word(word, HF_SLIDE_LOG, s->key, other),
                 sum = steps / 2 * ours + (steps - steps / 2) * theirs;
        for (size_t chunk = 0; chunk < s->chunks + MORE_CHUNKS; chunk++) {
            uint64_t is, right = chunk < s->chunks    ? steps % 2 ? theirs : ours
                                 : chunk == s->chunks ? 0 /* bits that ever differed */
                                                      : sum ^ mark;
            memcpy(&is, packets + 2 * chunk * width + at, WORD);
            wrong += bytes_differ(is, right);
        }
    }
    return wrong;
}

/* Packets that came through the ports, where they are counted, less those that should. */
static double packets_wrong(const pairs *s, size_t steps) {
    hf_traffic traffic;
    s->base.env.exchange->ops->streams->traffic(s->base.env.exchange, &traffic);
    double sent = (double)steps * (double)s->chunks * 2 * (double)s->n_pairs;
    return isnan(traffic.packets) ? 0 : fabs(traffic.packets - sent);
}

static hf_status pairs_verify(void *state, size_t point, size_t steps,
                              hf_outcome *out) {
    pairs *s = state;
    hf_device *device = s->base.env.device;
    size_t bytes = last_bytes(s, (size_t)s->base.sweep.sizes[point]), wrong = 0;
    for (int i = 0; i < (int)s->n_pairs; i++) {
        memset(s->got, 0xFF, bytes);
        HF_TRY(
            device->ops->read(device, s->pairs[i].last, 0, s->got, bytes, NULL, NULL));
        for (int k = 0; k < 2; k++)
            wrong += port_wrong(s, 2 * i + k, steps,
                                s->got + (size_t)k * s->base.sweep.channel_width);
    }
    out->error = (double)wrong + packets_wrong(s, steps);
    out->work[0] = (double)s->n_pairs * s->base.sweep.sizes[point];
    return HF_OK;
}

static void pairs_teardown(void *state) {
    pairs *s = state;
    if (!s->base.env.device)
        return;
    const hf_device_ops *ops = s->base.env.device->ops;
    for (size_t i = 0; i < s->n_pairs; i++) {
        ops->free(s->pairs[i].last);
        ops->kernel_free(s->pairs[i].send);
        ops->kernel_free(s->pairs[i].recv);
    }
    free(s->links);
    free(s->got);
}

const hf_bench_path b_eff_streams = {
    .state_size = sizeof(pairs),
    .side_by_side = 2,
    .setup = pairs_setup,
    .connect = pairs_connect,
    .plan = pairs_plan,
    .prepare = pairs_prepare,
    .step = pairs_step,
    .verify = pairs_verify,
    .teardown = pairs_teardown,
};
