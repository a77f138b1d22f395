/* xrt_watch.c - short calls of XRT that a caller's own thread makes, by a deadline all the same.
 *
 * To hand a copy over to a thread and back takes longer than many a copy. So the caller makes
 * short ones itself, and a thread that looks at all devices, some times in a second, sees one
 * that passes its deadline. It sends the caller a signal, whose handler leaves the call by a
 * jump. What XRT had locked stays locked: it is not called again.
 */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"
#include "xrt_device.h"

/* Time between two looks [s]. */
static const double LOOKS = 0.05;

struct hf_xrt_watch {
    hf_device *device;
    atomic_ulong calls; /* that began and that ended: odd while one is under way */
    atomic_ulong late;  /* `calls` during the one that is to be left */
    bool has_caller;
    pthread_t caller;
    sigjmp_buf leave;
    unsigned long seen; /* `calls` at the last look at it, which changed at `since` */
    double since;
    hf_xrt_watch *next;
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t filled;
    hf_xrt_watch *first;
    bool has_thread;
    int signal; /* 0: none is free; stays as it is */
} all = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- in the thread that looks ---- */

static void call_look(hf_xrt_watch *watch, double now) {
    unsigned long calls = atomic_load(&watch->calls);
    if (calls != watch->seen) {
        watch->seen = calls;
        watch->since = now;
    }
    if (calls % 2 == 0 || now - watch->since < watch->device->deadline)
        return;
    atomic_store(&watch->late, calls);
    pthread_sigqueue(watch->caller, all.signal, (union sigval){.sival_ptr = watch});
}

static void *calls_look(void *unused) {
    pthread_mutex_lock(&all.lock);
    for (;;) {
        struct timespec until = hf_clock_after(LOOKS);
        if (all.first) /* nobody signals that they are closed */
            pthread_cond_timedwait(&all.filled, &all.lock, &until);
        else
            pthread_cond_wait(&all.filled, &all.lock);
        double now = hf_clock_now();
        for (hf_xrt_watch *w = all.first; w; w = w->next)
            call_look(w, now);
    }
    return unused;
}

/* ---- in the thread that calls ---- */

static void call_leave(int number, siginfo_t *info, void *context) {
    (void)number, (void)context;
    hf_xrt_watch *watch = info->si_value.sival_ptr;
    if (info->si_code == SI_QUEUE && info->si_pid == getpid() && watch &&
        atomic_load(&watch->calls) == atomic_load(&watch->late))
        siglongjmp(watch->leave, 1); /* else the call has ended meanwhile */
}

/** A signal that nobody else handles; 0: there is none. */
static int signal_take(void) {
    struct sigaction ours = {.sa_flags = SA_SIGINFO | SA_NODEFER}, theirs;
    ours.sa_sigaction = call_leave;
    for (int number = SIGRTMAX; number >= SIGRTMIN; number--)
        if (sigaction(number, NULL, &theirs) == 0 && theirs.sa_handler == SIG_DFL &&
            sigaction(number, &ours, NULL) == 0)
            return number;
    return 0;
}

/** A thread may have it blocked. */
static void caller_enter(hf_xrt_watch *watch) {
    sigset_t set;
    watch->caller = pthread_self();
    watch->has_caller = true;
    sigemptyset(&set);
    sigaddset(&set, all.signal);
    pthread_sigmask(SIG_UNBLOCK, &set, NULL);
}

hf_status hf_xrt_watched(hf_xrt_watch *watch, const hf_host_task *task) {
    if (!watch->has_caller || !pthread_equal(watch->caller, pthread_self()))
        caller_enter(watch);
    if (sigsetjmp(watch->leave, 0) != 0) {
        atomic_fetch_add(&watch->calls, 1);
        hf_xrt_give_up("xrtBOSync");
        return hf_device_break(watch->device, "a copy");
    }
    unsigned long calls = atomic_load_explicit(&watch->calls, memory_order_relaxed);
    atomic_store_explicit(&watch->calls, calls + 1, memory_order_release);
    hf_status status = task->run(task);
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

hf_xrt_watch *hf_xrt_watch_new(hf_device *device) {
    hf_xrt_watch *watch = calloc(1, sizeof *watch);
    if (!watch)
        return NULL;
    watch->device = device;
    pthread_mutex_lock(&all.lock);
    if (!all.has_thread) {
        all.has_thread = thread_start();
        all.signal = all.has_thread ? signal_take() : 0;
    }
    bool works = all.signal != 0;
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
