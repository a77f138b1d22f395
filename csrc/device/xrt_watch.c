/* xrt_watch.c - short calls of XRT that a caller's own thread makes, by a deadline all the same.
 *
 * To hand a copy over to a thread and back takes longer than many a copy. So the caller makes
 * short ones itself, and a thread that looks at all devices, some times in a second, sees one
 * that passes its deadline. It sends the caller a signal, whose handler leaves the call by a
 * jump. What XRT had locked stays locked: it is not called again. A call that no signal reaches
 * ends the process.
 */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "late.h"
#include "xrt_device.h"

/* Time between two looks, that a signal has to take effect, and a copy to end as the process
 * does [s]. */
static const double LOOKS = 0.05, EFFECT = 1, STOP = 2;

struct hf_xrt_watch {
    hf_device *device;
    void (*stuck)(const char *line); /* ends the process; or NULL */
    atomic_ulong calls; /* that began and that ended: odd while one is under way */
    atomic_ulong late;  /* `calls` during the one that is to be left */
    pthread_t caller;
    long task; /* the kernel's number of it; 0: there is none yet */
    sigjmp_buf leave;
    unsigned long seen; /* `calls` at the last look at it */
    double waited;      /* since it changed [s] */
    hf_xrt_watch *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    hf_xrt_watch *first;
    bool has_thread;
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the signal ---- */

static void call_leave(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    hf_xrt_watch *watch = info->si_value.sival_ptr;
    if (info->si_code == SI_QUEUE && info->si_pid == getpid() && watch &&
        atomic_load(&watch->calls) == atomic_load(&watch->late))
        siglongjmp(watch->leave, 1); /* else the call has ended meanwhile */
}

/** A signal that nobody else handles and that is not among those; 0: there is none. */
static int signal_find(unsigned long long blocked) {
    struct sigaction now;
    for (int number = SIGRTMAX; number >= SIGRTMIN; number--)
        if (!(blocked >> (number - 1) & 1) && sigaction(number, NULL, &now) == 0 &&
            (now.sa_handler == SIG_DFL || now.sa_sigaction == call_leave))
            return number;
    return 0;
}

/** Signals that the caller of a watch blocks now, the first one as bit 0. */
static unsigned long long signals_blocked(const hf_xrt_watch *watch) {
    unsigned long long blocked = 0;
    char path[64], line[128];
    snprintf(path, sizeof path, "/proc/self/task/%ld/status", watch->task);
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file) &&
           sscanf(line, "SigBlk: %llx", &blocked) != 1)
        ;
    if (file)
        fclose(file);
    return blocked;
}

/* ---- in the thread that looks ---- */

static void signal_send(const hf_xrt_watch *watch) {
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_NODEFER};
    int number = signal_find(signals_blocked(watch));
    ours.sa_sigaction = call_leave;
    if (number && sigaction(number, &ours, NULL) == 0)
        pthread_sigqueue(watch->caller, number,
                         (union sigval){.sival_ptr = (void *)watch});
}

static void call_look(hf_xrt_watch *watch, double passed) {
    char line[HF_MESSAGE_ROOM];
    unsigned long calls = atomic_load(&watch->calls);
    watch->waited = calls == watch->seen ? watch->waited + passed : 0;
    watch->seen = calls;
    if (calls % 2 == 0 || watch->waited < watch->device->deadline)
        return;
    atomic_store(&watch->late, calls);
    signal_send(watch);
    if (!watch->stuck || watch->waited < watch->device->deadline + EFFECT)
        return;
    snprintf(line, sizeof line,
             "a copy of device \"%s\" has not ended within %g s, and no signal reaches "
             "its thread: the process ends",
             watch->device->info.name, watch->device->deadline);
    watch->stuck(line);
}

static void *calls_look(void *unused) {
    double last = hf_clock_now();
    pthread_mutex_lock(&all.lock);
    for (;;) {
        struct timespec until = hf_clock_after(LOOKS);
        if (all.first) /* nobody signals that they are closed */
            pthread_cond_timedwait(&all.filled, &all.lock, &until);
        else
            pthread_cond_wait(&all.filled, &all.lock);
        double passed = hf_clock_passed(&last);
        for (hf_xrt_watch *w = all.first; w; w = w->next)
            call_look(w, passed);
    }
    return unused;
}

/* ---- in the thread that calls ---- */

static _Thread_local long own_task; /* 0: this thread has made no call yet */

/** A thread may have all signals blocked. */
static void caller_enter(hf_xrt_watch *watch) {
    sigset_t set;
    int number = signal_find(0);
    watch->caller = pthread_self();
    watch->task = own_task = syscall(SYS_gettid);
    sigemptyset(&set);
    if (number)
        sigaddset(&set, number);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

hf_status hf_xrt_watched(hf_xrt_watch *watch, const hf_host_task *task) {
    if (own_task == 0 || watch->task != own_task)
        caller_enter(watch);
    if (sigsetjmp(watch->leave, 0) != 0) {
        atomic_fetch_add(&watch->calls, 1);
        hf_xrt_give_up("xrtBOSync");
        return hf_device_break(watch->device, "a copy");
    }
    unsigned long calls = atomic_load_explicit(&watch->calls, memory_order_relaxed);
    atomic_store_explicit(&watch->calls, calls + 1, memory_order_release);
    hf_status status = atomic_load_explicit(&hf_xrt_ending, memory_order_relaxed)
                           ? hf_fail(HF_EDEVICE, "the process ends")
                           : task->run(task);
    atomic_store_explicit(&watch->calls, calls + 2, memory_order_release);
    return status;
}

/* ---- from open to close ---- */

static bool thread_start(void) {
    pthread_t thread;
    sigset_t every, before;
    hf_clock_condition(&all.filled);
    sigfillset(&every); /* signals are for those who look for them */
    pthread_sigmask(SIG_SETMASK, &every, &before);
    bool started = pthread_create(&thread, NULL, calls_look, NULL) == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (started)
        pthread_detach(thread);
    return started;
}

hf_xrt_watch *hf_xrt_watch_new(hf_device *device, void (*stuck)(const char *line)) {
    hf_xrt_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->device = device;
    watch->stuck = stuck;
    pthread_mutex_lock(&all.lock);
    all.has_thread = all.has_thread || thread_start();
    bool works = all.has_thread && signal_find(0) != 0;
    if (works) {
        watch->next = all.first;
        all.first = watch;
        pthread_cond_signal(&all.filled);
    }
    pthread_mutex_unlock(&all.lock);
    if (works)
        return watch;
    free(watch);
    return NULL;
}

/** A caller that began before it saw that the process ends shows by now: what a core has stored
 *  others see much sooner. */
void hf_xrt_watch_stop(const hf_xrt_watch *watch) {
    const struct timespec nap = {.tv_nsec = 2000000};
    double end = hf_clock_now() + STOP;
    do
        nanosleep(&nap, NULL);
    while (atomic_load(&watch->calls) % 2 && hf_clock_now() < end);
}

void hf_xrt_watch_free(hf_xrt_watch *watch) {
    pthread_mutex_lock(&all.lock);
    hf_xrt_watch **at = &all.first;
    while (*at && *at != watch)
        at = &(*at)->next;
    if (*at)
        *at = watch->next;
    pthread_mutex_unlock(&all.lock);
    free(watch);
}
