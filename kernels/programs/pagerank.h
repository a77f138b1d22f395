/* pagerank.h - PageRank: value[0] is the damping. What vertices without edges hold is lost. */
typedef float hf_update;
typedef float hf_message;
HF_VERTEX(float rank;)
#define HF_NOTHING 0.0f
#define HF_ALWAYS
#define HF_SUPERSTEPS 20
#define HF_SAME(a, b) ((a).rank <= 1.0001f * (b).rank && (b).rank <= 1.0001f * (a).rank)

HF_START(v, at, told) {
    v->rank = 1.0f / (float)at.vertices;
    *told = at.degree ? v->rank / (float)at.degree : 0.0f;
    return 1;
}
HF_SCATTER(told, edge) {
    return told;
}
HF_GATHER(a, b) {
    return a + b;
}
HF_APPLY(v, got, at, told) {
    const float rank = (1.0f - at.value[0]) / (float)at.vertices + at.value[0] * got;
    HF_CHANGED(rank > v->rank ? rank - v->rank : v->rank - rank);
    v->rank = rank;
    *told = at.degree ? rank / (float)at.degree : 0.0f;
    return 1;
}
