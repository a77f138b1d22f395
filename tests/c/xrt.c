/* xrt.c - the runtime `xrt` over a stand-in: its queues, waits, memories and values.
 *
 * xrt XCLBIN, started by tests/xrt/run.py. The kernel `gate` runs until this program lets it.
 * A child of it has no signal to leave calls by.
 */
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "xrt_card.h"

/* ---- what comes after what ---- */

/* Every kind of command waits for a kernel of another queue, and those of one queue in turn. */
static void after_test(void) {
    hf_buffer *other;
    hf_event *first, *done[4];
    static uint32_t got[2], sent = VALUE + 1;
    const values none = {0};
    gate_is_open = 0;
    words_write(0);
    OK(ops->alloc(&other, device, BYTES, &(hf_spot){.kernel = echo[1]}));
    OK(gate_launch(VALUE, &(hf_order){.queue = 1}, &first));
    const hf_order after = {.queue = 2, .n_after = 1, .after = &first};
    OK(ops->copy(device, other, 0, words, 4, 4, &after, &done[0]));
    OK(ops->read(device, other, 0, &got[0], 4, &(hf_order){.queue = 2}, &done[1]));
    const hf_order more = {.queue = 3, .n_after = 1, .after = &first};
    OK(ops->write(device, words, 8, &sent, 4, &more, &done[2]));
    const hf_order last = {.queue = 4, .n_after = 1, .after = &done[1]};
    OK(echo_launch(echo[1], other, &none, &last, &done[3]));
    for (int i = 0; i < 4; i++)
        CHECK(!has_ended(done[i], 0.02), "command %d did not wait", i);
    CHECK(!ops->idle(device));
    gate_is_open = 1;
    for (int i = 0; i < 4; i++)
        OK(ops->wait(device, done[3 - i]));
    CHECK(has_ended(first, 0));
    OK(ops->wait(device, first));
    OK(ops->read(device, other, 0, &got[1], 4, NULL, NULL));
    CHECK(got[0] == VALUE && got[1] == 0 && word_read(2, NULL) == VALUE + 1, "%u %u",
          got[0], got[1]);
    CHECK(ops->idle(device));
    ops->free(other);
}

/* Queues go on beside one that waits, also on two units of one kernel. */
static void beside_test(void) {
    hf_event *first, *both[2];
    hf_buffer *two[2];
    const values v = {.number = 5};
    gate_is_open = 0;
    words_write(0);
    OK(gate_launch(VALUE, &(hf_order){.queue = 1}, &first));
    for (unsigned i = 0; i < 2; i++) {
        const hf_order order = {.queue = 1 + i};
        OK(ops->alloc(&two[i], device, 4096, &(hf_spot){.kernel = echo[i]}));
        OK(echo_launch(echo[2], two[i], &v, &order, &both[i]));
    }
    OK(ops->wait(device, both[1]));
    CHECK(!has_ended(both[0], 0.02) && word_read(PASSED, NULL) == 0);
    gate_is_open = 1;
    OK(ops->wait(device, both[0]));
    OK(ops->wait(device, first));
    CHECK(word_read(PASSED, NULL) == VALUE);
    ops->free(two[0]);
    ops->free(two[1]);
}

/* Calls that return when their command has ended. */
static void blocking_test(void) {
    for (int i = 0; i < 4; i++) {
        hf_event *first;
        pthread_t opener;
        void *mapped;
        uint32_t got;
        gate_is_open = 0;
        words_write(0);
        OK(gate_launch(VALUE, &(hf_order){.queue = i == 2 ? 0 : 5}, &first));
        const hf_order order = {.queue = 6, .n_after = 1, .after = &first};
        pthread_create(&opener, NULL, gate_open_later, NULL);
        if (i == 0) {
            got = word_read(PASSED, &order);
        } else if (i == 2) {
            OK(ops->map(device, words, &mapped));
            got = ((uint32_t *)mapped)[PASSED]++;
            OK(ops->unmap(device, words, mapped));
            CHECK(word_read(PASSED, NULL) == VALUE + 1);
        } else {
            OK(i == 1 ? ops->finish(device) : ops->mark(device, &order, NULL));
            got = word_read(PASSED, NULL);
        }
        CHECK(has_ended(first, 0) && got == VALUE, "call %d: %u", i, got);
        OK(ops->wait(device, first));
        pthread_join(opener, NULL);
    }
}

/* ---- values and memories ---- */

static void values_test(void) {
    static const values all[] = {
        {1.5F, -2.25, 0xFFFFFFFF, 0xFEDCBA9876543210},
        {-0.0F, 4.9e-324, 1U << 31, 1ULL << 63},
        {3.4028235e38F, 1.7976931348623157e308, 0, 1},
    };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        values got;
        char out[32], singles[4], twices[8];
        memcpy(singles, &all[i].single, sizeof singles);
        memcpy(twices, &all[i].twice, sizeof twices);
        OK(echo_launch(echo[0], words, &all[i], NULL, NULL));
        OK(ops->read(device, words, 0, out, sizeof out, NULL, NULL));
        memset(&got, 0, sizeof got);
        memcpy(&got.single, out, 4);
        memcpy(&got.twice, out + 8, 8);
        memcpy(&got.number, out + 16, 4);
        memcpy(&got.large, out + 24, 8);
        CHECK(memcmp(out, singles, sizeof singles) == 0 &&
                  memcmp(out + 8, twices, sizeof twices) == 0 &&
                  got.number == all[i].number && got.large == all[i].large,
              "values %zu: %g %g %x %llx", i, (double)got.single, got.twice, got.number,
              (unsigned long long)got.large);
    }
}

static void memories_test(void) {
    hf_buffer *buffer = NULL, *any;
    const values none = {0};
    const uint64_t wide = 1;
    OK(ops->alloc(&buffer, device, BYTES, &(hf_spot){.bank = 2}));
    said(
        echo_launch(echo[0], buffer, &none, NULL, NULL), HF_EARG,
        "kernel \"echo\", unit \"echo_1\": the buffer for argument 0, \"words\", is in "
        "HBM[1], the unit reaches HBM[0]");
    ops->free(buffer);
    OK(ops->pin(&buffer, device, NULL, BYTES));
    said(echo_launch(echo[0], buffer, &none, NULL, NULL), HF_EARG, "is in host memory");
    ops->free(buffer);
    said(ops->alloc(&any, device, BYTES, &(hf_spot){.kernel = echo[2]}), HF_EARG,
         "its 2 units reach no memory in common");
    said(ops->alloc(&any, device, BYTES, &(hf_spot){.kernel = echo[0], .bank = 2}),
         HF_EARG,
         "bank 1, HBM[1]: kernel \"echo\", unit \"echo_1\", argument 0, \"words\", "
         "reaches HBM[0]");
    said(ops->alloc(&any, device, BYTES, &(hf_spot){.bank = 10}), HF_EARG,
         "bank 9, HBM[9]: the xclbin reaches HBM[0], HBM[1]");
    said(ops->alloc(&any, device, BYTES, &(hf_spot){.bank = 99}), HF_EARG,
         "bank 98, which is none: the xclbin reaches HBM[0], HBM[1]");
    said(ops->alloc(&any, device, BYTES, &(hf_spot){.kernel = echo[0], .arg = 1}),
         HF_EARG, "no buffer as argument 1");
    said(ops->alloc(&any, device, (size_t)257 << 20, &(hf_spot){.kernel = echo[0]}),
         HF_ENOMEM, "fits none of the memories of its kernel, HBM[0]");
    said(ops->alloc(&any, device, (size_t)1 << 33, NULL), HF_ENOMEM,
         "at most 4294963200 B per buffer"); /* DDR[0] has 16 GiB */
    hf_device *bare; /* more than a copy takes, and no xclbin that tells of banks */
    OK(ops->open(&bare, "1", 0, NULL));
    said(ops->alloc(&any, bare, (size_t)1 << 32, NULL), HF_ENOMEM,
         "at most 4294963200 B per buffer");
    ops->close(bare);
    said(ops->wrap(&any, device, NULL, BYTES), HF_ENOTSUP, "host memory");
    const hf_arg args[] = {{.buffer = words}, {.value = &wide, .bytes = sizeof wide}};
    hf_launch launch = {.kernel = gate, .args = args, .n_args = 2};
    said(ops->launch(device, &launch, NULL, NULL), HF_EARG,
         "kernel \"gate\", argument 1, \"value\": given a value of 8 B, taken a value "
         "of "
         "4 B");
    launch.n_args = 1;
    said(ops->launch(device, &launch, NULL, NULL), HF_EARG, "takes 2 arguments, not 1");
    launch.items = 2;
    said(ops->launch(device, &launch, NULL, NULL), HF_ENOTSUP, "2 work-items");
    hf_kernel *kernel;
    said(ops->kernel(&kernel, device, "gates", 0), HF_EDEVICE,
         "no kernel \"gates\"; did you mean \"gate\"?");
    said(ops->kernel(&kernel, device, "echo", 3), HF_EDEVICE,
         "no compute unit \"echo_3\"; known: echo_2, echo_1");
    for (unsigned unit = 0; unit < 2; unit++)
        said(ops->kernel(&kernel, device, "apart", unit), HF_EDEVICE,
             "kernel \"apart\" has no compute unit \"apart_1\"; known: left, right");
    said(ops->kernel(&kernel, device, "wide", 0), HF_ENOTSUP,
         "kernel \"wide\" takes 21 arguments: more than 20 are not supported");
}

/* What a card holds all sessions of a process share: another xclbin is for later. */
static void shared_test(void) {
    enum { AT_UUID = 416 };
    hf_device *other;
    device_open();
    OK(ops->open(&other, "0", 0, NULL));
    OK(ops->load(other, "xrt", binary, binary_bytes));
    binary[AT_UUID] ^= 1;
    said(ops->load(other, "xrt", binary, binary_bytes), HF_EDEVICE,
         "xrtDeviceLoadXclbin: Device or resource busy");
    ops->kernel_free(gate);
    for (int i = 0; i < 3; i++)
        ops->kernel_free(echo[i]);
    said(ops->load(other, "xrt", binary, binary_bytes), HF_EDEVICE,
         "xrtDeviceLoadXclbin: Operation not permitted");
    ops->free(words);
    OK(ops->load(other, "xrt", binary, binary_bytes));
    binary[AT_UUID] ^= 1;
    ops->close(other);
    OK(ops->load(device, "xrt", binary, binary_bytes));
    OK(ops->kernel(&gate, device, "gate", 0));
    ops->kernel_free(gate);
    ops->close(device);
}

/* Buffers without a spot are spread over the memories that most arguments reach. */
static void spread_test(void) {
    hf_buffer *all[3];
    hf_event *done;
    const values none = {0};
    gate_is_open = 1;
    for (int i = 0; i < 3; i++)
        OK(ops->alloc(&all[i], device, (size_t)200 << 20, NULL));
    hf_buffer *was = words;
    for (int i = 0; i < 3; i++) {
        words = all[i];
        OK(gate_launch(VALUE, NULL, &done));
        OK(ops->wait(device, done));
        CHECK(word_read(PASSED, NULL) == VALUE);
    }
    words = was;
    int reached = 0;
    for (int i = 0; i < 3; i++)
        reached += echo_launch(echo[0], all[i], &none, NULL, NULL) == HF_OK;
    CHECK(reached == 1, "%d of three buffers lie in HBM[0]", reached);
    for (int i = 0; i < 3; i++)
        ops->free(all[i]);
}

/* ---- without a signal ---- */

static void signals_take(void) {
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        CHECK(signal(number, SIG_IGN) == SIG_DFL, "signal %d", number);
}

static void signals_check(void) {
    for (int number = SIGRTMIN; number <= SIGRTMAX; number++)
        CHECK(signal(number, SIG_IGN) == SIG_IGN, "signal %d is ours", number);
}

static int without_signal(void) {
    signals_take();
    device_open();
    after_test();
    blocking_test();
    values_test();
    device_close();
    copies_test(false);
    signals_check();
    return check_failures != 0;
}

int main(int argc, char **argv) {
    if (argc != 2)
        return fprintf(stderr, "xrt XCLBIN\n"), 2;
    binary_take(argv[1]);
    pid_t child = fork();
    CHECK(child >= 0, "no child");
    if (child == 0)
        return without_signal();
    pid_t last = fork();
    CHECK(last >= 0, "no child");
    if (last == 0)
        return given_up_test(), check_failures != 0;
    device_open();
    after_test();
    beside_test();
    blocking_test();
    values_test();
    memories_test();
    spread_test();
    device_close();
    shared_test();
    deadline_test();
    late_test();
    copies_test(true);
    int code = 0;
    CHECK(waitpid(child, &code, 0) == child && code == 0, "without a signal: %d", code);
    CHECK(waitpid(last, &code, 0) == last && code == 0, "given up: %d", code);
    free(binary);
    return check_failures != 0;
}
