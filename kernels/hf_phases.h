/* hf_phases.h - a persistent kernel: work-items of one launch take parts of one phase after the
 * other.
 *
 * The first to join leads: it begins phases of n parts, and ends the launch. All take tickets:
 * number t is part t % n of phase t / n. Who has one of a phase that has not begun waits for it,
 * and who leads waits for parts that were taken. So nobody waits for a work-item that has not
 * begun to run: any number of them may run at a time, in any order.
 */
#ifndef HF_PHASES_H
#define HF_PHASES_H

#include "hf_kernel.h"
#include "hf_phases_host.h"

#ifndef __OPENCL_VERSION__
#include <sched.h>
#endif

#define HF_PHASES_ADD(word)      __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL)
#define HF_PHASES_LOAD(word)     __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define HF_PHASES_STORE(word, x) __atomic_store_n(word, x, __ATOMIC_RELEASE)

enum { HF_PHASES_LOOKS = 256 }; /* before others may have the core, about 5 us */

/** Ticks of a clock, to tell which share of the launch a phase took; 0 where there is none. */
#ifdef __x86_64__
#define HF_PHASES_CLOCK() ((ulong)__builtin_ia32_rdtsc())
#else
#define HF_PHASES_CLOCK() ((ulong)0)
#endif

/** Let another thread have the core: maybe the one that is waited for. It takes assembly, as
 *  kernels have no C library. Keep noinline: PoCL 5 aborts on assembly in a kernel body. */
__attribute__((noinline)) static void hf_phases_yield(void) {
#if !defined(__OPENCL_VERSION__)
    sched_yield();
#elif defined(__x86_64__) && defined(__linux__)
    ulong call = 24;
    __asm__ volatile("syscall" : "+a"(call) : : "rcx", "r11", "memory");
#elif defined(__aarch64__) && defined(__linux__)
    register ulong call __asm__("x8") = 124, left __asm__("x0") = 0;
    __asm__ volatile("svc #0" : "+r"(left) : "r"(call) : "memory");
#endif
}

/** A look for the `looks`-th time was in vain. */
static inline void hf_phases_pause(uint looks) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (looks > HF_PHASES_LOOKS)
        hf_phases_yield();
}

/** Does this work-item lead? */
static inline uint hf_phases_join(HF_GLOBAL hf_phases *at) {
    return HF_PHASES_ADD(&at->joined) == 0;
}

static inline uint hf_phases_ticket(HF_GLOBAL hf_phases *at) {
    return HF_PHASES_ADD(&at->tickets);
}

/** Wait for phase `phase`, counted from 0; 0 where it never begins. */
static inline uint hf_phases_await(HF_GLOBAL hf_phases *at, uint phase) {
    uint begun = HF_PHASES_LOAD(&at->begun);
    for (uint looks = 0; begun <= phase; looks++) {
        hf_phases_pause(looks);
        begun = HF_PHASES_LOAD(&at->begun);
    }
    return begun != HF_PHASES_OVER;
}

/** The part of a ticket is done. */
static inline void hf_phases_done(HF_GLOBAL hf_phases *at) {
    HF_PHASES_ADD(&at->done);
}

/* ---- for the one that leads ---- */

/** How many work-items have begun to run. */
static inline uint hf_phases_joined(HF_GLOBAL hf_phases *at) {
    return HF_PHASES_LOAD(&at->joined);
}

/** Wait until `parts` parts are done. */
static inline void hf_phases_meet(HF_GLOBAL hf_phases *at, uint parts) {
    for (uint looks = 0; HF_PHASES_LOAD(&at->done) != parts; looks++)
        hf_phases_pause(looks);
}

/** So many phases have begun. */
static inline void hf_phases_begin(HF_GLOBAL hf_phases *at, uint phases) {
    HF_PHASES_STORE(&at->begun, phases);
}

static inline void hf_phases_end(HF_GLOBAL hf_phases *at) {
    HF_PHASES_STORE(&at->begun, HF_PHASES_OVER);
}

#endif
