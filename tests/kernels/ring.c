/* ring.c - one writer and one reader of a ring, as kernels in plain C.
 *
 * cc -std=c11 -fsanitize=thread -pthread -Icsrc -Ikernels tests/kernels/ring.c
 */
#include "rings.h"

#include <time.h>

/** Message m has 1 .. 2 * MEAN - 1 bytes. */
enum { MESSAGES = 10000, MEAN = 300 };

static uint64_t mix(uint64_t x) {
    x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15u;
    return x ^ (x >> 29);
}

static size_t message_bytes(uint64_t message) {
    return 1 + mix(message * 2 + 1) % (2 * MEAN - 1);
}

static uint8_t message_byte(uint64_t message, size_t i) {
    return (uint8_t)mix(message * 4096 + i);
}

HF_CHANNEL(out, 1)
HF_CHANNEL(in, 1)
HF_CHANNEL(rare, 1)
HF_CHANNEL(wide, 1)

/** Messages of random sizes; what a last packet has too much is zero. */
HF_STREAM(writer, HF_ARGUMENTS(HF_VALUE(uint, messages)), HF_ENDS(HF_OUT(out))) {
    HF_OPEN_OUT(out);
    for (uint m = 0; m < messages; m++) {
        size_t bytes = message_bytes(m);
        for (size_t at = 0; at < bytes; at += sizeof(hf_packet)) {
            uint8_t data[sizeof(hf_packet)] = {0};
            for (size_t i = 0; i < sizeof data && at + i < bytes; i++)
                data[i] = message_byte(m, at + i);
            hf_packet packet;
            memcpy(&packet, data, sizeof data);
            HF_SEND(out, packet);
        }
        HF_FLUSH(out);
    }
}

HF_STREAM(reader, HF_ARGUMENTS(HF_VALUE(uint, messages), HF_WRITE(ulong, wrong)),
          HF_ENDS(HF_IN(in))) {
    HF_OPEN_IN(in);
    for (uint m = 0; m < messages; m++) {
        size_t bytes = message_bytes(m);
        for (size_t at = 0; at < bytes; at += sizeof(hf_packet)) {
            hf_packet packet;
            HF_RECV(in, packet);
            uint8_t data[sizeof(hf_packet)];
            memcpy(data, &packet, sizeof data);
            for (size_t i = 0; i < sizeof data; i++)
                *wrong += data[i] != (at + i < bytes ? message_byte(m, at + i) : 0);
        }
    }
}

static uint64_t packets_of(uint messages) {
    uint64_t n = 0;
    for (uint m = 0; m < messages; m++)
        n += (message_bytes(m) + sizeof(hf_packet) - 1) / sizeof(hf_packet);
    return n;
}

static void messages_test(size_t depth, uint messages) {
    hf_ring *ring = ring_new(depth);
    uint64_t wrong = 0, *count = &wrong, packets = packets_of(messages);
    task tasks[] = {{.call = writer_call, .args = {&messages, &ring}},
                    {.call = reader_call, .args = {&messages, &count, &ring}}};
    tasks_start(tasks, 2);
    tasks_join(tasks, 2);
    CHECK(wrong == 0, "depth %zu: %llu bytes wrong", depth, (unsigned long long)wrong);
    CHECK(ring->writer.moved == packets && ring->reader.moved == packets,
          "depth %zu: %llu packets written, %llu read, not %llu", depth,
          (unsigned long long)ring->writer.moved,
          (unsigned long long)ring->reader.moved, (unsigned long long)packets);
    CHECK(ring->reader.high_water >= 1 && ring->reader.high_water <= depth,
          "depth %zu: mark %llu", depth, (unsigned long long)ring->reader.high_water);
    CHECK(!ring->writer.waits && !ring->reader.waits, "depth %zu: still waiting",
          depth);
    free(ring);
}

static void until_waiting(const hf_word *waits) {
    while (!HF_RING_LOAD(waits))
        nanosleep(&(struct timespec){0, 1000000}, NULL);
}

/** Who waits for a side that never comes, leaves when told. */
static void abort_test(size_t depth) {
    uint messages = 10;
    hf_ring *ring = ring_new(depth);
    task tasks[] = {{.call = writer_call, .args = {&messages, &ring}}};
    tasks_start(tasks, 1);
    until_waiting(&ring->writer.waits);
    CHECK(HF_RING_LOAD(&ring->writer.moved) == depth, "full before it is full");
    HF_RING_STORE(&ring->abort, HF_RING_HALT);
    tasks_join(tasks, 1);
    free(ring);

    ring = ring_new(depth);
    uint64_t wrong = 0, *count = &wrong;
    tasks[0] = (task){.call = reader_call, .args = {&messages, &count, &ring}};
    tasks_start(tasks, 1);
    until_waiting(&ring->reader.waits);
    HF_RING_STORE(&ring->abort, HF_RING_HALT);
    tasks_join(tasks, 1);
    free(ring);
}

/** The writer fills `wide` while the reader wants `rare` first, which is not flushed. */
HF_STREAM(lopsided_writer, HF_ARGUMENTS(HF_VALUE(uint, packets)),
          HF_ENDS(HF_OUT(rare), HF_OUT(wide))) {
    HF_OPEN_OUT(rare);
    HF_OPEN_OUT(wide);
    hf_packet packet = {{7}};
    HF_SEND(rare, packet);
    for (uint i = 0; i < packets; i++)
        HF_SEND(wide, packet);
    HF_SEND(rare, packet);
}

HF_STREAM(lopsided_reader, HF_ARGUMENTS(HF_VALUE(uint, packets)),
          HF_ENDS(HF_IN(rare), HF_IN(wide))) {
    HF_OPEN_IN(rare);
    HF_OPEN_IN(wide);
    hf_packet packet;
    HF_RECV(rare, packet);
    for (uint i = 0; i < packets; i++)
        HF_RECV(wide, packet);
    HF_RECV(rare, packet);
    CHECK(packet.word[0] == 7, "another packet");
}

/** Who waits at one ring withholds nothing at another. */
static void lopsided_test(void) {
    uint packets = 100;
    hf_ring *rare = ring_new(4), *wide = ring_new(4);
    task tasks[] = {{.call = lopsided_writer_call, .args = {&packets, &rare, &wide}},
                    {.call = lopsided_reader_call, .args = {&packets, &rare, &wide}}};
    tasks_start(tasks, 2);
    tasks_join(tasks, 2);
    free(rare);
    free(wide);
}

static void writer_twice(void *const *args, size_t items) {
    writer_call(args, items);
    writer_call(args, items);
}

static void reader_twice(void *const *args, size_t items) {
    reader_call(args, items);
    reader_call(args, items);
}

/** Kernels go on where those before them have stopped, whichever side is ahead. */
static void launches_test(size_t depth) {
    uint messages = MESSAGES / 20;
    uint64_t wrong = 0, *count = &wrong;
    hf_ring *ring = ring_new(depth);
    task tasks[] = {{.call = writer_twice, .args = {&messages, &ring}},
                    {.call = reader_twice, .args = {&messages, &count, &ring}}};
    tasks_start(tasks, 2);
    tasks_join(tasks, 2);
    CHECK(wrong == 0, "depth %zu: %llu bytes wrong in two launches", depth,
          (unsigned long long)wrong);
    CHECK(ring->writer.moved == 2 * packets_of(messages) &&
              ring->reader.moved == ring->writer.moved,
          "depth %zu: packets of two launches", depth);
    free(ring);
}

/** A ring for packets of another width is refused. */
static void misfit_test(void) {
    uint messages = 1;
    hf_ring *ring = ring_new(4);
    ring->width = 2 * sizeof(hf_packet);
    writer_call((void *[]){&messages, &ring}, 1);
    CHECK(ring->abort == HF_RING_MISFIT * HF_CHANNEL_WIDTH && ring->writer.moved == 0,
          "another width passes");
    free(ring);
}

int main(void) {
    static const size_t depths[] = {1, 2, 3, 7, 64, 1000, 8192};
    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++)
        messages_test(depths[i], depths[i] < 7 ? MESSAGES / 10 : MESSAGES);
    launches_test(3);
    launches_test(8192);
    lopsided_test();
    abort_test(1);
    abort_test(5);
    misfit_test();
    return 0;
}
