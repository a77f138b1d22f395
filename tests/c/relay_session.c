/* relay_session.c - opens the session of relay.c, and fills and checks its buffers. */
#include <stdlib.h>

#include "relay_session.h"
#include "world.h"

hf_session *session;
hf_device *device;
hf_exchange *exchange;
int rank, size;
hf_buffer *buffers[2];
unsigned char *memory;

const hf_device_ops *own;
hf_device_ops counting;
size_t n_launches, n_without, n_factored;
const hf_kernel *fill, *factor; /* of linpack */

static hf_status seen_kernel(hf_kernel **out, hf_device *of, const char *name,
                             unsigned unit) {
    HF_TRY(own->kernel(out, of, name, unit));
    if (strcmp(name, "linpack_fill") == 0)
        fill = *out;
    if (strcmp(name, "linpack_lu") == 0)
        factor = *out;
    return HF_OK;
}

static hf_status counted_launch(hf_device *of, const hf_launch *launch,
                                const hf_order *order, hf_event **done) {
    bool is = order && order->label && strcmp(order->label, "relay") == 0;
    n_launches = launch->kernel == fill ? 0 : n_launches + is;
    if (launch->kernel == factor)
        n_factored = n_launches;
    n_without += is && order->no_event && !done;
    return own->launch(of, launch, order, done);
}

void open_all(void) {
    unsigned char *binary = NULL;
    size_t bytes = 0;
    OK(world_open(&session, (hf_options){.device = "cpu",
                                         .exchange = "shared",
                                         .deadline = 20,
                                         .has_comm = true}));
    device = session->device;
    exchange = session->exchange;
    rank = session->net->rank;
    size = session->net->size;
    CHECK(!hf_session_wants_relay(session)); /* a CPU */
    device->info.type = HF_ACCELERATOR;
    CHECK(hf_session_wants_relay(session) ==
          (size == 1)); /* each rank has one of its own */
    OK(world_build(session, "#include \"relay_ndrange.cl\"\n", "-I .", &binary,
                   &bytes));
    for (int k = 0; k < 2; k++) /* the second takes the place of the first */
        OK(hf_session_relay(session, binary, bytes));
    CHECK(!hf_session_wants_relay(session));
    CHECK(device->relay, "%s", hf_error());
    free(binary);
    own = device->ops;
    counting = *own;
    counting.kernel = seen_kernel;
    counting.launch = counted_launch;
    device->ops = &counting;
    for (int i = 0; i < 2; i++)
        OK(device->ops->alloc(&buffers[i], device, ROOM, NULL));
    memory = malloc(ROOM);
}

void close_all(void) {
    free(memory);
    for (int i = 0; i < 2; i++)
        device->ops->free(buffers[i]);
    hf_session_close(session);
}

static unsigned char byte_of(int of, size_t i) {
    return (unsigned char)(i * 31 + i / 253 + 57 * (size_t)of);
}

void buffers_fill(void) {
    for (size_t i = 0; i < ROOM; i++)
        memory[i] = byte_of(rank, i);
    OK(device->ops->write(device, buffers[0], 0, memory, ROOM, NULL, NULL));
    memset(memory, 0xEE, ROOM);
    OK(device->ops->write(device, buffers[1], 0, memory, ROOM, NULL, NULL));
}

size_t wrong_bytes(int buffer, int of, size_t from, size_t at, size_t bytes) {
    size_t wrong = 0;
    OK(device->ops->read(device, buffers[buffer], 0, memory, ROOM, NULL, NULL));
    for (size_t i = 0; i < bytes; i++)
        wrong += memory[at + i] != byte_of(of, from + i);
    return wrong;
}

hf_plan *ring_plan(size_t bytes) {
    int right = (rank + 1) % size, left = (rank + size - 1) % size;
    const hf_message m = {right, left, 0, 0, bytes, bytes};
    hf_plan *plan = NULL;
    OK(hf_plan_new(&plan, exchange, buffers[1], buffers[0], 1, &m));
    return plan;
}
