/* arguments.c - a launch that gives a kernel what it does not take: one line with the names of
 * kernel and argument, on the runtimes `host` and `opencl`.
 *
 * arguments KERNEL_FOLDER
 */
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/error.h"
#include "core/registry.h"
#include "runs.h"

static void launches(hf_device *device, const char *size_says, bool checks_kinds) {
    const hf_device_ops *ops = device->ops;
    hf_kernel *kernel;
    hf_buffer *chain;
    uint64_t number = 0;
    hf_arg args[6];
    CHECK(ops->kernel(&kernel, device, "b_eff_fill", 0) == HF_OK, "%s", hf_error());
    CHECK(ops->alloc(&chain, device, 4096, NULL) == HF_OK, "%s", hf_error());
    const hf_arg right[] = {{.buffer = chain},
                            {.value = &number, .bytes = 8},
                            {.value = &number, .bytes = 4},
                            {.value = &number, .bytes = 4},
                            {.value = &number, .bytes = 8}};
    hf_launch launch = {.kernel = kernel, .args = args, .n_args = 5};
    memcpy(args, right, sizeof right);
    CHECK(ops->launch(device, &launch, NULL, NULL) == HF_OK, "%s", hf_error());

    launch.n_args =
        6; /* OpenCL keeps what a launch before has set: too few are not seen */
    args[5] = right[4];
    CHECK(ops->launch(device, &launch, NULL, NULL) == HF_EARG, "%s", hf_error());
    CHECK(strstr(hf_error(), "kernel \"b_eff_fill\" takes 5 arguments, not 6"), "%s",
          hf_error());
    launch.n_args = 5;
    args[3].bytes = 8;
    CHECK(ops->launch(device, &launch, NULL, NULL) == HF_EARG, "%s", hf_error());
    CHECK(strstr(hf_error(), "kernel \"b_eff_fill\", argument 3, \"key\": ") &&
              strstr(hf_error(), size_says),
          "%s", hf_error());
    memcpy(args, right, sizeof right);
    args[1] = right[0];
    if (checks_kinds) {
        CHECK(ops->launch(device, &launch, NULL, NULL) == HF_EARG, "%s", hf_error());
        CHECK(strstr(hf_error(), "\"bytes\": given a buffer, taken a value of 8 B"),
              "%s", hf_error());
    }
    memcpy(args, right, sizeof right);
    CHECK(ops->launch(device, &launch, NULL, NULL) == HF_OK, "%s", hf_error());
    ops->free(chain);
    ops->kernel_free(kernel);
}

static void device_test(const char *runtime, const char *folder, const char *says) {
    const hf_device_ops *ops;
    hf_device *device;
    unsigned char *binary = NULL;
    size_t bytes = 0;
    char *source = calloc(1, 1 << 18), options[600];
    CHECK(hf_device_find(&ops, runtime) == HF_OK);
    CHECK(ops->open(&device, "", 0, NULL) == HF_OK, "%s", hf_error());
    snprintf(options, sizeof options, "-I%s", folder);
    CHECK(source_read(source, 1 << 18, folder, "b_eff_memory.cl"), "%s", folder);
    if (strcmp(runtime, "host") != 0)
        CHECK(ops->build(device, source, options, &binary, &bytes) == HF_OK, "%s",
              hf_error());
    CHECK(ops->load(device, "b_eff_memory", binary, bytes) == HF_OK, "%s", hf_error());
    launches(device, says, strcmp(runtime, "host") == 0);
    ops->close(device);
    free(binary);
    free(source);
}

int main(int argc, char **argv) {
    if (argc != 2)
        return fprintf(stderr, "arguments KERNEL_FOLDER\n"), 2;
    device_test("host", argv[1], "given a value of 8 B, taken a value of 4 B");
    device_test("opencl", argv[1], "clSetKernelArg: CL_INVALID_ARG_SIZE");
    return check_failures != 0;
}
