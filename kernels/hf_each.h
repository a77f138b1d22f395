/* hf_each.h - a macro for each of up to twenty tuples.
 *
 * HF_EACH(F, (a, b), (c, d)) is F(0, a, b), F(0 + 1, c, d), and HF_EACH_WORD the same without
 * the comma.
 */
#ifndef HF_EACH_H
#define HF_EACH_H

#define HF_EACH(f, ...)      HF_EACH_LIST(f, HF_EACH_COMMA, __VA_ARGS__)
#define HF_EACH_WORD(f, ...) HF_EACH_LIST(f, HF_EACH_NOTHING, __VA_ARGS__)
#define HF_EACH_COMMA()      ,
#define HF_EACH_NOTHING()
#define HF_EACH_LIST(f, s, ...)                                                       \
    HF_EACH_PICK(__VA_ARGS__, HF_E_20, HF_E_19, HF_E_18, HF_E_17, HF_E_16, HF_E_15,   \
                 HF_E_14, HF_E_13, HF_E_12, HF_E_11, HF_E_10, HF_E_9, HF_E_8, HF_E_7, \
                 HF_E_6, HF_E_5, HF_E_4, HF_E_3, HF_E_2, HF_E_1, )                    \
    (f, s, 0, __VA_ARGS__)
#define HF_EACH_PICK(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, each, \
                     ...)                                                              \
    each
#define HF_EACH_CALL(f, ...)     f(__VA_ARGS__)
#define HF_EACH_OPEN(...)        __VA_ARGS__
#define HF_E(f, i, a)            HF_EACH_CALL(f, i, HF_EACH_OPEN a)
#define HF_E_1(f, s, i, a)       HF_E(f, i, a)
#define HF_E_2(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_1(f, s, i + 1, __VA_ARGS__)
#define HF_E_3(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_2(f, s, i + 1, __VA_ARGS__)
#define HF_E_4(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_3(f, s, i + 1, __VA_ARGS__)
#define HF_E_5(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_4(f, s, i + 1, __VA_ARGS__)
#define HF_E_6(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_5(f, s, i + 1, __VA_ARGS__)
#define HF_E_7(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_6(f, s, i + 1, __VA_ARGS__)
#define HF_E_8(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_7(f, s, i + 1, __VA_ARGS__)
#define HF_E_9(f, s, i, a, ...)  HF_E(f, i, a) s() HF_E_8(f, s, i + 1, __VA_ARGS__)
#define HF_E_10(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_9(f, s, i + 1, __VA_ARGS__)
#define HF_E_11(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_10(f, s, i + 1, __VA_ARGS__)
#define HF_E_12(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_11(f, s, i + 1, __VA_ARGS__)
#define HF_E_13(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_12(f, s, i + 1, __VA_ARGS__)
#define HF_E_14(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_13(f, s, i + 1, __VA_ARGS__)
#define HF_E_15(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_14(f, s, i + 1, __VA_ARGS__)
#define HF_E_16(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_15(f, s, i + 1, __VA_ARGS__)
#define HF_E_17(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_16(f, s, i + 1, __VA_ARGS__)
#define HF_E_18(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_17(f, s, i + 1, __VA_ARGS__)
#define HF_E_19(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_18(f, s, i + 1, __VA_ARGS__)
#define HF_E_20(f, s, i, a, ...) HF_E(f, i, a) s() HF_E_19(f, s, i + 1, __VA_ARGS__)

#endif
