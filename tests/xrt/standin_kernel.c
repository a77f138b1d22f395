/* standin_kernel.c - kernels, and runs of them. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "standin.h"

/* ---- kernels ---- */

API void *xrtPLKernelOpen(void *handle, const unsigned char *uuid, const char *name) {
    device *d = handle;
    char kernel_name[NAME] = "", unit_name[NAME] = "";
    if (!valid(d, DEVICE) || standin_fails("xrtPLKernelOpen"))
        return NULL;
    sscanf(name, "%63[^:]:{%63[^}]}", kernel_name, unit_name);
    kernel *k = calloc(1, sizeof *k);
    *k = (kernel){.magic = KERNEL, .device = d};
    image *x = d->card->image;
    for (size_t u = 0; x && u < x->n_units; u++)
        if (strcmp(x->units[u].kernel, kernel_name) == 0 &&
            strcmp(x->units[u].name, unit_name) == 0)
            k->unit = &x->units[u];
    for (const code *c = x ? x->codes : NULL; c && c->name; c++)
        if (strcmp(c->name, kernel_name) == 0)
            k->code = c;
    if (!k->unit || !k->code || memcmp(uuid, x->uuid, 16) != 0) {
        refuse(EINVAL, "No compute units satisfy requested connectivity: '%s'", name);
        free(k);
        return NULL;
    }
    n_kernels++;
    d->card->kernels++;
    return k;
}

API int xrtKernelClose(void *handle) {
    kernel *k = handle;
    if (!valid(k, KERNEL) || standin_fails("xrtKernelClose"))
        return -1;
    k->magic = GONE;
    k->device->card->kernels--;
    n_kernels--;
    free(k);
    return 0;
}

/* XRT tells the last one, which is a group where there is one. */
API int xrtKernelArgGroupId(void *handle, int number) {
    const kernel *k = handle;
    const char *fault = standin_fault("xrtKernelArgGroupId");
    if (!valid(k, KERNEL) || strcmp(fault, "fail") == 0 || atoi(fault) > 0)
        return refuse(atoi(fault), "planned fault of xrtKernelArgGroupId");
    if (strncmp(fault, "state=", 6) == 0)
        return atoi(fault + 6);
    for (size_t m = k->device->card->image->n_memories; m-- > 0;)
        if (k->unit->reaches[number][m])
            return (int)m;
    return refuse(EINVAL, "argument %d has no memory", number);
}

/* ---- runs ---- */

API void *xrtRunOpen(void *handle) {
    kernel *k = handle;
    if (!valid(k, KERNEL) || standin_fails("xrtRunOpen"))
        return NULL;
    run *r = calloc(1, sizeof *r);
    *r = (run){.magic = RUN, .kernel = k, .state = NEW};
    n_runs++;
    return r;
}

API int xrtRunSetArg(void *handle, int number, ...) {
    run *r = handle;
    va_list args;
    if (!valid(r, RUN) || standin_fails("xrtRunSetArg"))
        return -1;
    if (number < 0 || (size_t)number >= r->kernel->unit->n_args)
        return refuse(EINVAL, "bad argument index '%d'", number);
    const arg *a = &r->kernel->unit->args[number];
    uint64_t *value = &r->values[number];
    *value = 0;
    r->set[number] = true;
    va_start(args, number);
    if (a->pointer) {
        buffer *b = va_arg(args, void *);
        if (!valid(b, BUFFER)) {
            va_end(args);
            return -1;
        }
        if (!r->kernel->unit->reaches[number][b->memory]) {
            /* XRT's kernel works on a copy, of which nothing comes back. */
            buffer *copy = calloc(1, sizeof *copy);
            *copy = *b;
            copy->card = malloc(b->bytes);
            memcpy(copy->card, b->card, b->bytes);
            b = copy;
        }
        r->buffers[number] = b;
    } else if (strcmp(a->type, "float") == 0) {
        float number32 = (float)va_arg(args, double);
        memcpy(value, &number32, sizeof number32);
    } else if (strcmp(a->type, "double") == 0) {
        double number64 = va_arg(args, double);
        memcpy(value, &number64, sizeof number64);
    } else if (a->bytes <= 4) {
        *value = va_arg(args, unsigned);
    } else {
        *value = va_arg(args, uint64_t);
    }
    va_end(args);
    return 0;
}

static void users_add(run *r, int n) {
    for (size_t i = 0; i < r->kernel->unit->n_args; i++)
        if (r->buffers[i])
            r->buffers[i]->users += n;
}

static _Thread_local sigjmp_buf *back; /* of a thread that a kernel runs in */

static void access_stop(int number) {
    if (back)
        siglongjmp(*back, 1);
    signal(number, SIG_DFL);
    raise(number); /* what has no place to go back to would go on */
}

__attribute__((constructor)) static void begin(void) {
    sigaction(SIGSEGV, &(struct sigaction){.sa_handler = access_stop}, NULL);
}

/* The state in which it ends: where it reaches for what is no memory of its, a card's firewall
 * stops it. */
static int code_call(const code *c, void *const *values) {
    sigjmp_buf here;
    int state = COMPLETED;
    back = &here;
    if (sigsetjmp(here, 1) == 0)
        c->call(values, 1);
    else
        state = FAILED;
    back = NULL;
    return state;
}

static void *run_work(void *context) {
    run *r = context;
    void *values[MAX_ARGS], *addresses[MAX_ARGS];
    int state = COMPLETED;
    const char *fault = standin_fault("kernel");
    for (size_t i = 0; i < MAX_ARGS; i++) {
        addresses[i] = r->buffers[i] ? r->buffers[i]->card : NULL;
        values[i] = r->buffers[i] ? (void *)&addresses[i] : &r->values[i];
    }
    if (strcmp(fault, "slow") == 0)
        nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
    pthread_mutex_lock(&r->kernel->unit->runs);
    if (strcmp(fault, "lost") != 0)
        state = code_call(r->kernel->code, values);
    else
        n_harms++;
    r->kernel->unit->n_ran++;
    pthread_mutex_unlock(&r->kernel->unit->runs);
    sscanf(fault, "state=%d", &state);
    users_add(r, -1);
    pthread_mutex_lock(&lock);
    r->state = state;
    pthread_cond_broadcast(&ended);
    pthread_mutex_unlock(&lock);
    return NULL;
}

static void process_ends(void) {
    ending = true;
}

static void end_await(void) {
    atexit(process_ends);
}

API int xrtRunStart(void *handle) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    run *r = handle;
    pthread_once(&once, end_await); /* behind what the runtime has registered */
    if (!valid(r, RUN) || standin_fails("xrtRunStart"))
        return -1;
    for (size_t i = 0; i < r->kernel->unit->n_args; i++)
        if (!r->set[i])
            return refuse(EINVAL, "argument %zu is not set", i);
    if (r->state == RUNNING)
        return refuse(EBUSY, "bad command state, can't launch");
    if (r->has_thread)
        pthread_join(r->thread, NULL);
    r->state = RUNNING;
    users_add(r, 1);
    r->has_thread = pthread_create(&r->thread, NULL, run_work, r) == 0;
    return r->has_thread ? 0 : refuse(ENOMEM, "no thread");
}

API int xrtRunState(void *handle) {
    const run *r = handle;
    int state = ABORTED;
    if (!valid(r, RUN))
        return state;
    pthread_mutex_lock(&lock);
    state = r->state;
    pthread_mutex_unlock(&lock);
    sscanf(standin_fault("xrtRunState"), "state=%d", &state);
    return state;
}

API int xrtRunWaitFor(void *handle, unsigned milliseconds) {
    const run *r = handle;
    struct timespec until;
    int late = 0, state;
    if (!valid(r, RUN))
        return ABORTED;
    if (milliseconds == 0)
        end_process("a wait for ever");
    if (sscanf(standin_fault("xrtRunWaitFor"), "state=%d", &state) == 1)
        return state;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)milliseconds * 1000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&lock);
    while (r->state == RUNNING && !late)
        late = pthread_cond_timedwait(&ended, &lock, &until);
    state = r->state == RUNNING ? TIMED_OUT : r->state;
    pthread_mutex_unlock(&lock);
    return state;
}

API int xrtRunClose(void *handle) {
    run *r = handle;
    if (!valid(r, RUN) || standin_fails("xrtRunClose"))
        return -1;
    if (r->state == RUNNING)
        end_process("a run is closed that runs");
    if (r->has_thread)
        pthread_join(r->thread, NULL);
    for (size_t i = 0; i < MAX_ARGS; i++)
        if (r->buffers[i] && r->buffers[i]->magic == BUFFER &&
            !r->kernel->unit->reaches[i][r->buffers[i]->memory]) {
            free(r->buffers[i]->card);
            free(r->buffers[i]);
        }
    r->magic = GONE;
    n_runs--;
    free(r);
    return 0;
}
