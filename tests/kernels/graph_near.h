/* graph_near.h - shortest paths with a hint: a path that is short enough ends a search. */
typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint far;)
#define HF_NOTHING HF_NOBODY
#define HF_WEIGHTED
#define HF_WHEN(told)           (told)
#define HF_WINDOW               4
#define HF_WANTS(v, settled)    ((v).far > (settled))
#define HF_ENOUGH(got, settled) ((got) <= (settled) + 8)

HF_START(v, at, told) {
    v->far = *told = at.id % 30;
    return 1;
}
HF_SCATTER(told, edge) {
    return told + edge.weight;
}
HF_GATHER(a, b) {
    return a < b ? a : b;
}
HF_APPLY(v, got, at, told) {
    if ((v->far | at.id | at.degree) >> 31) /* no message is for this vertex */
        __builtin_trap();
    if (got >= v->far)
        return 0;
    v->far = got;
    *told = got + at.id % 3 * (at.degree + at.superstep);
    return 1;
}
