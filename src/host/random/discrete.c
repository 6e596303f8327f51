/* Discrete distributions: tables for curand_discrete, and Poisson's and binomial numbers, which are made of a generator's
 * words by such a table, or of normal numbers. */
#include "random.h"

#include <math.h>

/* ---- tables ---- */

#define TABLE "#include <moonwarp/random/distributions/discrete_table.h>\n"

enum { TABLE_HEAD = 256, TABLE_EACH = 24, NORMAL_VARIANCE = 2000 }; /* bytes; variances from it on are normal ones' */

/* There is room for all values whose probability is not 0 in double precision. */
static int table_new(random_generator *g, curandMethod_t method, int binomial, double a, double b, double mean,
                     double variance, double most, uint64_t *out) {
  double deviation = sqrt(variance);
  unsigned capacity = method == CURAND_DISCRETE_GAUSS ? 0 : (unsigned)fmin(most + 1, ceil(200 + 114 * deviation));
  int by = (int)method;
  int code = random_memory_new(g, TABLE_HEAD + (size_t)TABLE_EACH * capacity, out);
  void *arguments[] = {&binomial, &a, &b, &mean, &deviation, &by, &capacity, out};
  if (code == MW_SUCCESS) code = random_launch(g, TABLE "MW_DISCRETE_TABLE\n", "make_table", 1, 1, 1, arguments);
  return code;
}

static curandMethod_t method_of_variance(double variance) {
  return variance < NORMAL_VARIANCE ? CURAND_M2 : CURAND_DISCRETE_GAUSS;
}

static int poisson_table(random_generator *g, curandMethod_t method, double lambda, uint64_t *out) {
  return table_new(g, method, 0, lambda, 0, lambda, lambda, 4294967295.0, out);
}

curandStatus_t curandCreatePoissonDistribution(double lambda, curandDiscreteDistribution_t *distribution) {
  if (!distribution)
    return random_fail(CURAND_STATUS_OUT_OF_RANGE, "the pointer that receives the distribution is NULL");
  if (!(lambda > 0 && lambda <= 400000))
    return random_fail(CURAND_STATUS_OUT_OF_RANGE, "a mean of Poisson's distribution is above 0 and up to 400000");
  random_generator g = {0};
  uint64_t table = 0;
  int code = host_context_current(&g.context);
  if (code == MW_SUCCESS) code = poisson_table(&g, method_of_variance(lambda), lambda, &table);
  random_modules_release(&g);
  if (code != MW_SUCCESS) return random_end(code);
  host_handle_enter(HOST_DISTRIBUTION, g.context->id, table, host_pointer(table));
  *distribution = host_pointer(table);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandDestroyDistribution(curandDiscreteDistribution_t distribution) {
  if (!distribution || !host_handle_take(HOST_DISTRIBUTION, distribution))
    return random_fail(CURAND_STATUS_NOT_INITIALIZED, "this is not a distribution, or one that was destroyed");
  return random_end(mw_memory_free(host_address(distribution)));
}

/* A value by the table for each of the generator's next words, which need room of their own where they are wider. */
static int draw_by_table(random_generator *g, uint64_t to, size_t count, uint64_t table, double most) {
  uint64_t words = to;
  int code = MW_SUCCESS;
  if (g->type->wide) code = random_memory_new(g, count * 8, &words);
  if (code == MW_SUCCESS) code = random_draw(g, RANDOM_BITS, words, count, 0, 0);
  long long values = (long long)count;
  void *arguments[] = {&words, &values, &most, &table, &to};
  const char *text = g->type->wide ? TABLE "MW_DISCRETE_LOOK_UP(look_up_ulonglong, unsigned long long)\n"
                                   : TABLE "MW_DISCRETE_LOOK_UP(look_up_uint, unsigned int)\n";
  if (code == MW_SUCCESS)
    code = random_launch(g, text, g->type->wide ? "look_up_ulonglong" : "look_up_uint", (count + 127) / 128, 1, 128,
                         arguments);
  if (words != to) random_memory_free(g, words);
  return code;
}

/* ---- Poisson's numbers ---- */

/* How cuRAND's host generators make them: by the table for means below `table` of the type, by sums of probabilities up to
   its `inverse`, and above of normal numbers. */
static curandMethod_t poisson_method(const random_type *type, double lambda) {
  if (lambda < type->table) return CURAND_M2;
  return lambda <= type->inverse ? CURAND_BINARY_SEARCH : CURAND_DISCRETE_GAUSS;
}

static int round_normals(random_generator *g, uint64_t to, size_t count, double lambda) {
  random_what what = g->type->pairs ? RANDOM_SINGLE : RANDOM_NORMAL;
  long long values = (long long)count;
  double deviation = sqrt(lambda);
  int single = g->type->family == RANDOM_MT;
  void *arguments[] = {&values, &lambda, &deviation, &single, &to};
  int code = random_draw(g, what, to, count, 0, 1);
  if (code == MW_SUCCESS)
    code = random_launch(g, TABLE "MW_DISCRETE_ROUND\n", "round_normals", (count + 127) / 128, 1, 128, arguments);
  return code;
}

static int draw_poisson(random_generator *g, uint64_t to, size_t count, void *data) {
  double lambda = *(const double *)data;
  curandMethod_t method = poisson_method(g->type, lambda);
  uint64_t table = 0;
  if (method == CURAND_DISCRETE_GAUSS) return round_normals(g, to, count, lambda);
  int code = poisson_table(g, method, lambda, &table);
  if (code == MW_SUCCESS) code = draw_by_table(g, to, count, table, 4294967295.0);
  random_memory_free(g, table);
  return code;
}

static curandStatus_t no_generator(void) {
  return random_fail(CURAND_STATUS_NOT_INITIALIZED, "this is not a generator, or one that was destroyed");
}

/* Makes `count` numbers by f, which take a word each. */
static curandStatus_t generate(random_generator *g, unsigned *output, size_t count,
                               int (*f)(random_generator *g, uint64_t to, size_t count, void *data), void *data) {
  if (count % g->dimensions != 0)
    return random_fail(CURAND_STATUS_LENGTH_NOT_MULTIPLE, "%zu numbers are not a multiple of %u", count, g->dimensions);
  if (count == 0) return CURAND_STATUS_SUCCESS;
  int code = random_make(g, output, count, sizeof *output, f, data);
  if (code != MW_SUCCESS) return random_end(code);
  random_moved(g, count, g->type->unit);
  return CURAND_STATUS_SUCCESS;
}

static curandStatus_t generate_poisson(curandGenerator_t generator, unsigned *output, size_t count, double lambda,
                                       int (*f)(random_generator *g, uint64_t to, size_t count, void *data)) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  if (count > 0 && !(lambda > 0 && lambda <= 400000))
    return random_fail(CURAND_STATUS_OUT_OF_RANGE, "a mean of Poisson's distribution is above 0 and up to 400000");
  return generate(g, output, count, f, &lambda);
}

curandStatus_t curandGeneratePoisson(curandGenerator_t generator, unsigned int *output, size_t count, double lambda) {
  return generate_poisson(generator, output, count, lambda, draw_poisson);
}

static int draw_inverse(random_generator *g, uint64_t to, size_t count, void *data) {
  return random_draw(g, RANDOM_POISSON, to, count, *(const double *)data, 0);
}

curandStatus_t curandGeneratePoissonMethod(curandGenerator_t generator, unsigned int *output, size_t count,
                                           double lambda, curandMethod_t method) {
  if (method != CURAND_DEVICE_API)
    return random_fail(CURAND_STATUS_INTERNAL_ERROR, "the method is CURAND_DEVICE_API, not %d", (int)method);
  random_generator *g = random_find(generator);
  if (g && g->type->family == RANDOM_MT)
    return random_fail(CURAND_STATUS_INTERNAL_ERROR, "mt19937 has no method CURAND_DEVICE_API");
  return generate_poisson(generator, output, count, lambda, draw_inverse);
}

/* ---- binomial numbers ---- */

typedef struct binomial {
  unsigned n;
  double p;
} binomial;

static int draw_binomial(random_generator *g, uint64_t to, size_t count, void *data) {
  const binomial *of = data;
  uint64_t table = 0;
  double n = of->n, variance = n * of->p * (1 - of->p);
  int code = table_new(g, method_of_variance(variance), 1, n, of->p, n * of->p, variance, n, &table);
  if (code == MW_SUCCESS) code = draw_by_table(g, to, count, table, n);
  random_memory_free(g, table);
  return code;
}

curandStatus_t curandGenerateBinomial(curandGenerator_t generator, unsigned int *output, size_t count, unsigned int n,
                                      double p) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  if (!(p >= 0 && p <= 1)) return random_fail(CURAND_STATUS_OUT_OF_RANGE, "a probability is a number from 0 to 1");
  binomial of = {n, p};
  return generate(g, output, count, draw_binomial, &of);
}

curandStatus_t curandGenerateBinomialMethod(curandGenerator_t generator, unsigned int *output, size_t count,
                                            unsigned int n, double p, curandMethod_t method) {
  if (method != CURAND_DEVICE_API)
    return random_fail(CURAND_STATUS_INTERNAL_ERROR, "the method is CURAND_DEVICE_API, not %d", (int)method);
  return curandGenerateBinomial(generator, output, count, n, p);
}
