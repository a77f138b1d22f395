/* registry.c - the components compiled in, found by name. */
#include "core/registry.h"

#include <string.h>

#include "core/error.h"
#include "core/known.h"
#include "core/parallel.h"

/* hf_components.inc holds one line HF_<KIND>(name) per component; CMake writes it. */
#define HF_BENCH(name)     extern const hf_bench hf_bench_##name;
#define HF_EXCHANGE(name)  extern const hf_exchange_ops hf_exchange_##name;
#define HF_DEVICE(name)    extern const hf_device_ops hf_device_##name;
#define HF_TRANSPORT(name) extern const hf_transport_ops hf_transport_##name;
#define HF_MODEL(name)     extern const hf_model_ops hf_model_##name;
#include "hf_components.inc"
#undef HF_BENCH
#undef HF_EXCHANGE
#undef HF_DEVICE
#undef HF_TRANSPORT
#undef HF_MODEL

/* Every table begins with `const char *name, *summary`. */
typedef struct component {
    const char *kind, *name;
    const void *ops;
} component;

#define ENTRY(kind, name)  {#kind, #name, &hf_##kind##_##name},
#define HF_BENCH(name)     ENTRY(bench, name)
#define HF_EXCHANGE(name)  ENTRY(exchange, name)
#define HF_DEVICE(name)    ENTRY(device, name)
#define HF_TRANSPORT(name) ENTRY(transport, name)
#define HF_MODEL(name)     ENTRY(model, name)
static const component components[] = {
#include "hf_components.inc"
};
static const size_t n_components = sizeof components / sizeof components[0];

bool hf_component(const char *kind, size_t index, const char **name,
                  const char **summary) {
    for (size_t i = 0; i < n_components; i++) {
        if (strcmp(components[i].kind, kind) != 0 || index-- > 0)
            continue;
        *name = components[i].name;
        /* The first two members of every table of functions. */
        *summary = ((const char *const *)components[i].ops)[1];
        return true;
    }
    return false;
}

static hf_status find(const void **out, const char *kind, const char *what,
                      const char *name) {
    hf_known known = {.wanted = name};
    for (size_t i = 0; i < n_components; i++) {
        const component *c = &components[i];
        if (strcmp(c->kind, kind) != 0)
            continue;
        if (strcmp(c->name, name) == 0) {
            *out = c->ops;
            return HF_OK;
        }
        hf_known_add(&known, c->name);
    }
    if (strcmp(kind, "exchange") == 0) {
        if (strcmp(name, HF_AUTO) == 0)
            return hf_fail(HF_EARG, "exchange \"%s\" needs times that are expected",
                           name);
        hf_known_add(&known, HF_AUTO);
    }
    return hf_fail(HF_ENOENT, "no %s \"%s\"; %s", what, name, hf_known_text(&known));
}

#define FINDER(kind, type, what)                                     \
    hf_status hf_##kind##_find(const type **out, const char *name) { \
        const void *ops;                                             \
        HF_TRY(find(&ops, #kind, what, name));                       \
        *out = ops;                                                  \
        return HF_OK;                                                \
    }
FINDER(bench, hf_bench, "benchmark")
FINDER(exchange, hf_exchange_ops, "exchange scheme")
FINDER(device, hf_device_ops, "device runtime")
FINDER(transport, hf_transport_ops, "transport")
FINDER(model, hf_model_ops, "model")

hf_status hf_bench_quantities(hf_quantities *out, const char *bench) {
    const hf_bench *found;
    HF_TRY(hf_bench_find(&found, bench));
    *out = (hf_quantities){
        .labels = found->labels,
        .metrics = found->metrics,
        .findings = found->findings,
        .parts = found->parts,
        .stages = found->stages,
        .figures = found->figures,
        .problem = found->problem,
        .banked = found->banked,
        .computes = found->computes,
        .side_by_side = found->streams ? found->streams->side_by_side : 0,
        .error = hf_error_column(found),
    };
    return HF_OK;
}

hf_status hf_exchange_scheme(hf_scheme *out, const char *name) {
    const hf_exchange_ops
        *ops; /* those to choose from are of a kind with the usual one */
    HF_TRY(hf_exchange_find(&ops, strcmp(name, HF_AUTO) == 0 ? HF_SCHEME : name));
    *out = (hf_scheme){ops->streams != NULL, ops->host_memory,
                       ops->blocks && ops->blocks->take, hf_exchange_kernels(ops)};
    return HF_OK;
}

hf_status hf_device_programs(const char **out, const char *runtime) {
    const hf_device_ops *ops;
    HF_TRY(hf_device_find(&ops, runtime));
    *out = ops->programs;
    return HF_OK;
}

hf_status hf_device_list(hf_device_info *out, const char *runtime, size_t index,
                         bool *found, const hf_vendors *vendors) {
    const hf_device_ops *ops;
    HF_TRY(hf_device_find(&ops, runtime));
    hf_stacks_grow();
    return ops->list(out, index, found, vendors);
}

void hf_mpi_library(char *text, size_t room) {
    const hf_transport_ops *mpi;
    if (hf_transport_find(&mpi, "mpi") == HF_OK)
        mpi->version(text, room);
    else if (room)
        *text = '\0';
}
