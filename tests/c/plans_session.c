/* plans_session.c - opened for each test that may break it. */
#include "plans_session.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>

#include "chunks.h"
#include "core/host_memory.h"
#include "node.h"
#include "world.h"

const char *mode = "";
hf_session *session;
hf_exchange *exchange;
hf_device *device;
int rank, size;
hf_buffer *send_buffer, *recv_buffer;

static bool last_rank(void) {
    int own, ranks;
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    return own == ranks - 1;
}

void __real_hf_node_name(char name[HF_NODE_ROOM]);
void __wrap_hf_node_name(char name[HF_NODE_ROOM]);
void __wrap_hf_node_name(char name[HF_NODE_ROOM]) {
    __real_hf_node_name(name);
    if (strcmp(mode, "apart") == 0 && last_rank())
        name[0] ^= 1;
}

int __real_posix_fallocate(int file, off_t at, off_t bytes);
int __wrap_posix_fallocate(int file, off_t at, off_t bytes);
int __wrap_posix_fallocate(int file, off_t at, off_t bytes) {
    return strcmp(mode, "full") == 0 ? ENOSPC : __real_posix_fallocate(file, at, bytes);
}

hf_host_memory __real_hf_host_memory_of(const char *root);
hf_host_memory __wrap_hf_host_memory_of(const char *root);
hf_host_memory __wrap_hf_host_memory_of(const char *root) {
    hf_host_memory found = __real_hf_host_memory_of(root);
    if (strcmp(mode, "little") == 0 && last_rank())
        found.free = 1 << 20;
    return found;
}

static hf_device_ops unpinning;
static const hf_device_ops *device_own;

static hf_status pin_refuse(hf_buffer **out, hf_device *of, void *memory,
                            size_t bytes) {
    return memory ? hf_fail(HF_ENOMEM, "too much locked memory")
                  : device_own->pin(out, of, memory, bytes);
}

void mode_begin(void) {
    if (strcmp(mode, "unpinned") != 0 || !last_rank())
        return;
    device_own = device->ops;
    unpinning = *device_own;
    unpinning.pin = pin_refuse;
    device->ops = &unpinning;
}

void mode_check(void) {
    char pairs[100];
    snprintf(pairs, sizeof pairs, "%d of %d pairs of ranks exchange by common memory",
             (size - 1) * (size - 1) + 1, size * size);
    const char *words = strcmp(mode, "apart") == 0  ? pairs
                        : strcmp(mode, "full") == 0 ? "No space left on device"
                        : *mode                     ? "too much locked memory"
                                                    : "";
    CHECK(strstr(exchange->note, words) && !*words == !*exchange->note, "%s",
          exchange->note);
}

unsigned char byte_of(int of, size_t i) {
    return (unsigned char)(i * 31 + i / 253 + 57 * (size_t)of);
}

unsigned char *memory_of(hf_buffer *buffer) {
    return buffer->host;
}

void buffers_fill(void) {
    for (size_t i = 0; i < ROOM; i++)
        memory_of(send_buffer)[i] = byte_of(rank, i);
    memset(memory_of(recv_buffer), 0xEE, ROOM);
}

size_t wrong_bytes(int of, size_t from, size_t at, size_t bytes) {
    size_t wrong = 0;
    for (size_t i = 0; i < bytes; i++)
        wrong += memory_of(recv_buffer)[at + i] != byte_of(of, from + i);
    return wrong;
}

size_t touched_bytes(size_t at, size_t bytes) {
    size_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n += memory_of(recv_buffer)[at + i] != 0xEE;
    return n;
}

/* Broken ones stay when they are closed: late messages write into them. */
static hf_transport *volatile nets[4];
static size_t n_nets;

void open_session(const char *scheme) {
    OK(world_open(&session, (hf_options){.device = "host",
                                         .exchange = scheme,
                                         .deadline = 20,
                                         .has_comm = true}));
    nets[n_nets++ % (sizeof nets / sizeof *nets)] = session->net;
    exchange = session->exchange;
    device = session->device;
    rank = session->net->rank;
    size = session->net->size;
    OK(device->ops->alloc(&send_buffer, device, ROOM, NULL));
    OK(device->ops->alloc(&recv_buffer, device, ROOM, NULL));
}

void close_session(void) {
    device->ops->free(send_buffer);
    device->ops->free(recv_buffer);
    hf_session_close(session);
}

hf_status plan_end(hf_plan *made, bool wait) {
    bool done = false;
    hf_status status = HF_OK;
    while (status == HF_OK && !done)
        status = exchange->ops->blocks->progress(made, wait, &done);
    return status;
}

void chunks_take(size_t bytes, size_t depth) {
    if (!exchange->ops->blocks->take)
        return;
    ((hf_chunks *)exchange)->chunk_size = bytes;
    ((hf_chunks *)exchange)->chunk_depth = depth;
}
