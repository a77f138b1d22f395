/* linpack_memory.cl - LU factorisation for FPGAs, by blocks and tiles as in gemm.
 *
 * What lu, left and top find they also copy to those who need it next. A copy of the diagonal
 * block has L, which is all that top reads, and then U with the reciprocals of its diagonal,
 * which is all that left reads: row by row, without zeros.
 */
#include "linpack_blocks.h"
#include "linpack_solve.h"
#include "linpack_vectors.h"

#define LOWER_SIZE (HF_BLOCK * (HF_BLOCK - 1) / 2)
#define UPPER_SIZE (HF_BLOCK * (HF_BLOCK + 1) / 2)
/** Where element (i, j) of L, and of U, stands in a packed diagonal block. */
#define LOWER_AT(i, j) ((i) * ((i)-1) / 2 + (j))
#define UPPER_AT(i, j) (LOWER_SIZE + (i) * (2 * HF_BLOCK - 1 - (i)) / 2 + (j))

/** See linpack_shape.h. */
HF_KERNEL(linpack_shape, HF_WRITE(uint, shape)) {
    for (uint i = 0; i < LINPACK_N_SHAPE; i++)
        shape[i] = 1;
    shape[LINPACK_LEFT_SIZE] = shape[LINPACK_TOP_SIZE] = HF_BLOCK * HF_BLOCK;
    shape[LINPACK_LOWER_SIZE] = LOWER_SIZE;
    shape[LINPACK_UPPER_SIZE] = UPPER_SIZE;
}

/** L and U of block `block`, in place and in `packed`. */
HF_KERNEL(linpack_lu, HF_WRITE(HF_REAL, a), HF_WRITE(HF_REAL, packed),
          HF_VALUE(uint, block)) {
    HF_REAL lu[HF_BLOCK][HF_BLOCK], inverses[HF_BLOCK];
    const ulong at = block * LINPACK_SIZE;
    block_load(lu, a + at);
    block_factor(lu, inverses);
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
            HF_PIPELINE
            HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
            for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++) {
                const HF_REAL value = lu[i][j + u];
                a[at + i * HF_BLOCK + j + u] = value;
                packed[j + u < i ? LOWER_AT(i, j + u) : UPPER_AT(i, j + u)] =
                    i == j + u ? inverses[i] : value;
            }
        }
}

/** Blocks of L in column block `column`, row blocks `first` to `end` - 1: X U = A. */
HF_KERNEL(linpack_left, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, packed),
          HF_WRITE(HF_REAL, panels), HF_VALUE(uint, first), HF_VALUE(uint, end),
          HF_VALUE(uint, column), HF_VALUE(uint, columns)) {
    HF_REAL upper[HF_BLOCK][HF_BLOCK];
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
            HF_PIPELINE
            HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
            for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++)
                upper[i][j + u] = j + u < i ? (HF_REAL)0 : packed[UPPER_AT(i, j + u)];
        }
    for (uint block = first; block < end; block++) {
        HF_REAL x[HF_BLOCK][HF_BLOCK];
        const ulong at = ((ulong)block * columns + column) * LINPACK_SIZE;
        block_load(x, a + at);
        block_left(x, upper);
        block_store(a + at, panels + block * LINPACK_SIZE, x);
    }
}

/** Blocks of U in row block `row`, column blocks `first` to `end` - 1: L X = A. */
HF_KERNEL(linpack_top, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, packed),
          HF_WRITE(HF_REAL, panels), HF_VALUE(uint, first), HF_VALUE(uint, end),
          HF_VALUE(uint, row), HF_VALUE(uint, columns)) {
    HF_REAL lower[HF_BLOCK][HF_BLOCK];
    for (uint i = 0; i < HF_BLOCK; i++)
        for (uint j = 0; j < HF_BLOCK; j += HF_GLOBAL_MEM_UNROLL) {
            HF_PIPELINE
            HF_UNROLL(HF_GLOBAL_MEM_UNROLL)
            for (uint u = 0; u < HF_GLOBAL_MEM_UNROLL; u++)
                lower[i][j + u] = j + u < i ? packed[LOWER_AT(i, j + u)] : (HF_REAL)0;
        }
    for (uint block = first; block < end; block++) {
        HF_REAL x[HF_BLOCK][HF_BLOCK];
        const ulong at = ((ulong)row * columns + block) * LINPACK_SIZE;
        block_load(x, a + at);
        block_top(x, lower);
        block_store(a + at, panels + block * LINPACK_SIZE, x);
    }
}

HF_HOST_FILE(linpack_memory, HF_HOST_KERNEL(linpack_shape), HF_HOST_KERNEL(linpack_lu),
             HF_HOST_KERNEL(linpack_left), HF_HOST_KERNEL(linpack_top),
             HF_HOST_KERNEL(linpack_inner), LINPACK_DATA_KERNELS, LINPACK_SOLVE_KERNELS,
             LINPACK_VECTORS_KERNELS)
