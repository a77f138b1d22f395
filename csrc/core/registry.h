/* registry.h - the components compiled in, found by name. */
#ifndef HF_REGISTRY_H
#define HF_REGISTRY_H

#include "bench.h"
#include "model.h"

/* On HF_ENOENT the message lists the known names. The tables are static. */
hf_status hf_bench_find(const hf_bench **out, const char *name);
hf_status hf_exchange_find(const hf_exchange_ops **out, const char *name);
hf_status hf_device_find(const hf_device_ops **out, const char *name);
hf_status hf_transport_find(const hf_transport_ops **out, const char *name);

#endif
