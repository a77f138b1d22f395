/* b_eff.c - models of the effective bandwidth.
 *
 * Equations 1 to 4 and 7 of Meyer, Kenter and Plessl, "Multi-FPGA designs and scaling of
 * HPC Challenge benchmarks via MPI and circuit-switched inter-FPGA networks".
 */
#include "core/work.h"
#include "model.h"

static const hf_term time_and_bandwidth[] = {
    HF_TERM("time", "s", "one step of the slowest rank"),
    HF_TERM("bandwidth", "B/s", "bytes sent by all ranks per second"),
    {0},
};

/* Eq. 3 with one message, and Eq. 4. */
static const hf_term channel_inputs[] = {
    HF_TERM("message_size", "B", "length L of a message"),
    HF_TERM("ranks", "1", "boards in the ring"),
    {"channels", "1", "channels of one kernel pair that carry a message together", NULL,
     2, NULL, false},
    {"replications", "1", "kernel pairs on a board, each sending its own messages",
     "network.ports/channels", NAN, NULL, false},
    {"width", "B", "bytes that a channel takes per cycle", "network.width", NAN, NULL,
     false},
    {"clock", "Hz", "clock of the channels", "network.clock", NAN, NULL, false},
    {"latency", "s", "delay of a channel", "network.latency", NAN, NULL, true},
    {0},
};

static void channel_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], ranks = in[1][i], replications = in[3][i];
        double per_cycle = in[2][i] * in[4][i], clock = in[5][i], latency = in[6][i];
        out[0][i] = ceil(size / per_cycle) / clock + latency;
        out[1][i] = ranks * replications * size / out[0][i];
    }
}

/* Eq. 3 turned round: latency and time of a chunk from measured times, by least squares
 * of the relative residuals, so that each size counts the same. */
static const hf_term fit_inputs[] = {
    HF_TERM("message_size", "B", "length L of a message"),
    HF_TERM("measured", "s", "one step"),
    HF_TERM("channels", "1",
            "channels of one kernel pair that carry a message together"),
    HF_TERM("width", "B", "bytes of a packet, one on each channel for a chunk"),
    {0},
};
static const hf_term fit_outputs[] = {
    HF_TERM("time", "s", "one step, as fitted"),
    HF_TERM("residual", "1", "measured over fitted time, less 1"),
    HF_TERM("latency", "s", "of a message; the same at every size"),
    HF_TERM("chunk_time", "s", "of a chunk; the same at every size"),
    {0},
};

static void fit_eval(size_t n, const double *const *in, double *const *out) {
    double a = 0, b = 0, c = 0, u = 0, v = 0; /* normal equations of l + k p = t */
    for (size_t i = 0; i < n; i++) {
        double k = ceil(in[0][i] / (in[2][i] * in[3][i])), w = 1 / in[1][i];
        a += w * w;
        b += w * w * k;
        c += w * w * k * k;
        u += w;
        v += w * k;
    }
    double det = a * c - b * b;
    for (size_t i = 0; i < n; i++) {
        double k = ceil(in[0][i] / (in[2][i] * in[3][i]));
        out[2][i] = (u * c - v * b) / det;
        out[3][i] = (a * v - b * u) / det;
        out[0][i] = out[2][i] + k * out[3][i];
        out[1][i] = in[1][i] / out[0][i] - 1;
    }
}

/* Latency plus size over bandwidth: a term of Eq. 2 from a data sheet's two numbers. */
static double link_time(double size, double latency, double bandwidth) {
    return latency + size / bandwidth;
}

/* Eq. 2 from the parts of a step: out is time, bandwidth. */
static void parts_sum(size_t i, double size, double ranks, double parts,
                      double *const *out) {
    out[0][i] = parts;
    out[1][i] = ranks * size / parts;
}

#define PART_WRITE    HF_TERM("write_time", "s", "host to device, L bytes")
#define PART_EXCHANGE HF_TERM("exchange_time", "s", "host to host through MPI, L bytes")
#define PART_READ     HF_TERM("read_time", "s", "device to host, L bytes")

/* Inputs of several formulas: latencies, and bandwidths. */
/* clang-format off */
#define SIZE  HF_TERM("message_size", "B", "length L of a message")
#define RANKS HF_TERM("ranks", "1", "ranks in the ring, one message each per step")
#define DELAY(name, fact, summary) {name, "s", summary, fact, NAN, NULL, true}
#define WIDTH(name, fact, summary) {name, "B/s", summary, fact, NAN, NULL, false}
#define DELAY_PCIE  DELAY("pcie_latency", "pcie.latency", "of an empty transfer")
#define WIDTH_WRITE WIDTH("write_bandwidth", "pcie.write_bandwidth", "host to device")
#define WIDTH_READ  WIDTH("read_bandwidth", "pcie.read_bandwidth", "device to host")
#define DELAY_HOST  DELAY("network_latency", "host.latency", "of an empty message")
#define WIDTH_HOST  WIDTH("network_bandwidth", "host.bandwidth", "host to host")
#define CHUNK_SIZE                                                                     \
    {"chunk_size", "B", "longest chunk; 0: as runs over GPUs and boards cut messages", \
     NULL, 0, "chunk_size:number", true}
/* clang-format on */

/* Eq. 2. */
static const hf_term pcie_inputs[] = {SIZE,       RANKS,      DELAY_PCIE, WIDTH_WRITE,
                                      DELAY_HOST, WIDTH_HOST, WIDTH_READ, {0}};
static const hf_term pcie_outputs[] = {
    HF_TERM("time", "s", "one step of the slowest rank"),
    HF_TERM("bandwidth", "B/s", "bytes sent by all ranks per second"),
    PART_WRITE,
    PART_EXCHANGE,
    PART_READ,
    {0},
};

static void pcie_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        out[2][i] = link_time(in[0][i], in[2][i], in[3][i]);
        out[3][i] = link_time(in[0][i], in[4][i], in[5][i]);
        out[4][i] = link_time(in[0][i], in[2][i], in[6][i]);
        parts_sum(i, in[0][i], in[1][i], out[2][i] + out[3][i] + out[4][i], out);
    }
}

/* Any scheme, from the parts of its steps as it takes them. */
#define CALIBRATED(scheme)                                                      \
    static const hf_term scheme##_calibrated_inputs[] = {                       \
        SIZE,                                                                   \
        RANKS,                                                                  \
        HF_TERM(#scheme "_copies_time", "s", "read and write of a step"),       \
        HF_TERM(#scheme "_exchange_time", "s", "between them, if anything is"), \
        {0}}
CALIBRATED(pcie);
CALIBRATED(pipelined);
CALIBRATED(shared);

static void calibrated_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++)
        parts_sum(i, in[0][i], in[1][i], in[2][i] + in[3][i], out);
}

/* ---- messages in chunks ---- */

static double chunks_of(double message, double size) {
    return ceil(message / (size > 0 ? size : hf_chunk(message)));
}

/* k chunks that overlap, from the parts of the whole message: the slowest part goes on all the
 * time, and the others show for one chunk. With one chunk this is Eq. 2. */
static double chunks_time(double k, const double *parts, int n) {
    double sum = 0, most = 0;
    for (int i = 0; i < n; i++) {
        sum += parts[i];
        most = fmax(most, parts[i]);
    }
    return most + (sum - most) / k;
}

/* Each chunk has its own latency: parts of a message are those of its chunks together. */
static double chunks_part(double message, double k, double latency, double bandwidth) {
    return k * latency + message / bandwidth;
}

static const hf_term pipelined_inputs[] = {SIZE,        RANKS,      DELAY_PCIE,
                                           WIDTH_WRITE, DELAY_HOST, WIDTH_HOST,
                                           WIDTH_READ,  CHUNK_SIZE, {0}};

static void pipelined_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], k = chunks_of(size, in[7][i]);
        out[2][i] = chunks_part(size, k, in[2][i], in[3][i]);
        out[3][i] = chunks_part(size, k, in[4][i], in[5][i]);
        out[4][i] = chunks_part(size, k, in[2][i], in[6][i]);
        const double parts[] = {out[2][i], out[3][i], out[4][i]};
        parts_sum(i, size, in[1][i], chunks_time(k, parts, 3), out);
    }
}

static const hf_term shared_inputs[] = {SIZE,       RANKS,      DELAY_PCIE, WIDTH_WRITE,
                                        WIDTH_READ, CHUNK_SIZE, {0}};
static const hf_term shared_outputs[] = {
    HF_TERM("time", "s", "one step of the slowest rank"),
    HF_TERM("bandwidth", "B/s", "bytes sent by all ranks per second"),
    PART_WRITE,
    PART_READ,
    {0},
};

static void shared_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        double size = in[0][i], k = chunks_of(size, in[5][i]);
        out[2][i] = chunks_part(size, k, in[2][i], in[3][i]);
        out[3][i] = chunks_part(size, k, in[2][i], in[4][i]);
        const double parts[] = {out[2][i], out[3][i]};
        parts_sum(i, size, in[1][i], chunks_time(k, parts, 2), out);
    }
}

/* Eq. 2 without a device. */
static const hf_term host_inputs[] = {SIZE, RANKS, DELAY_HOST, WIDTH_HOST, {0}};
static const hf_term host_outputs[] = {
    HF_TERM("time", "s", "one step of the slowest rank"),
    HF_TERM("bandwidth", "B/s", "bytes sent by all ranks per second"),
    PART_EXCHANGE,
    {0},
};

static void host_eval(size_t n, const double *const *in, double *const *out) {
    for (size_t i = 0; i < n; i++) {
        out[2][i] = link_time(in[0][i], in[2][i], in[3][i]);
        parts_sum(i, in[0][i], in[1][i], out[2][i], out);
    }
}

static const hf_term host_calibrated_inputs[] = {SIZE, RANKS, PART_EXCHANGE, {0}};

static void host_calibrated_eval(size_t n, const double *const *in,
                                 double *const *out) {
    for (size_t i = 0; i < n; i++)
        parts_sum(i, in[0][i], in[1][i], in[2][i], out);
}

/* Eq. 7: two ranks, long messages, latencies left out of Eq. 2. */
static const hf_term bound_inputs[] = {
    WIDTH_HOST,
    WIDTH("pcie_bandwidth", "pcie.bandwidth", "of PCIe, the same in both directions"),
    {0},
};
static const hf_term bound_outputs[] = {
    HF_TERM("pair_bound", "B/s", "limit of Eq. 2 for two ranks"), {0}};

static void bound_eval(size_t n, const double *const *in, double *const *out) {
    (void)n;
    out[0][0] = 2 / (1 / in[0][0] + 2 / in[1][0]);
}

static const hf_formula formulas[] = {
    {HF_EXPECTED, "channel",
     "Eq. 3 and 4: external channels; counts what all kernel pairs of all boards send, "
     "one way",
     channel_inputs, time_and_bandwidth, channel_eval},
    {HF_FITTED, "channel",
     "Eq. 3 fitted: latency and time of a chunk from measured times", fit_inputs,
     fit_outputs, fit_eval},
    {HF_EXPECTED, "pcie",
     "Eq. 2: read, MPI and write one after the other; counts one message per rank",
     pcie_inputs, pcie_outputs, pcie_eval},
    {HF_CALIBRATED, "pcie",
     "Eq. 2: read, MPI and write one after the other; counts one message per rank",
     pcie_calibrated_inputs, time_and_bandwidth, calibrated_eval},
    {HF_SUMMARY, "pcie",
     "Eq. 7: limit of Eq. 2 for long messages; counts both messages of two ranks",
     bound_inputs, bound_outputs, bound_eval},
    {HF_EXPECTED, "pipelined",
     "Eq. 2 in chunks: the slowest of read, MPI and write, and one chunk of the "
     "others; counts one message per rank",
     pipelined_inputs, pcie_outputs, pipelined_eval},
    {HF_EXPECTED, "shared",
     "Eq. 2 in chunks without MPI: the slower of read and write, and one chunk of the "
     "other; counts one message per rank",
     shared_inputs, shared_outputs, shared_eval},
    {HF_CALIBRATED, "pipelined",
     "copies, and what of the rest they do not hide; counts one message per rank",
     pipelined_calibrated_inputs, time_and_bandwidth, calibrated_eval},
    {HF_CALIBRATED, "shared",
     "copies, and what is between them; counts one message per rank",
     shared_calibrated_inputs, time_and_bandwidth, calibrated_eval},
    {HF_EXPECTED, "host",
     "Eq. 2 without a device: MPI alone; counts one message per rank", host_inputs,
     host_outputs, host_eval},
    {HF_CALIBRATED, "host",
     "Eq. 2 without a device: MPI alone; counts one message per rank",
     host_calibrated_inputs, time_and_bandwidth, host_calibrated_eval},
    {0},
};

const hf_model_ops hf_model_b_eff = {
    .name = "b_eff",
    .summary = "effective bandwidth over external channels, PCIe and MPI, or MPI alone",
    .formulas = formulas,
};
