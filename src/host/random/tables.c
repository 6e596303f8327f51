/* cuRAND's tables: Sobol's direction vectors and scramble constants. */
#include "random.h"

#include <pthread.h>

enum { DIMENSIONS = 20000 };

/* Joe and Kuo's numbers as in lua/moonwarp/random/joe_kuo.lua: dimensions of 32 digits in base 64. */
enum { DIGITS = 32, PER_LINE = 60 };
static const char numbers[][DIGITS * PER_LINE + 1] = {
#include "joe_kuo.inc"
};

static unsigned digit(char c) {
  static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return (unsigned)(strchr(digits, c) - digits);
}

/* The 24 bytes of each of the first dimensions. */
static void decode(unsigned dimensions, unsigned char *out) {
  for (unsigned four = 0; four < dimensions * 8; four++) {
    const char *c = &numbers[four / (8 * PER_LINE)][four % (8 * PER_LINE) * 4];
    unsigned n = ((digit(c[0]) * 64 + digit(c[1])) * 64 + digit(c[2])) * 64 + digit(c[3]);
    *out++ = (unsigned char)(n >> 16);
    *out++ = (unsigned char)(n >> 8);
    *out++ = (unsigned char)n;
  }
}

/* `count` random words of 64 bits for scrambling, from number `first` on: XORWOW's of seed 0, without its first. */
static int scramble_words(const random_generator *g, size_t first, size_t count, uint64_t *out) {
  random_generator xorwow = {.type = random_type_of(CURAND_RNG_PSEUDO_XORWOW),
                             .context = g->context,
                             .stream = g->stream,
                             .ordering = CURAND_ORDERING_PSEUDO_DEFAULT,
                             .dimensions = 1,
                             .position = 1 + 2 * first};
  int code = random_memory_new(&xorwow, count * 8, out);
  if (code == MW_SUCCESS) code = random_draw(&xorwow, RANDOM_BITS, *out, 2 * count, 0, 0);
  random_rewind(&xorwow);
  random_modules_release(&xorwow);
  return code;
}

int random_vectors(random_generator *g, uint64_t *vectors, uint64_t *begins) {
  size_t word = g->type->wide ? 8 : 4, size = (size_t)g->dimensions * 24;
  unsigned char *bytes = malloc(size);
  if (!bytes) abort();
  decode(g->dimensions, bytes);
  uint64_t given = 0, rows = 0, constants = 0;
  int code = random_memory_new(g, size, &given);
  if (code == MW_SUCCESS) code = random_copy(g, given, host_address(bytes), size);
  free(bytes);
  if (code == MW_SUCCESS) code = random_memory_new(g, g->dimensions * word * word * 8, vectors);
  if (code == MW_SUCCESS) code = random_memory_new(g, g->dimensions * word, begins);
  if (g->type->scrambled) { /* 64 words of each dimension, followed by the constants of all dimensions */
    if (code == MW_SUCCESS) code = scramble_words(g, 0, (size_t)64 * g->dimensions, &rows);
    if (code == MW_SUCCESS) code = scramble_words(g, (size_t)64 * DIMENSIONS, g->dimensions, &constants);
  }
  int dimensions = (int)g->dimensions;
  void *arguments[] = {&given, &dimensions, &rows, &constants, vectors, begins};
  const char *text =
      g->type->wide ? "#include <moonwarp/random/streams/direction_vectors.h>\nMW_MAKE_VECTORS(make64, ull)\n"
                    : "#include <moonwarp/random/streams/direction_vectors.h>\nMW_MAKE_VECTORS(make32, unsigned)\n";
  if (code == MW_SUCCESS)
    code = random_launch(g, text, g->type->wide ? "make64" : "make32", (g->dimensions + 63) / 64, 1, 64, arguments);
  random_memory_free(g, given);
  random_memory_free(g, rows);
  random_memory_free(g, constants);
  return code;
}

/* The vectors and first words of all dimensions of a type in host memory, made in the first call. */
typedef struct cached_vectors {
  void *vectors, *begins;
} cached_vectors;

static int cache_vectors(curandGenerator_t generator, size_t word, cached_vectors *cached) {
  random_generator *g = random_find(generator);
  uint64_t vectors = 0, begins = 0;
  size_t size = DIMENSIONS * word * word * 8;
  g->dimensions = DIMENSIONS;
  void *v = malloc(size), *b = malloc(DIMENSIONS * word);
  if (!v || !b) abort();
  int code = random_vectors(g, &vectors, &begins);
  if (code == MW_SUCCESS) code = random_copy(g, host_address(v), vectors, size);
  if (code == MW_SUCCESS) code = random_copy(g, host_address(b), begins, DIMENSIONS * word);
  random_memory_free(g, vectors);
  random_memory_free(g, begins);
  if (code == MW_SUCCESS) {
    *cached = (cached_vectors){v, b};
  } else {
    free(v);
    free(b);
  }
  return code;
}

static curandStatus_t vectors_of(curandRngType_t type, cached_vectors *out) {
  static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  static cached_vectors all[4];
  cached_vectors *cached = &all[type - CURAND_RNG_QUASI_SOBOL32];
  curandStatus_t status = CURAND_STATUS_SUCCESS;
  pthread_mutex_lock(&lock);
  if (!cached->vectors) {
    curandGenerator_t generator;
    status = curandCreateGeneratorHost(&generator, type);
    if (status == CURAND_STATUS_SUCCESS) {
      status = random_end(cache_vectors(generator, type >= CURAND_RNG_QUASI_SOBOL64 ? 8 : 4, cached));
      curandDestroyGenerator(generator);
    }
  }
  *out = *cached;
  pthread_mutex_unlock(&lock);
  return status;
}

static curandStatus_t get_vectors(void *out, int set, int plain) {
  cached_vectors cached;
  if (set != plain && set != plain + 1)
    return random_fail(CURAND_STATUS_OUT_OF_RANGE, "there are no such direction vectors: %d", set);
  if (!out) return random_fail(CURAND_STATUS_OUT_OF_RANGE, "the pointer that receives the vectors is NULL");
  curandStatus_t status = vectors_of((curandRngType_t)(set + 100), &cached);
  if (status == CURAND_STATUS_SUCCESS) memcpy(out, &cached.vectors, sizeof cached.vectors);
  return status;
}

static curandStatus_t get_constants(void *out, curandRngType_t type) {
  cached_vectors cached;
  if (!out) return random_fail(CURAND_STATUS_OUT_OF_RANGE, "the pointer that receives the constants is NULL");
  curandStatus_t status = vectors_of(type, &cached);
  if (status == CURAND_STATUS_SUCCESS) memcpy(out, &cached.begins, sizeof cached.begins);
  return status;
}

curandStatus_t curandGetDirectionVectors32(curandDirectionVectors32_t **vectors, curandDirectionVectorSet_t set) {
  return get_vectors(vectors, (int)set, CURAND_DIRECTION_VECTORS_32_JOEKUO6);
}

curandStatus_t curandGetDirectionVectors64(curandDirectionVectors64_t **vectors, curandDirectionVectorSet_t set) {
  return get_vectors(vectors, (int)set, CURAND_DIRECTION_VECTORS_64_JOEKUO6);
}

curandStatus_t curandGetScrambleConstants32(unsigned int **constants) {
  return get_constants(constants, CURAND_RNG_QUASI_SCRAMBLED_SOBOL32);
}

curandStatus_t curandGetScrambleConstants64(unsigned long long **constants) {
  return get_constants(constants, CURAND_RNG_QUASI_SCRAMBLED_SOBOL64);
}
