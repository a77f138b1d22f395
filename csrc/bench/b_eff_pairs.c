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

static size_t last_bytes(const b_eff *s, size_t bytes) {
    return (hf_sweep_chunks(&s->sweep, bytes) + MORE_CHUNKS) * 2 *
           s->sweep.channel_width;
}

/* The longest message whose last copies fit the device. */
static size_t longest(const b_eff *s) {
    size_t chunk = 2 * s->sweep.channel_width;
    size_t chunks = hf_device_room(&s->env.device->info, s->n_pairs) / chunk;
    return chunks > MORE_CHUNKS ? (chunks - MORE_CHUNKS) * chunk : 0;
}

/* Arguments and channel ends, in the order of b_eff_stream.cl. */
static void pair_fill(b_eff *s, int i) {
    pair *p = &s->pairs[i];
    const hf_arg values[N_SEND_ARGS] = {
        {.value = &s->steps, .bytes = sizeof s->steps},
        {.value = &s->chunks, .bytes = sizeof s->chunks},
        {.value = &s->key, .bytes = sizeof s->key},
        {.value = &p->stamps[0], .bytes = sizeof p->stamps[0]},
        {.value = &p->stamps[1], .bytes = sizeof p->stamps[1]},
    };
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

static hf_status pair_take(b_eff *s, int i, size_t largest) {
    pair *p = &s->pairs[i];
    hf_device *device = s->env.device;
    snprintf(p->names[0], sizeof p->names[0], "b_eff_send_%d", i);
    snprintf(p->names[1], sizeof p->names[1], "b_eff_recv_%d", i);
    HF_TRY(device->ops->alloc(&p->last, device, last_bytes(s, largest), NULL));
    HF_TRY(device->ops->kernel(&p->send, device, p->names[0], 0));
    HF_TRY(device->ops->kernel(&p->recv, device, p->names[1], 0));
    pair_fill(s, i);
    return HF_OK;
}

hf_status b_eff_pairs_take(b_eff *s, const hf_args *args, size_t largest) {
    s->n_pairs = (size_t)hf_args_number(args, "replications");
    s->depth = (size_t)hf_args_number(args, "channel_depth");
    int ports = 2 * (int)s->n_pairs;
    HF_TRY(b_eff_memory_check(s, s->n_pairs, largest, longest(s)));
    HF_TRY(hf_links_make(&s->links, &s->n_links, hf_args_word(args, "topology"),
                         s->env.size, ports));
    s->got = malloc(last_bytes(s, largest));
    if (!s->got)
        return hf_fail(HF_ENOMEM, "no host memory for a message of %zu B", largest);
    for (int i = 0; i < (int)s->n_pairs; i++)
        HF_TRY(pair_take(s, i, largest));
    return HF_OK;
}

hf_status b_eff_connect(void *state) {
    b_eff *s = state;
    hf_exchange *exchange = s->env.exchange;
    if (s->n_pairs == 0)
        return HF_OK;
    int pairs = (int)s->n_pairs;
    const hf_wiring wiring = {
        s->links, s->n_links, 2 * pairs, pairs, s->sweep.channel_width, s->depth};
    return exchange->ops->streams->connect(exchange, &wiring);
}

/* What a port sends first; its number on the whole machine stands for the rank. */
static uint64_t port_stamp(const b_eff *s, int rank, int port) {
    const hf_link *link = hf_links_from(s->n_links, s->links, rank, port);
    int ports = 2 * (int)s->n_pairs;
    return b_eff_stamp(s->sample, rank * ports + port, link->to * ports + link->in);
}

hf_status b_eff_pairs_prepare(b_eff *s, size_t point) {
    hf_exchange *exchange = s->env.exchange;
    s->chunks = hf_sweep_chunks(&s->sweep, (size_t)s->sweep.sizes[point]);
    s->key = b_eff_key(s, point);
    for (int i = 0; i < (int)s->n_pairs; i++)
        for (int k = 0; k < 2; k++)
            s->pairs[i].stamps[k] = port_stamp(s, s->env.rank, 2 * i + k);
    return exchange->ops->streams->prepare(exchange, 2 * s->n_pairs, s->streams);
}

/* Bytes that are not the payload of what came in at `port`, in every other packet. */
static size_t port_wrong(const b_eff *s, int port, const unsigned char *packets) {
    size_t width = s->sweep.channel_width, wrong = 0;
    /* After an even number of messages our own is back. */
    const hf_link *link = hf_links_to(s->n_links, s->links, s->env.rank, port);
    uint64_t stamp = s->steps % 2 == 0 ? port_stamp(s, s->env.rank, port)
                                       : port_stamp(s, link->from, link->out);
    uint64_t mark = s->key + s->steps * s->chunks * B_EFF_MARK;
    for (size_t i = 0; i < width; i++) {
        unsigned char right = b_eff_payload((unsigned)i, HF_SLIDE_LOG, s->key, stamp);
        for (size_t chunk = 0; chunk < s->chunks; chunk++)
            wrong += packets[2 * chunk * width + i] != right;
        wrong += packets[2 * s->chunks * width + i] != 0; /* bits that ever differed */
        wrong += packets[2 * (s->chunks + 1) * width + i] !=
                 (mark >> (8 * (i % 8)) & 0xFF); /* chunks that were received */
    }
    return wrong;
}

/* Packets that came through the ports, where they are counted, less those that should. */
static double packets_wrong(const b_eff *s) {
    hf_traffic traffic;
    s->env.exchange->ops->streams->traffic(s->env.exchange, &traffic);
    double sent = (double)s->steps * (double)s->chunks * 2 * (double)s->n_pairs;
    return isnan(traffic.packets) ? 0 : fabs(traffic.packets - sent);
}

hf_status b_eff_pairs_verify(b_eff *s, size_t point, double *error) {
    hf_device *device = s->env.device;
    size_t bytes = last_bytes(s, (size_t)s->sweep.sizes[point]), wrong = 0;
    for (int i = 0; i < (int)s->n_pairs; i++) {
        memset(s->got, 0xFF, bytes);
        HF_TRY(
            device->ops->read(device, s->pairs[i].last, 0, s->got, bytes, NULL, NULL));
        for (int k = 0; k < 2; k++)
            wrong +=
                port_wrong(s, 2 * i + k, s->got + (size_t)k * s->sweep.channel_width);
    }
    *error = (double)wrong + packets_wrong(s);
    return HF_OK;
}

void b_eff_pairs_free(b_eff *s) {
    const hf_device_ops *ops = s->env.device->ops;
    for (size_t i = 0; i < s->n_pairs; i++) {
        ops->free(s->pairs[i].last);
        ops->kernel_free(s->pairs[i].send);
        ops->kernel_free(s->pairs[i].recv);
    }
    free(s->links);
    free(s->got);
}
