/* Calls of cuRAND's host generators, as a program that prints the same lines whichever library it is linked with, this one
 * or NVIDIA's: codes, and digests of the numbers that are the same to the bit. Arguments: nothing for the codes, else a
 * seed, for calls in the order that it says. */
#include <curand.h>

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST = 200000 };
static void *room; /* NVIDIA's library wants it aligned, and writes past the end */

/* FNV's hash. */
static unsigned digest(const void *data, size_t bytes) {
  unsigned hash = 2166136261u;
  for (size_t i = 0; i < bytes; i++) hash = (hash ^ ((const unsigned char *)data)[i]) * 16777619u;
  return hash;
}

static void say(const char *what, long argument, int code) { printf("%s %ld = %d\n", what, argument, code); }
static void drew(const char *what, size_t count, size_t size, int code, int exact) {
  printf("%s %zu = %d %x\n", what, count, code, code == 0 && exact ? digest(room, count * size) : 0);
}

static void draw(curandGenerator_t g, int what, size_t count) {
  switch (what) {
  case 0: drew("words", count, 4, curandGenerate(g, room, count), 1); break;
  case 1: drew("long words", count, 8, curandGenerateLongLong(g, room, count), 1); break;
  case 2: drew("uniform", count, 4, curandGenerateUniform(g, room, count), 1); break;
  case 3: drew("uniform double", count, 8, curandGenerateUniformDouble(g, room, count), 1); break;
  case 4: drew("normal", count, 4, curandGenerateNormal(g, room, count, 1, 2), 0); break;
  case 5: drew("normal double", count, 8, curandGenerateNormalDouble(g, room, count, 1, 2), 0); break;
  case 6: drew("log-normal", count, 4, curandGenerateLogNormal(g, room, count, 1, 2), 0); break;
  case 7: drew("log-normal double", count, 8, curandGenerateLogNormalDouble(g, room, count, 1, 2), 0); break;
  case 8: drew("Poisson", count, 4, curandGeneratePoisson(g, room, count, 10), 1); break;
  case 9: drew("Poisson, large", count, 4, curandGeneratePoisson(g, room, count, 3000), count < 1000); break;
  default: drew("Poisson by a method", count, 4, curandGeneratePoissonMethod(g, room, count, 10, CURAND_KNUTH), 0);
  }
}

static curandGenerator_t create(int type) {
  curandGenerator_t g = NULL;
  say("create", type, curandCreateGeneratorHost(&g, (curandRngType_t)type));
  /* In other orders NVIDIA's library takes a second to begin it. */
  if (type == CURAND_RNG_PSEUDO_MRG32K3A)
    say("ordering", 103, curandSetGeneratorOrdering(g, CURAND_ORDERING_PSEUDO_LEGACY));
  return g;
}

static void codes_of(int type) {
  static const int orderings[] = {0, 99, 100, 101, 102, 104, 105, 200, 201, 202, 103};
  static const unsigned dimensions[] = {0, 1, 3, 20000, 20001};
  static const double means[] = {-1, 0, 1e-10, 400000, 400001, 1e300};
  curandGenerator_t g = create(type);
  for (size_t i = 0; i < sizeof orderings / sizeof *orderings; i++)
    say("ordering", orderings[i], curandSetGeneratorOrdering(g, (curandOrdering_t)orderings[i]));
  say("seed", 5, curandSetPseudoRandomGeneratorSeed(g, 5));
  say("offset", 5, curandSetGeneratorOffset(g, 5));
  say("stream", 0, curandSetStream(g, NULL));
  for (int what = 0; what < 11; what++) {
    draw(g, what, 0);
    draw(g, what, 10);
    draw(g, what, 11);
  }
  for (size_t i = 0; i < sizeof means / sizeof *means; i++)
    say("mean", (long)i, curandGeneratePoisson(g, room, 2, means[i]));
  say("seeds", 0, curandGenerateSeeds(g));
  for (size_t i = 0; i < sizeof dimensions / sizeof *dimensions; i++)
    say("dimensions", dimensions[i], curandSetQuasiRandomGeneratorDimensions(g, dimensions[i]));
  say("dimensions", 3, curandSetQuasiRandomGeneratorDimensions(g, 3));
  draw(g, 2, 10);
  draw(g, 2, 12);
  say("destroy", 0, curandDestroyGenerator(g));
}

static void codes(void) {
  static const int types[] = {-1, 1, 99, 102, 205};
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) create(types[i]);
  for (int what = 0; what < 11; what++) draw(NULL, what, 2);
  say("no generator", 0, curandSetStream(NULL, NULL));
  say("no generator", 1, curandSetPseudoRandomGeneratorSeed(NULL, 1));
  say("no generator", 2, curandSetGeneratorOffset(NULL, 1));
  say("no generator", 3, curandSetGeneratorOrdering(NULL, CURAND_ORDERING_PSEUDO_BEST));
  say("no generator", 4, curandSetQuasiRandomGeneratorDimensions(NULL, 1));
  say("no generator", 5, curandGenerateSeeds(NULL));
  say("no generator", 6, curandDestroyGenerator(NULL));
  say("no distribution", 0, curandDestroyDistribution(NULL));
  int version = 0;
  say("version", 0, curandGetVersion(&version));
  printf("%d, and of the header %d\n", version, CURAND_VERSION);
  for (int i = -1; i < 5; i++) {
    int value = -1;
    say("property", i, curandGetProperty((libraryPropertyType)i, &value));
    printf("%d\n", value);
  }
  for (int set = 100; set < 106; set++) {
    curandDirectionVectors32_t *narrow = NULL;
    curandDirectionVectors64_t *wide = NULL;
    say("vectors of 32 bits", set, curandGetDirectionVectors32(&narrow, (curandDirectionVectorSet_t)set));
    say("vectors of 64 bits", set, curandGetDirectionVectors64(&wide, (curandDirectionVectorSet_t)set));
    if (narrow) printf("%x\n", digest(narrow, 20000 * sizeof *narrow));
    if (wide) printf("%x\n", digest(wide, 20000 * sizeof *wide));
  }
  unsigned *constants = NULL;
  unsigned long long *long_constants = NULL;
  say("constants of 32 bits", constants != NULL, curandGetScrambleConstants32(&constants));
  say("constants of 64 bits", long_constants != NULL, curandGetScrambleConstants64(&long_constants));
  printf("%x %x\n", digest(constants, 20000 * sizeof *constants),
         digest(long_constants, 20000 * sizeof *long_constants));
}

static unsigned state;
static unsigned roll(unsigned sides) {
  state = (unsigned)(state * 16807ull % 2147483647);
  return state % sides;
}

/* Seeds, offsets, orderings and draws as they come. */
static void mixture(int type) {
  int quasi = type >= CURAND_RNG_QUASI_DEFAULT, wide = type >= CURAND_RNG_QUASI_SOBOL64;
  curandGenerator_t g = create(type);
  for (int step = 0; step < 40; step++) {
    unsigned what = roll(14), value = roll(100000);
    int order = quasi ? 201 : type == CURAND_RNG_PSEUDO_MRG32K3A ? 103 : 100 + (int)(value % 4);
    switch (what) {
    case 0: say("seed", value % 4, curandSetPseudoRandomGeneratorSeed(g, value % 4)); break;
    case 1: say("offset", value, curandSetGeneratorOffset(g, value)); break;
    case 2: say("ordering", order, curandSetGeneratorOrdering(g, (curandOrdering_t)order)); break;
    case 3: say("seeds", 0, curandGenerateSeeds(g)); break;
    case 4: say("dimensions", value % 5, curandSetQuasiRandomGeneratorDimensions(g, value % 5)); break;
    default: {
      int kind = (int)roll(10);
      if (kind == !wide) kind = wide;
      draw(g, kind, value % 3 == 0 ? value : value % 50);
    }
    }
  }
  say("destroy", 0, curandDestroyGenerator(g));
}

int main(int count, char **arguments) {
  static const int types[] = {
      CURAND_RNG_PSEUDO_DEFAULT, CURAND_RNG_PSEUDO_XORWOW,          CURAND_RNG_PSEUDO_MRG32K3A,
      CURAND_RNG_PSEUDO_MTGP32,  CURAND_RNG_PSEUDO_MT19937,         CURAND_RNG_PSEUDO_PHILOX4_32_10,
      CURAND_RNG_QUASI_DEFAULT,  CURAND_RNG_QUASI_SOBOL32,          CURAND_RNG_QUASI_SCRAMBLED_SOBOL32,
      CURAND_RNG_QUASI_SOBOL64,  CURAND_RNG_QUASI_SCRAMBLED_SOBOL64};
  room = aligned_alloc(64, MOST * 8);
  if (!room) return 1;
  if (count < 2) codes();
  for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
    state = count < 2 ? 0 : (unsigned)atoi(arguments[1]) + (unsigned)i;
    if (count < 2)
      codes_of(types[i]);
    else if (types[i] != CURAND_RNG_PSEUDO_MT19937) /* which NVIDIA's library takes seconds to begin */
      mixture(types[i]);
  }
  free(room);
  return 0;
}
