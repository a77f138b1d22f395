/* queues_end.c - kernels that end late, or never, and others that can no longer go on. */
#include <pthread.h>
#include <stdlib.h>

#include "core/clock.h"
#include "gate.h"

static void refused(hf_status status, const char *call) {
    CHECK(status == HF_EDEVICE && strstr(hf_error(), "open a new session"), "%s: %s",
          call, hf_error());
}
#define REFUSED(call) refused(call, #call)

/* The deadline breaks the device: whoever waits, and in whatever way. Where the kernel does
 * not end while the device is closed, its thread and what it uses stay to the end of the
 * process: one way shows that. */
void deadline_test(int way) {
    static hf_buffer *copy;
    static uint32_t got = 99;
    hf_event *first = NULL, *second = NULL;
    hf_status status = HF_OK;
    device_open();
    OK(ops->alloc(&copy, device, BYTES, NULL));
    device->deadline = 0.3;
    double start = hf_clock_now();
    if (way == 0) {
        status = launch(gate, VALUE, NULL, NULL);
    } else {
        OK(launch(gate, VALUE, &(hf_order){.queue = 3}, &first));
        const hf_order order = {.n_after = 1, .after = &first};
        if (way == 1) {
            OK(ops->copy(device, copy, 0, shared, 0, BYTES, &order, &second));
            status = ops->wait(device, second);
        } else if (way == 2) {
            status = ops->finish(device);
        } else {
            status =
                ops->read(device, way == 3 ? shared : copy, 0, &got, 4, &order, NULL);
        }
    }
    double waited = hf_clock_now() - start;
    CHECK(status == HF_EDEVICE && device->broken &&
              strstr(hf_error(), "kernel \"gate\" has not ended within 0.3 s"),
          "way %d: %s", way, hf_error());
    CHECK(waited >= 0.3, "%g s", waited);
    hf_buffer *buffer = NULL;
    device->deadline = 1000; /* nothing waits again */
    REFUSED(launch(set, VALUE, NULL, NULL));
    REFUSED(ops->read(device, copy, 0, &got, 4, NULL, NULL));
    REFUSED(ops->write(device, copy, 0, &got, 4, NULL, NULL));
    REFUSED(ops->alloc(&buffer, device, BYTES, NULL));
    REFUSED(ops->pin(&buffer, device, NULL, BYTES));
    REFUSED(ops->finish(device));
    if (first)
        REFUSED(ops->wait(device, first));
    CHECK(got == 99);
    if (way > 0)
        gate_open();
    ops->free(copy);
    device_close();
}

static int asked;

static hf_status fail_third(void *context, const char *what) {
    CHECK(context == &asked && strcmp(what, "kernel \"gate\"") == 0, "%s", what);
    return ++asked < 3 ? HF_OK : hf_fail(HF_ECOMM, "the others have left");
}

/* Others that can no longer go on end a wait, as its deadline does, with their failure. */
void meanwhile_test(int way) {
    hf_event *event;
    hf_status status;
    device_open();
    device->meanwhile = fail_third;
    device->context = &asked;
    device->deadline = 1000;
    asked = 0;
    OK(launch(gate, VALUE, &(hf_order){.queue = 3}, &event));
    if (way == 0)
        status = ops->wait(device, event);
    else if (way == 1)
        status = ops->finish(device);
    else
        status = launch(set, VALUE, &(hf_order){.n_after = 1, .after = &event}, NULL);
    CHECK(status == HF_ECOMM && strstr(hf_error(), "others have left"), "%s",
          hf_error());
    CHECK(asked == 3 && device->broken);
    REFUSED(ops->wait(device, event));
    gate_open();
    device_close();
}

/* One that ends at last, while the device is closed. */
void late_test(void) {
    hf_event *event;
    pthread_t opener;
    device_open();
    device->deadline = 0.05;
    OK(launch(gate, VALUE, NULL, &event));
    CHECK(ops->wait(device, event) == HF_EDEVICE);
    pthread_create(&opener, NULL, gate_open_later, NULL);
    device_close();
    CHECK(words[PASSED] == VALUE);
    pthread_join(opener, NULL);
    free((void *)words);
}

/* A command that OpenCL has not handed over, as it says: nobody may free what it may use. */
void unflushed_test(void) {
    hf_event *event = NULL;
    pthread_t opener;
    device_open();
    unflushed = true;
    CHECK(launch(gate, VALUE, NULL, &event) == HF_EDEVICE, "%s", hf_error());
    unflushed = false;
    CHECK(!event && strstr(hf_error(), "clFlush") && device->broken, "%s", hf_error());
    REFUSED(launch(set, VALUE, NULL, NULL));
    pthread_create(&opener, NULL, gate_open_later, NULL);
    device_close();
    CHECK(words[PASSED] == VALUE, "its device was closed before it had ended");
    pthread_join(opener, NULL);
    free((void *)words);
}
