/* core.c - parameters, statistics, random words, clock, results, registry. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "b_eff.h"
#include "b_eff_payload.h"
#include "check.h"
#include "core/clock.h"
#include "core/error.h"
#include "core/host_memory.h"
#include "core/known.h"
#include "core/param.h"
#include "core/random.h"
#include "core/registry.h"
#include "core/result.h"
#include "core/stats.h"
#include "folder.h"
#include "model/model.h"

static const hf_param table[] = {
    {"count", "a count", "3", NULL, NULL, 1, 10, HF_INT},
    {"share", "a share", "0.5", NULL, NULL, 0, 1, HF_REAL},
    {"way", "a way", "left", "left|right", NULL, 0, 0, HF_TEXT},
    {"room", "a word or a number", "auto", "auto|all", NULL, 4, 4096, HF_TEXT},
    {"sizes", "sizes", "1,2,4", NULL, NULL, 1, 100, HF_INTS},
    {0},
};

static hf_args *args_make(void) {
    hf_args *args = NULL;
    CHECK(hf_args_make(&args, "toy", table, NULL) == HF_OK);
    return args;
}

/* One refused text, and the words that its message must hold. */
static void refused(const char *name, const char *text, const char *words) {
    hf_args *args = args_make();
    CHECK(hf_args_set(args, name, 0, NULL, text) == HF_EARG, "%s=%s", name, text);
    CHECK(strstr(hf_error(), words), "%s=%s said: %s", name, text, hf_error());
    CHECK(hf_args_number(args, "count") == 3, "a refused value must change nothing");
    hf_args_free(args);
}

static void params_test(void) {
    hf_args *args = args_make();
    size_t n;
    CHECK(hf_args_set(args, "sizes", 0, NULL, "7, 9 ,100") == HF_OK);
    const double *sizes = hf_args_list(args, "sizes", &n);
    CHECK(n == 3 && sizes[0] == 7 && sizes[1] == 9 && sizes[2] == 100);
    CHECK(hf_args_set(args, "way", 0, NULL, "right") == HF_OK);
    CHECK(hf_args_chosen(args, "way", "right"));
    double two[] = {1, 2}, eight = 8;
    CHECK(hf_args_number_or(args, "room", -1) == -1);
    CHECK(hf_args_set(args, "room", 1, &eight, NULL) == HF_OK);
    CHECK(hf_args_number_or(args, "room", -1) == 8);
    CHECK(hf_args_set(args, "room", 0, NULL, "1e3") == HF_OK);
    CHECK(strcmp(hf_args_word(args, "room"), "1000") == 0);
    CHECK(hf_args_set(args, "room", 2, two, NULL) == HF_EARG);
    CHECK(hf_args_set(args, "room", 1, two, NULL) == HF_EARG);
    CHECK(hf_args_number_or(args, "room", -1) == 1000, "of what was refused");
    CHECK(hf_args_set(args, "room", 0, NULL, "all") == HF_OK);
    CHECK(hf_args_number_or(args, "room", -1) == -1);
    CHECK(hf_args_set(args, "count", 2, two, NULL) == HF_EARG);
    CHECK(hf_args_set(args, "sizes", 0, two, NULL) == HF_EARG);
    CHECK(hf_args_set(args, "way", 1, two, NULL) == HF_EARG);
    double nan = NAN;
    CHECK(hf_args_set(args, "share", 1, &nan, NULL) == HF_EARG);
    hf_args_free(args);
    refused("count", "0", "1 .. 10");
    refused("count", "2.5", "not an integer");
    refused("count", "two", "\"two\" is not a number");
    refused("count", "", "not a number");
    refused("sizes", "1,,2", "not a number");
    refused("sizes", "1,2,", "not a number");
    refused("sizes", "1,101", "1 .. 100");
    refused("sizes", "1,2x", "\"2x\" is not a number");
    refused("room", "0", "room: 0 is neither auto|all nor an integer within 4 .. 4096");
    refused("room", "5.5", "5.5 is neither");
    refused("room", "aut", "aut is neither");
    refused("room", "4x", "4x is neither");
    refused("room", "nan", "nan is neither");
    refused("way", "up", "known: left, right");
    refused("way", "lef", "did you mean \"left\"? known: left, right");
    refused("speed", "1", "known: count, share, way, room, sizes");
}

/* Exact coverage of the interval by the binomial distribution, summed naively. */
static double coverage(int n, int k) {
    double total = 0, inside = 0;
    for (int i = 0; i <= n; i++) {
        double ways = 1;
        for (int j = 0; j < i; j++)
            ways = ways * (n - j) / (j + 1);
        total += ways;
        inside += i >= k && i <= n - k ? ways : 0;
    }
    return inside / total;
}

static void stats_test(void) {
    for (int n = 1; n <= 200; n++) {
        double samples[200];
        for (int i = 0; i < n; i++)
            samples[i] = n - i;
        hf_stats stats = hf_stats_of((size_t)n, samples);
        CHECK(stats.best == 1);
        CHECK(fabs(stats.median - (n + 1) / 2.0) < 1e-9, "n = %d", n);
        CHECK(isnan(stats.low) == (n < 6) && isnan(stats.q1) == (n < 4) &&
                  isnan(stats.p95) == (n < 20) && isnan(stats.p99) == (n < 100),
              "n = %d", n);
        if (n < 6)
            continue;
        int k = (int)stats.low; /* the samples are 1 .. n, so value and rank are one */
        CHECK(stats.high == n + 1 - k, "n = %d", n);
        CHECK(coverage(n, k) >= 0.95, "n = %d", n);
        CHECK(2 * k + 2 > n || coverage(n, k + 1) < 0.95, "n = %d: too wide", n);
    }
}

static void random_test(void) {
    /* First outputs of SplitMix64 seeded with 1234567, as published with the generator. */
    CHECK(hf_random(1234567, 0) == 6457827717110365317u);
    CHECK(hf_random(1234567, 1) == 3203168211198807973u);
}

/* Same seed and size, same message; another seed or size, another message. */
static void seed_test(void) {
    enum { BYTES = 1000, POINTS = 2 };
    double sizes[POINTS] = {BYTES, BYTES + 1};
    unsigned char message[4][POINTS][BYTES];
    for (unsigned run = 0; run < 4; run++) {
        b_eff state = {.env.seed = run / 2, .sweep = {.sizes = sizes, .n = POINTS}};
        for (size_t point = 0; point < POINTS; point++)
            for (unsigned i = 0; i < BYTES; i++)
                message[run][point][i] = b_eff_payload(
                    i, HF_SLIDE_LOG, b_eff_key(&state, point), b_eff_stamp(7, 0, 1));
    }
    CHECK(memcmp(message[0], message[1], sizeof message[0]) == 0);
    CHECK(memcmp(message[2], message[3], sizeof message[0]) == 0);
    int seeds = 0, points = 0;
    for (size_t i = 0; i < BYTES; i++) {
        seeds += message[0][0][i] != message[2][0][i];
        points += message[0][0][i] != message[0][1][i];
    }
    CHECK(seeds > BYTES * 9 / 10, "another seed changes %d bytes", seeds);
    CHECK(points > BYTES * 9 / 10, "another size changes %d bytes", points);
}

/* Any two ranks' payloads differ in every byte, and so do those of successive samples. */
static void payload_test(void) {
    for (int ranks = 2; ranks <= 64; ranks++)
        for (int a = 0; a < ranks; a++)
            for (int b = 0; b < a; b++) {
                uint64_t differ = b_eff_stamp(7, a, (a + 1) % ranks) ^
                                  b_eff_stamp(7, b, (b + 1) % ranks);
                for (int i = 0; i < 4; i++)
                    CHECK(differ >> (8 * i) & 0xFF, "%d ranks: %d and %d", ranks, a, b);
                CHECK(differ >> 32, "%d ranks: %d and %d", ranks, a, b);
            }
    for (uint64_t sample = 0; sample < 300; sample++) {
        uint64_t differ = b_eff_stamp(sample, 3, 4) ^ b_eff_stamp(sample + 1, 3, 4);
        for (int i = 0; i < 8; i++)
            CHECK(differ >> (8 * i) & 0xFF, "sample %d", (int)sample);
    }
    CHECK(b_eff_stamp(7, 3, 4) != b_eff_stamp(7, 3, 2), "the partner is not in it");
}

static void clock_test(void) {
    double cost = hf_clock_cost(), start = hf_clock_now();
    CHECK(cost > 0, "%g s", cost);
    nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
    double slept = hf_clock_now() - start;
    CHECK(slept >= 2e-3, "%g s of 2 ms", slept);
}

static void result_test(void) {
    const hf_column columns[] = {
        {.name = "a", .unit = "s", .shape = {3}, .n_dims = 1, .dtype = HF_F64},
        {.name = "b", .unit = "1", .shape = {5}, .n_dims = 1, .dtype = HF_BOOL},
        {.name = "c", .unit = "B", .shape = {2, 3, 4}, .n_dims = 3, .dtype = HF_I64},
    };
    hf_result *result;
    CHECK(hf_result_new(&result, 3, 0, columns, 1) == HF_OK);
    memset(hf_result_flags(result, "b"), 1, 5);
    for (int i = 0; i < 24; i++)
        hf_result_integers(result, "c")[i] = i;
    for (int i = 0; i < 3; i++)
        hf_result_doubles(result, "a")[i] = i;
    CHECK(hf_result_flags(result, "b")[4] == 1 &&
          hf_result_integers(result, "c")[0] == 0);
    CHECK((uintptr_t)hf_result_column(result, 2)->data % 64 == 0);
    CHECK(hf_result_column(result, 3) == NULL && hf_result_note(result, 0) == NULL);
    for (int i = 0; i < 6; i++)
        hf_result_add_note(result, "note");
    CHECK(hf_result_note(result, 4) && !hf_result_note(result, 5));
    hf_result_free(result);
    hf_result_free(NULL);
}

static void registry_test(void) {
    const hf_exchange_ops *ops;
    CHECK(hf_exchange_find(&ops, "pcie") == HF_OK && strcmp(ops->name, "pcie") == 0);
    CHECK(hf_exchange_find(&ops, "smoke") == HF_ENOENT);
    CHECK(strstr(hf_error(), "\"smoke\"; known: "), "%s", hf_error());
    char refusal[512];
    snprintf(refusal, sizeof refusal, "%s", hf_error());
    static const char *const kinds[] = {"bench", "device", "exchange", "model",
                                        "transport"};
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++) {
        const char *name, *summary;
        size_t n = 0;
        while (hf_component(kinds[k], n, &name, &summary)) {
            CHECK(*name && strlen(summary) > 5 && strcmp(name, summary) != 0, "%s",
                  name);
            if (strcmp(kinds[k], "exchange") == 0)
                CHECK(strstr(refusal, name), "%s: %s", name, refusal);
            n++;
        }
        CHECK(n > 0, "%s", kinds[k]);
    }
}

static const char *meant(const char *wanted) {
    static hf_known known;
    known = (hf_known){.wanted = wanted};
    for (const char *const *name =
             (const char *const[]){"b_eff", "gemm", "stream", "randomaccess", NULL};
         *name; name++)
        hf_known_add(&known, *name);
    return hf_known_text(&known);
}

static void known_test(void) {
    static const char *const words[][2] = {{"gem", "gemm"},
                                           {"b_ef", "b_eff"},
                                           {"b-eff", "b_eff"},
                                           {"straem", "stream"},
                                           {"streams", "stream"},
                                           {"RandomAcces", "randomaccess"},
                                           {"linpack", ""},
                                           {"random", ""},
                                           {"", ""},
                                           {"randomacess", "randomaccess"},
                                           {"randmoaccess", "randomaccess"}};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        const char *text = meant(words[i][0]), *list = strstr(text, "known: b_eff, ge");
        char start[64] = "";
        if (*words[i][1])
            snprintf(start, sizeof start, "did you mean \"%s\"? ", words[i][1]);
        CHECK(list && (size_t)(list - text) == strlen(start) &&
                  strncmp(text, start, strlen(start)) == 0,
              "%s: %s", words[i][0], text);
    }
}

/* A formula with `n` inputs. */
static hf_status formula_checked(size_t n) {
    static const hf_term outputs[] = {HF_TERM("y", "1", "sum"), {0}};
    hf_term inputs[64] = {{0}};
    for (size_t i = 0; i < n; i++)
        inputs[i] = (hf_term)HF_TERM("x", "1", "addend");
    hf_formula formula = {.summary = "long", .inputs = inputs, .outputs = outputs};
    return hf_formula_check(&formula);
}

static void formulas_test(void) {
    CHECK(formula_checked(HF_MAX_TERMS) == HF_OK);
    CHECK(formula_checked(HF_MAX_TERMS + 1) == HF_ENOTSUP);
    CHECK(formula_checked(40) == HF_ENOTSUP);
    CHECK(strstr(hf_error(), "\"long\" has 40 inputs and 1 outputs; at most"));
}

/* ---- memory of the host ---- */

static void file_write(const char *root, const char *path, const char *text) {
    char all[512];
    snprintf(all, sizeof all, "%s", root);
    for (const char *at = path; *at;) { /* its folders */
        size_t length = strcspn(at + 1, "/") + 1;
        if (at[length] != '/')
            break;
        strncat(all, at, length);
        mkdir(all, 0700);
        at += length;
    }
    snprintf(all, sizeof all, "%s%s", root, path);
    FILE *file = fopen(all, "w");
    CHECK(file && fputs(text, file) >= 0 && fclose(file) == 0, "%s", all);
}

static void memory_is(const char *root, uint64_t all, uint64_t left) {
    hf_host_memory m = hf_host_memory_of(root);
    CHECK(m.all == all && m.free == left, "%llu of %llu B", (unsigned long long)m.free,
          (unsigned long long)m.all);
}

/* The least that a limit leaves counts: of the host, of the group, of one that it lies in. */
static void host_memory_test(void) {
    const char *root = folder;
    folder_make();
    memory_is(root, UINT64_MAX / 2 / 1024 * 1024, UINT64_MAX / 2 / 1024 * 1024);
    file_write(root, "/proc/meminfo", "MemTotal: 1000 kB\nMemAvailable: 400 kB\n");
    memory_is(root, 1024000, 409600);
    file_write(root, "/proc/self/cgroup", "1:name=systemd:/x\n0::/a/b\n");
    file_write(root, "/sys/fs/cgroup/a/b/memory.max", "max\n");
    memory_is(root, 1024000, 409600);
    file_write(root, "/sys/fs/cgroup/a/memory.max", "500000\n");
    memory_is(root, 500000, 409600);
    file_write(root, "/sys/fs/cgroup/a/memory.current", "300000\n");
    file_write(root, "/sys/fs/cgroup/a/memory.stat",
               "anon 1\nactive_file 7\ninactive_file 20000\n");
    memory_is(root, 500000, 220000);
    file_write(root, "/sys/fs/cgroup/a/b/memory.max", "9000\n");
    file_write(root, "/sys/fs/cgroup/a/b/memory.current", "9001\n");
    memory_is(root, 9000, 0);
    file_write(root, "/proc/self/cgroup", "4:cpu,memory:/c\n0::/\n");
    memory_is(root, 1024000, 409600);
    file_write(root, "/sys/fs/cgroup/memory/memory.limit_in_bytes", "5000");
    file_write(root, "/sys/fs/cgroup/memory/memory.usage_in_bytes", "1000");
    memory_is(root, 5000, 4000);
    hf_host_memory here = hf_host_memory_of("");
    CHECK(here.free > 0 && here.free <= here.all && here.all < UINT64_MAX / 2048);
    folder_remove();
}

int main(void) {
    host_memory_test();
    known_test();
    params_test();
    formulas_test();
    stats_test();
    random_test();
    seed_test();
    payload_test();
    clock_test();
    result_test();
    registry_test();
    return check_failures != 0;
}
