/* queues.c - commands of a device: their queues, what they come after, and their deadline.
 *
 * queues host|opencl [looks]. With `looks` commands are waited for as on a GPU.
 */
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/pages.h"
#include "gate.h"

/* ---- what comes after what ---- */

/* Whether each kind of command waits for a kernel of another queue, for so long. */
static bool after_holds(double seconds) {
    hf_buffer *other, *pinned;
    hf_event *first, *done[4];
    words_clear();
    OK(ops->alloc(&other, device, BYTES, NULL));
    OK(ops->pin(&pinned, device, NULL, BYTES));
    *(uint32_t *)pinned->host = VALUE + 1;
    OK(launch(gate, VALUE, &(hf_order){.queue = 1}, &first));
    hf_event *after[] = {NULL, first};
    const hf_order order = {.queue = 2, .n_after = 2, .after = after};
    OK(device->ops->copy(device, other, 0, shared, 4, 4, &order, &done[0]));
    const hf_order more[] = {{.queue = 3, .n_after = 1, .after = &done[0]},
                             {.queue = 4, .n_after = 1, .after = &done[0]},
                             {.queue = 0, .n_after = 1, .after = &first}};
    OK(device->ops->read(device, other, 0, (char *)pinned->host + 4, 4, &more[0],
                         &done[1]));
    OK(device->ops->write(device, shared, 8, pinned->host, 4, &more[1], &done[2]));
    OK(launch(set, VALUE + 2, &more[2], &done[3]));
    bool held = true;
    for (double end = hf_clock_now() + seconds; held && hf_clock_now() < end;)
        for (int i = 0; i < 4; i++)
            held = held && !has_ended(done[i], 0.01);
    gate_open();
    for (int i = 0; i < 4; i++)
        OK(ops->wait(device, done[3 - i]));
    OK(ops->wait(device, first));
    uint32_t got = ((uint32_t *)pinned->host)[1];
    CHECK(!held ||
              (got >= VALUE && words[PASSED] == VALUE + 2 && words[2] == VALUE + 1),
          "%u, %u, %u", got, words[PASSED], words[2]);
    ops->free(pinned);
    ops->free(other);
    return held;
}

static hf_status deaf_copy(hf_device *d, hf_buffer *to, size_t to_at,
                           const hf_buffer *from, size_t from_at, size_t bytes,
                           const hf_order *order, hf_event **done) {
    const hf_order alone = {.queue = order->queue};
    return ops->copy(d, to, to_at, from, from_at, bytes, &alone, done);
}

static hf_status deaf_read(hf_device *d, const hf_buffer *from, size_t at, void *to,
                           size_t bytes, const hf_order *order, hf_event **done) {
    const hf_order alone = {.queue = order->queue};
    return ops->read(d, from, at, to, bytes, &alone, done);
}

static hf_status deaf_write(hf_device *d, hf_buffer *to, size_t at, const void *from,
                            size_t bytes, const hf_order *order, hf_event **done) {
    const hf_order alone = {.queue = order->queue};
    return ops->write(d, to, at, from, bytes, &alone, done);
}

static hf_status deaf_launch(hf_device *d, const hf_launch *what, const hf_order *order,
                             hf_event **done) {
    const hf_order alone = {.queue = order->queue};
    return ops->launch(d, what, &alone, done);
}

/* A runtime that forgets what a command comes after is found out. */
static void after_test(void) {
    CHECK(after_holds(0.1), "a command did not wait");
    for (int i = 0; i < 4; i++) {
        hf_device_ops deaf = *ops;
        if (i == 0)
            deaf.copy = deaf_copy;
        else if (i == 1)
            deaf.read = deaf_read;
        else if (i == 2)
            deaf.write = deaf_write;
        else
            deaf.launch = deaf_launch;
        device->ops = &deaf;
        CHECK(!after_holds(20), "command %d without what it comes after", i);
        device->ops = ops;
    }
}

/* One queue runs its commands in turn; others run meanwhile. */
static void overlap_test(void) {
    hf_buffer *other;
    hf_event *first, *second;
    static uint32_t got, sent = 5; /* outlive the device */
    words_clear();
    OK(ops->alloc(&other, device, BYTES, NULL));
    OK(launch(gate, VALUE, &(hf_order){.queue = 1, .label = "gate"}, &first));
    OK(ops->read(device, shared, 4, &got, 4, &(hf_order){.queue = 1}, &second));
    OK(ops->write(device, other, 0, &sent, 4, NULL, NULL));
    OK(ops->copy(device, shared, 8, other, 0, 4, &(hf_order){.queue = 2}, NULL));
    OK(launch(set, 3, &(hf_order){.queue = HF_MAX_QUEUES - 1}, NULL));
    CHECK(words[PASSED] == 3 && words[2] == 5, "%u, %u", words[PASSED], words[2]);
    CHECK(!has_ended(first, 0) && !has_ended(second, 0.02), "the gate is not open");
    CHECK(!ops->idle(device), "two commands have not ended");
    gate_open();
    OK(ops->wait(device, second));
    CHECK(has_ended(first, 0) && got == VALUE, "%u", got);
    OK(ops->wait(device, first));
    CHECK(ops->idle(device));
    ops->free(other);
}

/* Calls that return when their command has ended, and `finish`, wait for other queues. */
static void blocking_test(void) {
    hf_buffer *other;
    OK(ops->alloc(&other, device, BYTES, NULL));
    for (int i = 0; i < 9; i++) {
        hf_event *first, *mark;
        pthread_t opener;
        uint32_t got = 0;
        void *mapped;
        words_clear();
        unsigned queue = i == 2 || i == 6 ? 0 : 5; /* `map` comes after queue 0 */
        OK(launch(gate, VALUE, &(hf_order){.queue = queue}, &first));
        const hf_order order = {.queue = 6, .n_after = 1, .after = &first};
        pthread_create(&opener, NULL, gate_open_later, NULL);
        if (i == 0) {
            OK(ops->read(device, shared, 4, &got, 4, &order, NULL));
        } else if (i == 1) {
            OK(ops->finish(device));
        } else if (i == 2) {
            OK(ops->map(device, shared, &mapped));
            got = ((uint32_t *)mapped)[PASSED];
            OK(ops->unmap(device, shared, mapped));
        } else if (i == 3) {
            OK(device->ops->mark(device, &order, NULL));
        } else if (i == 4) {
            OK(device->ops->mark(device, &order, &mark));
            CHECK(!has_ended(mark, 0));
            OK(ops->wait(device, mark));
        } else if (i == 5) {
            OK(launch(set, VALUE, &order, NULL));
        } else if (i == 6) {
            OK(ops->read(device, shared, 4, &got, 4, NULL, NULL));
        } else if (i == 7) { /* in place of what the kernel wrote */
            const uint32_t later = VALUE + 1;
            OK(ops->write(device, shared, 4, &later, 4, &order, NULL));
            got = words[PASSED] - 1;
        } else { /* by a command */
            OK(ops->copy(device, other, 0, shared, 4, 4, &order, &mark));
            reads = 0;
            OK(ops->read(device, other, 0, &got, 4, &(hf_order){.queue = 6}, NULL));
            CHECK(reads == (ops == &hf_device_opencl), "%zu commands", reads);
            OK(ops->wait(device, mark));
        }
        got = i == 0 || i == 2 || i > 5 ? got : words[PASSED];
        CHECK(has_ended(first, 0) && got == VALUE, "call %d: %u", i, got);
        OK(ops->wait(device, first));
        pthread_join(opener, NULL);
    }
    ops->free(other);
    OK(ops->wait(device, NULL));
    CHECK(has_ended(NULL, 1));
}

/* Memory in which kernels work is read without a command. */
static void in_place_test(void) {
    hf_buffer *own;
    uint32_t got = 0, value = VALUE;
    OK(ops->wrap(&own, device, NULL, BYTES));
    CHECK(own->host && own->bytes == BYTES);
    memset(own->host, 0, BYTES);
    const hf_arg args[] = {{.buffer = own}, {.value = &value, .bytes = sizeof value}};
    OK(device->ops->launch(
        device, &(hf_launch){.kernel = set, .args = args, .n_args = 2}, NULL, NULL));
    reads = 0;
    OK(ops->read(device, own, PASSED * sizeof got, &got, sizeof got, NULL, NULL));
    CHECK(got == VALUE && ((uint32_t *)own->host)[PASSED] == VALUE, "%u", got);
    CHECK(reads == 0, "%zu commands", reads);
    ops->free(own);
}

/* What is written without an event is there for other queues. */
static void written_test(void) {
    uint32_t value = VALUE;
    hf_buffer *other;
    words_clear();
    OK(ops->alloc(&other, device, BYTES, NULL));
    early = true;
    OK(ops->write(device, other, 0, &value, sizeof value, NULL, NULL));
    early = false;
    OK(ops->copy(device, shared, sizeof value, other, 0, sizeof value,
                 &(hf_order){.queue = 3}, NULL));
    CHECK(words[PASSED] == VALUE, "%u", words[PASSED]);
    ops->free(other);
}

/* A kernel's end is heard of while one that was given before it runs in another queue. */
static void told_test(void) {
    hf_event *first, *second;
    words_clear();
    ordered = looks;
    OK(launch(gate, VALUE + 1, &(hf_order){.queue = 5}, &first));
    OK(launch(set, VALUE, NULL, &second));
    OK(device->ops->mark(device, NULL, NULL));
    CHECK(words[PASSED] == VALUE, "%u", words[PASSED]);
    CHECK(!has_ended(first, 0) && !ops->idle(device));
    gate_open();
    OK(ops->wait(device, first));
    OK(ops->wait(device, second));
    ordered = false;
}

/* OpenCL is not asked for a command before one of its queue that has ended, whatever was asked
 * before and whatever is between them, but for those of other queues. */
static void before_test(void) {
    const hf_order aside = {.queue = 5}, other = {.queue = 6};
    hf_event *held[2], *first, *second, *between, *last, *behind;
    words_clear();
    OK(launch(gate, VALUE, &aside, &held[0]));
    OK(launch(set, VALUE, &aside, &held[1]));
    OK(launch(set, VALUE, NULL, &first));
    OK(launch(set, VALUE, NULL, &second));
    OK(launch(set, VALUE, &other, &between));
    OK(launch(set, VALUE, NULL, &last));
    OK(launch(gate, VALUE, NULL, &behind));
    CHECK(has_ended(between, 20) && has_ended(last, 20));
    questions = 0;
    CHECK(has_ended(first, 0));
    OK(ops->wait(device, first));
    OK(ops->wait(device, second));
    CHECK(questions == 0, "%zu", questions);
    CHECK(!has_ended(held[1], 0) && !has_ended(held[0], 0) && !has_ended(behind, 0));
    OK(launch(set, VALUE, NULL, &second));
    gate_open();
    CHECK(has_ended(second, 20));
    questions = 0;
    OK(ops->wait(device, behind));
    CHECK(questions == 0, "%zu", questions);
    hf_event *rest[] = {second, last, between, held[0], held[1]};
    for (size_t i = 0; i < sizeof rest / sizeof *rest; i++)
        OK(ops->wait(device, rest[i]));
}

/* A command that has failed says nothing of those before it, and stays failed. */
static void failed_test(void) {
    hf_event *first, *second;
    words_clear();
    for (int which = 0; which < 2; which++) {
        OK(launch(set, VALUE, NULL, &first));
        OK(launch(set, VALUE, NULL, &second));
        fails = true;
        CHECK(has_ended(which ? second : first, 20) && !fails);
        questions = 0;
        CHECK(has_ended(which ? first : second, 20) && questions > 0);
        CHECK((ops->wait(device, first) == HF_OK) == (which == 1));
        CHECK((ops->wait(device, second) == HF_OK) == (which == 0));
    }
}

/* Copies of pinned memory and of other memory, to any part of it. */
static void pinned_test(void) {
    hf_buffer *pinned[3], *there;
    uint32_t values[WORDS], got[WORDS] = {0};
    for (uint32_t i = 0; i < WORDS; i++)
        values[i] = i;
    OK(ops->alloc(&there, device, BYTES, NULL));
    for (int i = 0; i < 3; i++)
        OK(ops->pin(&pinned[i], device, NULL, BYTES));
    ops->free(pinned[1]);
    for (int i = 0; i < 3; i += 2) {
        uint32_t *words_in = pinned[i]->host;
        memcpy(words_in, values, BYTES);
        OK(ops->write(device, there, 0, words_in, BYTES, NULL, NULL));
        memset(words_in, 0, BYTES);
        OK(ops->read(device, there, 4, words_in + 1, BYTES - 4, NULL, NULL));
        CHECK(memcmp(words_in + 1, values + 1, BYTES - 4) == 0 && words_in[0] == 0);
    }
    OK(ops->read(device, there, 0, got, BYTES, NULL, NULL));
    CHECK(memcmp(got, values, BYTES) == 0);
    ops->free(pinned[2]);
    ops->free(pinned[0]);
    ops->free(there);
}

/* Were so many queues flushed since this was asked last? True where a runtime flushes none. */
static bool flushed(size_t n) {
    size_t found = flushes;
    flushes = 0;
    return ops != &hf_device_opencl || found == n;
}

/* A lazy command is flushed when somebody looks, for one that comes after it in another queue, and
 * with the next one of its own; each has its turn. */
static void lazy_test(void) {
    const hf_order later = {.lazy = true};
    hf_buffer *there, *pinned;
    hf_event *written, *read;
    OK(ops->alloc(&there, device, BYTES, NULL));
    OK(ops->pin(&pinned, device, NULL, BYTES));
    uint32_t *values = pinned->host;
    for (uint32_t turn = 1; turn < 5; turn++) {
        values[0] = turn;
        flushes = 0;
        OK(ops->write(device, there, 0, values, 4, &later, &written));
        CHECK(flushed(0));
        if (turn == 1)
            CHECK(has_ended(written, 20) && flushed(1));
        else if (turn == 2)
            CHECK(ops->finish(device) == HF_OK && flushed(1));
        const hf_order behind = {.queue = 3, .n_after = 1, .after = &written};
        OK(ops->read(device, there, 0, values + 1, 4, turn == 3 ? &behind : NULL,
                     &read));
        CHECK(flushed(turn == 3 ? 2 : 1) && has_ended(read, 20) && values[1] == turn);
        OK(ops->wait(device, written));
        OK(ops->wait(device, read));
        CHECK(flushed(0), "turn %u", turn);
    }
    ops->free(pinned);
    ops->free(there);
}

/* Many more commands than are in flight at once. */
static void many_test(void) {
    enum { ROUNDS = 200 };
    hf_event *done[8];
    words_clear();
    gate_open();
    for (uint32_t round = 0; round < ROUNDS; round++) {
        for (unsigned i = 0; i < 8; i++) {
            const hf_order order = {
                .queue = i, .n_after = i ? 1 : 0, .after = i ? &done[i - 1] : NULL};
            OK(launch(i % 2 ? gate : set, round + i, i ? &order : NULL, &done[i]));
        }
        for (unsigned i = 0; i < 8; i++)
            OK(ops->wait(device, done[(i + round) % 8]));
        CHECK(words[PASSED] == round + 7, "round %u: %u", round, words[PASSED]);
    }
}

/* ---- memory ---- */

/* Pinned memory of the device, and a window of the caller's. */
static void pin_test(void) {
    unsigned char *window = hf_pages_new(BYTES);
    hf_buffer *own, *callers, *block;
    hf_event *done[2];
    memset(window, 0x11, BYTES);
    OK(ops->pin(&own, device, NULL, BYTES));
    OK(ops->pin(&callers, device, window, BYTES));
    OK(ops->alloc(&block, device, BYTES, NULL));
    CHECK(callers->host == window && own->host && own->bytes == BYTES);
    CHECK(window[0] == 0x11 && window[BYTES - 1] == 0x11);
    for (size_t i = 0; i < BYTES; i++)
        ((unsigned char *)own->host)[i] = (unsigned char)(i * 7);
    OK(ops->write(device, block, 0, own->host, BYTES, NULL, &done[0]));
    OK(ops->read(device, block, 4, window + 4, BYTES - 4, NULL, &done[1]));
    OK(ops->wait(device, done[1]));
    OK(ops->wait(device, done[0]));
    CHECK(memcmp(window + 4, (unsigned char *)own->host + 4, BYTES - 4) == 0);
    CHECK(window[3] == 0x11);
    window[8] ^= 1; /* the host goes on using both */
    OK(ops->write(device, block, 0, window, BYTES, NULL, NULL));
    OK(ops->read(device, block, 0, own->host, BYTES, NULL, NULL));
    CHECK(memcmp(window, own->host, BYTES) == 0);
    ops->free(callers);
    ops->free(own);
    CHECK(window[8] == (unsigned char)(8 * 7 ^ 1), "the caller's memory stays");
    ops->free(block);
    free(window);
}

/* Wherever a spot has no meaning, it is no hindrance. */
static void spot_test(void) {
    hf_buffer *buffer;
    OK(ops->alloc(&buffer, device, BYTES, &(hf_spot){.kernel = gate, .arg = 0}));
    ops->free(buffer);
    OK(ops->alloc(&buffer, device, BYTES, &(hf_spot){.bank = 1}));
    ops->free(buffer);
}

int main(int argc, char **argv) {
    if (argc != 2 && argc != 3)
        return fprintf(stderr, "queues host|opencl [looks]\n"), 2;
    looks = argc == 3;
    setenv("POCL_MAX_PTHREAD_COUNT", "12", 1);
    setenv("POCL_CPU_MAX_CU_COUNT", "12", 1);
    ops = strcmp(argv[1], "host") == 0 ? &hf_device_host : &hf_device_opencl;
    device_open();
    after_test();
    overlap_test();
    if (!looks)
        in_place_test();
    written_test();
    told_test();
    before_test();
    if (ops == &hf_device_opencl)
        failed_test();
    pinned_test();
    blocking_test();
    lazy_test();
    many_test();
    pin_test();
    spot_test();
    device_close();
    late_test();
    if (ops == &hf_device_opencl)
        unflushed_test();
    for (int way = 0; way < 3; way++)
        meanwhile_test(way);
    for (int way = 4; way >= 0; way--) /* the last leaves a kernel that spins */
        deadline_test(way);
    return check_failures != 0;
}
