/* xclbin.c - damaged xclbins: each is read or refused in a line, and nothing outside is touched.
 *
 * xclbin COUNT XCLBIN, for a build with sanitizers. Each is a copy on the heap, as long as it is,
 * in which bytes, numbers of its tables or letters of its text are others.
 */
#include "core/xclbin.h"

#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "core/random.h"

enum { MAX_BYTES = 1 << 20, HEADER = 456, TAIL = 6000 };

static unsigned char whole[MAX_BYTES];
static size_t n_whole;
static uint64_t drawn;

static size_t draw(size_t n) {
    return (size_t)(hf_random(7, drawn++) % n);
}

static void damage(unsigned char *data, size_t bytes) {
    static const uint32_t numbers[] = {
        0,   1,   2,    63,       64,       65,         127,        128,
        255, 256, 1000, 1U << 16, 1U << 31, 0xFFFFFFFF, 0x7FFFFFFF, 456};
    static const char *const texts[] = {"<",         ">",     "\"",         "<kernel ",
                                        "</kernel>", "<arg ", " id=\"99\"", " name=\"",
                                        "/>",        "\n"};
    /* The tables and texts, which are last, are worth more than the bits before them. */
    size_t tail = bytes < TAIL ? bytes : TAIL;
    size_t at = draw(4) ? bytes - 1 - draw(tail) : draw(bytes);
    uint32_t number = numbers[draw(sizeof numbers / sizeof numbers[0])];
    const char *text = texts[draw(sizeof texts / sizeof texts[0])];
    const void *from = &number;
    size_t n = sizeof number;
    switch (draw(5)) {
    case 0:
        data[at] ^= (unsigned char)(1U << draw(8));
        return;
    case 1: /* a number of a table */
        at = at / 4 * 4;
        break;
    case 2: /* of a head of a section */
        at = HEADER - 8 + draw(60) * 4;
        break;
    case 3:
        from = text;
        n = strlen(text);
        break;
    default:
        number = (uint32_t)bytes - number;
    }
    for (size_t i = 0; i < n && at + i < bytes; i++)
        data[at + i] = ((const unsigned char *)from)[i];
}

static void copy_try(void) {
    hf_xclbin *x;
    size_t bytes = draw(8) ? n_whole : draw(n_whole + 1);
    unsigned char *data = malloc(bytes ? bytes : 1);
    CHECK(data);
    memcpy(data, whole, bytes);
    bool told = draw(2) && bytes >= HEADER; /* of the new length */
    for (size_t i = 0; told && i < 8; i++)
        data[304 + i] = (unsigned char)((uint64_t)bytes >> 8 * i);
    for (size_t n = draw(4); bytes > 0 && n > 0; n--)
        damage(data, bytes);
    if (hf_xclbin_read(&x, data, bytes) == HF_OK) {
        for (size_t u = 0; u < x->n_units; u++)
            CHECK(!*x->units[u].kernel || hf_xclbin_find(x, x->units[u].kernel));
        free(x);
    } else {
        CHECK(strstr(hf_error(), "xclbin") && !strchr(hf_error(), '\n'), "%s",
              hf_error());
    }
    free(data);
}

int main(int argc, char **argv) {
    FILE *file = argc == 3 ? fopen(argv[2], "rb") : NULL;
    if (!file)
        return fprintf(stderr, "xclbin COUNT XCLBIN: no file %s\n",
                       argc == 3 ? argv[2] : "is named"),
               2;
    n_whole = fread(whole, 1, sizeof whole, file);
    fclose(file);
    hf_xclbin *x;
    CHECK(hf_xclbin_read(&x, whole, n_whole) == HF_OK, "%s", hf_error());
    CHECK(x->n_kernels == 4 && x->n_units == 6);
    free(x);
    for (long i = atol(argv[1]); i > 0; i--)
        copy_try();
    return check_failures != 0;
}
