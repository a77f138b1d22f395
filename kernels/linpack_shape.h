/* linpack_shape.h - what kernel linpack_shape tells of its file; for the host, too. */
#ifndef LINPACK_SHAPE_H
#define LINPACK_SHAPE_H

enum {
    /* elements */
    LINPACK_LEFT_SIZE,  /* of a packed block of L */
    LINPACK_TOP_SIZE,   /* of a packed block of U */
    LINPACK_LOWER_SIZE, /* of L in a packed diagonal block */
    LINPACK_UPPER_SIZE, /* of U, which lies behind it */

    /* work-items */
    LINPACK_LU_ITEMS,    /* of lu and of solve */
    LINPACK_LEFT_ITEMS,  /* of left, for a block */
    LINPACK_TOP_ITEMS,   /* of top, for a block */
    LINPACK_INNER_ITEMS, /* of inner, for a block */
    LINPACK_LU_GROUP,    /* of a work-group of these */
    LINPACK_SIDE_GROUP,  /* of one of left or top */
    LINPACK_INNER_GROUP, /* of one of inner */

    LINPACK_N_SHAPE
};

#endif
