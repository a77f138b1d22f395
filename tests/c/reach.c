/* reach.c - benchmarks send to the ranks, and hold the parts, that their definitions say.
 *
 * A check asks the same functions as the run: were they wrong, both would agree.
 */
#include <mpi.h>

#include "randomaccess.h"
#include "runs.h"
#include "world.h"

enum { WORDS = 4096 };

static int rank, size, plans[2], checks;

hf_status __real_hf_plan_new(hf_plan **, struct hf_exchange *, hf_buffer *,
                             const hf_buffer *, size_t, const hf_message *);
hf_status __wrap_hf_plan_new(hf_plan **out, struct hf_exchange *exchange,
                             hf_buffer *recv, const hf_buffer *send, size_t n,
                             const hf_message *messages);

/* Messages of b_eff go to one neighbour and come from the other. */
hf_status __wrap_hf_plan_new(hf_plan **out, struct hf_exchange *exchange,
                             hf_buffer *recv, const hf_buffer *send, size_t n,
                             const hf_message *messages) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size,
        goes_right = messages->to == right;
    CHECK(n == 1 && messages->to == (goes_right ? right : left) &&
              messages->from == (goes_right ? left : right),
          "rank %d: to %d, from %d", rank, messages->to, messages->from);
    plans[goes_right]++;
    return __real_hf_plan_new(out, exchange, recv, send, n, messages);
}

uint64_t __real_randomaccess_check_run(randomaccess_check *, const randomaccess_part *,
                                       uint64_t);
uint64_t __wrap_randomaccess_check_run(randomaccess_check *check,
                                       const randomaccess_part *part, uint64_t stamp);

/* The parts of all ranks, one behind the other, are the table. */
uint64_t __wrap_randomaccess_check_run(randomaccess_check *check,
                                       const randomaccess_part *part, uint64_t stamp) {
    CHECK(part->words == WORDS && part->count == WORDS / (uint64_t)size &&
              part->first == part->count * (uint64_t)rank,
          "rank %d: %d words from %d", rank, (int)part->count, (int)part->first);
    checks++;
    return __real_randomaccess_check_run(check, part, stamp);
}

int main(int argc, char **argv) {
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    hf_session *session;
    CHECK(world_open(&session, (hf_options){.device = "host",
                                            .exchange = "pcie",
                                            .has_comm = true}) == HF_OK,
          "%s", hf_error());
    CHECK(run_verified(session, "b_eff", "b_eff_memory",
                       (const char *[]){"sizes", "64", "reps", "1", NULL}));
    CHECK(plans[0] == 2 && plans[1] == 2, "%d to the left, %d to the right", plans[0],
          plans[1]);
    CHECK(run_verified(session, "randomaccess", "randomaccess_memory",
                       (const char *[]){"sizes", "4096", "reps", "1", NULL}));
    CHECK(checks > 0);
    hf_session_close(session);
    MPI_Finalize();
    return check_failures > 0;
}
