/* opencl.h - what the files of the runtime `opencl` share. */
#ifndef HF_OPENCL_H
#define HF_OPENCL_H

#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>

#include "device.h"

typedef struct hf_opencl_device {
    hf_device base;
    cl_device_id id;
    cl_context context;
    cl_command_queue queue; /**< in order */
    cl_program program;     /**< NULL until the first `load` */
    unsigned char *binary;  /**< what `program` was made from */
    size_t binary_bytes;
} hf_opencl_device;

extern const hf_device_ops hf_device_opencl;

/** HF_OK for CL_SUCCESS, else a failure that names the call and the code. */
hf_status hf_opencl_check(cl_int code, const char *call);

/** Name of an error code, e.g. "CL_OUT_OF_RESOURCES". */
const char *hf_opencl_code(cl_int code);

/** Whether `part` occurs in `text`, in upper or lower case. */
bool hf_opencl_contains(const char *text, const char *part);

hf_status hf_opencl_build(hf_device *base, const char *source, const char *options,
                          unsigned char **binary, size_t *bytes);
hf_status hf_opencl_load(hf_device *base, const char *name, const unsigned char *binary,
                         size_t bytes);

/** Forget the loaded program. */
void hf_opencl_unload(hf_opencl_device *device);

#endif
