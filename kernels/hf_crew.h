/* hf_crew.h - work-items of a launch that take part after part of one phase after the other.
 *
 * The first to join leads: it begins phases of n parts, and ends the launch. All take tickets:
 * number t is part t % n of phase t / n. Who has one of a phase that has not begun waits for it,
 * and who leads waits for parts that were taken. So nobody waits for a work-item that has not
 * begun to run: any number of them may run at a time, in any order.
 */
#ifndef HF_CREW_H
#define HF_CREW_H

#include "hf_crew_host.h"
#include "hf_kernel.h"

#ifndef __OPENCL_VERSION__
#include <sched.h>
#endif

#define HF_CREW_ADD(word)      __atomic_fetch_add(word, 1, __ATOMIC_ACQ_REL)
#define HF_CREW_LOAD(word)     __atomic_load_n(word, __ATOMIC_ACQUIRE)
#define HF_CREW_STORE(word, x) __atomic_store_n(word, x, __ATOMIC_RELEASE)

enum { HF_CREW_LOOKS = 256 }; /* before others may have the core, about 5 us */

/** Let another thread have the core: maybe the one that is waited for. It takes assembly, as
 *  kernels have no C library. Keep noinline: PoCL 5 aborts on assembly in a kernel body. */
__attribute__((noinline)) static void hf_crew_yield(void) {
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
static inline void hf_crew_pause(uint looks) {
#ifdef __x86_64__
    __builtin_ia32_pause();
#endif
    if (looks > HF_CREW_LOOKS)
        hf_crew_yield();
}

/** Does this work-item lead? */
static inline uint hf_crew_join(HF_GLOBAL hf_crew *crew) {
    return HF_CREW_ADD(&crew->joined) == 0;
}

static inline uint hf_crew_ticket(HF_GLOBAL hf_crew *crew) {
    return HF_CREW_ADD(&crew->tickets);
}

/** Wait for phase `phase`, counted from 0; 0 where it never begins. */
static inline uint hf_crew_await(HF_GLOBAL hf_crew *crew, uint phase) {
    uint begun = HF_CREW_LOAD(&crew->begun);
    for (uint looks = 0; begun <= phase; looks++) {
        hf_crew_pause(looks);
        begun = HF_CREW_LOAD(&crew->begun);
    }
    return begun != HF_CREW_OVER;
}

/** The part of a ticket is done. */
static inline void hf_crew_done(HF_GLOBAL hf_crew *crew) {
    HF_CREW_ADD(&crew->done);
}

/* ---- for the one that leads ---- */

/** Wait until `parts` parts are done. */
static inline void hf_crew_meet(HF_GLOBAL hf_crew *crew, uint parts) {
    for (uint looks = 0; HF_CREW_LOAD(&crew->done) != parts; looks++)
        hf_crew_pause(looks);
}

/** So many phases have begun. */
static inline void hf_crew_begin(HF_GLOBAL hf_crew *crew, uint phases) {
    HF_CREW_STORE(&crew->begun, phases);
}

static inline void hf_crew_end(HF_GLOBAL hf_crew *crew) {
    HF_CREW_STORE(&crew->begun, HF_CREW_OVER);
}

#endif
