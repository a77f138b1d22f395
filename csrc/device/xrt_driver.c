/* xrt_driver.c - what a card's driver tells in files, which may take any time to be read. */
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/clock.h"
#include "core/error.h"
#include "xrt_device.h"

/* ---- where they are ---- */

static void file_make(hf_xrt_call *call) {
    char path[sizeof call->text];
    void *shim = hf_xrt.DeviceToXclDevice(call->handle);
    bool found = hf_xrt.path && shim &&
                 hf_xrt.path(shim, call->data, call->text, path, sizeof path) == 0;
    snprintf(call->text, sizeof call->text, "%s", found ? path : "");
}

hf_status hf_xrt_file_find(char *path, size_t room, const hf_xrt_device *device,
                           const char *part, const char *file) {
    hf_xrt_call call = {.make = file_make,
                        .name = "xclGetSysfsPath",
                        .handle = device->handle,
                        .data = part,
                        .deadline = device->base.deadline};
    snprintf(call.text, sizeof call.text, "%s", file);
    HF_TRY(hf_xrt_make(&call, NULL));
    snprintf(path, room, "%s", call.text);
    return HF_OK;
}

/* ---- what they tell ---- */

/* That a driver gets for an answer [s]. */
static const double PATIENCE = 1;

/** A question: of whom asks and of the thread that reads; the last of them frees it. */
typedef struct question {
    pthread_mutex_t lock;
    pthread_cond_t over;
    bool answered, left; /* left: nobody waits for it any more */
    unsigned long long number;
    char path[HF_XRT_PATH];
} question;

static void question_free(question *q) {
    pthread_cond_destroy(&q->over);
    pthread_mutex_destroy(&q->lock);
    free(q);
}

static unsigned long long number_in(const char *path) {
    unsigned long long number = 0;
    FILE *file = fopen(path, "r");
    if (file && (fscanf(file, "%llu", &number) != 1 || number > LLONG_MAX))
        number = 0; /* a negative one is too large */
    if (file)
        fclose(file);
    return number;
}

static void *answer(void *context) {
    question *q = context;
    unsigned long long number = number_in(q->path);
    pthread_mutex_lock(&q->lock);
    bool left = q->left;
    q->number = number;
    q->answered = true;
    pthread_cond_signal(&q->over);
    pthread_mutex_unlock(&q->lock);
    if (left)
        question_free(q);
    return NULL;
}

static question *question_new(const char *path) {
    question *q = calloc(1, sizeof *q);
    pthread_t thread;
    if (!q)
        return NULL;
    snprintf(q->path, sizeof q->path, "%s", path);
    pthread_mutex_init(&q->lock, NULL);
    hf_clock_condition(&q->over);
    if (pthread_create(&thread, NULL, answer, q) == 0) {
        pthread_detach(thread);
        return q;
    }
    question_free(q);
    return NULL;
}

unsigned long long hf_xrt_number(hf_xrt_device *device, const char *path) {
    question *q = *path && !device->silent ? question_new(path) : NULL;
    double last = hf_clock_now(), left = PATIENCE;
    if (!q)
        return 0;
    pthread_mutex_lock(&q->lock);
    while (!q->answered && left > 0) {
        struct timespec until = hf_clock_after(fmin(HF_HEARING, left));
        pthread_cond_timedwait(&q->over, &q->lock, &until);
        left -= hf_clock_passed(&last);
    }
    unsigned long long number = q->number;
    q->left = device->silent = !q->answered;
    pthread_mutex_unlock(&q->lock);
    if (!device->silent)
        question_free(q);
    return number;
}
