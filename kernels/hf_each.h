/* hf_each.h - a macro for each of up to ten things in brackets.
 *
 * HF_EACH(F, (a, b), (c, d)) is F(a, b), F(c, d).
 */
#ifndef HF_EACH_H
#define HF_EACH_H

#define HF_EACH(f, ...)                                                               \
    HF_EACH_PICK(__VA_ARGS__, HF_EACH_10, HF_EACH_9, HF_EACH_8, HF_EACH_7, HF_EACH_6, \
                 HF_EACH_5, HF_EACH_4, HF_EACH_3, HF_EACH_2, HF_EACH_1, )             \
    (f, __VA_ARGS__)
#define HF_EACH_PICK(a, b, c, d, e, f, g, h, i, j, each, ...) each
#define HF_EACH_1(f, a)                                       f a
#define HF_EACH_2(f, a, ...)                                  f a, HF_EACH_1(f, __VA_ARGS__)
#define HF_EACH_3(f, a, ...)                                  f a, HF_EACH_2(f, __VA_ARGS__)
#define HF_EACH_4(f, a, ...)                                  f a, HF_EACH_3(f, __VA_ARGS__)
#define HF_EACH_5(f, a, ...)                                  f a, HF_EACH_4(f, __VA_ARGS__)
#define HF_EACH_6(f, a, ...)                                  f a, HF_EACH_5(f, __VA_ARGS__)
#define HF_EACH_7(f, a, ...)                                  f a, HF_EACH_6(f, __VA_ARGS__)
#define HF_EACH_8(f, a, ...)                                  f a, HF_EACH_7(f, __VA_ARGS__)
#define HF_EACH_9(f, a, ...)                                  f a, HF_EACH_8(f, __VA_ARGS__)
#define HF_EACH_10(f, a, ...)                                 f a, HF_EACH_9(f, __VA_ARGS__)

#endif
