/* A libcufft without GPUs: device memory is the host's (fake/cuda.c). It sums each transform as its definition says, in
 * the workspace that it was given. A plan is of complex numbers, from real ones or to real ones; the last overwrites its
 * input, as cuFFT's does.
 *
 *   FAKE_CUFFT_LOG  a file for the calls, one a line */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"
#include "calls.h"
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum { PLANS = 64, R2C = 0x2a, C2R = 0x2c, DOUBLE = 0x40 };

static struct {
  int is_made, type, automatic;
  long long n, stride, from, batch, out_stride, to;
  double *workspace;
} plans[PLANS];

int cufftCreate(int *plan) {
  *plan = 0;
  while (*plan < PLANS && plans[*plan].is_made) ++*plan;
  if (*plan == PLANS) return 4;
  memset(&plans[*plan], 0, sizeof *plans);
  plans[*plan].is_made = plans[*plan].automatic = 1;
  return 0;
}

int cufftDestroy(int plan) {
  record("FAKE_CUFFT_LOG", "cufftDestroy");
  plans[plan].is_made = 0;
  return 0;
}

int cufftSetAutoAllocation(int plan, int automatic) {
  plans[plan].automatic = automatic;
  return 0;
}

int cufftMakePlanMany64(int plan, int rank, long long *n, long long *inembed, long long istride, long long idist,
                        long long *onembed, long long ostride, long long odist, int type, long long batch,
                        size_t *workspace) {
  record("FAKE_CUFFT_LOG", "cufftMakePlanMany64 %lld numbers, %lld times, type %x", *n, batch, (unsigned)type);
  if (rank != 1 || !inembed || !onembed || plans[plan].automatic) return 9;
  plans[plan].type = type;
  plans[plan].n = *n, plans[plan].batch = batch;
  plans[plan].stride = istride, plans[plan].from = idist;
  plans[plan].out_stride = ostride, plans[plan].to = odist;
  *workspace = (size_t)*n * 2 * sizeof(double);
  return 0;
}

int cufftSetStream(int plan, void *stream) {
  (void)plan;
  (void)stream;
  return 0;
}

int cufftSetWorkArea(int plan, void *workspace) {
  plans[plan].workspace = workspace;
  return 0;
}

static double get(const void *from, long long i, int is_double) {
  return is_double ? ((const double *)from)[i] : (double)((const float *)from)[i];
}

static void set(void *to, long long i, int is_double, double x) {
  if (is_double)
    ((double *)to)[i] = x;
  else
    ((float *)to)[i] = (float)x;
}

/* Number k of line `line`, out of the first n / 2 + 1 if the result is real. */
static void read_number(int plan, const void *from, long long line, long long k, double *re, double *im) {
  int type = plans[plan].type & ~DOUBLE, is_double = plans[plan].type & DOUBLE;
  int is_mirrored = type == C2R && k > plans[plan].n / 2;
  long long at = line * plans[plan].from + (is_mirrored ? plans[plan].n - k : k) * plans[plan].stride;
  *re = get(from, type == R2C ? at : 2 * at, is_double);
  *im = type == R2C ? 0 : get(from, 2 * at + 1, is_double) * (is_mirrored ? -1 : 1);
}

static int run(int plan, const char *name, void *from, void *to, int sign) {
  int type = plans[plan].type & ~DOUBLE, is_double = plans[plan].type & DOUBLE;
  long long n = plans[plan].n, out = type == R2C ? n / 2 + 1 : n;
  double *sums = plans[plan].workspace;
  if (((uintptr_t)from | (uintptr_t)to) % (is_double ? 16 : 8) != 0) return 4; /* as cuFFT */
  record("FAKE_CUFFT_LOG", "%s", name);
  for (long long line = 0; line < plans[plan].batch; line++) {
    for (long long j = 0; j < out; j++) {
      sums[2 * j] = sums[2 * j + 1] = 0;
      for (long long k = 0; k < n; k++) {
        double re, im, angle = sign * 2 * M_PI * (double)(j * k % n) / (double)n;
        read_number(plan, from, line, k, &re, &im);
        sums[2 * j] += re * cos(angle) - im * sin(angle);
        sums[2 * j + 1] += re * sin(angle) + im * cos(angle);
      }
    }
    for (long long j = 0; j < out; j++) {
      long long at = line * plans[plan].to + j * plans[plan].out_stride;
      set(to, type == C2R ? at : 2 * at, is_double, sums[2 * j]);
      if (type != C2R) set(to, 2 * at + 1, is_double, sums[2 * j + 1]);
    }
    if (type == C2R) set(from, 2 * line * plans[plan].from, is_double, NAN);
  }
  return 0;
}

#define COMPLEX(name)                                                                                                  \
  int name(int plan, void *from, void *to, int direction) { return run(plan, #name, from, to, direction); }
#define REAL(name, sign)                                                                                               \
  int name(int plan, void *from, void *to) { return run(plan, #name, from, to, sign); }
COMPLEX(cufftExecC2C)
COMPLEX(cufftExecZ2Z)
REAL(cufftExecR2C, -1)
REAL(cufftExecD2Z, -1)
REAL(cufftExecC2R, 1)
REAL(cufftExecZ2D, 1)
