/* opencl_find.c - which devices there are: those of the runtimes that OpenCL's loader
 * knows, then those of further libraries.
 *
 * The loader opens every library that it knows at the first call, and none later. A further
 * library is opened here, in the same way, when no device found so far is the wanted one:
 * a call of OpenCL goes to the library that made its first argument. So a device has the
 * same index whether or not the libraries behind it are loaded.
 */
#include "opencl.h"

#include <CL/cl_ext.h>
#include <assert.h>
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/error.h"
#include "core/text.h"

#define POCL_COUNTS                                                                \
    "POCL_CPU_MAX_CU_COUNT to as many or more before OpenCL is first used in the " \
    "process, be it by another session or a list of devices"

/* What a process must be allowed [B]. Seen with PoCL 3.1 and 8 workers on two cores: with
 * 1.2 GB of addresses its compiler crashes, with 1.5 GB benchmarks run. */
static const rlim_t least_addresses = (rlim_t)2 << 30;

enum { MAX_PLATFORMS = 16, MAX_DEVICES = 64, GPU_ITEMS_PER_UNIT = 256 };

/** The devices found so far. */
typedef struct opencl_entries {
    hf_opencl_entry all[MAX_DEVICES];
    size_t n, n_libraries; /**< devices; further libraries that were looked at */
    cl_uint n_platforms;
    char broken[200]; /**< why a library did not load; "" */
} opencl_entries;

/** Copy `from` without the spaces around it, cut to `size`. */
static void text_copy(char *to, size_t size, const char *from) {
    from += strspn(from, " ");
    size_t length = strlen(from);
    while (length > 0 && from[length - 1] == ' ')
        length--;
    if (length >= size)
        length = size - 1;
    memcpy(to, from, length);
    to[length] = '\0';
}

static void platform_text(cl_platform_id platform, cl_platform_info what, char *to,
                          size_t size) {
    char text[1024] = "";
    clGetPlatformInfo(platform, what, sizeof text, text, NULL);
    text_copy(to, size, text);
}

static void device_text(cl_device_id id, cl_device_info what, char *to, size_t size) {
    char text[1024] = "";
    clGetDeviceInfo(id, what, sizeof text, text, NULL);
    text_copy(to, size, text);
}

static bool device_has(cl_device_id id, const char *extension) {
    char text[8192] = "";
    clGetDeviceInfo(id, CL_DEVICE_EXTENSIONS, sizeof text - 1, text, NULL);
    return strstr(text, extension) != NULL;
}

/** Say how kernels that run at the same time reach others, and how many can. On a CPU each
 *  holds a thread of the runtime, also while it waits. */
static void info_channels(hf_device_info *info) {
    static const hf_ports ports[] = {HF_PORTS_MEMORY, HF_PORTS_NONE, HF_PORTS_WIRES};
    bool emulator = info->type == HF_ACCELERATOR && info->emulated;
    bool intel = info->type == HF_CPU && strncmp(info->platform, "Intel", 5) == 0;
    bool one = strncmp(info->name, "basic", 5) == 0 ||
               strncmp(info->name, "cpu-minimal", 11) == 0;
    info->ports = emulator ? HF_PORTS_FILES : ports[info->type];
    info->kernels = info->workers;
    info->more_kernels = "";
    if (intel) { /* it keeps a thread for a host that waits */
        info->kernels--;
        info->more_kernels =
            ", one fewer than CPUs: allow the process one CPU more than "
            "kernels, take another device, for example PoCL's";
    } else if (hf_text_contains(info->platform, "portable computing")) {
        info->more_kernels =
            one ? ": set POCL_DEVICES=pthread, POCL_MAX_PTHREAD_COUNT and " POCL_COUNTS
                : ": set POCL_MAX_PTHREAD_COUNT and " POCL_COUNTS;
    }
}

static hf_device_info entry_info(const hf_opencl_entry *entry, size_t index) {
    hf_device_info info = {.runtime = "opencl", .index = (int)index, .items = 1};
    platform_text(entry->platform, CL_PLATFORM_NAME, info.platform,
                  sizeof info.platform);
    device_text(entry->id, CL_DEVICE_NAME, info.name, sizeof info.name);
    device_text(entry->id, CL_DEVICE_VERSION, info.version, sizeof info.version);
    device_text(entry->id, CL_DRIVER_VERSION, info.driver, sizeof info.driver);

    info.half = device_has(entry->id, "cl_khr_fp16");
    info.fp64 = device_has(entry->id, "cl_khr_fp64");
    cl_device_type type = 0;
    cl_ulong memory = 0, max_alloc = 0;
    cl_uint units = 1;
    clGetDeviceInfo(entry->id, CL_DEVICE_TYPE, sizeof type, &type, NULL);
    clGetDeviceInfo(entry->id, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof memory, &memory, NULL);
    clGetDeviceInfo(entry->id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, sizeof max_alloc,
                    &max_alloc, NULL);
    clGetDeviceInfo(entry->id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof units, &units, NULL);
    info.type = type & CL_DEVICE_TYPE_ACCELERATOR ? HF_ACCELERATOR
                : type & CL_DEVICE_TYPE_GPU       ? HF_GPU
                                                  : HF_CPU;
    info.copied_by_threads = info.type == HF_CPU;
    info.emulated = info.type == HF_CPU || hf_text_contains(info.name, "emulat") ||
                    hf_text_contains(info.platform, "emulat");
    info.memory = (size_t)memory;
    info.max_alloc = (size_t)max_alloc;
    info.workers = info.type == HF_CPU ? units : HF_MAX_QUEUES - 1;
    if (info.type == HF_GPU)
        info.items = (size_t)units * GPU_ITEMS_PER_UNIT;
    info_channels(&info);
    return info;
}

static bool entries_have(const opencl_entries *found, cl_platform_id platform) {
    for (size_t i = 0; i < found->n; i++)
        if (found->all[i].platform == platform)
            return true;
    return false;
}

/** Add the devices of `n` platforms, but for those that the loader gave already. */
static void entries_add(opencl_entries *found, const cl_platform_id *platforms,
                        cl_uint n) {
    found->n_platforms += n;
    for (cl_uint p = 0; p < n; p++) {
        cl_device_id ids[MAX_DEVICES];
        cl_uint n_ids = 0;
        if (entries_have(found, platforms[p]) ||
            clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, MAX_DEVICES, ids,
                           &n_ids) != CL_SUCCESS)
            continue;
        for (cl_uint i = 0; i < n_ids && found->n < MAX_DEVICES; i++, found->n++) {
            hf_opencl_entry *entry = &found->all[found->n];
            *entry = (hf_opencl_entry){.platform = platforms[p], .id = ids[i]};
            entry->info = entry_info(entry, found->n);
        }
    }
}

/** The function by which a library gives its platforms; NULL if it does not load. The
 *  library stays, as do the threads that it may have started. */
static clIcdGetPlatformIDsKHR_fn library_load(opencl_entries *found, const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    void *(CL_API_CALL * address)(const char *) = NULL;
    clIcdGetPlatformIDsKHR_fn platforms = NULL;
    if (library)
        *(void **)&address = dlsym(library, "clGetExtensionFunctionAddress");
    if (address)
        *(void **)&platforms = address("clIcdGetPlatformIDsKHR");
    if (!platforms)
        snprintf(found->broken, sizeof found->broken, "; %s is of no use: %s", path,
                 library ? "no OpenCL runtime" : dlerror());
    return platforms;
}

/** Look at the next further library; false if there is none. */
static bool entries_next(opencl_entries *found, const hf_vendors *vendors) {
    const char *path =
        vendors && vendors->libraries ? vendors->libraries[found->n_libraries] : NULL;
    if (!path)
        return false;
    found->n_libraries++;
    clIcdGetPlatformIDsKHR_fn get = library_load(found, path);
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    if (get && get(MAX_PLATFORMS, platforms, &n) == CL_SUCCESS)
        entries_add(found, platforms, n < MAX_PLATFORMS ? n : MAX_PLATFORMS);
    return true;
}

/* A runtime's threads do not come along where its process forks: it would hang. */
static hf_status process_check(void) {
    static atomic_long started;
    long first = 0;
    return atomic_compare_exchange_strong(&started, &first, (long)getpid())
               ? HF_OK
               : hf_owner_check("OpenCL was started in", first);
}

/* A runtime that gets no memory may end the process. */
static hf_status addresses_check(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur >= least_addresses)
        return HF_OK;
    return hf_fail(
        HF_ENOMEM,
        "the limit of %llu MiB of addresses (ulimit -v) is too low for OpenCL, "
        "which needs %llu: set \"ulimit -v unlimited\", or take the device host",
        (unsigned long long)limit.rlim_cur >> 20,
        (unsigned long long)least_addresses >> 20);
}

/** Start with the devices of the platforms that the loader knows. */
static hf_status entries_first(opencl_entries *found) {
    HF_TRY(addresses_check());
    HF_TRY(process_check());
    cl_platform_id platforms[MAX_PLATFORMS];
    cl_uint n = 0;
    *found = (opencl_entries){0};
    if (clGetPlatformIDs(MAX_PLATFORMS, platforms, &n) == CL_SUCCESS)
        entries_add(found, platforms, n < MAX_PLATFORMS ? n : MAX_PLATFORMS);
    return HF_OK;
}

/** Fail with the devices that there are. */
static hf_status entries_fail(const opencl_entries *found, const char *selector) {
    char known[400] = "";
    size_t used = 0;
    if (found->n_platforms == 0)
        return hf_fail(HF_EDEVICE,
                       "no OpenCL platform: install an ICD, for example "
                       "pocl-opencl-icd, and see whether OCL_ICD_VENDORS names a "
                       "folder without one%s",
                       found->broken);
    if (found->n == 0)
        return hf_fail(
            HF_EDEVICE,
            "no OpenCL device on any of %u platforms; PoCL has none where "
            "it cannot write its cache: HOME or POCL_CACHE_DIR names its folder%s",
            found->n_platforms, found->broken);
    for (size_t i = 0; i < found->n && used < sizeof known; i++)
        used += (size_t)snprintf(known + used, sizeof known - used, "%s%zu: %s",
                                 i ? ", " : "", i, found->all[i].info.name);
    return hf_fail(HF_ENOENT, "no OpenCL device \"%s\"; known: %s%s", selector, known,
                   found->broken);
}

/** The first of the devices of this type (NULL: of any) to take: hardware, else a CPU that
 *  stands in for it, and an emulator only where there is nothing else. NULL: none. */
static const hf_opencl_entry *entries_best(const opencl_entries *found,
                                           const hf_device_type *type) {
    const hf_opencl_entry *best = NULL;
    int best_worth = -1;
    for (size_t i = 0; i < found->n; i++) {
        const hf_device_info *info = &found->all[i].info;
        int worth = !info->emulated ? 2 : info->type == HF_CPU;
        if ((!type || info->type == *type) && worth > best_worth) {
            best = &found->all[i];
            best_worth = worth;
        }
    }
    return best;
}

/** Whether two devices are of one platform and one kind. */
static bool entries_alike(const hf_opencl_entry *a, const hf_opencl_entry *b) {
    return a->platform == b->platform && a->info.type == b->info.type &&
           a->info.emulated == b->info.emulated;
}

/** The devices that `selector` means; their number. */
static size_t entries_match(size_t matches[MAX_DEVICES], const opencl_entries *found,
                            const char *selector) {
    const hf_opencl_entry *all = found->all;
    bool number = selector[strspn(selector, "0123456789")] == '\0';
    unsigned long index = strtoul(selector, NULL, 10);
    hf_device_type type;
    bool typed = hf_device_type_named(&type, selector);
    const hf_opencl_entry *best = entries_best(found, typed ? &type : NULL);
    size_t n = 0;
    for (size_t i = 0; i < found->n; i++) {
        bool match;
        if (typed || selector[0] == '\0')
            match = best && entries_alike(&all[i], best);
        else if (number)
            match = i == index;
        else
            match = hf_text_contains(all[i].info.platform, selector) ||
                    hf_text_contains(all[i].info.name, selector) ||
                    hf_text_contains(all[i].info.version, selector);
        if (match)
            matches[n++] = i;
    }
    return n;
}

hf_status hf_opencl_pick(hf_opencl_entry *out, const char *selector, int local_rank,
                         const hf_vendors *vendors) {
    opencl_entries found;
    size_t matches[MAX_DEVICES], n;
    assert(local_rank >= 0);
    HF_TRY(entries_first(&found));
    /* A known runtime without devices needs help: no other is taken unasked. */
    bool stuck = selector[0] == '\0' && found.n_platforms > 0;
    while ((n = entries_match(matches, &found, selector)) == 0)
        if (stuck || !entries_next(&found, vendors))
            return entries_fail(&found, selector);
    *out = found.all[matches[(size_t)local_rank % n]];
    return HF_OK;
}

void hf_opencl_enter(sigset_t *own, const hf_vendors *vendors) {
    sigset_t ends;
    sigemptyset(&ends);
    sigaddset(&ends, SIGINT);
    sigaddset(&ends, SIGTERM);
    sigaddset(&ends, SIGHUP);
    pthread_sigmask(SIG_BLOCK, &ends, own);
    if (vendors && vendors->loading)
        vendors->loading(vendors->context, true);
}

void hf_opencl_leave(const sigset_t *own, const hf_vendors *vendors) {
    if (vendors && vendors->loading)
        vendors->loading(vendors->context, false);
    pthread_sigmask(SIG_SETMASK, own, NULL);
}

hf_status hf_opencl_list(hf_device_info *out, size_t index, bool *found,
                         const hf_vendors *vendors) {
    opencl_entries entries;
    sigset_t own;
    hf_opencl_enter(&own, vendors);
    hf_status status = entries_first(&entries);
    while (status == HF_OK && index >= entries.n && entries_next(&entries, vendors))
        ;
    hf_opencl_leave(&own, vendors);
    HF_TRY(status);
    *found = index < entries.n;
    if (*found)
        *out = entries.all[index].info;
    return HF_OK;
}
