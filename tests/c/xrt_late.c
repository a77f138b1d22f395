/* xrt_late.c - the runtime `xrt`: kernels and calls that end late, or never. */
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <time.h>

#include "core/clock.h"
#include "xrt_card.h"

/* ---- a kernel that never ends ---- */

void deadline_test(void) {
    hf_event *event;
    hf_buffer *buffer;
    pthread_t opener;
    device_open();
    gate_is_open = 0;
    device->deadline = 0.2;
    OK(gate_launch(VALUE, &(hf_order){.queue = 1}, &event));
    said(ops->wait(device, event), HF_EDEVICE,
         "kernel \"gate\" (unit \"gate\") has not ended within 0.2 s");
    CHECK(device->broken);
    said(gate_launch(VALUE, NULL, NULL), HF_EDEVICE, "open a new session");
    said(ops->alloc(&buffer, device, BYTES, NULL), HF_EDEVICE, "open a new session");
    said(ops->finish(device), HF_EDEVICE, "open a new session");
    said(ops->load(device, "xrt", binary, binary_bytes), HF_EDEVICE, "a new session");
    device_close(); /* what the kernel uses stays */
    pthread_create(&opener, NULL, gate_open_later, NULL);
    pthread_join(opener, NULL);
}

/* ---- calls that end late, or never ---- */

static void (*standin_plan(void))(const char *) {
    void (*plan)(const char *) = NULL;
    *(void **)&plan = dlsym(RTLD_DEFAULT, "standin_plan");
    CHECK(plan);
    return plan;
}

static int objects(void) {
    int (*count)(void) = NULL;
    *(void **)&count = dlsym(RTLD_DEFAULT, "standin_objects");
    CHECK(count);
    return count();
}

/* XRT is called again when it has returned. What it made is given back, what it has given
 * back is not given back again. */
void late_test(void) {
    static const char *const faults[] = {"xrtBOAlloc:1:late=2000",
                                         "xrtBOFree:1:late=2000"};
    for (int frees = 0; frees < 2; frees++) {
        hf_buffer *buffer, *more;
        hf_device *another = NULL;
        device_open();
        OK(ops->alloc(&buffer, device, BYTES, NULL));
        int before = objects();
        device->deadline = 0.2;
        standin_plan()(faults[frees]);
        if (frees)
            ops->free(buffer);
        else
            said(ops->alloc(&more, device, BYTES, NULL), HF_EDEVICE,
                 "xrtBOAlloc has not ended within 0.2 s");
        CHECK(device->broken);
        double end = hf_clock_now() + 60;
        while (ops->open(&another, "0", 0, NULL) != HF_OK && hf_clock_now() < end)
            nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        standin_plan()("");
        CHECK(objects() == before + 1 - frees, "%d objects, then %d", before,
              objects());
        CHECK(another, "%s", hf_error());
        if (another)
            ops->close(another);
        device_close(); /* nothing: it is broken */
    }
}

/* A call that ends late is undone also where XRT was given up meanwhile, by a copy that hangs:
 * XRT crashes if a buffer is left as the process ends. */
void given_up_test(void) {
    static uint32_t all[WORDS]; /* outlives the device */
    hf_device *other, *another;
    hf_buffer *more, *own;
    device_open();
    OK(ops->open(&other, "1", 0, NULL));
    OK(ops->load(other, "xrt", binary, binary_bytes));
    OK(ops->alloc(&own, other, BYTES, &(hf_spot){.bank = 1}));
    int before = objects();
    device->deadline = other->deadline = 0.2;
    standin_plan()("xrtBOAlloc:1:late=3000,xrtBOSync:1:hang");
    said(ops->alloc(&more, device, BYTES, NULL), HF_EDEVICE,
         "xrtBOAlloc has not ended");
    said(ops->write(other, own, 0, all, BYTES, NULL, NULL), HF_EDEVICE,
         "a copy has not ended within 0.2 s");
    double end = hf_clock_now() + 60;
    const char *first = "xrtBOAlloc"; /* until that has returned */
    do {
        nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);
        said(ops->open(&another, "2", 0, NULL), HF_EDEVICE,
             "XRT has not returned from");
    } while (strstr(hf_error(), first) && hf_clock_now() < end);
    CHECK(strstr(hf_error(), "xrtBOSync"), "%s", hf_error());
    CHECK(objects() == before, "%d objects, then %d", before, objects());
}

/* By a thread of the device, and by this one, which has all signals blocked: XRT is left with
 * what it may have locked, and is not called again. Without a signal a thread makes both. */
void copies_test(bool has_signal) {
    static uint32_t all[WORDS]; /* outlives the device */
    hf_event *event;
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    for (int own = 0; own < 2; own++) {
        device_open();
        device->deadline = 0.2;
        standin_plan()("xrtBOSync:1:hang");
        hf_status status = ops->write(device, words, 0, all, BYTES,
                                      &(hf_order){.queue = 1}, own ? NULL : &event);
        said(own || status != HF_OK ? status : ops->wait(device, event), HF_EDEVICE,
             "a copy has not ended within 0.2 s");
        CHECK(device->broken);
        said(ops->read(device, words, 0, all, BYTES, NULL, NULL), HF_EDEVICE,
             "open a new session");
        standin_plan()("");
        if (!own) /* that stays open when the process ends */
            device_close();
    }
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    hf_device *another;
    hf_status status = ops->open(&another, "0", 0, NULL);
    if (has_signal)
        said(status, HF_EDEVICE,
             "XRT has not returned from xrtBOSync: start a new process");
    else
        CHECK(status == HF_OK, "%s", hf_error());
}
