/* graph_messages.c - architecture gravf: a message along each edge.
 *
 * The rank that owns the vertex that tells something makes records of its messages, and sends
 * them to the ranks that own the vertices that they are for. Ranks have the edges that lead to
 * their vertices: so before the first run each tells all others where it has the edges that
 * leave theirs. How many records a superstep made, and their digest, go with the head to all
 * ranks: the superstep behind it must have gathered just these.
 */
#include <stdlib.h>
#include <string.h>

#include "core/digest.h"
#include "core/error.h"
#include "graph_engine.h"

enum { PROOF_WORDS = 2 }; /* behind a block, that it came as it was */

/* What ranks tell each other of edges: for each vertex how many of its edges lead here, then for
 * each of these edges its place here, and its weight. A block for each rank. */
typedef struct telling {
    uint64_t *leave; /* [vertices + 2] edges that lead here, by where they leave */
    uint64_t *outs;  /* [size * own + 1] edges that leave here, by where they lead */
    uint32_t *to, *weights;  /* [edges that leave] */
    uint32_t *sent, *came;   /* words */
    hf_buffer *send, *recv;  /* the same on the device */
    size_t *n_sent, *n_came; /* [size] words, with proofs */
    size_t words;            /* of an edge */
} telling;

typedef struct messages {
    telling t;
    uint64_t edges_out;   /* that leave own vertices */
    uint64_t edges_home;  /* those of them that lead to own vertices */
    uint64_t *arrivals;   /* [size + 1] edges that lead here from ranks before */
    uint64_t *departures; /* [size + 1] edges that leave here to ranks before */
    hf_message *blocks;   /* [size] as long as they can be */
    uint32_t *none;       /* [size] */
    hf_plan *plan;
} messages;

static messages *crossing(const graph_state *s) {
    return s->crossing;
}

static void telling_free(const graph_state *s, telling *t) {
    s->env.device->ops->free(t->send);
    s->env.device->ops->free(t->recv);
    void *memory[] = {t->leave, t->outs, t->to,     t->weights,
                      t->sent,  t->came, t->n_sent, t->n_came};
    for (size_t i = 0; i < GRAPH_N_ARGS(memory); i++)
        free(memory[i]);
    *t = (telling){0};
}

static void messages_close(graph_state *s) {
    messages *m = s->crossing;
    telling_free(s, &m->t);
    hf_plan_free(m->plan);
    free(m->arrivals);
    free(m->departures);
    free(m->blocks);
    free(m->none);
    free(m);
}

/* ---- set-up ---- */

static hf_status messages_open(graph_state *s, const char *direction) {
    graph_kernels *k = &s->kernels;
    hf_device *device = s->env.device;
    if (strcmp(direction, "auto") != 0)
        return hf_fail(HF_EARG,
                       "direction: %s, but architecture gravf makes messages where "
                       "edges leave and gathers them where they lead; auto is possible",
                       direction);
    HF_TRY(device->ops->kernel(&k->scatter, device, "graph_scatter", 0));
    HF_TRY(device->ops->kernel(&k->deliver, device, "graph_deliver", 0));
    return device->ops->kernel(&k->collect, device, "graph_collect", 0);
}

/* Words of what is told of these: a number of each vertex, or an edge. */
static size_t words_of(const graph_state *s, size_t vertices, size_t edges) {
    size_t most = edges * crossing(s)->t.words;
    return (most > vertices ? most : vertices) + PROOF_WORDS * (size_t)s->env.size;
}

static hf_status telling_new(graph_state *s) {
    const hf_part *p = s->part;
    messages *m = s->crossing;
    telling *t = &m->t;
    size_t size = (size_t)s->env.size, word = sizeof *t->sent, out = m->edges_out;
    t->words = p->weights ? 2 : 1;
    size_t sent = words_of(s, p->vertices, p->in_edges),
           came = words_of(s, graph_room(s, s->env.rank) * size, out);
    t->leave = calloc((size_t)p->vertices + 2, sizeof *t->leave);
    t->outs = calloc(size * p->own + 1, sizeof *t->outs);
    t->to = calloc(out + 1, word);
    t->weights = calloc(out + 1, word);
    t->sent = calloc(sent, word);
    t->came = calloc(came, word);
    t->n_sent = calloc(size, sizeof *t->n_sent);
    t->n_came = calloc(size, sizeof *t->n_came);
    if (!t->leave || !t->outs || !t->to || !t->weights || !t->sent || !t->came ||
        !t->n_sent || !t->n_came)
        return hf_fail(HF_ENOMEM, "no memory for %zu edges by where they leave", out);
    HF_TRY(graph_buffer_new(s, &t->send, sent * word));
    return graph_buffer_new(s, &t->recv, came * word);
}

/* How many edges lead here from each vertex, and from each rank. */
static void arrivals_count(graph_state *s) {
    messages *m = s->crossing;
    const hf_part *p = s->part;
    uint64_t *leave = m->t.leave;
    for (uint64_t e = 0; e < p->in_edges; e++)
        leave[p->from[e] + 1]++;
    for (uint32_t v = 0; v < p->vertices; v++)
        leave[v + 1] += leave[v];
    for (int r = 0; r <= s->env.size; r++)
        m->arrivals[r] = leave[p->starts[r]];
    m->edges_home = m->arrivals[s->env.rank + 1] - m->arrivals[s->env.rank];
}

static hf_status messages_setup(graph_state *s, graph_sizes *out) {
    const hf_part *p = s->part;
    size_t size = (size_t)s->env.size, word = sizeof(uint32_t), in = p->in_edges;
    graph_buffers *b = &s->buffers;
    messages *m = s->crossing = calloc(1, sizeof *m);
    if (!m)
        return hf_fail(HF_ENOMEM, "no memory for messages");
    for (uint32_t v = 0; v < p->own; v++)
        m->edges_out += p->degrees[v];
    size_t leave = m->edges_out;
    if (in > UINT32_MAX || leave > UINT32_MAX)
        return hf_fail(HF_EARG,
                       "architecture: gravf, but rank %d has %zu edges; it takes %u at "
                       "most, gravf-m any number",
                       s->env.rank, in > leave ? in : leave, UINT32_MAX);
    m->arrivals = calloc(size + 1, sizeof *m->arrivals);
    m->departures = calloc(size + 1, sizeof *m->departures);
    m->blocks = calloc(size, sizeof *m->blocks);
    m->none = calloc(size, sizeof *m->none);
    if (!m->arrivals || !m->departures || !m->blocks || !m->none)
        return hf_fail(HF_ENOMEM, "no memory for messages of %zu ranks", size);
    HF_TRY(telling_new(s));
    arrivals_count(s);
    HF_TRY(graph_buffer_new(s, &b->outs, (size * p->own + 1) * sizeof *m->t.outs));
    HF_TRY(graph_buffer_new(s, &b->to, leave * word));
    HF_TRY(graph_buffer_new(s, &b->to_weights, p->weights ? leave * word : 0));
    HF_TRY(graph_buffer_new(s, &b->arrivals, (size + 1) * sizeof *m->arrivals));
    HF_TRY(graph_buffer_new(s, &b->messages, in * s->traits[GRAPH_MESSAGE_BYTES]));
    HF_TRY(graph_buffer_new(s, &b->heard, in));
    size_t record = s->traits[GRAPH_RECORD_BYTES]; /* own ones stay in the outbox */
    *out = (graph_sizes){.inbox = s->run.in_records + (in - m->edges_home) * record,
                         .outbox = s->run.out_records + leave * record};
    return HF_OK;
}

/* ---- which edges leave ---- */

/* Message k of a rank goes k ranks on, and what it gets there comes from k ranks back. */
static hf_message *block_to(const graph_state *s, int rank) {
    return &crossing(s)->blocks[(rank - s->env.rank + s->env.size) % s->env.size];
}
static hf_message *block_from(const graph_state *s, int rank) {
    return &crossing(s)->blocks[(s->env.rank - rank + s->env.size) % s->env.size];
}

static uint64_t block_proof(int from, int to, const uint32_t *block, size_t words) {
    uint64_t ends = (uint64_t)from << 32 | (uint32_t)to;
    return hf_digest(HF_DIGEST_START ^ ends, block, words * sizeof *block);
}

/* Every rank's blocks of `sent` come to `came`. Collective. */
static hf_status blocks_tell(graph_state *s) {
    telling *t = &crossing(s)->t;
    hf_device *device = s->env.device;
    size_t word = sizeof *t->sent, sent = 0, came = 0, n;
    uint64_t proof;
    for (int r = 0; r < s->env.size; r++) {
        hf_message *to = block_to(s, r), *from = block_from(s, r);
        to->to = from->from = r;
        to->send_at = sent * word;
        to->send_bytes = t->n_sent[r] * word;
        from->recv_at = came * word;
        from->recv_bytes = t->n_came[r] * word;
        n = t->n_sent[r] - PROOF_WORDS;
        proof = block_proof(s->env.rank, r, t->sent + sent, n);
        memcpy(t->sent + sent + n, &proof, sizeof proof);
        sent += t->n_sent[r];
        came += t->n_came[r];
    }
    HF_TRY(device->ops->write(device, t->send, 0, t->sent, sent * word, NULL, NULL));
    hf_plan *plan;
    HF_TRY(hf_plan_new(&plan, s->env.exchange, t->recv, t->send, (size_t)s->env.size,
                       crossing(s)->blocks));
    hf_status status = hf_plan_run(plan);
    hf_plan_free(plan);
    HF_TRY(status);
    memset(t->came, 0, came * word);
    HF_TRY(device->ops->read(device, t->recv, 0, t->came, came * word, NULL, NULL));
    came = 0;
    for (int r = 0; r < s->env.size; r++) {
        n = t->n_came[r] - PROOF_WORDS;
        memcpy(&proof, t->came + came + n, sizeof proof);
        if (proof != block_proof(r, s->env.rank, t->came + came, n))
            return hf_fail(HF_EDEVICE,
                           "what rank %d told of its edges is not what came", r);
        came += t->n_came[r];
    }
    return HF_OK;
}

/* Of each vertex of all ranks how many edges lead here: so each knows those that leave it. */
static hf_status degrees_tell(graph_state *s) {
    messages *m = s->crossing;
    telling *t = &m->t;
    const hf_part *p = s->part;
    size_t at = 0;
    for (int r = 0; r < s->env.size; r++) {
        t->n_sent[r] = graph_room(s, r) + PROOF_WORDS;
        t->n_came[r] = graph_room(s, s->env.rank) + PROOF_WORDS;
        for (uint32_t v = p->starts[r]; v < p->starts[r + 1]; v++)
            t->sent[at++] = (uint32_t)(t->leave[v + 1] - t->leave[v]);
        at += PROOF_WORDS;
    }
    HF_TRY(blocks_tell(s));
    uint64_t *row = t->outs;
    for (int r = 0; r < s->env.size; r++) {
        for (uint32_t v = 0; v < p->own; v++, row++)
            row[1] = row[0] + t->came[(size_t)r * t->n_came[r] + v];
        m->departures[r + 1] = *row;
    }
    return HF_OK;
}

/* Places and weights of the edges that lead here, in the order of where they leave. */
static void places_list(const graph_state *s, telling *t) {
    const hf_part *p = s->part;
    const uint64_t *arrivals = crossing(s)->arrivals;
    for (uint32_t v = 0; v < p->own; v++)
        for (uint64_t e = p->rows[v]; e < p->rows[v + 1]; e++) {
            uint32_t *at = t->sent + t->words * t->leave[p->from[e]]++;
            at[0] = (uint32_t)e;
            if (p->weights)
                at[1] = p->weights[e];
        }
    /* With room for proofs between blocks. */
    for (int r = s->env.size - 1; r > 0; r--) {
        uint32_t *from = t->sent + t->words * arrivals[r];
        memmove(from + (size_t)r * PROOF_WORDS, from,
                t->words * (arrivals[r + 1] - arrivals[r]) * sizeof *from);
    }
}

static hf_status places_tell(graph_state *s) {
    messages *m = s->crossing;
    telling *t = &m->t;
    uint64_t e = 0;
    for (int r = 0; r < s->env.size; r++) {
        t->n_sent[r] = t->words * (m->arrivals[r + 1] - m->arrivals[r]) + PROOF_WORDS;
        t->n_came[r] =
            t->words * (m->departures[r + 1] - m->departures[r]) + PROOF_WORDS;
    }
    places_list(s, t);
    HF_TRY(blocks_tell(s));
    const uint32_t *at = t->came;
    for (int r = 0; r < s->env.size; r++, at += PROOF_WORDS)
        for (; e < m->departures[r + 1]; e++, at += t->words) {
            t->to[e] = at[0];
            t->weights[e] = at[t->words - 1];
        }
    return HF_OK;
}

/* Do all ranks together tell of as many edges as leave each vertex? */
static hf_status degrees_check(const graph_state *s) {
    const hf_part *p = s->part;
    for (uint32_t v = 0; v < p->own; v++) {
        uint64_t n = 0;
        for (int r = 0; r < s->env.size; r++) {
            const uint64_t *row = crossing(s)->t.outs + (size_t)r * p->own + v;
            n += row[1] - row[0];
        }
        if (n != p->degrees[v])
            return hf_fail(HF_EDEVICE, "%u edges leave vertex %u, but %llu lead away",
                           p->degrees[v], p->names[graph_first(s) + v],
                           (unsigned long long)n);
    }
    return HF_OK;
}

static hf_status messages_connect(graph_state *s) {
    messages *m = s->crossing;
    graph_buffers *b = &s->buffers;
    telling *t = &m->t;
    size_t record = s->traits[GRAPH_RECORD_BYTES], size = (size_t)s->env.size,
           word = sizeof *t->to;
    HF_TRY(degrees_tell(s));
    HF_TRY(places_tell(s));
    HF_TRY(degrees_check(s));
    HF_TRY(graph_words_write(s, b->outs, "rows", t->outs,
                             (size * s->part->own + 1) * sizeof *t->outs));
    HF_TRY(graph_words_write(s, b->to, "edges", t->to, m->edges_out * word));
    HF_TRY(graph_words_write(s, b->to_weights, "weights", t->weights,
                             s->part->weights ? m->edges_out * word : 0));
    HF_TRY(graph_words_write(s, b->arrivals, "arrivals", m->arrivals,
                             (size + 1) * sizeof *m->arrivals));
    telling_free(s, t);
    s->run.home = m->departures[s->env.rank];
    for (int r = 0; r < s->env.size; r++) {
        hf_message *to = block_to(s, r), *from = block_from(s, r);
        uint64_t before = r > s->env.rank ? m->edges_home : 0;
        to->send_at = s->run.out_records + m->departures[r] * record;
        to->send_bytes = (m->departures[r + 1] - m->departures[r]) * record;
        from->recv_at = s->run.in_records + (m->arrivals[r] - before) * record;
        from->recv_bytes = (m->arrivals[r + 1] - m->arrivals[r]) * record;
    }
    /* the first is this rank's own */
    return hf_plan_new(&m->plan, s->env.exchange, b->inbox, b->outbox, size - 1,
                       m->blocks + 1);
}

/* ---- supersteps ---- */

static hf_status messages_prepare(graph_state *s) {
    memset(s->fill, 0, GRAPH_FILL_WORDS * sizeof *s->fill);
    return graph_fill(s, s->buffers.heard, 0);
}

static hf_status messages_scatter(graph_state *s) {
    hf_device *device = s->env.device;
    const messages *m = s->crossing;
    const hf_arg args[] = {
        GRAPH_BUFFER(chunks),     GRAPH_BUFFER(outs),  GRAPH_BUFFER(to),
        GRAPH_BUFFER(to_weights), GRAPH_BUFFER(run),   GRAPH_BUFFER(outbox),
        HF_VALUE(s->superstep),   HF_VALUE(s->window), GRAPH_SEAL};
    HF_TRY(device->ops->write(device, s->buffers.outbox, s->run.made, m->none,
                              (size_t)s->env.size * sizeof *m->none, NULL, NULL));
    return graph_begin(s, s->kernels.scatter, args, GRAPH_N_ARGS(args), s->run.chunks);
}

static hf_status messages_gather(graph_state *s) {
    const hf_arg args[] = {
        GRAPH_BUFFER(chunks),  GRAPH_BUFFER(rows),  GRAPH_BUFFER(degrees),
        GRAPH_BUFFER(names),   GRAPH_BUFFER(run),   GRAPH_BUFFER(messages),
        GRAPH_BUFFER(heard),   GRAPH_BUFFER(state), GRAPH_BUFFER(outbox),
        GRAPH_BUFFER(waiting), GRAPH_BUFFER(later), HF_VALUE(s->superstep),
        HF_VALUE(s->window),   GRAPH_SEAL};
    return graph_begin(s, s->kernels.collect, args, GRAPH_N_ARGS(args), s->run.chunks);
}

/* Messages that a rank made for another in this superstep, by its head. */
static uint64_t made(const graph_state *s, int from, int to) {
    const char *head = s->heads + (size_t)from * s->run.head;
    return ((const uint32_t *)(head + s->run.made))[to];
}

static hf_status messages_check(const graph_state *s, const graph_totals *before) {
    for (int from = 0; from < s->env.size; from++) {
        uint64_t n = 0, edges = 0;
        for (int to = 0; to < s->env.size; to++)
            n += made(s, from, to);
        for (uint32_t c = 0; c < s->run.chunks; c++)
            edges += graph_count_of(s, (size_t)from * s->run.chunks + c)->edges;
        if (n != edges)
            return hf_fail(
                HF_EDEVICE, "superstep %u: rank %d made %llu messages for %llu edges",
                s->superstep, from, (unsigned long long)n, (unsigned long long)edges);
    }
    if (s->totals.known != s->totals.active)
        return hf_fail(HF_EDEVICE,
                       "superstep %u: %llu vertices made messages, not the %llu active",
                       s->superstep, (unsigned long long)s->totals.known,
                       (unsigned long long)s->totals.active);
    if (s->totals.messages != before->edges)
        return hf_fail(
            HF_EDEVICE,
            "superstep %u: %llu messages were gathered, not the %llu that were made",
            s->superstep, (unsigned long long)s->totals.messages,
            (unsigned long long)before->edges);
    return s->totals.heard == before->made
               ? HF_OK
               : hf_fail(HF_EDEVICE,
                         "superstep %u: a message was gathered that is not as it was "
                         "made",
                         s->superstep);
}

/* Messages that all ranks send each other, or this one to others. */
static uint64_t made_for_others(const graph_state *s, bool all) {
    uint64_t n = 0;
    for (int from = 0; from < s->env.size; from++)
        for (int to = 0; to < s->env.size; to++)
            n += from != to && (all || from == s->env.rank) ? made(s, from, to) : 0;
    return n;
}

/* Records of this superstep go to their ranks, no more than there is room for. */
static hf_status records_send(graph_state *s) {
    const messages *m = s->crossing;
    size_t record = s->traits[GRAPH_RECORD_BYTES];
    for (int k = 1; k < s->env.size; k++) {
        hf_message *now = &m->plan->messages[k - 1];
        uint64_t to = made(s, s->env.rank, now->to),
                 from = made(s, now->from, s->env.rank);
        if (to * record > m->blocks[k].send_bytes ||
            from * record > m->blocks[k].recv_bytes)
            return hf_fail(HF_EDEVICE, "superstep %u: more messages than edges",
                           s->superstep);
        now->send_bytes = to * record;
        now->recv_bytes = from * record;
    }
    s->tally.bytes += made_for_others(s, true) * record;
    graph_stage_add(s, GRAPH_STAGE_BYTES, made_for_others(s, false) * record);
    return s->env.size > 1 ? hf_plan_run(m->plan) : HF_OK;
}

static hf_status messages_take(graph_state *s) {
    const hf_arg args[] = {GRAPH_BUFFER(run),      GRAPH_BUFFER(arrivals),
                           GRAPH_BUFFER(outbox),   GRAPH_BUFFER(inbox),
                           GRAPH_BUFFER(messages), GRAPH_BUFFER(heard),
                           GRAPH_BUFFER(checks)};
    if (s->totals.edges == 0)
        return HF_OK;
    HF_TRY(records_send(s));
    graph_heads_prove(s);
    return graph_begin(s, s->kernels.deliver, args, GRAPH_N_ARGS(args), s->run.chunks);
}

static graph_seen messages_seen(const graph_state *s) {
    return (graph_seen){.from = s->buffers.messages, .n = s->part->in_edges};
}

/* graph_scatter adds to counts and seals them anew: one that it left out does not pass. */
const graph_architecture graph_messages_cross = {
    .name = "gravf",
    .bytes_per_rank = sizeof(uint32_t),
    .seal = UINT32_MAX,
    .open = messages_open,
    .setup = messages_setup,
    .connect = messages_connect,
    .prepare = messages_prepare,
    .gather = messages_gather,
    .scatter = messages_scatter,
    .check = messages_check,
    .take = messages_take,
    .seen = messages_seen,
    .close = messages_close,
};
