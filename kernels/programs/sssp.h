/* sssp.h - shortest paths from one vertex: the length of each, HF_NOBODY where there is none. */
typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint distance;)
#define HF_NOTHING HF_NOBODY
#define HF_SOURCE
#define HF_WEIGHTED
#define HF_WHEN(told)           (told)
#define HF_WINDOW               64
#define HF_WANTS(v, settled)    ((v).distance > (settled))
#define HF_HELPS(v, message)    ((message) < (v).distance)
#define HF_ENOUGH(got, settled) ((got) <= (settled))

HF_START(v, at, told) {
    v->distance = *told = at.id == at.source ? 0 : HF_NOBODY;
    return at.id == at.source;
}
HF_SCATTER(told, edge) {
    return edge.weight < HF_NOBODY - told ? told + edge.weight : HF_NOBODY - 1;
}
HF_GATHER(a, b) {
    return a < b ? a : b;
}
HF_APPLY(v, got, at, told) {
    if (got >= v->distance)
        return 0;
    v->distance = *told = got;
    return 1;
}
