/* trace.c - spans of a trace, on a device whose clock is its own and may lie; by mpirun on two
 * ranks, whose clocks differ.
 */
#include <math.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "agree.h"
#include "check.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/registry.h"
#include "core/trace.h"
#include "node.h"
#include "world.h"

/* ---- clocks of ranks, and nodes: the linker leads calls here (--wrap) ---- */

static bool apart; /* the ranks stand for two nodes */
static int rank;
static double clock_zero;
static const double ahead = 5, faster = 1e-5; /* of rank 1 [s], [1] */

double __real_hf_clock_now(void);
double __wrap_hf_clock_now(void);
double __wrap_hf_clock_now(void) {
    double now = __real_hf_clock_now();
    return apart && rank == 1 ? now + ahead + faster * (now - clock_zero) : now;
}

void __real_hf_node_name(char name[HF_NODE_ROOM]);
void __wrap_hf_node_name(char name[HF_NODE_ROOM]);
void __wrap_hf_node_name(char name[HF_NODE_ROOM]) {
    __real_hf_node_name(name);
    if (apart)
        name[0] = (char)('a' + rank);
}

/* ---- a device that takes its time ---- */

enum { EVENTS = 64 };
static const double long_ago = 1e9, drift = 2e-5; /* its clock's zero [s], its rate */
static const double seconds = 2e-4;               /* of a command */

enum { TRUE_TIMES, LATE, REVERSED, NONE };
static int fault;

static struct {
    uint64_t ticks[2];
    double end; /* by our clock */
} events[EVENTS];
static size_t n_events, waited;
static double queue_free[2]; /* when queue 0 and 1 have nothing left to do */

static uint64_t ticks_at(double now) {
    return (uint64_t)(1e9 * (long_ago + (1 + drift) * now));
}

static void sleep_until(double end);

static hf_status command(const hf_order *order, hf_event **done) {
    unsigned queue = order ? order->queue : 0;
    double now = hf_clock_now(), start = fmax(now, queue_free[queue]),
           end = start + seconds;
    size_t i = n_events++ % EVENTS;
    queue_free[queue] = events[i].end = end;
    events[i].ticks[0] = ticks_at(start);
    events[i].ticks[1] = ticks_at(end);
    if (done) {
        *done = (hf_event *)&events[i];
    } else {
        sleep_until(end);
        waited = i;
    }
    return HF_OK;
}

static void sleep_until(double end) {
    double left = end - hf_clock_now();
    if (left > 0)
        nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * left)}, NULL);
}

static size_t number_of(const hf_event *event) {
    return (size_t)((const char *)event - (const char *)events) / sizeof events[0];
}

static hf_status fake_kernel(hf_kernel **out, hf_device *device, const char *name,
                             unsigned unit) {
    static char kernels[4];
    (void)device, (void)unit;
    *out = (hf_kernel *)&kernels[name[0] == 'b'];
    return HF_OK;
}

static hf_status fake_alloc(hf_buffer **out, hf_device *device, size_t bytes,
                            const hf_spot *spot) {
    (void)device, (void)spot, (void)bytes;
    *out = calloc(1, sizeof **out);
    return *out ? HF_OK : HF_ENOMEM;
}

static void fake_free(hf_buffer *buffer) {
    free(buffer);
}

static hf_status fake_write(hf_device *device, hf_buffer *to, size_t at,
                            const void *from, size_t bytes, const hf_order *order,
                            hf_event **done) {
    (void)device, (void)to, (void)at, (void)from, (void)bytes;
    return command(order, done);
}

static hf_status fake_launch(hf_device *device, const hf_launch *launch,
                             const hf_order *order, hf_event **done) {
    (void)device, (void)launch;
    return command(order, done);
}

static hf_status fake_test(hf_device *device, hf_event *event, double longest,
                           bool *ended) {
    (void)device;
    double end = events[number_of(event)].end;
    sleep_until(fmin(end, hf_clock_now() + longest));
    *ended = hf_clock_now() >= end;
    return HF_OK;
}

static hf_status fake_wait(hf_device *device, hf_event *event) {
    (void)device;
    waited = number_of(event);
    sleep_until(events[waited].end);
    return HF_OK;
}

static hf_status fake_finish(hf_device *device) {
    (void)device;
    sleep_until(fmax(queue_free[0], queue_free[1]));
    return HF_OK;
}

static bool probing; /* faults hit the commands of the sample alone */

static hf_status fake_profile(hf_device *device) {
    (void)device;
    return HF_OK;
}

static hf_status fake_times(hf_device *device, uint64_t ticks[2]) {
    const uint64_t *own = events[waited].ticks;
    (void)device;
    bool lies = !probing;
    ticks[0] = own[0];
    ticks[1] = own[1];
    if (lies && fault == LATE)
        ticks[1] += 60000000000; /* a minute: a busy host sees an end some time late */
    if (lies && fault == REVERSED) {
        ticks[0] = own[1];
        ticks[1] = own[0];
    }
    return lies && fault == NONE ? hf_fail(HF_EDEVICE, "no times") : HF_OK;
}

static const hf_device_ops fake = {
    .kernel = fake_kernel,
    .alloc = fake_alloc,
    .free = fake_free,
    .write = fake_write,
    .launch = fake_launch,
    .test = fake_test,
    .wait = fake_wait,
    .finish = fake_finish,
    .profile = fake_profile,
    .times = fake_times,
};

/* ---- one rank ---- */

static hf_device device;
static hf_transport *net;
static hf_buffer buffer;
static hf_kernel *kernels[2];
static hf_trace *trace;

/* Eight commands: one that returns at its end, a pair in two queues, five before `finish`. */
enum { COMMANDS = 8 };

static void commands_take(void) {
    const hf_launch a = {.kernel = kernels[0]}, b = {.kernel = kernels[1]};
    hf_event *first, *second, *rest[COMMANDS];
    bool ended = false;
    CHECK(device.ops->write(&device, &buffer, 0, "", 4, NULL, NULL) == HF_OK);
    CHECK(device.ops->launch(&device, &a, NULL, &first) == HF_OK);
    CHECK(device.ops->launch(&device, &b, &(hf_order){.queue = 1, .label = "beside"},
                             &second) == HF_OK);
    CHECK(device.ops->test(&device, second, 1, &ended) == HF_OK && ended);
    CHECK(device.ops->wait(&device, second) == HF_OK);
    CHECK(device.ops->wait(&device, first) == HF_OK);
    for (int i = 3; i < COMMANDS; i++)
        CHECK(device.ops->launch(&device, &b, NULL, &rest[i]) == HF_OK);
    CHECK(device.ops->finish(&device) == HF_OK);
    for (int i = 3; i < COMMANDS; i++)
        CHECK(device.ops->wait(&device, rest[i]) == HF_OK);
}

static void sample_take(void) {
    probing = true;
    CHECK(hf_trace_ready(trace) == HF_OK, "%s", hf_error());
    probing = false;
    hf_trace_begin(trace);
    double start = hf_clock_now();
    commands_take();
    hf_trace_end(trace, start, hf_clock_now());
    probing = true;
    CHECK(hf_trace_settle(trace) == HF_OK, "%s", hf_error());
}

/* A run of one point, whose first sample is kept. */
static const hf_trace_row *run_take(size_t *n, hf_trace_facts *facts) {
    hf_kernel *other;
    CHECK(device.ops->kernel(&kernels[0], &device, "apply", 0) == HF_OK);
    CHECK(device.ops->kernel(&kernels[1], &device, "before", 0) == HF_OK);
    CHECK(device.ops->kernel(&other, &device, "build", 0) ==
          HF_OK); /* at its address */
    CHECK(hf_trace_start(trace, 1) == HF_OK);
    CHECK(hf_trace_clocks(trace, 0) == HF_OK);
    sample_take();
    hf_trace_keep(trace);
    sample_take();
    CHECK(hf_trace_point(trace, 0) == HF_OK);
    CHECK(hf_trace_clocks(trace, 1) == HF_OK);
    CHECK(hf_trace_gather(trace) == HF_OK, "%s", hf_error());
    return hf_trace_rows(trace, n, facts);
}

static void net_open(void) {
    char library[MPI_MAX_LIBRARY_VERSION_STRING];
    int length, size;
    const hf_transport_ops *ops;
    MPI_Get_library_version(library, &length);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    CHECK(hf_transport_find(&ops, size > 1 ? "mpi" : "self") == HF_OK);
    CHECK(ops->open(&net, (int)MPI_Comm_c2f(MPI_COMM_WORLD), library, 20) == HF_OK,
          "%s", hf_error());
}

static void open_trace(size_t room) {
    device = (hf_device){.ops = &fake, .deadline = 5};
    CHECK(hf_trace_open(&trace, &device, net, room) == HF_OK, "%s", hf_error());
    CHECK(device.ops != &fake);
}

static void close_trace(void) {
    hf_trace_stop(trace);
    hf_trace_close(trace);
    CHECK(device.ops == &fake);
}

/* Spans of the device on the host's clock: in order, within the sample, as long as they were. */
static void place_test(void) {
    size_t n, found = 0;
    hf_trace_facts facts;
    double last[2] = {0, 0};
    fault = TRUE_TIMES;
    open_trace(100);
    double began = hf_clock_now();
    const hf_trace_row *rows = run_take(&n, &facts);
    double took = hf_clock_now() - began;
    const hf_trace_row *sample = rows;
    CHECK(sample->kind == HF_SPAN_SAMPLE && sample->queue == HF_TRACE_SAMPLE);
    CHECK(facts.lost == 0 && facts.untimed == 0, "%g %g", facts.lost, facts.untimed);
    CHECK(facts.device_error > 0 && facts.device_error < took, "%g in %g s",
          facts.device_error, took);
    CHECK(facts.rank_error == 0, "%g", facts.rank_error);
    for (size_t i = 1; i < n; i++) {
        const hf_trace_row *row = &rows[i];
        CHECK(row->start >= sample->start - facts.device_error - 1e-6 &&
              row->end <= sample->end + facts.device_error + 1e-6);
        if (row->queue < 0) {
            CHECK(row->kind == HF_SPAN_WAIT, "%d", row->kind);
            continue;
        }
        found++;
        CHECK(fabs(row->end - row->start - seconds) < 1e-3 * seconds + 1e-6, "%g",
              row->end - row->start);
        CHECK(row->start >= last[row->queue] - 1e-9, "%zu", i);
        last[row->queue] = row->end;
        if (row->queue == 1)
            CHECK(strcmp(row->label, "beside") == 0, "%s", row->label);
        else if (row->kind == HF_SPAN_KERNEL)
            CHECK(strcmp(row->label, "apply") == 0 || strcmp(row->label, "build") == 0,
                  "%s", row->label);
        else
            CHECK(row->kind == HF_SPAN_WRITE && row->bytes == 4);
    }
    CHECK(found == COMMANDS, "%zu", found);
    close_trace();
}

/* Times that cannot be are not shown: the command lies between its call and its end. */
static void fault_test(void) {
    for (fault = LATE; fault <= NONE; fault++) {
        size_t n;
        hf_trace_facts facts;
        open_trace(100);
        const hf_trace_row *rows = run_take(&n, &facts);
        CHECK(facts.untimed == COMMANDS, "fault %d: %g", fault, facts.untimed);
        for (size_t i = 0; i < n; i++)
            CHECK(rows[i].start <= rows[i].end && rows[i].end <= rows[0].end);
        close_trace();
    }
    fault = TRUE_TIMES;
}

/* What finds no room is counted, and commands act without it. */
static void room_test(void) {
    size_t n, all;
    hf_trace_facts facts;
    open_trace(100);
    run_take(&all, &facts);
    close_trace();
    for (size_t room = 1; room < 6; room += 2) {
        open_trace(room);
        run_take(&n, &facts);
        CHECK(n == room + 1 && (double)(n + (size_t)facts.lost) == (double)all,
              "%zu + %g of %zu", n, facts.lost, all);
        close_trace();
    }
}

/* A session that records nothing of what lies outside of the timed part. */
static void idle_test(void) {
    size_t n;
    hf_trace_facts facts;
    open_trace(100);
    CHECK(hf_trace_start(trace, 1) == HF_OK);
    commands_take();
    hf_trace_begin(trace);
    hf_trace_end(trace, 1, 2);
    commands_take();
    hf_trace_keep(trace);
    CHECK(hf_trace_point(trace, 0) == HF_OK);
    const hf_trace_row *rows = hf_trace_rows(trace, &n, &facts);
    CHECK(n == 1 && rows[0].start == 1 && rows[0].end == 2, "%zu", n);
    close_trace();
}

/* ---- two ranks ---- */

enum { MESSAGES = 20 };
static const struct timespec drifts = {0, 300000000}; /* clocks do so meanwhile */

static void messages_run(hf_trace_facts *facts, double *worst) {
    char out[64] = "", in[64];
    size_t n, found = 0;
    open_trace(100);
    CHECK(hf_trace_start(trace, 1) == HF_OK);
    CHECK(hf_trace_clocks(trace, 0) == HF_OK, "%s", hf_error());
    nanosleep(&drifts, NULL);
    hf_trace_begin(trace);
    double start = hf_clock_now();
    for (int i = 0; i < MESSAGES; i++)
        CHECK(net->ops->sendrecv(net, out, 1 - rank, in, 1 - rank, sizeof in) == HF_OK);
    hf_trace_end(trace, start, hf_clock_now());
    hf_trace_keep(trace);
    CHECK(hf_trace_point(trace, 0) == HF_OK);
    nanosleep(&drifts, NULL);
    CHECK(hf_trace_clocks(trace, 1) == HF_OK);
    CHECK(hf_trace_gather(trace) == HF_OK, "%s", hf_error());
    const hf_trace_row *rows = hf_trace_rows(trace, &n, facts), *of[2] = {0};
    for (size_t i = 0; i < n; i++)
        if (rows[i].kind == HF_SPAN_SAMPLE)
            of[rows[i].rank] = &rows[i + 1];
    CHECK(n == 2 * (MESSAGES + 1) && of[0] && of[1], "%zu", n);
    *worst = 0;
    for (size_t i = 0; n == 2 * (MESSAGES + 1) && i < MESSAGES; i++, found++) {
        const hf_trace_row *a = &of[0][i], *b = &of[1][i];
        CHECK(a->kind == HF_SPAN_MESSAGE && a->bytes == 64 &&
              strcmp(a->label, "with 1") == 0 && strcmp(b->label, "with 0") == 0);
        *worst = fmax(*worst, fmax(a->start - b->end, b->start - a->end));
    }
    close_trace();
}

/* Messages that move on their own are spans from their start until they are over. */
static void transfers_test(void) {
    char out[8] = "", in[8];
    size_t n;
    hf_trace_facts facts;
    hf_transfer sent, came;
    double value = 1;
    open_trace(100);
    CHECK(hf_trace_start(trace, 1) == HF_OK);
    CHECK(hf_trace_clocks(trace, 0) == HF_OK);
    hf_trace_begin(trace);
    double start = hf_clock_now();
    CHECK(hf_recv(net, &came, in, sizeof in, 1 - rank) == HF_OK);
    CHECK(hf_send(net, &sent, out, sizeof out, 1 - rank) == HF_OK);
    while (!came.over || !sent.over)
        CHECK((came.over || net->ops->test(net, &came) == HF_OK) &&
              (sent.over || net->ops->test(net, &sent) == HF_OK));
    CHECK(net->ops->reduce(net, &value, 1, HF_SUM) == HF_OK && value == 2);
    hf_trace_end(trace, start, hf_clock_now());
    hf_trace_keep(trace);
    CHECK(hf_trace_point(trace, 0) == HF_OK);
    CHECK(hf_trace_clocks(trace, 1) == HF_OK);
    CHECK(hf_trace_gather(trace) == HF_OK, "%s", hf_error());
    const hf_trace_row *rows = hf_trace_rows(trace, &n, &facts);
    CHECK(n == 8 && facts.untimed == 0, "%zu %g", n, facts.untimed);
    for (size_t i = 0; n == 8 && i < n; i++) {
        const hf_trace_row *row = &rows[i], *whole = &rows[i / 4 * 4];
        bool sends = row->queue == HF_TRACE_SENDS, gets = row->queue == HF_TRACE_RECVS;
        CHECK(row->start >= whole->start && row->end <= whole->end);
        CHECK(i % 4 == 0 || row->end > row->start);
        CHECK(i % 4 == 0 || sends || gets || strcmp(row->label, "reduce") == 0);
        CHECK(!sends || (row->label[3] == '1' - row->rank && row->bytes == 8));
        CHECK(!gets || (row->label[5] == '1' - row->rank && row->bytes == 8));
    }
    close_trace();
}

/* A message is on both ranks at once, as far as their clocks can tell. */
static void ranks_test(void) {
    hf_trace_facts facts;
    double worst;
    messages_run(&facts, &worst);
    CHECK(facts.rank_error == 0 && worst <= 0, "%g %g", facts.rank_error, worst);
    hf_transport *whole = net;
    clock_zero = __real_hf_clock_now();
    apart = true;
    net_open();
    double start = __real_hf_clock_now();
    messages_run(&facts, &worst);
    double took = __real_hf_clock_now() - start - 2e-9 * (double)drifts.tv_nsec;
    CHECK(facts.rank_error > 0 && facts.rank_error < took, "%g in %g s",
          facts.rank_error, took);
    CHECK(worst <= 2 * facts.rank_error, "%g s beyond %g s", worst, facts.rank_error);
    net->ops->close(net);
    net = whole;
    apart = false;
}

/* Ranks share the memory of a device with those of their node, whatever its name. */
static void memory_test(void) {
    size_t memory[2];
    for (int nodes = 0; nodes < 2; nodes++) {
        hf_session *session;
        apart = nodes;
        CHECK(world_open(&session, (hf_options){.device = "host",
                                                .exchange = "host",
                                                .has_comm = true}) == HF_OK,
              "%s", hf_error());
        memory[nodes] = hf_session_facts(session).device->memory;
        hf_session_close(session);
        apart = false;
    }
    CHECK(memory[0] == memory[1] / 2, "%zu B, %zu B apart", memory[0], memory[1]);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    net_open();
    rank = net->rank;
    if (net->size == 2) {
        transfers_test();
        ranks_test();
        memory_test();
    } else {
        place_test();
        fault_test();
        room_test();
        idle_test();
    }
    net->ops->close(net);
    MPI_Finalize();
    return check_failures != 0;
}
