/* linpack_ndrange.cl - LU factorisation for CPUs and GPUs: blocks by panels of gemm.
 *
 * What lu, left and top find they also pack into panels for those who multiply, here and on other
 * ranks: L as panels of PANEL_A rows, [panels, HF_BLOCK, PANEL_A], and U as panels of PANEL_B
 * columns, with the reciprocals of its diagonal and zeros below.
 */
#include "gemm_panels.h"
#include "linpack_solve.h"
#include "linpack_vectors.h"

/* Of a packed block. */
#define ROWS       ((HF_BLOCK + ROWS_A - 1) / ROWS_A * ROWS_A)
#define COLUMNS    ((HF_BLOCK + PANEL_B - 1) / PANEL_B * PANEL_B)
#define LEFT_SIZE  ((ulong)ROWS * HF_BLOCK)
#define TOP_SIZE   ((ulong)COLUMNS * HF_BLOCK)
#define PARTS_DOWN ((HF_BLOCK + BLOCK_A - 1) / BLOCK_A)
#define PARTS_WIDE ((HF_BLOCK + BLOCK_B - 1) / BLOCK_B)

#if GROUP == 1
#define DOWN       ((HF_BLOCK + TILE_A - 1) / TILE_A) /* tiles of a block */
#define ACROSS     (HF_BLOCK / TILE_B)
#define LEFT_ITEMS DOWN
#define TOP_ITEMS  ACROSS
#define LU_ITEMS   1
#define SIDE_GROUP 1
#else
#define LEFT_ITEMS HF_BLOCK
#define TOP_ITEMS  HF_BLOCK
#define LU_ITEMS   GROUP
#define SIDE_GROUP 32
#endif

/** Where a packed block has row `i` and column `k` of L, and row `k` and column `j` of U. */
#define L_AT(i, k) A_AT(i, k, HF_BLOCK)
#define U_AT(k, j) B_AT(k, j, HF_BLOCK)

/** See linpack_shape.h. */
HF_KERNEL(linpack_shape, HF_WRITE(uint, shape)) {
    shape[LINPACK_LEFT_SIZE] = shape[LINPACK_LOWER_SIZE] = (uint)LEFT_SIZE;
    shape[LINPACK_TOP_SIZE] = shape[LINPACK_UPPER_SIZE] = (uint)TOP_SIZE;
    shape[LINPACK_LU_ITEMS] = shape[LINPACK_LU_GROUP] = LU_ITEMS;
    shape[LINPACK_LEFT_ITEMS] = LEFT_ITEMS;
    shape[LINPACK_TOP_ITEMS] = TOP_ITEMS;
    shape[LINPACK_INNER_ITEMS] = PARTS_DOWN * PARTS_WIDE * GROUP;
    shape[LINPACK_SIDE_GROUP] = SIDE_GROUP;
    shape[LINPACK_INNER_GROUP] = GROUP;
}

#if GROUP == 1

/** Elements of row `i` of a tile at `a`: vector `w` of two. */
#define TILE_ROW(a, i, w) ((HF_GLOBAL hf_elements *)((a) + (i)*HF_BLOCK + (w)*LANES))

/** Find L in TILE_B columns from c0 on: of the `height` rows at `a`, from which `x` is subtracted
 *  first. It overwrites `x`. Rows do not depend on each other, so column by column no product
 *  waits for the one before. */
static inline void rows_eliminate(HF_GLOBAL HF_REAL *a, HF_GLOBAL HF_SUM *l,
                                  HF_GLOBAL const HF_SUM *u, uint c0, uint height,
                                  hf_lanes x[TILE_A][2]) {
    EACH(i, TILE_A)
    EACH(w, 2)
    if (i < height)
        x[i][w] = __builtin_convertvector(*TILE_ROW(a, i, w), hf_lanes) - x[i][w];
    else
        x[i][w] = ZEROS;
    for (uint k = 0; k < TILE_B; k++) {
        HF_GLOBAL const HF_SUM *row = u + U_AT(c0 + k, 0);
        HF_GLOBAL HF_SUM *column = l + L_AT(0, c0 + k);
        EACH(i, TILE_A) {
            const HF_SUM factor = ((HF_SUM *)x[i])[k] * row[U_AT(0, k)];
            EACH(w, 2)
            x[i][w] -= factor * *(HF_GLOBAL const hf_lanes *)(row + U_AT(0, w * LANES));
            column[L_AT(i, 0)] = factor;
        }
        for (uint i = 0; i < TILE_A; i++)
            ((HF_SUM *)x[i])[k] = column[L_AT(i, 0)];
    }
    for (uint i = 0; i < height; i++)
        for (uint w = 0; w < 2; w++)
            *TILE_ROW(a, i, w) = __builtin_convertvector(x[i][w], hf_elements);
}

/** Eliminate a tile of rows r0 and columns c0 of [L | U] on, in place at `a`: before it the
 *  rows l of L and the columns u of U are known, packed. Those of the tile are added to them. A
 *  row of L has r0 = HF_BLOCK, a column of U has c0 = HF_BLOCK. */
static inline void tile_eliminate(HF_GLOBAL HF_REAL *a, HF_GLOBAL HF_SUM *l,
                                  HF_GLOBAL HF_SUM *u, uint r0, uint c0, uint height) {
    hf_lanes sums[TILE_A][2];
    const uint known = r0 < c0 ? r0 : c0;
    EACH(i, TILE_A) sums[i][0] = sums[i][1] = ZEROS;
    tile_add(sums, l, u, HF_BLOCK, known);
    if (r0 >= c0 + TILE_B) {
        rows_eliminate(a, l, u, c0, height, sums);
        return;
    }
    for (uint i = 0; i < height; i++) {
        const uint row = r0 + i, end = row < c0 + TILE_B ? row : c0 + TILE_B;
        HF_GLOBAL HF_SUM *factors = l + L_AT(i, 0);
        hf_lanes lanes[2];
        HF_SUM *value = (HF_SUM *)lanes;
        EACH(w, 2)
        lanes[w] = __builtin_convertvector(*TILE_ROW(a, i, w), hf_lanes) - sums[i][w];
        for (uint k = known; k < end; k++) {
            const HF_SUM factor =
                k < c0 ? factors[k * PANEL_A] : value[k - c0] * u[U_AT(k, k - c0)];
            EACH(w, 2)
            lanes[w] -= factor * *(HF_GLOBAL const hf_lanes *)(u + U_AT(k, w * LANES));
            if (k >= c0)
                factors[k * PANEL_A] = value[k - c0] = factor;
        }
        EACH(w, 2) * TILE_ROW(a, i, w) = __builtin_convertvector(lanes[w], hf_elements);
        if (row < c0 + TILE_B) {
            for (uint j = 0; c0 + j <= row; j++)
                value[j] = c0 + j == row ? 1 / value[j] : 0;
            EACH(w, 2) * (HF_GLOBAL hf_lanes *)(u + U_AT(row, w * LANES)) = lanes[w];
        }
    }
}

/** Rows that are there of tile `y` of a block. */
#define HEIGHT(y) (HF_BLOCK - (y)*TILE_A < TILE_A ? HF_BLOCK - (y)*TILE_A : TILE_A)

/** L and U of block `block`, in place and packed, L first. Below a tile of U there are zeros as
 *  far as the widest tile of any CPU has rows. */
HF_KERNEL(linpack_lu, HF_WRITE(HF_REAL, a), HF_WRITE(HF_REAL, packed),
          HF_VALUE(uint, block)) {
    a += block * LINPACK_SIZE;
    for (uint x = 0; x < ACROSS; x++) {
        for (uint y = 0; y < DOWN; y++)
            tile_eliminate(a + y * TILE_A * HF_BLOCK + x * TILE_B,
                           packed + L_AT(y * TILE_A, 0),
                           packed + LEFT_SIZE + U_AT(0, x * TILE_B), y * TILE_A,
                           x * TILE_B, HEIGHT(y));
        for (uint k = (x + 1) * TILE_B; k % COLUMNS_B != 0; k++)
            for (uint j = x * TILE_B; j < (x + 1) * TILE_B; j++)
                packed[LEFT_SIZE + U_AT(k, j)] = 0;
    }
}

/** Blocks of L in column block `column`, row blocks `first` to `end` - 1. */
HF_KERNEL(linpack_left, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, packed),
          HF_WRITE(HF_REAL, panels), HF_VALUE(uint, first), HF_VALUE(uint, end),
          HF_VALUE(uint, column), HF_VALUE(uint, columns)) {
    const ulong i = first + HF_ITEM / DOWN;
    const uint y = (uint)(HF_ITEM % DOWN);
    if (i >= end)
        return;
    a += (i * columns + column) * LINPACK_SIZE + y * TILE_A * HF_BLOCK;
    for (uint x = 0; x < ACROSS; x++)
        tile_eliminate(a + x * TILE_B, panels + i * LEFT_SIZE + L_AT(y * TILE_A, 0),
                       (HF_GLOBAL HF_SUM *)packed + LEFT_SIZE + U_AT(0, x * TILE_B),
                       HF_BLOCK, x * TILE_B, HEIGHT(y));
}

/** Blocks of U in row block `row`, column blocks `first` to `end` - 1. */
HF_KERNEL(linpack_top, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, packed),
          HF_WRITE(HF_REAL, panels), HF_VALUE(uint, first), HF_VALUE(uint, end),
          HF_VALUE(uint, row), HF_VALUE(uint, columns)) {
    const ulong j = first + HF_ITEM / ACROSS;
    const uint x = (uint)(HF_ITEM % ACROSS);
    if (j >= end)
        return;
    a += (row * (ulong)columns + j) * LINPACK_SIZE + x * TILE_B;
    for (uint y = 0; y < DOWN; y++)
        tile_eliminate(a + y * TILE_A * HF_BLOCK,
                       (HF_GLOBAL HF_SUM *)packed + L_AT(y * TILE_A, 0),
                       panels + j * TOP_SIZE + U_AT(0, x * TILE_B), y * TILE_A,
                       HF_BLOCK, HEIGHT(y));
}

static inline void inner_add(HF_GLOBAL HF_REAL *a, HF_GLOBAL const HF_REAL *left,
                             HF_GLOBAL const HF_REAL *top, uint i0, uint i1, uint j0,
                             uint j1, uint columns) {
    const ulong parts = PARTS_DOWN * PARTS_WIDE, block = HF_ITEM / parts;
    const ulong i = i0 + block % (i1 - i0), j = j0 + block / (i1 - i0);
    const uint part = (uint)(HF_ITEM % parts);
    const uint y0 = part % PARTS_DOWN * (BLOCK_A / TILE_A);
    const uint x0 = part / PARTS_DOWN * (BLOCK_B / TILE_B);
    if (j >= j1)
        return;
    a += (i * columns + j) * LINPACK_SIZE;
    for (uint x = x0; x < ACROSS && x < x0 + BLOCK_B / TILE_B; x++)
        for (uint y = y0; y < DOWN && y < y0 + BLOCK_A / TILE_A; y++) {
            hf_lanes sums[TILE_A][2];
            HF_GLOBAL HF_REAL *c = a + y * TILE_A * HF_BLOCK + x * TILE_B;
            EACH(r, TILE_A) sums[r][0] = sums[r][1] = ZEROS;
            tile_add(sums, left + i * LEFT_SIZE + L_AT(y * TILE_A, 0),
                     top + j * TOP_SIZE + U_AT(0, x * TILE_B), HF_BLOCK, HF_BLOCK);
            EACH(r, TILE_A) EACH(w, 2) if (r < HEIGHT(y)) {
                HF_GLOBAL hf_elements *at =
                    (HF_GLOBAL hf_elements *)(c + r * HF_BLOCK + w * LANES);
                *at = __builtin_convertvector(
                    __builtin_convertvector(*at, hf_lanes) - sums[r][w], hf_elements);
            }
        }
}

#define INNER_ADD(...) inner_add(__VA_ARGS__)

#else

/** Columns of L and rows of U that are found at a time: so many columns and so many rows of a block
 *  fit into 32 KiB of local memory together. */
#if HF_BLOCK * HF_REAL_BYTES <= 1024
#define NARROW 16
#elif HF_BLOCK * HF_REAL_BYTES <= 2048
#define NARROW 8
#elif HF_BLOCK * HF_REAL_BYTES <= 4096
#define NARROW 4
#else
#define NARROW 2
#endif

/** Columns k0 on of a block, NARROW of them, from the diagonal down: [NARROW, HF_BLOCK]. */
static inline void columns_factor(HF_GLOBAL HF_REAL *a, uint k0, uint me,
                                  __local HF_REAL *l) {
    const uint rows = HF_BLOCK - k0;
    for (uint at = me; at < rows * NARROW; at += GROUP)
        l[at % NARROW * HF_BLOCK + k0 + at / NARROW] =
            a[(k0 + at / NARROW) * HF_BLOCK + k0 + at % NARROW];
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint k = 0; k < NARROW; k++) {
        __local HF_REAL *column = l + k * HF_BLOCK;
        const HF_REAL inverse = 1 / column[k0 + k];
        for (uint i = k0 + k + 1 + me; i < HF_BLOCK; i += GROUP) {
            const HF_REAL factor = column[i] * inverse;
            column[i] = factor;
            for (uint c = k + 1; c < NARROW; c++)
                l[c * HF_BLOCK + i] -= factor * l[c * HF_BLOCK + k0 + k];
        }
        barrier(CLK_LOCAL_MEM_FENCE);
    }
    for (uint at = me; at < rows * NARROW; at += GROUP)
        a[(k0 + at / NARROW) * HF_BLOCK + k0 + at % NARROW] =
            l[at % NARROW * HF_BLOCK + k0 + at / NARROW];
}

/** Rows k0 on of a block, NARROW of them, behind those columns: [NARROW, HF_BLOCK]. */
static inline void rows_factor(HF_GLOBAL HF_REAL *a, uint k0, uint me,
                               __local const HF_REAL *l, __local HF_REAL *u) {
    for (uint j = k0 + NARROW + me; j < HF_BLOCK; j += GROUP) {
        HF_REAL x[NARROW];
        EACH(k, NARROW) x[k] = a[(k0 + k) * HF_BLOCK + j];
        EACH(k, NARROW)
        EACH(c, NARROW) if (c > k) x[c] -= l[k * HF_BLOCK + k0 + c] * x[k];
        EACH(k, NARROW) a[(k0 + k) * HF_BLOCK + j] = u[k * HF_BLOCK + j] = x[k];
    }
    barrier(CLK_LOCAL_MEM_FENCE);
}

/** Subtract the product of these columns and rows from the block's rest, from index `from` on. */
static inline void rest_add(HF_GLOBAL HF_REAL *a, uint from, uint me,
                            __local const HF_REAL *l, __local const HF_REAL *u) {
    enum { WIDE = 32 };
    for (uint j = from + me % WIDE; j < HF_BLOCK; j += WIDE) {
        HF_REAL x[NARROW];
        EACH(k, NARROW) x[k] = u[k * HF_BLOCK + j];
        for (uint i = from + me / WIDE; i < HF_BLOCK; i += GROUP / WIDE) {
            HF_REAL sum = 0;
            EACH(k, NARROW) sum += l[k * HF_BLOCK + i] * x[k];
            a[i * HF_BLOCK + j] -= sum;
        }
    }
    barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE);
}

/** As above; a group has the block. */
HF_KERNEL(linpack_lu, HF_WRITE(HF_REAL, a), HF_WRITE(HF_REAL, packed),
          HF_VALUE(uint, block)) {
    __local HF_REAL l[NARROW * HF_BLOCK], u[NARROW * HF_BLOCK];
    const uint me = (uint)get_local_id(0);
    a += block * LINPACK_SIZE;
    for (uint k0 = 0; k0 < HF_BLOCK; k0 += NARROW) {
        columns_factor(a, k0, me, l);
        rows_factor(a, k0, me, l, u);
        for (uint at = me; at < NARROW * ROWS; at += GROUP) {
            const uint k = at / ROWS, i = at % ROWS;
            packed[L_AT(i, k0 + k)] =
                i > k0 + k && i < HF_BLOCK ? l[k * HF_BLOCK + i] : (HF_REAL)0;
        }
        for (uint at = me; at < NARROW * COLUMNS; at += GROUP) {
            const uint k = at / COLUMNS, j = at % COLUMNS;
            HF_REAL value = 0;
            if (j == k0 + k)
                value = 1 / l[k * HF_BLOCK + j];
            else if (j > k0 + k && j < k0 + NARROW)
                value = l[(j - k0) * HF_BLOCK + k0 + k];
            else if (j > k0 + k && j < HF_BLOCK)
                value = u[k * HF_BLOCK + j];
            packed[LEFT_SIZE + U_AT(k0 + k, j)] = value;
        }
        rest_add(a, k0 + NARROW, me, l, u);
    }
}

/** A group's tile of `parts`, whose rows are `stride` elements behind each other. */
static inline void tile_fetch(__local HF_REAL *tile, HF_GLOBAL const HF_REAL *parts,
                              uint stride) {
    barrier(CLK_LOCAL_MEM_FENCE);
    for (uint at = (uint)get_local_id(0); at < NARROW * NARROW; at += SIDE_GROUP)
        tile[at] = parts[at / NARROW * stride + at % NARROW];
}

/** Subtract from x the products of `n` factors of this work-item, `step` elements apart, and the
 *  rows of `parts`. The operands of NARROW products are fetched at once: one fetch from a GPU's
 *  memory takes as long as hundreds of products. */
static inline void narrow_add(HF_REAL x[NARROW], HF_GLOBAL const HF_REAL *factors,
                              uint step, uint n, HF_GLOBAL const HF_REAL *parts,
                              uint stride, __local HF_REAL *tile) {
    for (uint k = 0; k < n; k += NARROW) {
        HF_REAL factor[NARROW];
        tile_fetch(tile, parts + k * stride, stride);
        EACH(d, NARROW) factor[d] = factors[(k + d) * step];
        barrier(CLK_LOCAL_MEM_FENCE);
        EACH(d, NARROW) EACH(c, NARROW) x[c] -= factor[d] * tile[d * NARROW + c];
    }
    tile_fetch(tile, parts + n * stride, stride);
    barrier(CLK_LOCAL_MEM_FENCE);
}

/** As above; a work-item has a row of L. */
HF_KERNEL(linpack_left, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, packed),
          HF_WRITE(HF_REAL, panels), HF_VALUE(uint, first), HF_VALUE(uint, end),
          HF_VALUE(uint, column), HF_VALUE(uint, columns)) {
    __local HF_REAL tile[NARROW * NARROW];
    const ulong i = first + HF_ITEM / HF_BLOCK;
    const uint row = (uint)(HF_ITEM % HF_BLOCK);
    if (i >= end)
        return; /* and all of its group */
    a += (i * columns + column) * LINPACK_SIZE + row * HF_BLOCK;
    HF_GLOBAL HF_REAL *l = panels + i * LEFT_SIZE + L_AT(row, 0);
    for (uint j = 0; j < HF_BLOCK; j += NARROW) {
        HF_REAL x[NARROW];
        EACH(c, NARROW) x[c] = a[j + c];
        narrow_add(x, l, PANEL_A, j, packed + LEFT_SIZE + U_AT(0, j), PANEL_B, tile);
        EACH(k, NARROW) {
            x[k] *= tile[k * NARROW + k];
            EACH(c, NARROW) if (c > k) x[c] -= x[k] * tile[k * NARROW + c];
        }
        EACH(c, NARROW) a[j + c] = l[(j + c) * PANEL_A] = x[c];
    }
}

/** As above; a work-item has a column of U. */
HF_KERNEL(linpack_top, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, packed),
          HF_WRITE(HF_REAL, panels), HF_VALUE(uint, first), HF_VALUE(uint, end),
          HF_VALUE(uint, row), HF_VALUE(uint, columns)) {
    __local HF_REAL tile[NARROW * NARROW];
    const ulong j = first + HF_ITEM / HF_BLOCK;
    const uint column = (uint)(HF_ITEM % HF_BLOCK);
    if (j >= end)
        return; /* and all of its group */
    a += (row * (ulong)columns + j) * LINPACK_SIZE + column;
    HF_GLOBAL HF_REAL *u = panels + j * TOP_SIZE + U_AT(0, column);
    for (uint i = 0; i < HF_BLOCK; i += NARROW) {
        HF_REAL x[NARROW];
        EACH(c, NARROW) x[c] = a[(i + c) * HF_BLOCK];
        narrow_add(x, u, PANEL_B, i, packed + L_AT(i, 0), PANEL_A, tile);
        EACH(k, NARROW)
        EACH(c, NARROW) if (c > k) x[c] -= tile[k * NARROW + c] * x[k];
        EACH(c, NARROW) a[(i + c) * HF_BLOCK] = u[(i + c) * PANEL_B] = x[c];
    }
}

/** As above; a group has a part of a block of C. */
static inline void inner_add(HF_GLOBAL HF_REAL *a, HF_GLOBAL const HF_REAL *left,
                             HF_GLOBAL const HF_REAL *top, uint i0, uint i1, uint j0,
                             uint j1, uint columns, __local HF_SUM *a_part,
                             __local HF_SUM *b_part) {
    MY_SUMS(sum);
    const ulong parts = PARTS_DOWN * PARTS_WIDE, block = HF_ITEM / GROUP / parts;
    const ulong i = i0 + block % (i1 - i0), j = j0 + block / (i1 - i0);
    const uint part = (uint)(HF_ITEM / GROUP % parts);
    const uint y = part % PARTS_DOWN * PANEL_A, x = part / PARTS_DOWN * PANEL_B;
    const uint me = (uint)(HF_ITEM % GROUP), my_i = me / SIDE, my_j = me % SIDE;
    if (j >= j1)
        return;
    block_multiply(sum, left + i * LEFT_SIZE + y * HF_BLOCK,
                   top + j * TOP_SIZE + x * HF_BLOCK, HF_BLOCK, me, a_part, b_part);
    a += (i * columns + j) * LINPACK_SIZE;
    for (uint r = 0; r < BLOCK_A / SIDE; r++)
        for (uint s = 0; s < BLOCK_B / SIDE; s++) {
            const uint row = y + MINE(r, my_i), column = x + MINE(s, my_j);
            if (row < HF_BLOCK && column < HF_BLOCK)
                a[row * HF_BLOCK + column] -= sum[r][s];
        }
}

#define INNER_ADD(...)            \
    SHARED_PARTS(a_part, b_part); \
    inner_add(__VA_ARGS__, a_part, b_part)

#endif

/** C -= L U for the blocks of rows i0 to i1 - 1 and columns j0 to j1 - 1. */
#define INNER_KERNEL(name)                                                       \
    HF_KERNEL(name, HF_WRITE(HF_REAL, a), HF_READ(HF_REAL, left),                \
              HF_READ(HF_REAL, top), HF_VALUE(uint, i0), HF_VALUE(uint, i1),     \
              HF_VALUE(uint, j0), HF_VALUE(uint, j1), HF_VALUE(uint, columns)) { \
        INNER_ADD(a, left, top, i0, i1, j0, j1, columns);                        \
    }

/* The same under two names: of launches of one kernel at the same time whose numbers of
 * work-items differ, PoCL 5 forgets which compiled version each has, and aborts. */
INNER_KERNEL(linpack_inner)
INNER_KERNEL(linpack_next)

HF_HOST_FILE(linpack_ndrange, HF_HOST_KERNEL(linpack_shape), HF_HOST_KERNEL(linpack_lu),
             HF_HOST_KERNEL(linpack_left), HF_HOST_KERNEL(linpack_top),
             HF_HOST_KERNEL(linpack_inner), LINPACK_DATA_KERNELS, LINPACK_SOLVE_KERNELS,
             LINPACK_VECTORS_KERNELS, HF_HOST_KERNEL(linpack_next))
