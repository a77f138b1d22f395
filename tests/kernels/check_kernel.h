/* check_kernel.h - the assertion of the kernel tests: it says where and what, and ends. */
#ifndef CHECK_KERNEL_H
#define CHECK_KERNEL_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition, ...)                               \
    do {                                                    \
        if (!(condition)) {                                 \
            fprintf(stderr, "%s:%d: ", __FILE__, __LINE__); \
            fprintf(stderr, __VA_ARGS__);                   \
            fputc('\n', stderr);                            \
            exit(1);                                        \
        }                                                   \
    } while (0)

#endif
