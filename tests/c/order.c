/* order.c - linpack asks for every order of commands that its results need.
 *
 * The device `host` behind a table that carries out commands as early and as late as it may. A
 * command sees memory when it can start, but what it changes appears when it ends, as with
 * many work-items that run meanwhile. An eager queue ends its commands at once, a lazy one
 * when somebody waits for them, or for what comes after them.
 */
#include <stdlib.h>
#include <string.h>

#include "core/registry.h"
#include "runs.h"

enum { MAX_REGIONS = 16 };

/** Memory that a command may change. */
typedef struct region {
    unsigned char *at, *before, *after;
    size_t bytes;
} region;

typedef struct command {
    enum { PENDING, STARTED, ENDED } state;
    unsigned queue;
    size_t n_after, n_regions, n_args;
    struct command *after[HF_MAX_AFTER], *next; /* next: given later */
    hf_launch launch;
    hf_arg args[MAX_REGIONS];
    uint64_t values[MAX_REGIONS][2];
    region regions[MAX_REGIONS];
    const void *from; /* of a copy, into the region; NULL: a launch or a mark */
} command;

/** What the device is like. */
static struct {
    const char *name;
    bool eager; /* queue 0; others are lazy */
    bool deaf;  /* no command waits for those of other queues */
} like;

static const hf_device_ops *table;
static hf_device *real;
static command *first, **end = &first; /* in the order in which they were given */

/* ---- commands ---- */

static bool may_start(const command *c) {
    for (const command *o = first; o != c; o = o->next)
        if (o->queue == c->queue && o->state != ENDED)
            return false;
    for (size_t i = 0; i < c->n_after && !like.deaf; i++)
        if (c->after[i] && c->after[i]->state != ENDED)
            return false;
    return true;
}

static void command_start(command *c) {
    for (size_t i = 0; i < c->n_regions; i++) {
        region *r = &c->regions[i];
        r->before = malloc(r->bytes + 1);
        r->after = malloc(r->bytes + 1);
        CHECK(r->before && r->after);
        memcpy(r->before, r->at, r->bytes);
    }
    if (c->from)
        memcpy(c->regions[0].at, c->from, c->regions[0].bytes);
    else if (c->launch.kernel)
        CHECK(table->launch(real, &c->launch, NULL, NULL) == HF_OK, "%s", hf_error());
    for (size_t i = c->n_regions; i-- > 0;) {
        region *r = &c->regions[i];
        memcpy(r->after, r->at, r->bytes);
        memcpy(r->at, r->before, r->bytes);
    }
    c->state = STARTED;
}

static void command_end(command *c) {
    for (size_t i = 0; i < c->n_regions; i++) {
        region *r = &c->regions[i];
        for (size_t b = 0; b < r->bytes; b++)
            if (r->after[b] != r->before[b])
                r->at[b] = r->after[b];
        free(r->before);
        free(r->after);
    }
    c->state = ENDED;
}

/* All that goes on by itself. */
static void go_on(void) {
    for (bool again = true; again;) {
        again = false;
        for (command *c = first; c; c = c->next) {
            if (c->state == PENDING && may_start(c))
                command_start(c);
            if (c->state == STARTED && c->queue == 0 && like.eager) {
                command_end(c);
                again = true;
            }
        }
    }
}

/* End a command, and first those that it comes after. */
static void command_force(command *c) {
    if (c->state == ENDED)
        return;
    if (c->state == PENDING) {
        for (command *o = first; o != c; o = o->next)
            if (o->queue == c->queue)
                command_force(o);
        for (size_t i = 0; i < c->n_after && !like.deaf; i++)
            if (c->after[i])
                command_force(c->after[i]);
        if (c->state == PENDING)
            command_start(c);
    }
    if (c->state == STARTED)
        command_end(c);
    go_on();
}

static hf_status command_give(command *c, const hf_order *order, hf_event **done) {
    if (order) {
        c->queue = order->queue;
        c->n_after = order->n_after;
        for (size_t i = 0; i < order->n_after; i++)
            c->after[i] = (command *)order->after[i];
    }
    *end = c;
    end = &c->next;
    go_on();
    if (done)
        *done = (hf_event *)c;
    else
        command_force(c);
    return HF_OK;
}

static command *command_new(void) {
    command *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    return c;
}

static void region_add(command *c, void *at, size_t bytes) {
    CHECK(at && c->n_regions < MAX_REGIONS);
    for (size_t i = 0; i < c->n_regions; i++)
        if (c->regions[i].at == at)
            return;
    c->regions[c->n_regions++] = (region){.at = at, .bytes = bytes};
}

/* ---- the table ---- */

static hf_status order_launch(hf_device *device, const hf_launch *launch,
                              const hf_order *order, hf_event **done) {
    command *c = command_new();
    (void)device;
    c->launch = *launch;
    CHECK(launch->n_args <= MAX_REGIONS);
    for (size_t a = 0; a < launch->n_args; a++) {
        c->args[a] = launch->args[a];
        if (c->args[a].buffer) {
            region_add(c, c->args[a].buffer->host, c->args[a].buffer->bytes);
        } else {
            memcpy(c->values[a], c->args[a].value, c->args[a].bytes);
            c->args[a].value = c->values[a];
        }
    }
    c->launch.args = c->args;
    return command_give(c, order, done);
}

static hf_status bytes_give(void *to, const void *from, size_t bytes,
                            const hf_order *order, hf_event **done) {
    command *c = command_new();
    region_add(c, to, bytes);
    c->from = from;
    return command_give(c, order, done);
}

static hf_status order_write(hf_device *device, hf_buffer *to, size_t at,
                             const void *from, size_t bytes, const hf_order *order,
                             hf_event **done) {
    (void)device;
    return bytes_give((char *)to->host + at, from, bytes, order, done);
}

static hf_status order_read(hf_device *device, const hf_buffer *from, size_t at,
                            void *to, size_t bytes, const hf_order *order,
                            hf_event **done) {
    (void)device;
    return bytes_give(to, (const char *)from->host + at, bytes, order, done);
}

static hf_status order_copy(hf_device *device, hf_buffer *to, size_t to_at,
                            const hf_buffer *from, size_t from_at, size_t bytes,
                            const hf_order *order, hf_event **done) {
    (void)device;
    return bytes_give((char *)to->host + to_at, (const char *)from->host + from_at,
                      bytes, order, done);
}

static hf_status order_mark(hf_device *device, const hf_order *order, hf_event **done) {
    (void)device;
    return command_give(command_new(), order, done);
}

static hf_status order_map(hf_device *device, hf_buffer *buffer, void **address) {
    HF_TRY(order_mark(device, NULL, NULL));
    return table->map(device, buffer, address);
}

static hf_status order_test(hf_device *device, hf_event *event, double seconds,
                            bool *ended) {
    (void)device, (void)seconds;
    if (event)
        command_force((command *)event);
    *ended = true;
    return HF_OK;
}

static hf_status order_wait(hf_device *device, hf_event *event) {
    (void)device;
    if (event)
        command_force((command *)event);
    return HF_OK;
}

static hf_status order_finish(hf_device *device) {
    (void)device;
    for (command *c = first; c; c = c->next)
        command_force(c);
    return HF_OK;
}

static bool order_idle(const hf_device *device) {
    bool idle = true;
    (void)device;
    for (const command *c = first; c; c = c->next)
        idle = idle && c->state == ENDED;
    return idle;
}

/* ---- runs ---- */

static bool verifies(hf_session *session, const char *bench, const char *kernel,
                     const char *const *params) {
    hf_device_ops ops = *table;
    ops.launch = order_launch;
    ops.write = order_write;
    ops.read = order_read;
    ops.copy = order_copy;
    ops.mark = order_mark;
    ops.map = order_map;
    ops.test = order_test;
    ops.wait = order_wait;
    ops.finish = order_finish;
    ops.idle = order_idle;
    session->device->ops = &ops;
    bool right = run_verified(session, bench, kernel, params);
    CHECK(order_idle(real), "%s, %s: commands that nobody waits for", bench, like.name);
    session->device->ops = table;
    for (command *c; (c = first); free(c))
        first = c->next;
    end = &first;
    return right;
}

/* Four rows of blocks: the last one changes from queue to queue as the matrix gets smaller. */
static const char *const linpack[] = {"sizes", "1024", "replications", "2", "reps",
                                      "1",     NULL};

int main(void) {
    hf_session *session;
    CHECK(hf_session_open(&session,
                          &(hf_options){.device = "host", .exchange = "pcie"}) == HF_OK,
          "%s", hf_error());
    real = session->device;
    table = real->ops;
    for (int way = 0; way < 3; way++) {
        like.name = way == 0 ? "lazy" : way == 1 ? "lazy but for queue 0" : "deaf";
        like.eager = way > 0;
        like.deaf = way == 2;
        bool right = verifies(session, "linpack", "linpack_memory_float", linpack);
        CHECK(right == !like.deaf, "linpack on a device that is %s: %s", like.name,
              right ? "verified" : "wrong");
    }
    hf_session_close(session);
    return check_failures > 0;
}
