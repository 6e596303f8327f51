/* Fourier transforms by libraries: what the core hands to a driver's `fourier`.
 *
 * A driver that has a library (FFTW, …) runs a transform as one command of a stream. Where it has none it fails with
 * MW_NOT_SUPPORTED, and the caller runs kernels of its own. */
#ifndef MW_FOURIER_H
#define MW_FOURIER_H

#include "core/core.h"

/* `outer` transforms of n numbers that are `inner` apart, and inner of them side by side. A real transform's complex
   side has n / 2 + 1 numbers in place of n. */
typedef struct mw_transform {
  mw_fourier_kind kind;
  bool is_double;
  size_t outer, n, inner; /* none is 0 */
  uint64_t from, to;      /* contiguous, and apart */
  uint64_t room;          /* of the bytes that the driver wants; 0 if it wants none, or there is no memory */
} mw_transform;

typedef struct mw_driver_fourier {
  /* The names of the libraries, as a phrase; or MW_NOT_SUPPORTED with the reason and what to install. */
  int (*name)(void *device, mw_text *out);
  /* A command. MW_NOT_SUPPORTED for what the library cannot do. */
  int (*transform)(void *stream, const mw_transform *transform, mw_completion completion);
  /* The bytes of device memory that make a transform faster, or 0; NULL: always 0. */
  size_t (*room)(void *device, const mw_transform *transform);
  bool inverse_overwrites; /* whether MW_FOURIER_REAL_INVERSE destroys its input: the core passes a copy */
} mw_driver_fourier;

#endif
