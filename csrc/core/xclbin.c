/* xclbin.c - sections of a program binary for Xilinx's cards ("axlf"), little endian. */
#include "core/xclbin.h"

#include <ctype.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/text.h"

/* Where things are in the file, and in its sections [B]. */
enum {
    SIGNATURE_SIZE = 8,
    AT_LENGTH = 304,
    AT_SHELL = 352,
    SHELL_SIZE = 64,
    AT_UUID = 416,
    AT_SECTIONS = 448,
    HEADER_SIZE = 456,
    SECTION_SIZE = 40,
    MEMORY_SIZE = 40,
    IP_SIZE = 80,
    LINK_SIZE = 12,
    NAME_SIZE = 64
};
enum { MAX_SECTIONS = 256, MAX_LINKS = 1 << 16, IP_KERNEL = 1 };

/* Kinds of sections. The grouped ones also list what several memories are together. */
enum {
    METADATA = 2,
    MEMORIES = 6,
    LINKS = 7,
    IPS = 8,
    GROUPED_MEMORIES = 26,
    GROUPED_LINKS = 27
};

typedef struct span {
    const unsigned char *at; /* NULL: there is none */
    size_t bytes;
} span;

static uint64_t number(const unsigned char *at, int bytes) {
    uint64_t value = 0;
    for (int i = bytes; i-- > 0;)
        value = value << 8 | at[i];
    return value;
}

static span section(span file, uint32_t kind) {
    uint32_t n = (uint32_t)number(file.at + AT_SECTIONS, 4);
    for (uint32_t i = 0; i < n; i++) {
        const unsigned char *s = file.at + HEADER_SIZE + (size_t)i * SECTION_SIZE;
        if (number(s, 4) == kind)
            return (span){file.at + number(s + 24, 8), (size_t)number(s + 32, 8)};
    }
    return (span){NULL, 0};
}

static hf_status header_check(span file) {
    if (file.bytes < SIGNATURE_SIZE || memcmp(file.at, "xclbin2", SIGNATURE_SIZE) != 0)
        return hf_fail(HF_EARG, "no xclbin: it does not begin with \"xclbin2\"");
    if (file.bytes < HEADER_SIZE)
        return hf_fail(HF_EARG, "an xclbin of %zu B, which is cut: its header has %d B",
                       file.bytes, HEADER_SIZE);
    uint64_t length = number(file.at + AT_LENGTH, 8);
    if (length != file.bytes)
        return hf_fail(HF_EARG, "an xclbin of %zu B that says it has %llu B",
                       file.bytes, (unsigned long long)length);
    uint64_t n = number(file.at + AT_SECTIONS, 4);
    if (n > MAX_SECTIONS || n * SECTION_SIZE > file.bytes - HEADER_SIZE)
        return hf_fail(HF_EARG, "an xclbin of %zu B that says it has %llu sections",
                       file.bytes, (unsigned long long)n);
    for (uint64_t i = 0; i < n; i++) {
        const unsigned char *s = file.at + HEADER_SIZE + i * SECTION_SIZE;
        uint64_t at = number(s + 24, 8), size = number(s + 32, 8);
        if (at > file.bytes || size > file.bytes - at)
            return hf_fail(HF_EARG,
                           "an xclbin of %zu B with %llu B of section %llu at %llu",
                           file.bytes, (unsigned long long)size, (unsigned long long)i,
                           (unsigned long long)at);
    }
    return HF_OK;
}

/** The records of a section: their number, after a check that they are there. */
static hf_status records(size_t *n, span s, const char *what, size_t head, size_t size,
                         size_t most) {
    if (s.bytes < head)
        return hf_fail(HF_EARG, "an xclbin with %zu B of %s, at least %zu B are needed",
                       s.bytes, what, head);
    uint64_t count = number(s.at, 4);
    if (count > most || count * size > s.bytes - head)
        return hf_fail(HF_EARG, "an xclbin with %llu %s in %zu B, at most %zu",
                       (unsigned long long)count, what, s.bytes, most);
    *n = (size_t)count;
    return HF_OK;
}

/* ---- sections ---- */

static hf_status memories_read(hf_xclbin *out, span s) {
    HF_TRY(
        records(&out->n_memories, s, "memories", 8, MEMORY_SIZE, HF_XCLBIN_MEMORIES));
    for (size_t i = 0; i < out->n_memories; i++) {
        const unsigned char *at = s.at + 8 + i * MEMORY_SIZE;
        hf_xclbin_memory *memory = &out->memories[i];
        memory->used = at[1];
        memory->bytes = number(at + 8, 8) * 1024;
        hf_text_copy(memory->tag, sizeof memory->tag, at + 24, 16);
    }
    return HF_OK;
}

static hf_status units_read(hf_xclbin *out, span s) {
    HF_TRY(records(&out->n_units, s, "units", 8, IP_SIZE, HF_XCLBIN_UNITS));
    for (size_t i = 0; i < out->n_units; i++) {
        const unsigned char *at = s.at + 8 + i * IP_SIZE;
        char text[NAME_SIZE + 1];
        hf_text_copy(text, sizeof text, at + 16, NAME_SIZE);
        char *colon = strchr(text, ':');
        if (number(at, 4) != IP_KERNEL)
            continue;
        if (!colon || colon == text)
            return hf_fail(HF_EARG, "an xclbin whose unit %zu, \"%s\", is no kernel's",
                           i, text);
        memcpy(out->units[i].kernel, text, (size_t)(colon - text));
        memcpy(out->units[i].name, colon + 1, strlen(colon + 1));
    }
    return HF_OK;
}

static hf_status links_read(hf_xclbin *out, span s) {
    size_t n = 0;
    HF_TRY(records(&n, s, "connections", 4, LINK_SIZE, MAX_LINKS));
    for (size_t i = 0; i < n; i++) {
        const unsigned char *at = s.at + 4 + i * LINK_SIZE;
        uint64_t arg = number(at, 4), unit = number(at + 4, 4),
                 memory = number(at + 8, 4);
        if (arg >= HF_XCLBIN_ARGS || unit >= out->n_units || memory >= out->n_memories)
            return hf_fail(HF_EARG,
                           "an xclbin that connects argument %llu of unit %llu to "
                           "memory %llu, of %zu units and %zu memories",
                           (unsigned long long)arg, (unsigned long long)unit,
                           (unsigned long long)memory, out->n_units, out->n_memories);
        hf_xclbin_reach_add(&out->units[unit].reach[arg], memory);
    }
    return HF_OK;
}

/* ---- metadata, as XML ---- */

static bool is_quote(char letter) {
    return letter == '"' || letter == '\'';
}

/** Value of attribute `name` in the tag [at, end). */
static span attribute(const char *at, const char *end, const char *name) {
    size_t length = strlen(name);
    while (at && at < end) {
        const char *quote = at;
        while (quote < end && !is_quote(*quote))
            quote++;
        const char *value = quote + 1;
        const char *close =
            value < end ? memchr(value, *quote, (size_t)(end - value)) : NULL;
        if (close && (size_t)(quote - at) > length + 1 && quote[-1] == '=' &&
            memcmp(quote - 1 - length, name, length) == 0 &&
            strchr(" \t\r\n", quote[-2 - (ptrdiff_t)length]))
            return (span){(const unsigned char *)value, (size_t)(close - value)};
        at = close ? close + 1 : NULL;
    }
    return (span){NULL, 0};
}

/** Where a tag ends that begins at `at`: quotes may hold a '>', comments anything. */
static const char *tag_end(const char *at, const char *end) {
    bool comment = end - at >= 3 && memcmp(at, "!--", 3) == 0;
    char quote = '\0';
    for (const char *close = comment ? at + 5 : at; close < end; close++) {
        if (comment ? memcmp(close - 2, "-->", 3) == 0 : !quote && *close == '>')
            return close;
        if (!quote && is_quote(*close))
            quote = *close;
        else if (*close == quote)
            quote = '\0';
    }
    return NULL;
}

/** The name in a tag; false: there is none, or no room. */
static bool name_take(char *to, size_t room, const char *at, const char *end) {
    span value = attribute(at, end, "name");
    if (value.bytes == 0 || value.bytes >= room)
        return false;
    hf_text_copy(to, room, value.at, value.bytes);
    return true;
}

static bool number_take(unsigned long *to, span value, int base) {
    char text[24], *rest;
    if (value.bytes == 0 || value.bytes >= sizeof text || !isdigit(*value.at))
        return false;
    hf_text_copy(text, sizeof text, value.at, value.bytes);
    *to = strtoul(text, &rest, base);
    return *rest == '\0';
}

static bool tag_is(const char *at, const char *end, const char *name) {
    size_t length = strlen(name);
    return (size_t)(end - at) > length && memcmp(at, name, length) == 0 &&
           strchr(" \t\r\n", at[length]);
}

/** How the host sets an argument. */
static hf_status arg_kind_read(hf_xclbin_arg *arg, const hf_xclbin_kernel *kernel,
                               const char *at, const char *end) {
    unsigned long memory = 0, bytes = 0;
    span type = attribute(at, end, "type");
    const char *missing = NULL;
    if (type.bytes == 0)
        missing = "type";
    else if (!number_take(&memory, attribute(at, end, "addressQualifier"), 10))
        missing = "addressQualifier";
    else if (!number_take(&bytes, attribute(at, end, "size"), 0))
        missing = "size";
    if (missing)
        return hf_fail(HF_EARG,
                       "an xclbin whose kernel \"%s\" has an argument %zu, \"%s\", "
                       "without a valid %s",
                       kernel->name, (size_t)(arg - kernel->args), arg->name, missing);
    hf_text_copy(arg->type, sizeof arg->type, type.at, type.bytes); /* a value's fits */
    arg->pointer = memory == 1 || memory == 2;
    arg->bytes = bytes;
    return HF_OK;
}

static hf_status arg_read(hf_xclbin_kernel *kernel, const char *at, const char *end) {
    span id = attribute(at, end, "id");
    unsigned long number;
    char text[32];
    if (!id.at)
        return hf_fail(HF_EARG,
                       "an xclbin whose kernel \"%s\" has an argument without "
                       "a number",
                       kernel->name);
    if (id.bytes == 0) /* not for the host to set */
        return HF_OK;
    if (!number_take(&number, id, 10) || number >= HF_XCLBIN_ARGS) {
        hf_text_copy(text, sizeof text, id.at, id.bytes);
        return hf_fail(HF_EARG,
                       "an xclbin whose kernel \"%s\" has an argument number \"%s\", "
                       "at most %d",
                       kernel->name, text, HF_XCLBIN_ARGS - 1);
    }
    hf_xclbin_arg *arg = &kernel->args[number];
    if (!name_take(arg->name, sizeof arg->name, at, end))
        return hf_fail(
            HF_EARG, "an xclbin whose kernel \"%s\" has an argument %lu without a name",
            kernel->name, number);
    if (kernel->n_args <= number)
        kernel->n_args = number + 1;
    return arg_kind_read(arg, kernel, at, end);
}

static hf_status kernel_read(hf_xclbin *out, const char *at, const char *end) {
    if (out->n_kernels == HF_XCLBIN_KERNELS)
        return hf_fail(HF_EARG, "an xclbin with more than %d kernels",
                       HF_XCLBIN_KERNELS);
    char *name = out->kernels[out->n_kernels].name;
    if (!name_take(name, NAME_SIZE, at, end))
        return hf_fail(HF_EARG, "an xclbin whose kernel %zu has no name",
                       out->n_kernels);
    if (hf_xclbin_find(out, name))
        return hf_fail(HF_EARG, "an xclbin with two kernels \"%s\"", name);
    out->n_kernels++;
    return HF_OK;
}

static hf_status metadata_read(hf_xclbin *out, span s) {
    const char *at = (const char *)s.at, *end = at + s.bytes;
    bool inside = false; /* a kernel */
    while ((at = memchr(at, '<', (size_t)(end - at)))) {
        at++;
        const char *close = tag_end(at, end);
        if (!close)
            return hf_fail(HF_EARG, "an xclbin whose metadata ends in a tag");
        if (tag_is(at, close, "kernel")) {
            HF_TRY(kernel_read(out, at, close));
            inside = close[-1] != '/';
        } else if (inside && tag_is(at, close, "arg")) {
            HF_TRY(arg_read(&out->kernels[out->n_kernels - 1], at, close));
        } else if ((size_t)(close - at) == strlen("/kernel") &&
                   memcmp(at, "/kernel", strlen("/kernel")) == 0) {
            inside = false;
        }
        at = close;
    }
    return HF_OK;
}

/** What does not fit together: names that nothing has, arguments in no memory. */
static hf_status units_check(const hf_xclbin *x) {
    for (size_t u = 0; u < x->n_units; u++) {
        const hf_xclbin_unit *unit = &x->units[u];
        const hf_xclbin_kernel *kernel = hf_xclbin_find(x, unit->kernel);
        if (!*unit->kernel)
            continue;
        if (!kernel)
            return hf_fail(HF_EARG,
                           "an xclbin whose unit \"%s\" is of a kernel that "
                           "it does not describe, \"%s\"",
                           unit->name, unit->kernel);
        for (size_t i = 0; i < kernel->n_args; i++) {
            bool some = false;
            for (size_t m = 0; m < x->n_memories; m++)
                some = some ||
                       (hf_xclbin_reaches(&unit->reach[i], m) && x->memories[m].used);
            if (kernel->args[i].pointer && !some)
                return hf_fail(HF_EARG,
                               "an xclbin whose unit \"%s\" reaches no memory by "
                               "argument %zu, \"%s\"",
                               unit->name, i, kernel->args[i].name);
        }
    }
    return HF_OK;
}

static hf_status sections_read(hf_xclbin *out, span file) {
    static const struct {
        uint32_t kind, first; /* `first` is taken in its place where there is one */
        const char *name;
        hf_status (*read)(hf_xclbin *, span);
    } sections[] = {
        {MEMORIES, GROUPED_MEMORIES, "MEM_TOPOLOGY", memories_read},
        {IPS, IPS, "IP_LAYOUT", units_read},
        {LINKS, GROUPED_LINKS, "CONNECTIVITY", links_read},
        {METADATA, METADATA, "EMBEDDED_METADATA", metadata_read},
    };
    bool grouped = section(file, GROUPED_MEMORIES).at;
    if (grouped != (section(file, GROUPED_LINKS).at != NULL))
        return hf_fail(HF_EARG,
                       "an xclbin with GROUP_TOPOLOGY or GROUP_CONNECTIVITY alone");
    for (size_t i = 0; i < sizeof sections / sizeof sections[0]; i++) {
        span s = section(file, grouped ? sections[i].first : sections[i].kind);
        if (!s.at)
            return hf_fail(HF_EARG, "an xclbin without %s", sections[i].name);
        HF_TRY(sections[i].read(out, s));
    }
    return units_check(out);
}

hf_status hf_xclbin_read(hf_xclbin **out, const void *data, size_t bytes) {
    const span file = {data, bytes};
    HF_TRY(header_check(file));
    hf_xclbin *x = calloc(1, sizeof *x);
    if (!x)
        return hf_fail(HF_ENOMEM, "no memory for the description of an xclbin");
    hf_text_copy(x->shell, sizeof x->shell, file.at + AT_SHELL, SHELL_SIZE);
    memcpy(x->uuid, file.at + AT_UUID, sizeof x->uuid);
    hf_status status = sections_read(x, file);
    if (status == HF_OK)
        *out = x;
    else
        free(x);
    return status;
}

const hf_xclbin_kernel *hf_xclbin_find(const hf_xclbin *xclbin, const char *name) {
    for (size_t k = 0; k < xclbin->n_kernels; k++)
        if (strcmp(xclbin->kernels[k].name, name) == 0)
            return &xclbin->kernels[k];
    return NULL;
}
