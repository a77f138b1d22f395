/* hf_each.h - a macro for each of up to twenty tuples.
 *
 * HF_EACH(F, (a, b), (c, d)) is F(0, a, b), F(0 + 1, c, d).
 */
#ifndef HF_EACH_H
#define HF_EACH_H

#define HF_EACH(f, ...)                                                              \
    HF_EACH_PICK(__VA_ARGS__, HF_EACH_20, HF_EACH_19, HF_EACH_18, HF_EACH_17,        \
                 HF_EACH_16, HF_EACH_15, HF_EACH_14, HF_EACH_13, HF_EACH_12,         \
                 HF_EACH_11, HF_EACH_10, HF_EACH_9, HF_EACH_8, HF_EACH_7, HF_EACH_6, \
                 HF_EACH_5, HF_EACH_4, HF_EACH_3, HF_EACH_2, HF_EACH_1, )            \
    (f, 0, __VA_ARGS__)
#define HF_EACH_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, each, \
                     ...)                                                              \
    each
#define HF_EACH_CALL(f, ...)     f(__VA_ARGS__)
#define HF_EACH_OPEN(...)        __VA_ARGS__
#define HF_EACH_1(f, i, a)       HF_EACH_CALL(f, i, HF_EACH_OPEN a)
#define HF_EACH_2(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_1(f, i + 1, __VA_ARGS__)
#define HF_EACH_3(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_2(f, i + 1, __VA_ARGS__)
#define HF_EACH_4(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_3(f, i + 1, __VA_ARGS__)
#define HF_EACH_5(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_4(f, i + 1, __VA_ARGS__)
#define HF_EACH_6(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_5(f, i + 1, __VA_ARGS__)
#define HF_EACH_7(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_6(f, i + 1, __VA_ARGS__)
#define HF_EACH_8(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_7(f, i + 1, __VA_ARGS__)
#define HF_EACH_9(f, i, a, ...)  HF_EACH_1(f, i, a), HF_EACH_8(f, i + 1, __VA_ARGS__)
#define HF_EACH_10(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_9(f, i + 1, __VA_ARGS__)
#define HF_EACH_11(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_10(f, i + 1, __VA_ARGS__)
#define HF_EACH_12(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_11(f, i + 1, __VA_ARGS__)
#define HF_EACH_13(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_12(f, i + 1, __VA_ARGS__)
#define HF_EACH_14(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_13(f, i + 1, __VA_ARGS__)
#define HF_EACH_15(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_14(f, i + 1, __VA_ARGS__)
#define HF_EACH_16(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_15(f, i + 1, __VA_ARGS__)
#define HF_EACH_17(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_16(f, i + 1, __VA_ARGS__)
#define HF_EACH_18(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_17(f, i + 1, __VA_ARGS__)
#define HF_EACH_19(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_18(f, i + 1, __VA_ARGS__)
#define HF_EACH_20(f, i, a, ...) HF_EACH_1(f, i, a), HF_EACH_19(f, i + 1, __VA_ARGS__)

#endif
