/* wcc.h - weakly connected components: the lowest vertex of each. */
typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint component;)
#define HF_NOTHING HF_NOBODY
#define HF_UNDIRECTED
#define HF_WHEN(told)           (told)
#define HF_GROWTH               16
#define HF_WANTS(v, settled)    ((v).component > (settled))
#define HF_ENOUGH(got, settled) ((got) <= (settled))

HF_START(v, at, told) {
    v->component = *told = at.id;
    return 1;
}
HF_SCATTER(told, edge) {
    return told;
}
HF_GATHER(a, b) {
    return a < b ? a : b;
}
HF_APPLY(v, got, at, told) {
    if (got >= v->component)
        return 0;
    v->component = *told = got;
    return 1;
}
