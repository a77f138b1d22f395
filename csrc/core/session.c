/* session.c - a device, an exchange scheme and a transport, held open together. */
#include "core/session.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "agree.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/known.h"
#include "core/parallel.h"
#include "core/param.h"
#include "core/random.h"
#include "core/registry.h"
#include "core/stats.h"
#include "core/text.h"

/* Bounds of every deadline [s]. */
#define MIN_DEADLINE 0.01
#define MAX_DEADLINE 1e6

#define TEXT_OF(number) #number
#define AS_TEXT(macro)  TEXT_OF(macro)

const hf_param hf_session_params[] = {
    {"reps",
     "timed repetitions per point; 0: until the median's interval is within 5 %", "10",
     NULL, NULL, 0, 1e6, HF_INT},
    {"max_reps", "most repetitions where reps is 0", "1000", NULL, NULL,
     HF_INTERVAL_SAMPLES, 1e6, HF_INT},
    {"time_limit", "longest time at one point where reps is 0 [s]", "5", NULL, NULL, 0,
     1e6, HF_REAL},
    {"warmup", "untimed repetitions of one step at each point, in each round", "2",
     NULL, NULL, 1, 1e6, HF_INT},
    {"seed", "seed of the input data", "1", NULL, NULL, 0, 9007199254740991, HF_INT},
    {"deadline", "longest wait for another rank, or for the device [s]",
     AS_TEXT(HF_DEADLINE), NULL, NULL, MIN_DEADLINE, MAX_DEADLINE, HF_REAL},
    {0},
};

hf_status hf_args_new(hf_args **out, const char *bench) {
    const hf_bench *found;
    HF_TRY(hf_bench_find(&found, bench));
    return hf_args_make(out, bench, found->params, hf_session_params);
}

/* Does a runtime fit a scheme? `text` is what was asked for. */
static hf_status runtime_check(const hf_exchange_ops *scheme, const char *runtime,
                               const char *text) {
    if (!scheme->host_memory || strcmp(runtime, scheme->device) == 0)
        return HF_OK;
    return hf_fail(
        HF_ENOTSUP,
        "exchange \"%s\" moves host memory only: device \"%s\" does not fit; "
        "leave it out, or choose another exchange",
        scheme->name, text);
}

/* Fail as before, with what `text` may mean: a device of another runtime that has this name,
 * or a runtime that is nearly written so; where no device is meant, with all runtimes. */
static hf_status meant_tell(hf_status status, const hf_device_ops *tried,
                            const char *text, const hf_vendors *vendors) {
    enum { ROOM = HF_MESSAGE_ROOM - 100 };
    char message[HF_MESSAGE_ROOM];
    const char *runtime, *summary;
    hf_known known = {.wanted = text};
    snprintf(message, sizeof message, "%s", hf_error());
    for (size_t i = 0; hf_component("device", i, &runtime, &summary); i++) {
        hf_device_info info;
        size_t length = strlen(runtime);
        hf_known_add(&known, runtime);
        if (strncasecmp(text, runtime, length) == 0) {
            const char *rest = text + length + (text[length] == ':');
            return hf_fail(status, "%.*s; did you mean %s%s%.80s?", ROOM, message,
                           runtime, *rest ? ":" : "", rest);
        }
        bool found = strcmp(runtime, tried->name) != 0;
        for (size_t at = 0; found; at++) {
            if (hf_device_list(&info, runtime, at, &found, vendors) != HF_OK || !found)
                break;
            if (hf_text_contains(info.name, text) ||
                strcasecmp(info.version, text) == 0)
                return hf_fail(status, "%.*s; did you mean %s:%.80s?", ROOM, message,
                               runtime, text);
        }
    }
    const char *near = hf_known_near(&known);
    if (near)
        return hf_fail(status, "%.*s; did you mean %s?", ROOM, message, near);
    return status == HF_ENOENT
               ? hf_fail(status, "%.*s; runtimes: %s", ROOM, message, known.names)
               : hf_fail(status, "%s", message);
}

/* "opencl:0" -> runtime "opencl", selector "0"; "GPU" -> "opencl", "GPU". */
static hf_status device_open(hf_session *session, const hf_exchange_ops *scheme,
                             const char *text, hf_vendors vendors) {
    char runtime[16] = "";
    const char *colon = strchr(text, ':'), *selector = text;
    const hf_device_ops *ops;
    size_t length = colon ? (size_t)(colon - text) : strlen(text);
    if (length > 0 && length < sizeof runtime) {
        memcpy(runtime, text, length);
        runtime[length] = '\0';
    }
    bool named = *runtime && hf_device_find(&ops, runtime) == HF_OK;
    if (named)
        selector = colon ? colon + 1 : "";
    else
        HF_TRY(hf_device_find(&ops, *text ? "opencl" : scheme->device));
    HF_TRY(runtime_check(scheme, ops->name, text));
    vendors.deadline = session->net->deadline;
    hf_stacks_grow();
    hf_status status =
        ops->open(&session->device, selector, session->net->local_rank, &vendors);
    bool none = status == HF_ENOENT || status == HF_EDEVICE;
    return none && !named && *text ? meant_tell(status, ops, text, &vendors) : status;
}

static const char *scheme_name(const hf_options *options) {
    return options->exchange ? options->exchange : HF_SCHEME;
}

/* The other ranks may ask whom they wait for while this one waits for its device. */
static hf_status device_busy(void *context, const char *what) {
    hf_transport *net = context;
    return net->ops->busy(net, what);
}

static hf_status parts_open(hf_session *session, const hf_options *options) {
    const hf_exchange_ops *scheme;
    HF_TRY(hf_exchange_find(&scheme, scheme_name(options)));
    HF_TRY(device_open(session, scheme, options->device ? options->device : "",
                       options->vendors));
    session->device->deadline = session->net->deadline;
    session->device->meanwhile = device_busy;
    session->device->context = session->net;
    session->device->folder =
        options->folder && *options->folder ? options->folder : HF_FOLDER;
    return scheme->open(&session->exchange, session->device, session->net);
}

/* Do all ranks hold the same kind of device? A GPU beside a CPU measures neither. */
static hf_status device_same(const hf_session *session) {
    const hf_device_info *info = &session->device->info;
    hf_statement facts = {0};
    hf_fact(&facts, "kind of device");
    hf_fact_add(&facts, "%s %s%s", info->runtime, hf_device_types[info->type],
                info->emulated ? ", emulated" : "");
    return hf_same(session->net, &facts);
}

/* What defines every run of a session is the same on all ranks. */
static hf_status session_agree(hf_session *session, const hf_options *options) {
    const char *version = options->version ? options->version : "";
    hf_statement facts = {0};
    hf_fact(&facts, "version of hpccfpga");
    hf_fact_add(&facts, "%s", version);
    hf_fact(&facts, "exchange scheme");
    hf_fact_add(&facts, "%s", scheme_name(options));
    hf_fact(&facts, "trace");
    hf_fact_add(&facts, "%s", options->trace ? "on" : "off");
    HF_TRY(hf_same(session->net, &facts));
    HF_TRY(hf_agree(session->net, parts_open(session, options)));
    HF_TRY(device_same(session));
    return options->trace ? hf_trace_open(&session->trace, session->device,
                                          session->net, options->trace)
                          : HF_OK;
}

/* Ranks with one device share its memory; of a CPU's, half is for what the host keeps. */
static void memory_share(hf_device_info *info, size_t shares) {
    if (info->type == HF_CPU) {
        size_t half = hf_host_memory_of("").all / 2;
        info->memory = info->memory < half ? info->memory : half;
    }
    info->memory /= shares;
}

/* Have two ranks the same device, or are they one? */
static bool device_shared(const hf_session *session, int a, int b) {
    const int *nodes = session->net->nodes;
    return nodes[a] == nodes[b] &&
           strcmp(session->places[a].device, session->places[b].device) == 0;
}

static hf_status places_gather(hf_session *session) {
    hf_transport *net = session->net;
    hf_device_info *info = &session->device->info;
    size_t size = (size_t)net->size, shares = 1;
    hf_place mine = {.emulated = info->emulated};
    gethostname(mine.host, sizeof mine.host - 1);
    snprintf(mine.device, sizeof mine.device, "%s:%d %s", info->runtime, info->index,
             info->name);
    hf_place *places = session->places = malloc(size * sizeof *places);
    HF_TRY(hf_agree(
        net, places ? HF_OK : hf_fail(HF_ENOMEM, "no memory for %zu places", size)));
    assert(places);
    HF_TRY(net->ops->gather(net, places, &mine, sizeof mine));
    for (int rank = 0; rank < net->size; rank++) {
        for (int i = 0; i < rank && !places[rank].again; i++)
            places[rank].again = device_shared(session, i, rank);
        shares += rank != net->rank && device_shared(session, rank, net->rank);
    }
    session->alone = shares == 1;
    memory_share(info, shares);
    return HF_OK;
}

hf_status hf_session_open(hf_session **out, const hf_options *options) {
    const hf_transport_ops *transport;
    double deadline = options->deadline != 0 ? options->deadline : HF_DEADLINE;
    HF_TRY(hf_transport_find(&transport, options->has_comm ? "mpi" : "self"));
    if (!(deadline >= MIN_DEADLINE && deadline <= MAX_DEADLINE))
        return hf_fail(HF_EARG, "deadline: %g is not within %g .. %g", deadline,
                       MIN_DEADLINE, MAX_DEADLINE);
    hf_session *session = calloc(1, sizeof *session);
    if (!session)
        return hf_fail(HF_ENOMEM, "no memory for a session");
    session->process = getpid();
    session->number =
        hf_random((uint64_t)session->process, (uint64_t)(1e9 * hf_clock_now()));
    hf_status status =
        transport->open(&session->net, options->comm,
                        options->mpi_library ? options->mpi_library : "", deadline);
    if (status != HF_OK) {
        free(session);
        return status;
    }
    status = session_agree(session, options);
    if (status == HF_OK)
        status = places_gather(session);
    if (status != HF_OK) {
        hf_session_close(session);
        return status;
    }
    *out = session;
    return HF_OK;
}

void hf_session_close(hf_session *session) {
    if (!session || session->process != getpid())
        return; /* threads and locks of its parent are not a child's */
    hf_trace_close(session->trace);
    if (session->exchange)
        session->exchange->ops->close(session->exchange);
    if (session->device)
        session->device->ops->close(session->device);
    session->net->ops->close(session->net);
    free(session->places);
    free(session);
}

hf_status hf_session_check(const hf_session *session) {
    HF_TRY(hf_owner_check("the session belongs to", session->process));
    return session->net->ops->check(session->net);
}

hf_facts hf_session_facts(const hf_session *session) {
    const hf_exchange_ops *scheme = session->exchange->ops;
    bool emulated = false;
    for (int rank = 0; rank < session->net->size; rank++)
        emulated = emulated || session->places[rank].emulated;
    return (hf_facts){
        .rank = session->net->rank,
        .size = session->net->size,
        .exchange = scheme->name,
        .kernel_routed = scheme->streams != NULL,
        .emulated = emulated,
        .prelude = session->exchange->prelude,
        .places = session->places,
        .device = &session->device->info,
    };
}

hf_status hf_session_build(hf_session *session, const char *source, const char *options,
                           unsigned char **binary, size_t *bytes) {
    HF_TRY(hf_session_check(session));
    return session->device->ops->build(session->device, source, options, binary, bytes);
}

/* Kernels of two ranks on one device would take turns, each while it waits for the other. */
bool hf_session_wants_relay(const hf_session *session) {
    const hf_exchange *exchange = session->exchange;
    const hf_device *device = session->device;
    bool wanted = exchange->ops->relays;
    for (size_t i = 0; i < exchange->n_choices; i++)
        wanted = wanted || exchange->choices[i]->ops->relays;
    return wanted && session->alone && !session->relay_tried && device->may_relay &&
           device->info.type != HF_CPU;
}

hf_status hf_session_relay(hf_session *session, const unsigned char *binary,
                           size_t bytes) {
    hf_device *device = session->device;
    HF_TRY(hf_session_check(session));
    session->relay_tried = true;
    if (!device->ops->relay)
        return HF_OK;
    hf_status status = device->ops->relay(device, binary, bytes);
    return status == HF_ENOTSUP ? HF_OK : status;
}

static hf_status exchange_same(hf_transport *net, const char *name,
                               const hf_expected *expected) {
    hf_statement facts = {0};
    hf_fact(&facts, "exchange scheme");
    hf_fact_add(&facts, "%s", name);
    if (!expected)
        return hf_same(net, &facts);
    for (size_t i = 0; i < expected->n_schemes; i++)
        for (size_t k = 0; k < expected->n; k++) {
            hf_fact(&facts, "expected time");
            hf_fact_add(&facts, "%.17g s over exchange %s for %.17g B",
                        expected->times[i * expected->n + k], expected->schemes[i],
                        expected->sizes[k]);
        }
    return hf_same(net, &facts);
}

static hf_status exchange_open(hf_exchange **out, const hf_session *session,
                               const char *name) {
    const hf_exchange_ops *scheme;
    HF_TRY(hf_exchange_find(&scheme, name));
    HF_TRY(runtime_check(scheme, session->device->info.runtime,
                         session->device->info.runtime));
    return scheme->open(out, session->device, session->net);
}

/* Open what chooses from the schemes that something is expected of. */
static hf_status choice_open(hf_exchange **out, const hf_session *session,
                             const hf_expected *expected) {
    hf_exchange *choice;
    HF_TRY(hf_choice_open(&choice, session->device, session->net, expected));
    for (size_t i = 0; i < expected->n_schemes; i++) {
        hf_exchange *one = NULL;
        hf_status status = exchange_open(&one, session, expected->schemes[i]);
        if (status == HF_OK)
            status = hf_choice_add(choice, one);
        if (status != HF_OK) {
            choice->ops->close(choice);
            return status;
        }
    }
    *out = choice;
    return HF_OK;
}

hf_status hf_session_exchange(hf_session *session, const char *name,
                              const hf_expected *expected) {
    hf_exchange *other = NULL;
    HF_TRY(hf_session_check(session));
    HF_TRY(exchange_same(session->net, name, expected));
    hf_status status = expected ? choice_open(&other, session, expected)
                                : exchange_open(&other, session, name);
    hf_exchange *unused = other;
    status = hf_agree(session->net, status);
    if (status == HF_OK) {
        unused = session->exchange;
        session->exchange = other;
    }
    if (unused)
        unused->ops->close(unused);
    return status;
}

hf_status hf_session_same(hf_session *session, const char *what, const char *value) {
    hf_statement facts = {0};
    HF_TRY(hf_session_check(session));
    hf_fact(&facts, what);
    hf_fact_add(&facts, "%s", value);
    return hf_same(session->net, &facts);
}

hf_status hf_session_agree(hf_session *session, hf_status status) {
    HF_TRY(hf_session_check(session));
    return hf_agree(session->net, status);
}
