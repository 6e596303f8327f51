/* Products and factorisations as commands of a stream, whose blocks are matrices. */
#include "blas.h"
#include "cpu/schedule/stream.h"

#include <stdlib.h>

typedef void gemm(const char *, const char *, const int *, const int *, const int *, const void *, const void *,
                  const int *, const void *, const int *, const void *, void *, const int *);
typedef void gemv(const char *, const int *, const int *, const void *, const void *, const int *, const void *,
                  const int *, const void *, void *, const int *);

/* Multiplications of a matrix up to which OpenBLAS uses one thread, and those that make a block worth the while. */
static const double ALONE = 262144, WORTH = 65536;

typedef struct linear_job {
  mw_product product;
  mw_factorisation factorisation;
  size_t piece; /* matrices of a block */
  mw_completion completion;
} linear_job;

static size_t size_of(char letter) { return letter == 's' ? 4 : letter == 'z' ? 16 : 8; }

static unsigned char *at(const mw_matrices *m, size_t i, size_t size) {
  return (unsigned char *)(uintptr_t)m->address + (int64_t)i * m->next * (int64_t)size;
}

/* The element that follows in a matrix of one column, or of one row. */
static int step_of(const mw_matrices *m, bool is_column) { return m->transposed == is_column ? 1 : (int)m->leading; }

/* y = matrix x, for a matrix of so many rows and columns as the caller counts them. Fortran's order makes columns of
   rows. */
static void multiply_vector(const mw_product *p, const mw_matrices *matrix, bool is_left, size_t i, const void *one,
                            const void *zero) {
  gemv *run = (gemv *)cpu_blas_routine(CPU_GEMV, p->letter);
  size_t size = size_of(p->letter);
  const mw_matrices *x = is_left ? &p->b : &p->a;
  int inner = (int)p->inner, outer = (int)(is_left ? p->rows : p->columns), leading = (int)matrix->leading;
  /* Left: y = a x. Right: y = transposed b, x. */
  bool inner_is_contiguous = matrix->transposed != is_left;
  int from = step_of(x, is_left), to = is_left ? (int)p->c.leading : 1;
  if (inner_is_contiguous)
    run("T", &inner, &outer, one, at(matrix, i, size), &leading, at(x, i, size), &from, zero, at(&p->c, i, size), &to);
  else
    run("N", &outer, &inner, one, at(matrix, i, size), &leading, at(x, i, size), &from, zero, at(&p->c, i, size), &to);
}

/* The transposed product in column-major order, which is the product in row-major order. */
static void multiply_matrices(const mw_product *p, size_t i, const void *one, const void *zero) {
  gemm *run = (gemm *)cpu_blas_routine(CPU_GEMM, p->letter);
  size_t size = size_of(p->letter);
  int rows = (int)p->rows, columns = (int)p->columns, inner = (int)p->inner;
  int a = (int)p->a.leading, b = (int)p->b.leading, c = (int)p->c.leading;
  run(p->b.transposed ? "T" : "N", p->a.transposed ? "T" : "N", &columns, &rows, &inner, one, at(&p->b, i, size), &b,
      at(&p->a, i, size), &a, zero, at(&p->c, i, size), &c);
}

static void run_product(void *context, uint64_t first, uint64_t last) {
  const linear_job *job = context;
  const mw_product *p = &job->product;
  static const float one[2] = {1, 0}, zero[2] = {0, 0};
  static const double one_double[2] = {1, 0}, zero_double[2] = {0, 0};
  bool is_double = p->letter == 'd' || p->letter == 'z';
  const void *alpha = is_double ? (const void *)one_double : one, *beta = is_double ? (const void *)zero_double : zero;
  size_t end = last * job->piece < p->count ? last * job->piece : p->count;
  /* OpenBLAS's cgemv and zgemv read past the matrix, where there may be no memory (factor.c); gemm does not. */
  bool has_vectors = p->letter == 's' || p->letter == 'd';
  for (size_t i = first * job->piece; i < end; i++) {
    if (has_vectors && p->columns == 1)
      multiply_vector(p, &p->a, true, i, alpha, beta);
    else if (has_vectors && p->rows == 1)
      multiply_vector(p, &p->b, false, i, alpha, beta);
    else
      multiply_matrices(p, i, alpha, beta);
  }
}

static void run_factor(void *context, uint64_t first, uint64_t last) {
  const linear_job *job = context;
  size_t end = last * job->piece < job->factorisation.count ? last * job->piece : job->factorisation.count;
  cpu_factor(&job->factorisation, first * job->piece, end);
}

static void finish(void *context) {
  linear_job *job = context;
  mw_completion completion = job->completion;
  free(job);
  if (completion.done) completion.done(completion.context);
}

/* Queue a job for `count` matrices. The library multiplies large ones with threads of its own, one after the other;
   small ones, for which it uses one thread, are distributed over the workers. */
static int queue(cpu_stream *stream, void (*function)(void *, uint64_t, uint64_t), const linear_job *what, size_t count,
                 double operations) {
  linear_job *job = mw_alloc(sizeof *job);
  *job = *what;
  job->piece = count;
  if (operations <= ALONE) {
    size_t least = (size_t)(WORTH / (operations + 1)) + 1, share = count / (size_t)(4 * stream->device->workers) + 1;
    job->piece = share > least ? share : least;
  }
  cpu_blas_use_threads(stream->device);
  return cpu_stream_function(stream, function, job, (count + job->piece - 1) / job->piece,
                             (mw_completion){finish, job});
}

static int queue_product(void *stream, const mw_product *product, mw_completion completion) {
  const mw_product *p = product;
  int code = cpu_blas_load();
  if (code != MW_SUCCESS) return code;
  if (!cpu_blas_routine(CPU_GEMM, p->letter))
    return fail(MW_NOT_SUPPORTED, "BLAS has no products of elements of 16 bits");
  const linear_job job = {.product = *p, .completion = completion};
  return queue(stream, run_product, &job, p->count, (double)p->rows * (double)p->columns * (double)p->inner);
}

static int queue_factor(void *stream, const mw_factorisation *f, mw_completion completion) {
  int code = cpu_lapack_load();
  if (code != MW_SUCCESS) return code;
  const linear_job job = {.factorisation = *f, .completion = completion};
  return queue(stream, run_factor, &job, f->count, (double)f->rows * (double)f->columns * (double)f->columns);
}

const mw_driver_linear cpu_linear = {
    .products = cpu_blas_name,
    .factorisations = cpu_lapack_name,
    .product = queue_product,
    .factor = queue_factor,
};
