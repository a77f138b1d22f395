/* hf_program.h - one of programs/: which one, a parameter says.
 *
 * Where kernels are built from text the package puts that program, or a user's, in the place
 * of this file.
 */
#ifndef HF_PROGRAM
#ifdef HF_HOST_TYPE
#define HF_PROGRAM HF_HOST_TYPE
#else
#define HF_PROGRAM bfs
#endif
#endif
/* clang-format off */
#define HF_QUOTED(x)    #x
#define HF_FILE_OF(x)   HF_QUOTED(x)
#define HF_PROGRAM_FILE HF_FILE_OF(programs/HF_PROGRAM.h) /* no spaces in a path */
/* clang-format on */
#include HF_PROGRAM_FILE
