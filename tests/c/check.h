/* check.h - the one assertion of the C tests: it says where and what, and goes on. */
#ifndef HF_CHECK_H
#define HF_CHECK_H

#include <stdio.h>

/* One of a program, however many files it has. */
__attribute__((weak)) int check_failures;

#define CHECK(condition, ...)                                               \
    do {                                                                    \
        if (!(condition)) {                                                 \
            check_failures++;                                               \
            fprintf(stderr, "%s:%d: %s: ", __FILE__, __LINE__, #condition); \
            fprintf(stderr, "" __VA_ARGS__);                                \
            fputc('\n', stderr);                                            \
        }                                                                   \
    } while (0)

/* A call of the library; its file includes core/error.h. */
#define OK(call) CHECK((call) == HF_OK, "%s: %s", #call, hf_error())

#endif
