/* session_path.c - what a benchmark has over the session's exchange scheme: a path, parameters
 * and a kernel file. */
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/known.h"
#include "core/registry.h"
#include "core/session.h"

static const hf_bench_path *path_over(const hf_bench *bench,
                                      const hf_exchange_ops *scheme) {
    return scheme->streams ? bench->streams : bench->blocks;
}

/* Schemes that a benchmark runs over; without one, those that take parameters. */
static hf_status schemes_add(hf_known *known, const hf_bench *bench) {
    const char *name, *summary;
    for (size_t i = 0; hf_component("exchange", i, &name, &summary); i++) {
        const hf_exchange_ops *scheme;
        HF_TRY(hf_exchange_find(&scheme, name));
        if (bench ? path_over(bench, scheme) != NULL
                  : scheme->blocks && scheme->blocks->take)
            hf_known_add(known, name);
    }
    return HF_OK;
}

static hf_status path_refuse(const hf_bench *bench, const hf_exchange_ops *scheme) {
    hf_known known = {.wanted = ""};
    HF_TRY(schemes_add(&known, bench));
    if (bench->blocks)
        hf_known_add(&known, HF_AUTO);
    return hf_fail(HF_ENOTSUP, "benchmark \"%s\" does not run over exchange \"%s\"; %s",
                   bench->name, scheme->name, hf_known_text(&known));
}

hf_status hf_session_path(const hf_bench_path **out, const hf_session *session,
                          const hf_bench *bench) {
    const hf_exchange_ops *scheme = session->exchange->ops;
    *out = path_over(bench, scheme);
    return *out ? HF_OK : path_refuse(bench, scheme);
}

/* Is one given that only schemes with `take` have? `exchange` is what was asked for. */
static hf_status params_check(const hf_args *args, const char *exchange,
                              const hf_exchange_ops *scheme) {
    hf_known known = {.wanted = ""};
    const hf_param *param = hf_plan_params;
    while (param->name && hf_args_number_or(args, param->name, 0) == 0)
        param++;
    if (!param->name || (scheme->blocks && scheme->blocks->take))
        return HF_OK;
    HF_TRY(schemes_add(&known, NULL));
    return hf_fail(HF_EARG,
                   "%s: %s is for other exchanges than \"%s\"; %s, or an exchange that "
                   "takes it; %s",
                   param->name, hf_args_word(args, param->name), exchange,
                   param->fallback, hf_known_text(&known));
}

hf_status hf_session_take(hf_session *session, const hf_args *args, size_t longest) {
    const hf_exchange_ops *scheme = session->exchange->ops;
    if (scheme->blocks && scheme->blocks->take)
        return scheme->blocks->take(session->exchange, args, longest);
    return params_check(args, scheme->name, scheme);
}

hf_status hf_ranks_check(const char *bench, const char *exchange, const hf_args *args,
                         int ranks) {
    const hf_bench *found;
    const hf_exchange_ops *scheme;
    HF_TRY(hf_bench_find(&found, bench));
    HF_TRY(hf_exchange_find(&scheme,
                            strcmp(exchange, HF_AUTO) == 0 ? HF_SCHEME : exchange));
    const hf_bench_path *path = path_over(found, scheme);
    if (!path)
        return path_refuse(found, scheme);
    HF_TRY(params_check(args, exchange, scheme));
    return path->ranks_check ? path->ranks_check(args, exchange, ranks) : HF_OK;
}

/* Many work-items suit CPUs and GPUs; the device `host` calls C functions. */
bool hf_session_ndrange(const hf_session *session, const hf_bench *bench,
                        const char *shape) {
    const hf_device_info *info = &session->device->info;
    bool suits = info->type != HF_ACCELERATOR && strcmp(info->runtime, "host") != 0;
    return !session->exchange->ops->streams && (bench->kernels & HF_KERNELS_NDRANGE) &&
           (strcmp(shape, "ndrange") == 0 || (suits && strcmp(shape, "auto") == 0));
}

hf_status hf_session_kernel(const hf_session *session, const char *bench,
                            const char *shape, char *stem, size_t room) {
    const hf_bench *found;
    HF_TRY(hf_bench_find(&found, bench));
    const hf_bench_path *path;
    HF_TRY(hf_session_path(&path, session, found));
    if (found->kernels == 0)
        return snprintf(stem, room, "%s", ""), HF_OK;
    if (session->exchange->ops->streams && strcmp(shape, "ndrange") == 0)
        return hf_fail(HF_EARG,
                       "shape: ndrange does not go over exchange \"%s\", whose kernels "
                       "are pipelines; known: auto, pipeline",
                       session->exchange->ops->name);
    const char *kind = hf_session_ndrange(session, found, shape)
                           ? "ndrange"
                           : hf_exchange_kernels(session->exchange->ops);
    snprintf(stem, room, "%s_%s", bench, kind);
    return HF_OK;
}
