/* graph.c - roofline of a graph engine on several devices, and the configuration it chooses.
 *
 * Engelhardt, Hung and So, "Performance-driven System Generation for Distributed
 * Vertex-Centric Graph Processing on Multi-FPGA Systems" (Eq. 1 to 4), and their GraVF-M,
 * which sends an update to each device in place of a message along each edge: its bounds of
 * interface and network are |E| / |V| times those for one record, and fall with the number of
 * devices. Both count edges per second; the lowest bound is the rate.
 *
 * Measurements stay below it where vertices have few edges (GraVF-M: below 32, to a third at the
 * lowest). The bound of a stream, a record per cycle to each other device, follows from the
 * text and the measured bandwidths of GraVF-M; it is not among the printed equations.
 */
#include "model.h"

enum {
    SOURCE,
    VERTICES,
    RANKS,
    EDGES,
    PES,
    CLOCK,
    CYCLES,
    MEMORY_BANDWIDTH,
    EDGE_BYTES,
    WORD_BYTES,
    RECORD_BYTES,
    INTERFACE,
    NETWORK,
    STREAM,
    VERTEX_BYTES,
    CAPACITY,
    GRAVF,
    TRAVERSED,
    SUPERSTEPS,
    BARRIER,
};

static const hf_term inputs[] = {
    [SOURCE] = {"source", "1",
                "vertex that a run begins at, -1: none; it changes nothing here", NULL,
                -1, NULL, true},
    [VERTICES] = {"vertices", "1", "|V|", NULL, 1 << 20, NULL, false},
    [RANKS] = HF_TERM("ranks", "1", "devices n"),
    [EDGES] = {"edges", "1", "|E|, those of one traversal", NULL, 1 << 24, NULL, false},
    [PES] = {"pes", "1", "processing elements of a device", "graph.pes", 1, NULL,
             false},
    [CLOCK] = {"clock", "Hz", "of the processing elements", "kernel_clock.graph", NAN,
               NULL, false},
    [CYCLES] = {"cycles_per_edge", "1", "of a processing element",
                "graph.cycles_per_edge.<program>", NAN, NULL, false},
    [MEMORY_BANDWIDTH] = {"memory_bandwidth", "B/s", "of a device, for edges",
                          "graph.memory_bandwidth", INFINITY, NULL, false},
    [EDGE_BYTES] = {"edge_bytes", "B", "an edge in memory", NULL, 4, NULL, false},
    [WORD_BYTES] = {"word_bytes", "B",
                    "least that a processing element reads for a list of edges", NULL,
                    4, NULL, false},
    [RECORD_BYTES] = {"record_bytes", "B", "an update or a message on its way",
                      "graph.record_bytes", 8, NULL, false},
    [INTERFACE] = {"interface_bandwidth", "B/s", "of a device, both directions",
                   "graph.interface_bandwidth", INFINITY, NULL, false},
    [NETWORK] = {"network_bandwidth", "B/s", "of all devices together",
                 "graph.network_bandwidth", INFINITY, NULL, false},
    [STREAM] = {"stream_rate", "1/s", "records per second from a device to another",
                "graph.stream_rate", INFINITY, NULL, false},
    [VERTEX_BYTES] = {"vertex_bytes", "B", "a vertex in memory", NULL, 4, NULL, false},
    [CAPACITY] = {"capacity", "B", "of a device's memory", "graph.capacity", INFINITY,
                  NULL, false},
    [GRAVF] = {"gravf", "1",
               "1: a message along each edge (GraVF), 0: an update to each device "
               "(GraVF-M)",
               NULL, 0, "architecture:gravf", true},
    [TRAVERSED] = {"traversed", "1", "edges gone along in a run; 0: all, once", NULL, 0,
                   NULL, true},
    [SUPERSTEPS] = {"supersteps", "1", "of a run", NULL, 0, NULL, true},
    [BARRIER] = {"barrier", "s", "end of a superstep", "graph.barrier", 0, NULL, true},
    {0},
};

enum {
    TIME,
    EDGE_RATE,
    LIMIT,
    FIRST_BOUND,
    N_BOUNDS = 5,
    NEEDED = FIRST_BOUND + N_BOUNDS
};

static const hf_term outputs[] = {
    [TIME] = HF_TERM("time", "s", "a run"),
    [EDGE_RATE] = HF_TERM("edge_rate", "1/s", "edges traversed per second"),
    [LIMIT] = HF_TERM("limit", "1", "number of the bound that is reached, from 0"),
    HF_TERM("pe_bound", "1/s", "the same by processing elements alone (Eq. 1)"),
    HF_TERM("memory_bound", "1/s", "by memory (Eq. 2)"),
    HF_TERM("interface_bound", "1/s", "by the interfaces of the devices (Eq. 3)"),
    HF_TERM("network_bound", "1/s", "by the network (Eq. 4)"),
    HF_TERM("stream_bound", "1/s", "by streams between devices"),
    [NEEDED] = HF_TERM("fewest_devices", "1", "whose memory holds the vertices"),
    {0},
};

/* A bound that nothing sets has no value; the first is always there. */
static void bounds_eval(size_t count, const double *const *in, double *const *out,
                        bool ring) {
    for (size_t i = 0; i < count; i++) {
        double n = in[RANKS][i], per_vertex = in[EDGES][i] / in[VERTICES][i];
        double record = in[RECORD_BYTES][i], edge = in[EDGE_BYTES][i];
        /* bytes of memory per edge; a list that ends within a word has read all of it */
        double read = edge + in[PES][i] / per_vertex * (in[WORD_BYTES][i] - edge);
        /* records that a device makes for each edge, and those for other devices */
        double made = in[GRAVF][i] > 0 ? 1 / n : 1 / per_vertex;
        double sent = made * (n - 1) / n;
        double bounds[N_BOUNDS] = {
            n * in[PES][i] * in[CLOCK][i] / in[CYCLES][i],
            n * in[MEMORY_BANDWIDTH][i] / read,
            in[INTERFACE][i] / (2 * record * sent),
            in[NETWORK][i] / (record * n * sent),
            n > 1 ? in[STREAM][i] / (ring ? sent : made / n) : INFINITY,
        };
        double rate = INFINITY;
        double work = in[TRAVERSED][i] > 0 ? in[TRAVERSED][i] : in[EDGES][i];
        for (size_t k = 0; k < N_BOUNDS; k++) {
            out[FIRST_BOUND + k][i] = isinf(bounds[k]) ? NAN : bounds[k];
            if (bounds[k] < rate) {
                rate = bounds[k];
                out[LIMIT][i] = (double)k;
            }
        }
        double needed = ceil(in[VERTICES][i] * in[VERTEX_BYTES][i] / in[CAPACITY][i]);
        out[NEEDED][i] = fmax(1, needed);
        double time = work / rate + in[SUPERSTEPS][i] * in[BARRIER][i];
        out[TIME][i] = n < needed ? NAN : time;
        out[EDGE_RATE][i] = work / out[TIME][i];
    }
}

/* Each device has a stream to each other one. */
static void roofline_eval(size_t count, const double *const *in, double *const *out) {
    bounds_eval(count, in, out, false);
}

/* An update goes round a ring, along all links but one. */
static void ring_eval(size_t count, const double *const *in, double *const *out) {
    bounds_eval(count, in, out, true);
}

/* ---- the choice among configurations ---- */

static const hf_term choices[] = {
    {"ranks", "1", "devices; there are so many", "graph.devices", NAN, NULL, false},
    {"pes", "1", "processing elements of a device; there is room for so many",
     "graph.pes", NAN, NULL, false},
    HF_TERM("edge_rate", "1/s", "edges traversed per second"),
    {0},
};
static const hf_term chosen[] = {
    HF_TERM("index", "1", "of the one chosen; none: -1"),
    {0},
};

/* As GraVF-M: the highest rate first, then the fewest processing elements for it, to save power,
 * then the fewest devices. */
static bool is_better(const double *const *in, size_t a, size_t b) {
    static const double SAME = 1e-9;
    double gain = in[2][a] / in[2][b] - 1,
           more = in[0][a] * in[1][a] - in[0][b] * in[1][b];
    if (fabs(gain) > SAME)
        return gain > 0;
    return more < 0 || (more == 0 && in[0][a] < in[0][b]);
}

static void choice_eval(size_t count, const double *const *in, double *const *out) {
    out[0][0] = -1;
    for (size_t i = 0; i < count; i++)
        if (in[2][i] > 0 && (out[0][0] < 0 || is_better(in, i, (size_t)out[0][0])))
            out[0][0] = (double)i;
}

#define COUNTS                                                                    \
    "edges traversed per second, at the lowest of the bounds; measurements stay " \
    "below it where vertices have fewer than 32 edges"
static const hf_formula formulas[] = {
    {HF_EXPECTED, NULL, COUNTS, inputs, outputs, roofline_eval},
    {HF_EXPECTED, "channel", COUNTS "; round a ring of devices", inputs, outputs,
     ring_eval},
    {HF_CHOSEN, NULL, "the fastest configuration, then the fewest processing elements",
     choices, chosen, choice_eval},
    {0},
};

const hf_model_ops hf_model_graph = {
    .name = "graph",
    .summary =
        "roofline by processing elements, memory, interfaces, network and streams",
    .formulas = formulas,
};
