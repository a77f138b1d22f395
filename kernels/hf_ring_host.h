/* hf_ring_host.h - how a kernel that waits at a ring calls the host, so that others can run. */
#ifndef HF_RING_HOST_H
#define HF_RING_HOST_H

#ifdef __OPENCL_VERSION__
typedef ulong hf_word;
#define HF_RING_MEMORY __global
#else
#include <sched.h>
#include <stdint.h>
#include <time.h>
typedef uint64_t hf_word;
#define HF_RING_MEMORY

struct hf_ring;
struct hf_ring_side;

/** Functions of the host for a kernel in OpenCL C. */
typedef struct hf_ring_host {
    /** Publish what this kernel has moved, and let others run. Returns when `other` may be
     *  past `still`, when `ring` is aborted, or at any other time. */
    void (*wait)(struct hf_ring_host *self, const struct hf_ring *ring,
                 const struct hf_ring_side *other, hf_word still);
    /** The kernel ends. */
    void (*leave)(struct hf_ring_host *self);
} hf_ring_host;
#endif

enum { HF_RING_WAIT, HF_RING_LEAVE };
enum { HF_RING_YIELDS = 1000, HF_RING_NAP = 50000 /* [ns] */ };

/** Call function `which` of `host` for the `round`-th time in a wait. It takes assembly:
 *  kernels have neither function pointers nor a C library. On other CPUs, and with
 *  HF_RING_SPIN, the kernel looks at its ring again at once. All registers that the call may
 *  clobber are listed, even absent ones.
 *  Keep noinline: PoCL 5 aborts on assembly in a kernel body.
 *  A kernel in C yields, and after HF_RING_YIELDS rounds sleeps: threads that only yield take
 *  the cores from the one that all wait for. */
__attribute__((noinline)) static void hf_ring_call(hf_word host, int which,
                                                   hf_word ring, hf_word other,
                                                   hf_word still, unsigned round) {
    (void)round;
#if !defined(__OPENCL_VERSION__)
    (void)host, (void)which, (void)ring, (void)other, (void)still;
    if (round < HF_RING_YIELDS)
        sched_yield();
    else
        nanosleep(&(struct timespec){.tv_nsec = HF_RING_NAP}, NULL);
#elif defined(HF_RING_SPIN)
    (void)host, (void)which, (void)ring, (void)other, (void)still;
#elif defined(__x86_64__)
    hf_word function = ((HF_RING_MEMORY hf_word *)host)[which];
    __asm__ volatile("mov %%rsp, %%r12\n\t"
                     "sub $128, %%rsp\n\t" /* the red zone */
                     "and $-64, %%rsp\n\t"
                     "call *%%rax\n\t"
                     "mov %%r12, %%rsp"
                     : "+a"(function), "+D"(host), "+S"(ring), "+d"(other), "+c"(still)
                     :
                     : "r8", "r9", "r10", "r11", "r12", "cc", "memory", "xmm0", "xmm1",
                       "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9",
                       "xmm10", "xmm11", "xmm12", "xmm13", "xmm14", "xmm15", "xmm16",
                       "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23",
                       "xmm24", "xmm25", "xmm26", "xmm27", "xmm28", "xmm29", "xmm30",
                       "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7");
#elif defined(__aarch64__)
    hf_word function = ((HF_RING_MEMORY hf_word *)host)[which];
    __asm__ volatile("mov x0, %0\n\t"
                     "mov x1, %1\n\t"
                     "mov x2, %2\n\t"
                     "mov x3, %3\n\t"
                     "blr %4"
                     :
                     : "r"(host), "r"(ring), "r"(other), "r"(still), "r"(function)
                     : "x0", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9",
                       "x10", "x11", "x12", "x13", "x14", "x15", "x16", "x17", "x18",
                       "x30", "cc", "memory", "v0", "v1", "v2", "v3", "v4", "v5", "v6",
                       "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15",
                       "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24",
                       "v25", "v26", "v27", "v28", "v29", "v30", "v31", "p0", "p1",
                       "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11",
                       "p12", "p13", "p14", "p15");
#else
    (void)host, (void)which, (void)ring, (void)other, (void)still;
#endif
}

#endif
