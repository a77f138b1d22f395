/* ptrans_pairs.c - ptrans over kernel-routed schemes: the host's side of ptrans_stream.cl. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "grid.h"
#include "ptrans.h"

static hf_status pairs_ranks_check(const hf_args *args, const char *exchange,
                                   int ranks) {
    if (hf_args_chosen(args, "distribution", "diagonal"))
        return HF_OK;
    return hf_grid_check_square(hf_args_word(args, "grid"), ranks, exchange,
                                "; distribution diagonal takes any");
}

/* Port `i` of a rank leads to that of its partner. */
static hf_status links_take(ptrans *s) {
    size_t n = 0, ports = s->replications;
    s->links = malloc((size_t)s->env.size * ports * sizeof *s->links);
    if (!s->links)
        return hf_fail(HF_ENOMEM, "no memory for the links of %d ranks", s->env.size);
    for (int rank = 0; rank < s->env.size; rank++)
        for (int port = 0; port < (int)ports; port++)
            s->links[n++] = (hf_link){rank, port, ptrans_partner(&s->grid, rank), port};
    return HF_OK;
}

/* A pair of kernels at port `r`: their arguments as in ptrans_stream.cl. */
static hf_status pair_take(ptrans *s, size_t r) {
    replica *p = &s->replicas[r];
    hf_device *device = s->env.device;
    snprintf(p->names[0], sizeof p->names[0], "ptrans_send_%zu", r);
    snprintf(p->names[1], sizeof p->names[1], "ptrans_recv_%zu", r);
    HF_TRY(device->ops->kernel(&p->send, device, p->names[0], 0));
    HF_TRY(device->ops->kernel(&p->recv, device, p->names[1], 0));
    const hf_arg values[2][N_STREAM_ARGS] = {
        {{.buffer = p->a}, {.buffer = p->sources}},
        {{.buffer = p->b}, {.buffer = p->c}},
    };
    memcpy(p->send_args, values[0], sizeof values[0]);
    memcpy(p->recv_args, values[1], sizeof values[1]);
    p->send_args[2] = p->recv_args[2] = (hf_arg)HF_VALUE(p->blocks);
    p->send_args[3] = p->recv_args[3] = (hf_arg)HF_VALUE(p->own);
    for (int sends = 0; sends < 2; sends++)
        for (int inner = 0; inner < 2; inner++)
            p->ends[sends][inner] = (hf_end){(int)r, inner, sends};
    s->streams[2 * r] = (hf_stream){
        .name = p->names[0],
        .launch = {.kernel = p->send, .args = p->send_args, .n_args = N_STREAM_ARGS},
        .ends = p->ends[1],
        .n_ends = 2};
    s->streams[2 * r + 1] = (hf_stream){
        .name = p->names[1],
        .launch = {.kernel = p->recv, .args = p->recv_args, .n_args = N_STREAM_ARGS},
        .ends = p->ends[0],
        .n_ends = 2};
    return HF_OK;
}

static hf_status pairs_setup(void *state, const hf_args *args, const hf_env *env,
                             hf_outline *out) {
    ptrans *s = state;
    s->width = (size_t)hf_args_number(args, "channel_width");
    s->depth = (size_t)hf_args_number(args, "channel_depth");
    HF_TRY(ptrans_take(s, args, env, out));
    HF_TRY(links_take(s));
    HF_TRY(ptrans_memory_take(s, args, 3));
    for (size_t r = 0; r < s->replications; r++)
        HF_TRY(pair_take(s, r));
    return HF_OK;
}

static hf_status pairs_connect(void *state) {
    ptrans *s = state;
    hf_exchange *exchange = s->env.exchange;
    int ports = (int)s->replications;
    const hf_wiring wiring = {s->links, ports,    ports,
                              s->width, s->depth, HF_INNER_DEPTH};
    return exchange->ops->streams->connect(exchange, &wiring);
}

static hf_status pairs_prepare(void *state, size_t point, uint64_t sample) {
    ptrans *s = state;
    hf_exchange *exchange = s->env.exchange;
    HF_TRY(ptrans_prepare(state, point, sample));
    return exchange->ops->streams->prepare(exchange);
}

static hf_status pairs_step(void *state, size_t point, size_t inner) {
    ptrans *s = state;
    hf_exchange *exchange = s->env.exchange;
    (void)point, (void)inner; /* one */
    HF_TRY(exchange->ops->streams->stream(exchange, 2 * s->replications, s->streams));
    hf_lap(s->env.laps, HF_LAP_KERNEL);
    return HF_OK;
}

const hf_bench_path ptrans_streams = {
    .state_size = sizeof(ptrans),
    .side_by_side = 2,
    .ranks_check = pairs_ranks_check,
    .setup = pairs_setup,
    .connect = pairs_connect,
    .plan = ptrans_plan,
    .prepare = pairs_prepare,
    .step = pairs_step,
    .verify = ptrans_verify,
    .teardown = ptrans_teardown,
};
