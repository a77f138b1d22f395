/* choice.c - each plan is of the scheme that is expected to be the fastest for its messages, alone
 * or with mpirun on any number of ranks. */
#include <math.h>
#include <mpi.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "core/session.h"
#include "world.h"

enum { ROOM = 1 << 16 };

static hf_session *session;
static hf_device *device;
static hf_buffer *from, *to;
static int rank, size;

/* Equal at 1000 B, and shared as fast from 941 B on; longer messages are slower over pcie, shorter
 * ones over shared. */
static const char *const schemes[] = {"pcie", "shared"};
static const double sizes[] = {10, 1000, 100000},
                    times[] = {1e-6, 1e-5, 1e-4, 1e-5, 1e-5, 1e-5};
static const hf_expected planted = {3, 2, sizes, schemes, times};

/* Send so many bytes around the ring; the scheme that the plan is of. */
static const char *moved(size_t bytes, size_t planned) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, planned, planned};
    hf_plan *plan;
    if (hf_plan_new(&plan, session->exchange, to, from, 1, &m) != HF_OK)
        return hf_error();
    plan->messages[0].send_bytes = plan->messages[0].recv_bytes = bytes;
    memset(from->host, 'a' + rank, bytes);
    memset(to->host, 0, ROOM);
    CHECK(hf_plan_run(plan) == HF_OK, "%s", hf_error());
    const char *got = to->host, *name = plan->exchange->ops->name;
    for (size_t i = 0; i < ROOM; i++)
        if (got[i] != (i < bytes ? 'a' + left : 0))
            return "wrong data";
    hf_plan_free(plan);
    return name;
}

#define IS(text, wanted) CHECK(strcmp(text, wanted) == 0, "%s", text)

static void sizes_test(void) {
    IS(moved(1, 1), "pcie"); /* shorter than any that is expected */
    IS(moved(10, 10), "pcie");
    IS(moved(940, 940), "pcie");
    IS(moved(942, 942), "shared");
    IS(moved(ROOM, ROOM), "shared");
    IS(moved(0, 0), "pcie");
    IS(moved(10, ROOM), "shared"); /* what is planned decides */
}

/* More schemes than lengths. */
static void schemes_test(void) {
    static const char *const all[] = {"pcie", "pipelined", "shared"};
    static const double ends[] = {10, 100000}, own[] = {1, 9, 9, 1, 3, 3.05};
    const hf_expected wide = {2, 3, ends, all, own};
    CHECK(hf_session_exchange(session, HF_AUTO, &wide) == HF_OK, "%s", hf_error());
    IS(moved(10, 10), "pcie");
    IS(moved(ROOM, ROOM), "pipelined");
    IS(moved(1000, 1000), "shared"); /* between them, where all are within 3 % */
}

/* Of schemes that are as fast as the fastest it is the last. */
static void equal_test(void) {
    static const struct {
        double times[3];
        size_t taken;
    } cases[] = {{{1, 2, 3}, 0},       {{3, 2, 1}, 2},       {{1, 1, 1}, 2},
                 {{1, 1.02, 1.04}, 1}, {{1, 1.04, 1.02}, 2}, {{1.04, 1, 1.04}, 1},
                 {{2, 1, 1.5}, 1},     {{1e-7, 9e-8, 1}, 1}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t taken = hf_fastest(cases[i].times, 3);
        CHECK(taken == cases[i].taken, "case %zu: %zu", i, taken);
    }
}

/* All ranks take one scheme: that for the longest message of any. */
static void longest_test(void) {
    hf_plan *plan;
    size_t bytes = rank == 0 ? ROOM : 10,
           theirs = (rank + size - 1) % size == 0 ? ROOM : 10;
    const hf_message m = {
        (rank + 1) % size, (rank + size - 1) % size, 0, 0, bytes, theirs};
    CHECK(hf_plan_new(&plan, session->exchange, to, from, 1, &m) == HF_OK, "%s",
          hf_error());
    IS(plan->exchange->ops->name, "shared");
    hf_plan_free(plan);
}

static void used_test(void) {
    hf_exchange *const *choices = session->exchange->choices;
    choices[0]->used = choices[1]->used = false;
    moved(10, 10);
    CHECK(choices[0]->used && !choices[1]->used);
    moved(ROOM, ROOM);
    CHECK(choices[1]->used);
    hf_laps laps;
    hf_exchange_lap(session->exchange, &laps);
    CHECK(choices[0]->laps == &laps && choices[1]->laps == &laps);
    hf_exchange_lap(session->exchange, NULL);
    CHECK(!choices[0]->laps && !choices[1]->laps);
}

static void refuse(hf_expected expected, const char *why) {
    CHECK(hf_session_exchange(session, HF_AUTO, &expected) == HF_EARG &&
              strstr(hf_error(), why),
          "%s: %s", why, hf_error());
    IS(hf_session_facts(session).exchange, "pcie");
}

static void refuse_test(void) {
    static const double falling[] = {100, 10}, none[] = {1e-6, 0, 1e-6, 1e-6};
    static const char *const streams[] = {"pcie", "channel"}, *const hosts[] = {"host",
                                                                                "pcie"};
    refuse((hf_expected){2, 2, falling, schemes, times},
           "length number 1 is 10 B; lengths rise");
    refuse((hf_expected){2, 2, sizes, schemes, none},
           "0 s over exchange \"pcie\" for 1000 B");
    refuse((hf_expected){2, 2, sizes, streams, times},
           "exchange \"channel\" moves no blocks of devices");
    refuse((hf_expected){2, 2, sizes, hosts, times},
           "exchange \"host\" moves no blocks of devices");
    refuse((hf_expected){0, 2, sizes, schemes, times}, "2 schemes, 0 lengths");
    CHECK(hf_session_exchange(session, HF_AUTO, NULL) == HF_EARG &&
              strstr(hf_error(), "exchange \"auto\" needs times that are expected"),
          "%s", hf_error());
    const double other[] = {1e-6, 1e-4, 1e-5, rank == 1 ? 2e-5 : 1e-5};
    if (size > 1)
        refuse((hf_expected){2, 2, sizes, schemes, other},
               "expected time differs between ranks");
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    CHECK(world_open(&session, (hf_options){.device = "host",
                                            .deadline = 20,
                                            .has_comm = true}) == HF_OK,
          "%s", hf_error());
    device = session->device;
    rank = session->net->rank;
    size = session->net->size;
    CHECK(device->ops->alloc(&from, device, ROOM, NULL) == HF_OK);
    CHECK(device->ops->alloc(&to, device, ROOM, NULL) == HF_OK);
    refuse_test();
    CHECK(hf_session_exchange(session, HF_AUTO, &planted) == HF_OK, "%s", hf_error());
    IS(hf_session_facts(session).exchange, HF_AUTO);
    sizes_test();
    equal_test();
    longest_test();
    used_test();
    schemes_test();
    device->ops->free(from);
    device->ops->free(to);
    hf_session_close(session);
    MPI_Finalize();
    return check_failures != 0;
}
