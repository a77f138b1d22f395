/* number.h - numbers as text, with a decimal point in any locale. */
#ifndef HF_NUMBER_H
#define HF_NUMBER_H

#include <stdarg.h>
#include <stddef.h>

/** As strtod. */
double hf_number_read(const char *text, char **end);

/** As vsnprintf and snprintf. */
int hf_number_vprint(char *to, size_t room, const char *format, va_list args);
__attribute__((format(printf, 3, 4))) int hf_number_print(char *to, size_t room,
                                                          const char *format, ...);

#endif
