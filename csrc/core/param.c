/* param.c - parameters: tables, values, and the one function that refuses. */
#include "core/param.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/known.h"
#include "core/number.h"

typedef struct value {
    const hf_param *param;
    double *numbers;
    char *text;
    size_t n;
} value;

struct hf_args {
    char bench[32];
    size_t n;
    value values[];
};

static size_t table_length(const hf_param *table) {
    size_t n = 0;
    while (table && table[n].name)
        n++;
    return n;
}

static value *args_find(const hf_args *args, const char *name) {
    for (size_t i = 0; i < args->n; i++)
        if (strcmp(args->values[i].param->name, name) == 0)
            return (value *)&args->values[i];
    return NULL;
}

static bool choice_known(const char *choices, const char *text) {
    size_t length = strlen(text);
    for (const char *at = choices; at; at = strchr(at, '|'), at = at ? at + 1 : NULL)
        if (length && strncmp(at, text, length) == 0 &&
            (at[length] == '|' || at[length] == '\0'))
            return true;
    return false;
}

static hf_status choice_refuse(const hf_param *p, const char *text) {
    hf_known known = {.wanted = text};
    for (const char *at = p->choices; *at; at += *at == '|') {
        char name[sizeof known.nearest];
        int length = (int)strcspn(at, "|");
        snprintf(name, sizeof name, "%.*s", length, at);
        hf_known_add(&known, name);
        at += length;
    }
    return hf_fail(HF_EARG, "%s: no choice \"%s\"; %s", p->name, text,
                   hf_known_text(&known));
}

static hf_status text_keep(value *v, const char *text) {
    char *copy = strdup(text);
    if (!copy)
        return hf_fail(HF_ENOMEM, "no memory for parameter %s", v->param->name);
    free(v->text);
    v->text = copy;
    return HF_OK;
}

static hf_status value_set_text(value *v, const char *text) {
    const hf_param *p = v->param;
    if (p->choices && !choice_known(p->choices, text))
        return choice_refuse(p, text);
    return text_keep(v, text);
}

/* Numbers need not be whole, and there may be several. */
static bool is_real(const hf_param *p) {
    return p->kind == HF_REAL || p->kind == HF_REALS;
}

static bool is_list(const hf_param *p) {
    return p->kind == HF_INTS || p->kind == HF_REALS;
}

static hf_status number_check(const hf_param *p, double number) {
    if (isnan(number))
        return hf_fail(HF_EARG, "%s: nan is not a number", p->name);
    if (!is_real(p) && number != floor(number))
        return hf_fail(HF_EARG, "%s: %g is not an integer", p->name, number);
    if (number < p->low || number > p->high)
        return hf_fail(HF_EARG, "%s: %.17g is not within %.17g .. %.17g", p->name,
                       number, p->low, p->high);
    char digits[32];
    snprintf(digits, sizeof digits, "%.0f", number);
    return p->choices && !choice_known(p->choices, digits) ? choice_refuse(p, digits)
                                                           : HF_OK;
}

static hf_status value_set_numbers(value *v, size_t n, const double *numbers) {
    const hf_param *p = v->param;
    if (n == 0)
        return hf_fail(HF_EARG, "%s: no value given", p->name);
    if (n > 1 && !is_list(p))
        return hf_fail(HF_EARG, "%s: %zu values given, one expected", p->name, n);
    assert(numbers);
    for (size_t i = 0; i < n; i++)
        HF_TRY(number_check(p, numbers[i]));
    double *copy = malloc(n * sizeof *copy);
    if (!copy)
        return hf_fail(HF_ENOMEM, "no memory for %zu values of %s", n, p->name);
    memcpy(copy, numbers, n * sizeof *copy);
    free(v->numbers);
    v->numbers = copy;
    v->n = n;
    return HF_OK;
}

/* "1,64,1024" -> numbers; *out is malloc'ed. */
static hf_status numbers_parse(double **out, size_t *n, const hf_param *p,
                               const char *text) {
    size_t room = 1;
    for (const char *c = text; *c; c++)
        room += *c == ',';
    double *numbers = malloc(room * sizeof *numbers);
    if (!numbers)
        return hf_fail(HF_ENOMEM, "no memory for %zu values of %s", room, p->name);
    const char *at = text;
    for (*n = 0; *n < room; (*n)++) {
        char *end;
        numbers[*n] = hf_number_read(at, &end);
        end += strspn(end, " ");
        if (end == at || (*end != ',' && *end != '\0')) {
            int length = (int)strcspn(at, ",");
            free(numbers);
            return hf_fail(HF_EARG, "%s: \"%.*s\" is not a number such as %s", p->name,
                           length, at, is_real(p) ? "0.5" : "1024");
        }
        at = *end ? end + 1 : end;
    }
    *out = numbers;
    return HF_OK;
}

/* Is a whole number as good as one of the words? */
static bool is_either(const hf_param *p) {
    return p->kind == HF_TEXT && p->low < p->high;
}

static hf_status either_refuse(const hf_param *p, const char *text) {
    return hf_fail(HF_EARG, "%s: %s is neither %s nor an integer within %.0f .. %.0f",
                   p->name, text, p->choices, p->low, p->high);
}

/* A number is kept as its digits. */
static hf_status value_set_either(value *v, size_t n, const double *numbers,
                                  const char *text) {
    const hf_param *p = v->param;
    char digits[32];
    double number = n == 1 ? numbers[0] : NAN;
    if (text && choice_known(p->choices, text))
        return value_set_text(v, text);
    if (text) {
        char *end;
        number = hf_number_read(text, &end);
        if (end == text || *end != '\0')
            return either_refuse(p, text);
    } else if (n != 1) {
        return hf_fail(HF_EARG, "%s: %zu values given, one expected", p->name, n);
    }
    snprintf(digits, sizeof digits, "%.17g", number);
    if (!(number >= p->low && number <= p->high && number == floor(number)))
        return either_refuse(p, digits);
    if (fmod(number, p->low) != 0)
        return hf_fail(HF_EARG, "%s: %s is no multiple of %.0f; %s, %.0f, %.0f, ...",
                       p->name, digits, p->low, p->choices,
                       number - fmod(number, p->low),
                       number - fmod(number, p->low) + p->low);
    return text_keep(v, digits);
}

enum { WORD_ROOM = 64 };

/* A word for True, the first choice behind "none", or for False. */
static hf_status value_set_truth(value *v, bool truth) {
    char word[WORD_ROOM];
    const char *first = v->param->choices + strlen("none|");
    snprintf(word, sizeof word, "%.*s", (int)strcspn(first, "|"), first);
    return value_set_text(v, truth ? word : "none");
}

static bool is_truth(const hf_param *p, size_t n, const double *numbers) {
    return p->kind == HF_TEXT && p->choices && strncmp(p->choices, "none|", 5) == 0 &&
           n == 1 && (numbers[0] == 0 || numbers[0] == 1);
}

static hf_status value_set(value *v, size_t n, const double *numbers,
                           const char *text) {
    const hf_param *p = v->param;
    if (is_either(p))
        return value_set_either(v, n, numbers, text);
    if (!text && is_truth(p, n, numbers))
        return value_set_truth(v, numbers[0] == 1);
    if (p->kind == HF_TEXT)
        return text ? value_set_text(v, text)
                    : hf_fail(HF_EARG, "%s: text expected%s%s", p->name,
                              p->choices ? ", one of " : "",
                              p->choices ? p->choices : "");
    if (!text)
        return value_set_numbers(v, n, numbers);
    double *parsed = NULL;
    HF_TRY(numbers_parse(&parsed, &n, p, text));
    hf_status status = value_set_numbers(v, n, parsed);
    free(parsed);
    return status;
}

hf_status hf_args_set(hf_args *args, const char *name, size_t n, const double *numbers,
                      const char *text) {
    value *v = args_find(args, name);
    if (v)
        return value_set(v, n, numbers, text);
    hf_known known = {.wanted = name};
    for (size_t i = 0; i < args->n; i++)
        hf_known_add(&known, args->values[i].param->name);
    return hf_fail(HF_EARG, "%s has no parameter \"%s\"; %s", args->bench, name,
                   hf_known_text(&known));
}

hf_status hf_args_make(hf_args **out, const char *bench, const hf_param *own,
                       const hf_param *common) {
    size_t n_own = table_length(own), n = n_own + table_length(common);
    hf_args *args = calloc(1, sizeof *args + n * sizeof args->values[0]);
    if (!args)
        return hf_fail(HF_ENOMEM, "no memory for %zu parameters", n);
    snprintf(args->bench, sizeof args->bench, "%s", bench);
    args->n = n;
    for (size_t i = 0; i < n; i++) {
        args->values[i].param = i < n_own ? &own[i] : &common[i - n_own];
        hf_status status =
            value_set(&args->values[i], 0, NULL, args->values[i].param->fallback);
        if (status != HF_OK) {
            hf_args_free(args);
            return status;
        }
    }
    *out = args;
    return HF_OK;
}

void hf_args_free(hf_args *args) {
    for (size_t i = 0; args && i < args->n; i++) {
        free(args->values[i].numbers);
        free(args->values[i].text);
    }
    free(args);
}

const hf_param *hf_args_param(const hf_args *args, size_t index) {
    return index < args->n ? args->values[index].param : NULL;
}

size_t hf_args_count(const hf_args *args, size_t index) {
    return args->values[index].n;
}

const double *hf_args_numbers(const hf_args *args, size_t index) {
    return args->values[index].numbers;
}

const char *hf_args_text(const hf_args *args, size_t index) {
    return args->values[index].text;
}

double hf_args_number(const hf_args *args, const char *name) {
    const value *v = args_find(args, name);
    assert(v && v->n == 1);
    return v->numbers[0];
}

double hf_args_number_or(const hf_args *args, const char *name, double word) {
    const value *v = args_find(args, name);
    if (!v || (v->text && choice_known(v->param->choices, v->text)))
        return word;
    if (!v->text)
        return v->numbers[0];
    return hf_number_read(v->text, &(char *){NULL});
}

const double *hf_args_list(const hf_args *args, const char *name, size_t *n) {
    const value *v = args_find(args, name);
    assert(v && is_list(v->param));
    *n = v->n;
    return v->numbers;
}

double hf_args_largest(const hf_args *args, const char *name) {
    size_t n;
    const double *list = hf_args_list(args, name, &n);
    double largest = list[0];
    for (size_t i = 1; i < n; i++)
        largest = list[i] > largest ? list[i] : largest;
    return largest;
}

const char *hf_args_word(const hf_args *args, const char *name) {
    const value *v = args_find(args, name);
    assert(v && v->text);
    return v->text;
}

bool hf_args_chosen(const hf_args *args, const char *name, const char *choice) {
    return strcmp(hf_args_word(args, name), choice) == 0;
}
