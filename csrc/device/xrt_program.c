/* xrt_program.c - program binaries of the runtime `xrt`, their kernels, and launches. */
#include <assert.h>
#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/known.h"
#include "xrt_device.h"

/* Between two looks whether the process ends, while a kernel runs [ms]; 0 means for ever. */
enum { WAIT_SLICE = 100 };

/** Versions differ: some return the errno and do not set it. */
static void load_make(hf_xrt_call *call) {
    int result = hf_xrt.DeviceLoadXclbin(call->handle, call->data);
    if (errno == 0 && result != 0 && result != -1)
        errno = abs(result);
    call->bytes = result != 0;
}

/** No kernel uses a longer buffer than the largest memory that an argument reaches. */
static size_t largest_memory(const hf_xclbin *x) {
    uint64_t most = 0;
    for (size_t m = 0; m < x->n_memories; m++)
        if (x->memories[m].used && x->memories[m].bytes > most)
            most = x->memories[m].bytes;
    return most < hf_xrt_max_alloc ? (size_t)most : hf_xrt_max_alloc;
}

/** Program the card with what lies at `copy`. XRT tells whether that is made for its shell: those
 *  that fit may have other names. */
static hf_status card_load(hf_xrt_device *device, const hf_xclbin *x,
                           const unsigned char *copy) {
    hf_xrt_call call = {.make = load_make,
                        .name = "xrtDeviceLoadXclbin",
                        .handle = device->handle,
                        .data = copy};
    HF_TRY(hf_xrt_make(&call, &device->base));
    if (call.bytes == 0)
        return HF_OK;
    hf_status status = hf_xrt_failed(HF_EDEVICE, &call);
    if (call.code != EOPNOTSUPP)
        return status;
    return hf_fail(HF_EARG,
                   "an xclbin for the shell \"%s\", the card has \"%s\": %.200s",
                   x->shell, device->base.info.name, hf_error());
}

/** A copy of an xclbin, and what it says. */
static hf_status description_new(hf_xclbin **x, unsigned char **copy,
                                 const unsigned char *binary, size_t bytes) {
    hf_xclbin *read;
    HF_TRY(hf_xclbin_read(&read, binary, bytes));
    unsigned char *all = malloc(bytes);
    if (!all) {
        free(read);
        return hf_fail(HF_ENOMEM, "no memory for a program binary of %zu B", bytes);
    }
    memcpy(all, binary, bytes);
    *x = read;
    *copy = all;
    return HF_OK;
}

hf_status hf_xrt_load_xclbin(hf_device *base, const char *name,
                             const unsigned char *binary, size_t bytes) {
    hf_xrt_device *device = (hf_xrt_device *)base;
    bool same = device->binary && bytes == device->binary_bytes &&
                memcmp(binary, device->binary, bytes) == 0;
    hf_xclbin *x = device->xclbin;
    unsigned char *copy = device->binary;
    (void)name;
    HF_TRY(hf_device_check(base));
    if (!same)
        HF_TRY(description_new(&x, &copy, binary, bytes));
    if (!same) {
        free(device->xclbin);
        free(device->binary);
    }
    device->xclbin = NULL; /* what fails may have changed the card */
    device->binary = NULL;
    /* Also the same one: another session may have programmed the card. XRT knows. */
    hf_status status = card_load(device, x, copy);
    if (status != HF_OK) {
        free(x);
        if (base->broken)
            device->binary = copy; /* XRT may still read it */
        else
            free(copy);
        return status;
    }
    device->xclbin = x;
    device->binary = copy;
    device->binary_bytes = bytes;
    base->info.max_alloc = largest_memory(x);
    return HF_OK;
}

/* ---- kernels ---- */

static void kernel_make(hf_xrt_call *call) {
    call->result = hf_xrt.PLKernelOpen(call->handle, call->data, call->text);
}

static void kernel_close_make(hf_xrt_call *call) {
    hf_xrt.KernelClose(call->handle);
}

static void kernel_undo(hf_xrt_call *call) {
    hf_xrt.KernelClose(call->result);
}

static void run_make(hf_xrt_call *call) {
    call->result = hf_xrt.RunOpen(call->handle);
}

static void run_undo(hf_xrt_call *call) {
    hf_xrt.RunClose(call->result);
}

static void run_close_make(hf_xrt_call *call) {
    hf_xrt.RunClose(call->handle);
}

static void group_make(hf_xrt_call *call) {
    call->bytes = (size_t)hf_xrt.KernelArgGroupId(call->handle, (int)call->number);
}

static void run_close(hf_xrt_unit *unit, size_t queue, hf_device *device) {
    hf_xrt_call call = {.make = run_close_make,
                        .name = "xrtRunClose",
                        .handle = unit->runs[queue],
                        .deadline = unit->device->deadline};
    if (call.handle)
        hf_xrt_make(&call, device);
    unit->runs[queue] = NULL;
}

/* Does what XRT may still use stay? */
static bool is_kept(const hf_device *device) {
    return device->broken || atomic_load(&hf_xrt_ending);
}

void hf_xrt_kernel_free(hf_kernel *base) {
    hf_xrt_kernel *kernel = (hf_xrt_kernel *)base;
    if (!kernel)
        return;
    hf_device *device = &kernel->device->base;
    /* XRT ends the process where a run is closed that has not ended. */
    for (size_t u = 0; u < kernel->n_units && !is_kept(device); u++) {
        hf_xrt_call call = {.make = kernel_close_make,
                            .name = "xrtKernelClose",
                            .handle = kernel->units[u].handle};
        for (size_t q = 0; q < HF_MAX_QUEUES; q++)
            run_close(&kernel->units[u], q, device);
        if (call.handle)
            hf_xrt_make(&call, device);
    }
    if (is_kept(device)) {
        kernel->next = kernel->device->kept;
        kernel->device->kept = kernel;
    } else {
        free(kernel);
    }
}

/** XRT must place the arguments as the xclbin says that they can be. */
static hf_status groups_check(const hf_xrt_kernel *kernel, const hf_xrt_unit *unit) {
    for (size_t i = 0; i < kernel->info.n_args; i++) {
        if (!kernel->info.args[i].pointer)
            continue;
        hf_xrt_call call = {.make = group_make,
                            .name = "xrtKernelArgGroupId",
                            .handle = unit->handle,
                            .number = (uint32_t)i};
        HF_TRY(hf_xrt_make(&call, &kernel->device->base));
        int memory = (int)call.bytes;
        if (memory < 0)
            return hf_xrt_failed(HF_EDEVICE, &call);
        if (memory >= HF_XCLBIN_MEMORIES ||
            !hf_xclbin_reaches(&unit->info->reach[i], (size_t)memory))
            return hf_fail(HF_EDEVICE,
                           "kernel \"%s\", unit \"%s\": XRT places argument %zu, "
                           "\"%s\", in memory %d, which the xclbin does not connect",
                           kernel->info.name, unit->info->name, i,
                           kernel->info.args[i].name, memory);
    }
    return HF_OK;
}

static hf_status unit_open(hf_xrt_kernel *kernel, hf_xrt_unit *unit) {
    hf_xrt_call call = {.make = kernel_make,
                        .undo = kernel_undo,
                        .name = "xrtPLKernelOpen",
                        .handle = kernel->device->handle,
                        .data = kernel->device->xclbin->uuid};
    snprintf(call.text, sizeof call.text, "%s:{%s}", kernel->info.name,
             unit->info->name);
    HF_TRY(hf_xrt_make(&call, &kernel->device->base));
    if (!call.result)
        return hf_xrt_failed(HF_EDEVICE, &call);
    unit->handle = call.result;
    return groups_check(kernel, unit);
}

static void unit_add(hf_xrt_kernel *kernel, const hf_xclbin_unit *info) {
    hf_xrt_unit *unit = &kernel->units[kernel->n_units];
    kernel->info_units[kernel->n_units] = *info;
    unit->info = &kernel->info_units[kernel->n_units++];
    unit->device = &kernel->device->base;
}

/** Take the unit NAME_<number> of a kernel; false: there is none. */
static bool unit_take(hf_xrt_kernel *kernel, const hf_xclbin *x, size_t number) {
    char name[80];
    snprintf(name, sizeof name, "%s_%zu", kernel->info.name, number);
    for (size_t u = 0; u < x->n_units; u++)
        if (strcmp(x->units[u].kernel, kernel->info.name) == 0 &&
            strcmp(x->units[u].name, name) == 0) {
            unit_add(kernel, &x->units[u]);
            return true;
        }
    return false;
}

/** The units of a kernel: NAME_<unit>, or, if that is 0, all from NAME_1 on. One that is alone has
 *  any name. */
static hf_status units_take(hf_xrt_kernel *kernel, const hf_xclbin *x, unsigned unit) {
    char wanted[80];
    hf_known known = {.wanted = wanted};
    const hf_xclbin_unit *last = NULL;
    size_t n = 0;
    for (size_t u = 0; u < x->n_units; u++)
        if (strcmp(x->units[u].kernel, kernel->info.name) == 0) {
            last = &x->units[u];
            hf_known_add(&known, last->name);
            n++;
        }
    if (unit)
        unit_take(kernel, x, unit);
    else if (n == 1)
        unit_add(kernel, last);
    else
        while (unit_take(kernel, x, kernel->n_units + 1))
            ;
    snprintf(wanted, sizeof wanted, "%s_%u", kernel->info.name, unit ? unit : 1);
    return kernel->n_units > 0
               ? HF_OK
               : hf_fail(HF_EDEVICE, "kernel \"%s\" has no compute unit \"%s\"; %s",
                         kernel->info.name, wanted, hf_known_text(&known));
}

static hf_status kernel_missing(const hf_xclbin *x, const char *name) {
    hf_known known = {.wanted = name};
    for (size_t k = 0; k < x->n_kernels; k++)
        hf_known_add(&known, x->kernels[k].name);
    return hf_fail(HF_EDEVICE, "the xclbin has no kernel \"%s\"; %s", name,
                   hf_known_text(&known));
}

hf_status hf_xrt_kernel_open(hf_kernel **out, hf_device *base, const char *name,
                             unsigned unit) {
    hf_xrt_device *device = (hf_xrt_device *)base;
    const hf_xclbin *x = device->xclbin;
    HF_TRY(hf_device_check(base));
    assert(x);
    const hf_xclbin_kernel *info = hf_xclbin_find(x, name);
    if (!info)
        return kernel_missing(x, name);
    if (info->n_args > HF_HOST_ARGS)
        return hf_fail(
            HF_ENOTSUP,
            "kernel \"%s\" takes %zu arguments: more than %d are not supported", name,
            info->n_args, HF_HOST_ARGS);
    hf_xrt_kernel *kernel = calloc(1, sizeof *kernel);
    if (!kernel)
        return hf_fail(HF_ENOMEM, "no memory for a kernel");
    kernel->device = device;
    kernel->info = *info;
    hf_status status = units_take(kernel, x, unit);
    for (size_t u = 0; status == HF_OK && u < kernel->n_units; u++)
        status = unit_open(kernel, &kernel->units[u]);
    if (status != HF_OK) {
        char why[HF_MESSAGE_ROOM]; /* what closes may fail, too */
        snprintf(why, sizeof why, "%s", hf_error());
        hf_xrt_kernel_free((hf_kernel *)kernel);
        return hf_fail(status, "%s", why);
    }
    *out = (hf_kernel *)kernel;
    return HF_OK;
}

/* ---- a launch, in the thread of its queue ---- */

static hf_status run_open(hf_xrt_unit *unit, unsigned queue) {
    hf_xrt_call call = {.make = run_make,
                        .undo = run_undo,
                        .name = "xrtRunOpen",
                        .handle = unit->handle,
                        .deadline = unit->device->deadline};
    if (unit->runs[queue])
        return HF_OK;
    HF_TRY(hf_xrt_make(&call, NULL));
    unit->runs[queue] = call.result;
    return call.result ? HF_OK : hf_xrt_failed(HF_EDEVICE, &call);
}

/** Scalars pass through "...": floating-point ones as double, others as 64 bits. */
static int arg_set(void *run, size_t i, const hf_xclbin_arg *info,
                   const hf_host_task *task) {
    if (info->pointer)
        return hf_xrt.RunSetArg(run, (int)i, task->args[i].address);
    if (strcmp(info->type, "float") == 0 && info->bytes == sizeof(float)) {
        float value;
        memcpy(&value, &task->args[i], sizeof value);
        return hf_xrt.RunSetArg(run, (int)i, (double)value);
    }
    if (strcmp(info->type, "double") == 0 && info->bytes == sizeof(double)) {
        double value;
        memcpy(&value, &task->args[i], sizeof value);
        return hf_xrt.RunSetArg(run, (int)i, value);
    }
    return hf_xrt.RunSetArg(run, (int)i, task->args[i].bits);
}

static bool state_ended(int state) {
    return state >= HF_XRT_COMPLETED && state != HF_XRT_SUBMITTED;
}

/** The state in which a run ended; 0: the process ends before it. A wait may fail before the run
 *  has ended: XRT ends the process where such a run is closed. */
static int run_await(void *run) {
    int failed = 0;
    while (!atomic_load(&hf_xrt_ending)) {
        int waited = hf_xrt.RunWaitFor(run, WAIT_SLICE);
        if (waited == HF_XRT_COMPLETED)
            return failed ? failed : waited;
        if (waited != HF_XRT_TIMEOUT && state_ended(waited))
            failed = waited;
        int state = hf_xrt.RunState(run);
        if (state_ended(state))
            return failed ? failed : state;
        sched_yield();
    }
    return 0;
}

static hf_status run_outcome(const hf_host_task *task, int state) {
    static const char *const names[] = {"completed", "error",   "abort",
                                        "submitted", "timeout", "no response"};
    size_t name = (size_t)(state - HF_XRT_COMPLETED);
    if (state == HF_XRT_COMPLETED)
        return HF_OK;
    return hf_fail(HF_EDEVICE, "kernel \"%s\" (unit \"%s\") ended with state %d, %s",
                   task->kernel, task->unit, state,
                   state && name < sizeof names / sizeof names[0] ? names[name]
                                                                  : "unknown");
}

static hf_status launch_run(const hf_host_task *task) {
    hf_xrt_unit *unit = task->context;
    const hf_xclbin_kernel *kernel = task->from;
    HF_TRY(run_open(unit, task->queue));
    void *run = unit->runs[task->queue];
    hf_xrt_words words = hf_xrt_listen();
    for (size_t i = 0; i < task->n_args; i++) {
        errno = 0;
        if (arg_set(run, i, &kernel->args[i], task) != 0)
            return hf_xrt_fail(HF_EDEVICE, "xrtRunSetArg", errno, words);
    }
    errno = 0;
    if (hf_xrt.RunStart(run) != 0)
        return hf_xrt_fail(HF_EDEVICE, "xrtRunStart", errno, words);
    int state = run_await(run);
    if (state != HF_XRT_COMPLETED && state != 0) /* it is of no more use */
        run_close(unit, task->queue, NULL);
    return run_outcome(task, state);
}

/* ---- its check ---- */

static hf_status place_check(const hf_xrt_kernel *kernel, const hf_xrt_unit *unit,
                             size_t i, const hf_xrt_buffer *buffer) {
    const hf_xclbin_arg *arg = &kernel->info.args[i];
    const hf_xclbin *x = kernel->device->xclbin;
    char reached[120];
    if (buffer->bo && hf_xclbin_reaches(&unit->info->reach[i], buffer->memory))
        return HF_OK;
    hf_xrt_memories_text(reached, sizeof reached, x, &unit->info->reach[i]);
    return hf_fail(
        HF_EARG,
        "kernel \"%s\", unit \"%s\": the buffer for argument %zu, \"%s\", is "
        "in %s, the unit reaches %s",
        kernel->info.name, unit->info->name, i, arg->name,
        buffer->bo ? x->memories[buffer->memory].tag : "host memory", reached);
}

static hf_status arg_check(const hf_xrt_kernel *kernel, const hf_xrt_unit *unit,
                           size_t i, const hf_arg *given) {
    const hf_xclbin_arg *arg = &kernel->info.args[i];
    const hf_arg_info taken = {.name = arg->name,
                               .kind = arg->pointer ? HF_ARG_READ : HF_ARG_VALUE,
                               .bytes = arg->bytes};
    HF_TRY(hf_arg_check(kernel->info.name, i, &taken, given));
    return arg->pointer
               ? place_check(kernel, unit, i, (const hf_xrt_buffer *)given->buffer)
               : HF_OK;
}

hf_status hf_xrt_launch(hf_device *base, const hf_launch *launch, const hf_order *order,
                        hf_event **done) {
    hf_xrt_kernel *kernel = (hf_xrt_kernel *)launch->kernel;
    unsigned queue = order ? order->queue : 0;
    /* Of a kernel with several units, each queue from 1 on has its own. */
    hf_xrt_unit *unit = &kernel->units[(queue ? queue - 1 : 0) % kernel->n_units];
    hf_host_arg args[HF_HOST_ARGS] = {{0}};
    const hf_host_task task = {.run = launch_run,
                               .kernel = kernel->info.name,
                               .unit = unit->info->name,
                               .context = unit,
                               .from = &kernel->info,
                               .n_args = launch->n_args,
                               .args = args};
    HF_TRY(hf_device_check(base));
    if (launch->items > 1)
        return hf_fail(HF_ENOTSUP, "kernel \"%s\": %zu work-items, a pipeline has one",
                       kernel->info.name, launch->items);
    if (launch->n_args != kernel->info.n_args)
        return hf_fail(HF_EARG, "kernel \"%s\" takes %zu arguments, not %zu",
                       kernel->info.name, kernel->info.n_args, launch->n_args);
    for (size_t i = 0; i < launch->n_args; i++) {
        const hf_arg *arg = &launch->args[i];
        HF_TRY(arg_check(kernel, unit, i, arg));
        if (arg->buffer)
            args[i].address = ((hf_xrt_buffer *)arg->buffer)->bo;
        else
            memcpy(&args[i], arg->value, arg->bytes);
    }
    return hf_host_start(base, &task, order, done);
}
