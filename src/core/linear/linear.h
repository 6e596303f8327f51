/* Linear algebra by libraries: what the core hands to a driver's `linear`.
 *
 * A driver that has a library (BLAS, cuBLAS, …) runs a product or a factorisation as one command of a stream. Where it
 * has none it fails with MW_NOT_SUPPORTED, and the caller runs kernels of its own. */
#ifndef MW_LINEAR_H
#define MW_LINEAR_H

#include "core/core.h"

/* `count` matrices, `next` elements apart (0: the same one). Rows are contiguous and `leading` elements apart; or, if
   transposed, columns. */
typedef struct mw_matrices {
  uint64_t address;
  size_t leading;
  int64_t next;
  bool transposed;
} mw_matrices;

/* The type of the elements, by BLAS's letter: s d c z, and h (half) and b (bfloat16), whose sums are floats. */
typedef struct mw_product {
  char letter;
  size_t rows, columns, inner, count; /* none is 0 */
  mw_matrices a, b, c;                /* c = a b; c is not transposed, and overlaps neither */
} mw_product;

typedef enum mw_factor_kind {
  MW_FACTOR_SOLVE,
  MW_FACTOR_LU,
  MW_FACTOR_CHOLESKY,
  MW_FACTOR_QR,
  MW_FACTOR_EIGH,
  MW_FACTOR_SVD,
  MW_FACTOR_EIG
} mw_factor_kind;

/* mw_array_factor's arrays, as addresses in its order (0: one that is not wanted), and its sizes. */
typedef struct mw_factorisation {
  mw_factor_kind kind;
  char letter; /* s d c z */
  size_t rows, columns, count;
  size_t right; /* SOLVE: columns of the right sides */
  bool vectors; /* EIGH, SVD, EIG: whether they are wanted */
  bool full;    /* SVD: u and vt are square */
  uint64_t at[5];
  size_t bytes[5]; /* of each array, for a matrix */
} mw_factorisation;

typedef struct mw_driver_linear {
  /* The names of the libraries, as a phrase: "OpenBLAS 0.3.21 (libopenblas.so.0)"; or MW_NOT_SUPPORTED with the reason
     and what to install. */
  int (*products)(void *device, mw_text *out);
  int (*factorisations)(void *device, mw_text *out);
  /* Commands. MW_NOT_SUPPORTED for what the library cannot do. */
  int (*product)(void *stream, const mw_product *product, mw_completion completion);
  int (*factor)(void *stream, const mw_factorisation *f, mw_completion completion);
} mw_driver_linear;

#endif
