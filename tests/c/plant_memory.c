/* plant_memory.c - device buffers of which a wild access neither kills nor corrupts.
 *
 * A fault in a table of indices leads a kernel anywhere. A buffer lies alone in reserved
 * address space; what is accessed outside of all memory gets a page there, and the launch an
 * error, as a device that has an own address space would give it.
 */
#include <execinfo.h>
#include <signal.h>
#include <stdint.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/error.h"
#include "plant_state.h"

enum { MAX_STRAYS = 1 << 16 };

static size_t page_bytes;                    /* 0: no memory was asked for yet */
static const size_t guard = (size_t)1 << 34; /* on either side of a buffer */
static char *const low =
    (char *)((uintptr_t)1 << 44); /* far from what all others use */
static size_t slots;              /* handed out so far; they take turns */

static volatile sig_atomic_t strays;

static void stray(int signal_number, siginfo_t *info, void *context) {
    (void)context;
    char *page = (char *)((uintptr_t)info->si_addr / page_bytes * page_bytes);
    void *got = page && strays < MAX_STRAYS
                    ? mmap(page, page_bytes, PROT_READ | PROT_WRITE,
                           MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0)
                    : MAP_FAILED;
    strays++;
    if (got == MAP_FAILED) { /* address 0, as of those that x86 lacks, or too many */
        void *frames[32];
        backtrace_symbols_fd(frames, backtrace(frames, 32), STDERR_FILENO);
        signal(signal_number, SIG_DFL);
    }
}

static size_t whole_pages(size_t bytes) {
    return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

void *plant_memory_new(size_t bytes) {
    struct sigaction action = {.sa_flags = SA_SIGINFO};
    void *frame;
    action.sa_sigaction = stray;
    if (page_bytes == 0) {
        page_bytes = (size_t)sysconf(_SC_PAGESIZE);
        backtrace(&frame, 1); /* what it loads is there before a signal */
        plant_must(sigaction(SIGSEGV, &action, NULL) == 0);
    }
    char *at = low + slots++ % 128 * 4 * guard;
    char *all = mmap(at, whole_pages(bytes) + 2 * guard, PROT_NONE,
                     MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    plant_must(all != MAP_FAILED);
    plant_must(mprotect(all + guard, whole_pages(bytes), PROT_READ | PROT_WRITE) == 0);
    return all + guard;
}

void plant_memory_free(void *memory, size_t bytes) {
    munmap((char *)memory - guard, whole_pages(bytes) + 2 * guard);
}

hf_status plant_memory_check(void) {
    bool any = strays > 0;
    strays = 0;
    return any ? hf_fail(HF_EDEVICE, "a kernel reached outside of its buffers") : HF_OK;
}
