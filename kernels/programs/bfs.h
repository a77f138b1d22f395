/* bfs.h - breadth-first search: the parent of each vertex, HF_NOBODY where none leads to it. */
typedef uint hf_update;
typedef uint hf_message;
HF_VERTEX(uint parent;)
#define HF_NOTHING HF_NOBODY
#define HF_SOURCE
#define HF_WANTS(v, settled)    ((v).parent == HF_NOBODY)
#define HF_ENOUGH(got, settled) ((got) != HF_NOBODY)
/* A vertex may have any of several parents. */
#define HF_SAME(a, b) (((a).parent == HF_NOBODY) == ((b).parent == HF_NOBODY))

HF_START(v, at, told) {
    *told = at.id;
    v->parent = at.id == at.source ? at.id : HF_NOBODY;
    return at.id == at.source;
}
HF_SCATTER(told, edge) {
    return told;
}
HF_GATHER(a, b) {
    return a < b ? a : b;
}
HF_APPLY(v, got, at, told) {
    *told = at.id;
    if (v->parent != HF_NOBODY)
        return 0;
    v->parent = got;
    return 1;
}
