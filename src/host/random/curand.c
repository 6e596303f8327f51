/* cuRAND's functions of generators: creation, settings, and drawing numbers. */
#include "random.h"

/* ---- types ---- */

#define BELOW_2000 0x1.f3fffffffffffp10 /* the largest double below 2000 */

#define SOBOL(number, word, is_wide, is_scrambled)                                                                     \
  {                                                                                                                    \
    .type = number, .family = RANDOM_SOBOL, .kind = word, .offsets = true, .wide = is_wide, .scrambled = is_scrambled, \
    .unit = 1, .table = is_wide ? 0 : 10, .inverse = is_wide ? BELOW_2000 : 8000, .orderings = {                       \
      CURAND_ORDERING_QUASI_DEFAULT                                                                                    \
    }                                                                                                                  \
  }

static const random_type types[] = {
    {CURAND_RNG_PSEUDO_XORWOW, RANDOM_COLUMNS, "xorwow", .offsets = true, .pairs = true, .unit = 1, .words = 8,
     .table = 2000,
     .orderings = {CURAND_ORDERING_PSEUDO_BEST, CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_SEEDED,
                   CURAND_ORDERING_PSEUDO_LEGACY},
     .columns = {4096, 4096, 4096, 4096}},
    {CURAND_RNG_PSEUDO_MRG32K3A, RANDOM_COLUMNS, "mrg32k3a", .offsets = true, .pairs = true, .unit = 1, .words = 8,
     .table = 2000,
     .orderings = {CURAND_ORDERING_PSEUDO_BEST, CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_LEGACY},
     .columns = {81920, 81920, 4096}},
    {CURAND_RNG_PSEUDO_PHILOX4_32_10, RANDOM_COLUMNS, "philox", .offsets = true, .unit = 4, .words = 3, .table = 2000,
     .orderings = {CURAND_ORDERING_PSEUDO_BEST, CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_LEGACY},
     .columns = {65536, 65536, 65536}},
    {CURAND_RNG_PSEUDO_MTGP32, RANDOM_MTGP, "mtgp32", .unit = 1, .table = 32, .inverse = 8000,
     .orderings = {CURAND_ORDERING_PSEUDO_BEST, CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_LEGACY},
     .columns = {192, 192, 64}},
    {CURAND_RNG_PSEUDO_MT19937, RANDOM_MT, "mt19937", .unit = 1, .table = 2000,
     .orderings = {CURAND_ORDERING_PSEUDO_DEFAULT, CURAND_ORDERING_PSEUDO_LEGACY}},
    SOBOL(CURAND_RNG_QUASI_SOBOL32, "unsigned int", false, false),
    SOBOL(CURAND_RNG_QUASI_SCRAMBLED_SOBOL32, "unsigned int", false, true),
    SOBOL(CURAND_RNG_QUASI_SOBOL64, "ull", true, false),
    SOBOL(CURAND_RNG_QUASI_SCRAMBLED_SOBOL64, "ull", true, true),
};

const random_type *random_type_of(int number) {
  if (number == CURAND_RNG_TEST || number == CURAND_RNG_PSEUDO_DEFAULT) number = CURAND_RNG_PSEUDO_XORWOW;
  if (number == CURAND_RNG_QUASI_DEFAULT) number = CURAND_RNG_QUASI_SOBOL32;
  for (size_t i = 0; i < sizeof types / sizeof *types; i++)
    if (types[i].type == number) return &types[i];
  return NULL;
}

/* ---- making ---- */

random_generator *random_find(curandGenerator_t handle) { return host_handle_find(HOST_GENERATOR, handle); }

void host_generator_release(void *object) {
  random_generator *g = object;
  random_rewind(g);
  random_modules_release(g);
  free(g);
}

static curandStatus_t no_generator(void) {
  return random_fail(CURAND_STATUS_NOT_INITIALIZED, "this is not a generator, or one that was destroyed");
}

static curandStatus_t create(curandGenerator_t *out, int number, bool on_host) {
  const random_type *type = random_type_of(number);
  if (!out) return random_fail(CURAND_STATUS_NOT_INITIALIZED, "the pointer that receives the generator is NULL");
  if (!type) return random_fail(CURAND_STATUS_TYPE_ERROR, "there is no generator of type %d", number);
  host_context *context;
  int code = host_context_current(&context);
  if (code != MW_SUCCESS) return random_end(code);
  random_generator *g = calloc(1, sizeof *g);
  if (!g) return CURAND_STATUS_ALLOCATION_FAILED;
  g->type = type;
  g->context = context;
  g->on_host = on_host;
  g->ordering = type->family == RANDOM_SOBOL ? CURAND_ORDERING_QUASI_DEFAULT : CURAND_ORDERING_PSEUDO_DEFAULT;
  g->dimensions = 1;
  *out = host_handle_new(HOST_GENERATOR, context->id, g);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandCreateGenerator(curandGenerator_t *generator, curandRngType_t rng_type) {
  return create(generator, (int)rng_type, false);
}

curandStatus_t curandCreateGeneratorHost(curandGenerator_t *generator, curandRngType_t rng_type) {
  return create(generator, (int)rng_type, true);
}

curandStatus_t curandDestroyGenerator(curandGenerator_t generator) {
  random_generator *g = host_handle_take(HOST_GENERATOR, generator);
  if (!g) return no_generator();
  host_generator_release(g);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetVersion(int *version) {
  if (!version) return random_fail(CURAND_STATUS_OUT_OF_RANGE, "the pointer that receives the version is NULL");
  *version = CURAND_VER_MAJOR * 1000 + CURAND_VER_MINOR * 100 + CURAND_VER_PATCH;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGetProperty(libraryPropertyType type, int *value) {
  static const int values[] = {CURAND_VER_MAJOR, CURAND_VER_MINOR, CURAND_VER_PATCH};
  if ((unsigned)type > 2 || !value) return random_fail(CURAND_STATUS_OUT_OF_RANGE, "there is no property %d", type);
  *value = values[type];
  return CURAND_STATUS_SUCCESS;
}

/* ---- setting ---- */

/* The next numbers begin the stream anew, at an offset, as in cuRAND: the number of units that were drawn, or, if no
   whole unit was, the numbers of the first one. Types without offsets restart at 0. */
static void renew(random_generator *g) {
  random_rewind(g);
  if (!g->type->offsets) g->position = g->beyond = 0;
  if (g->position > 0) g->beyond = (unsigned)(g->position % g->type->unit);
}

curandStatus_t curandSetStream(curandGenerator_t generator, cudaStream_t stream) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  g->stream = stream;
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetPseudoRandomGeneratorSeed(curandGenerator_t generator, unsigned long long seed) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  if (g->type->family == RANDOM_SOBOL) return random_fail(CURAND_STATUS_TYPE_ERROR, "Sobol's sequences have no seed");
  if (seed != g->seed) {
    g->seed = seed;
    renew(g);
  }
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetGeneratorOffset(curandGenerator_t generator, unsigned long long offset) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  if (!g->type->offsets) return random_fail(CURAND_STATUS_TYPE_ERROR, "%s has no offsets", g->type->kind);
  g->position = offset;
  g->beyond = 0;
  renew(g);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetGeneratorOrdering(curandGenerator_t generator, curandOrdering_t order) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  bool known = false;
  for (int i = 0; i < 4; i++) known = known || (g->type->orderings[i] == (int)order && (int)order != 0);
  if (!known) return random_fail(CURAND_STATUS_OUT_OF_RANGE, "%s has no ordering %d", g->type->kind, (int)order);
  if ((int)order != g->ordering) {
    g->ordering = (int)order;
    renew(g);
  }
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandSetQuasiRandomGeneratorDimensions(curandGenerator_t generator, unsigned int num_dimensions) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  if (g->type->family != RANDOM_SOBOL)
    return random_fail(CURAND_STATUS_TYPE_ERROR, "%s has no dimensions", g->type->kind);
  if (num_dimensions < 1 || num_dimensions > 20000)
    return random_fail(CURAND_STATUS_OUT_OF_RANGE, "there are 1 to 20000 dimensions, not %u", num_dimensions);
  g->dimensions = num_dimensions;
  renew(g);
  return CURAND_STATUS_SUCCESS;
}

curandStatus_t curandGenerateSeeds(curandGenerator_t generator) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  renew(g);
  return CURAND_STATUS_SUCCESS;
}

/* ---- drawing ---- */

int random_make(random_generator *g, void *out, size_t count, size_t size,
                int (*f)(random_generator *g, uint64_t to, size_t count, void *data), void *data) {
  if (!out) return host_fail(MW_INVALID_VALUE, "the output is the null pointer");
  if (!g->on_host) return f(g, host_address(out), count, data);
  uint64_t made = 0;
  int code = random_memory_new(g, count * size, &made);
  if (code == MW_SUCCESS) code = f(g, made, count, data);
  if (code == MW_SUCCESS) code = random_copy(g, host_address(out), made, count * size);
  random_memory_free(g, made);
  return code;
}

void random_moved(random_generator *g, size_t count, unsigned unit) {
  if (g->type->family == RANDOM_SOBOL) unit = g->dimensions;
  g->position += (g->beyond + count) / unit;
  g->beyond = (unsigned)((g->beyond + count) % unit);
}

typedef struct draw {
  random_what what;
  double a, b;
} draw;

static int draw_into(random_generator *g, uint64_t to, size_t count, void *data) {
  const draw *of = data;
  return random_draw(g, of->what, to, count, of->a, of->b);
}

static curandStatus_t generate(curandGenerator_t generator, random_what what, void *out, size_t count, double a,
                               double b) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  unsigned unit = random_unit(g, what), multiple = unit == 2 ? 2 : g->dimensions;
  if (count % multiple != 0)
    return random_fail(CURAND_STATUS_LENGTH_NOT_MULTIPLE, "%zu numbers are not a multiple of %u", count, multiple);
  if (count == 0) return CURAND_STATUS_SUCCESS;
  draw of = {what, a, b};
  int code = random_make(g, out, count, random_size(g, what), draw_into, &of);
  if (code != MW_SUCCESS) return random_end(code);
  random_moved(g, count, unit);
  return CURAND_STATUS_SUCCESS;
}

/* Words of the wrong size are refused, unless none are requested. */
static curandStatus_t generate_words(curandGenerator_t generator, void *out, size_t count, bool wide) {
  random_generator *g = random_find(generator);
  if (!g) return no_generator();
  if (g->type->wide != wide && count > 0)
    return random_fail(CURAND_STATUS_TYPE_ERROR, "words of %s have %d bits: %s", g->type->kind, wide ? 32 : 64,
                       wide ? "curandGenerate" : "curandGenerateLongLong");
  return generate(generator, RANDOM_BITS, out, count, 0, 0);
}

curandStatus_t curandGenerate(curandGenerator_t generator, unsigned int *output, size_t count) {
  return generate_words(generator, output, count, false);
}

curandStatus_t curandGenerateLongLong(curandGenerator_t generator, unsigned long long *output, size_t count) {
  return generate_words(generator, output, count, true);
}

curandStatus_t curandGenerateUniform(curandGenerator_t generator, float *output, size_t count) {
  return generate(generator, RANDOM_UNIFORM, output, count, 0, 0);
}

curandStatus_t curandGenerateUniformDouble(curandGenerator_t generator, double *output, size_t count) {
  return generate(generator, RANDOM_UNIFORM_DOUBLE, output, count, 0, 0);
}

curandStatus_t curandGenerateNormal(curandGenerator_t generator, float *output, size_t count, float mean,
                                    float stddev) {
  return generate(generator, RANDOM_NORMAL, output, count, mean, stddev);
}

curandStatus_t curandGenerateNormalDouble(curandGenerator_t generator, double *output, size_t count, double mean,
                                          double stddev) {
  return generate(generator, RANDOM_NORMAL_DOUBLE, output, count, mean, stddev);
}

curandStatus_t curandGenerateLogNormal(curandGenerator_t generator, float *output, size_t count, float mean,
                                       float stddev) {
  return generate(generator, RANDOM_LOGNORMAL, output, count, mean, stddev);
}

curandStatus_t curandGenerateLogNormalDouble(curandGenerator_t generator, double *output, size_t count, double mean,
                                             double stddev) {
  return generate(generator, RANDOM_LOGNORMAL_DOUBLE, output, count, mean, stddev);
}
