/* Numbers of this library compared with NVIDIA's, for every kind, ordering, seed and offset, in one process:
 *     curand_matrix OURS NVIDIAS COUNT [KIND [ORDERING [SORT [SEED]]]]
 * draws COUNT numbers of each, or of one kind, ordering, sort (a number from 0) and seed (which, from 0), and prints a
 * line for each kind, ordering and sort of numbers: how many streams, how many numbers differ, and of normal and
 * log-normal numbers by how much at most, in units of a float's or double's precision times the larger term, and of
 * those times the larger number of a pair; and how many by more than 2 of the first. A COUNT below 10^6 leaves out
 * orderings that NVIDIA's library takes a second to begin, and seeds of normal and log-normal numbers but one. Of
 * Poisson's numbers one seed is drawn. */
#include <curand.h>

#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct library {
  int (*create)(void **generator, int type);
  int (*destroy)(void *generator);
  int (*order)(void *generator, int ordering);
  int (*seed)(void *generator, unsigned long long seed);
  int (*offset)(void *generator, unsigned long long offset);
  int (*dimensions)(void *generator, unsigned dimensions);
  int (*words)(void *generator, void *out, size_t count);
  int (*long_words)(void *generator, void *out, size_t count);
  int (*uniform)(void *generator, void *out, size_t count);
  int (*uniform_double)(void *generator, void *out, size_t count);
  int (*normal)(void *generator, void *out, size_t count, float mean, float stddev);
  int (*normal_double)(void *generator, void *out, size_t count, double mean, double stddev);
  int (*lognormal)(void *generator, void *out, size_t count, float mean, float stddev);
  int (*lognormal_double)(void *generator, void *out, size_t count, double mean, double stddev);
  int (*poisson)(void *generator, void *out, size_t count, double lambda);
} library;

static library load(const char *path) {
  static const char *const names[] = {"curandCreateGeneratorHost",
                                      "curandDestroyGenerator",
                                      "curandSetGeneratorOrdering",
                                      "curandSetPseudoRandomGeneratorSeed",
                                      "curandSetGeneratorOffset",
                                      "curandSetQuasiRandomGeneratorDimensions",
                                      "curandGenerate",
                                      "curandGenerateLongLong",
                                      "curandGenerateUniform",
                                      "curandGenerateUniformDouble",
                                      "curandGenerateNormal",
                                      "curandGenerateNormalDouble",
                                      "curandGenerateLogNormal",
                                      "curandGenerateLogNormalDouble",
                                      "curandGeneratePoisson"};
  library all;
  void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND);
  if (!handle) {
    printf("%s\n", dlerror());
    exit(1);
  }
  for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
    void *function = dlsym(handle, names[i]);
    memcpy((char *)&all + i * sizeof function, &function, sizeof function);
  }
  return all;
}

enum {
  WORDS,
  UNIFORM,
  UNIFORM_DOUBLE,
  NORMAL,
  NORMAL_DOUBLE,
  LOGNORMAL,
  LOGNORMAL_DOUBLE,
  POISSON,
  SORTS = POISSON + 5
};
static const char *const sorts[] = {"words",         "uniform",      "uniform double",   "normal",
                                    "normal double", "lognormal",    "lognormal double", "poisson 5",
                                    "poisson 50",    "poisson 1500", "poisson 5000",     "poisson 50000"};
static const double means[] = {5, 50, 1500, 5000, 50000};

typedef struct kind {
  const char *name;
  int type, orderings[4];
  int offsets, slow; /* slow: not in legacy order, or 2: in none */
} kind;

static const kind kinds[] = {
    {"xorwow", 101, {100, 101, 102, 103}, 1, 0}, {"mrg32k3a", 121, {103, 100, 101}, 1, 1},
    {"mtgp32", 141, {100, 101, 103}, 0, 0},      {"mt19937", 142, {101, 103}, 0, 2},
    {"philox", 161, {100, 101, 103}, 1, 0},      {"sobol32", 201, {201}, 1, 0},
    {"scrambled_sobol32", 202, {201}, 1, 0},     {"sobol64", 203, {201}, 1, 0},
    {"scrambled_sobol64", 204, {201}, 1, 0},
};

static int must(int code) {
  if (code != 0) {
    printf("code %d\n", code);
    exit(1);
  }
  return code;
}

static void draw(const library *of, const kind *k, int ordering, unsigned long long seed, unsigned long long offset,
                 unsigned dimensions, int sort, void *out, size_t count) {
  void *g;
  must(of->create(&g, k->type));
  must(of->order(g, ordering));
  if (k->type < 200) must(of->seed(g, seed));
  if (k->offsets) must(of->offset(g, offset));
  if (k->type > 200) must(of->dimensions(g, dimensions));
  switch (sort) {
  case WORDS: must(k->type > 202 ? of->long_words(g, out, count) : of->words(g, out, count)); break;
  case UNIFORM: must(of->uniform(g, out, count)); break;
  case UNIFORM_DOUBLE: must(of->uniform_double(g, out, count)); break;
  case NORMAL: must(of->normal(g, out, count, 0, 1)); break;
  case NORMAL_DOUBLE: must(of->normal_double(g, out, count, 0, 1)); break;
  case LOGNORMAL: must(of->lognormal(g, out, count, 0, 1)); break;
  case LOGNORMAL_DOUBLE: must(of->lognormal_double(g, out, count, 0, 1)); break;
  default: must(of->poisson(g, out, count, means[sort - POISSON]));
  }
  must(of->destroy(g));
}

static int is_double(int sort) { return sort == UNIFORM_DOUBLE || sort == NORMAL_DOUBLE || sort == LOGNORMAL_DOUBLE; }
static double value(const void *list, int sort, size_t i) {
  return is_double(sort) ? ((const double *)list)[i] : (double)((const float *)list)[i];
}

static int in_pairs(const kind *k) { return k->type < 140 || k->type == 161; }

/* The larger term of a number: of a pair its radius, as cosine and sine are parts of it, or if `of_both` the larger
   number. A log-normal number has the error of its exponent. Philox's pairs begin before the list if the offset is odd:
   the first number then has no other, and is left out. */
static double scale(const kind *k, unsigned long long offset, const void *list, int sort, size_t i, size_t count,
                    int of_both) {
  size_t shift = k->type == 161 ? offset & 1 : 0, partner = ((i + shift) ^ 1) - shift;
  if (in_pairs(k) && partner >= count) return INFINITY;
  double x = value(list, sort, i), other = in_pairs(k) ? value(list, sort, partner) : 0;
  double z = sort >= LOGNORMAL ? log(x) : x, other_z = sort >= LOGNORMAL && in_pairs(k) ? log(other) : other;
  double term = !in_pairs(k) ? fmax(fabs(z), 1) : of_both ? fmax(fabs(z), fabs(other_z)) : hypot(z, other_z);
  return sort >= LOGNORMAL ? fabs(x) * fmax(1, term) : term;
}

/* Whether an argument is left out, or is this number. */
static int chosen(const char *argument, int value) { return !argument || atoi(argument) == value; }

int main(int argument_count, char **arguments) {
  static const unsigned long long seeds[] = {0, 1234, 987654321, 0x8000000000000005};
  static const unsigned long long offsets[] = {0, 1, 3, 4096, 1000007};
  static const unsigned dimensions[] = {1, 2, 10, 1000, 20000};
  char *choices[] = {NULL, NULL, NULL, NULL}; /* kind, ordering, sort, seed */
  if (argument_count < 4 || argument_count > 8) return 2;
  for (int i = 4; i < argument_count; i++) choices[i - 4] = arguments[i];
  library ours = load(arguments[1]), nvidia = load(arguments[2]);
  size_t count = (size_t)atoll(arguments[3]);
  int big = count >= 1000000;
  char *x = aligned_alloc(64, count * 8 + 8192), *y = aligned_alloc(64, count * 8 + 8192);
  if (!x || !y) return 1;
  for (size_t which = 0; which < sizeof kinds / sizeof *kinds; which++) {
    const kind *k = &kinds[which];
    if (choices[0] && strcmp(k->name, choices[0]) != 0) continue;
    for (int o = 0; o < 4 && k->orderings[o] != 0; o++) {
      if (!big && (k->slow == 2 || (k->slow == 1 && k->orderings[o] != 103))) continue;
      if (!chosen(choices[1], k->orderings[o])) continue;
      for (int sort = 0; sort < SORTS; sort++) {
        if (!chosen(choices[2], sort)) continue;
        size_t size = is_double(sort) || (sort == WORDS && k->type > 202) ? 8 : 4, differ = 0, far = 0;
        int streams = 0;
        double unit = is_double(sort) ? 0x1p-52 : 0x1p-23, most = 0, of_both = 0;
        for (int s = 0; s < (k->type > 200 ? 5 : 4); s++) {
          for (int f = 0; f < (k->offsets ? 5 : 1); f++) {
            if ((sort >= (big ? POISSON : NORMAL) && s != 1) || !chosen(choices[3], s))
              continue; /* words and uniform numbers say the rest */
            unsigned dimension = k->type > 200 ? dimensions[s] : 1;
            size_t some = count / dimension * dimension;
            draw(&ours, k, k->orderings[o], seeds[s % 4], offsets[f], dimension, sort, x, some);
            draw(&nvidia, k, k->orderings[o], seeds[s % 4], offsets[f], dimension, sort, y, some);
            streams++;
            for (size_t i = 0; i < some; i++) {
              if (memcmp(x + i * size, y + i * size, size) == 0) continue;
              differ++;
              if (sort < NORMAL || sort >= POISSON) continue;
              double distance = fabs(value(x, sort, i) - value(y, sort, i));
              double apart = distance / scale(k, offsets[f], y, sort, i, some, 0);
              if (!(apart <= most)) most = apart;
              of_both = fmax(of_both, distance / scale(k, offsets[f], y, sort, i, some, 1));
              if (!(apart <= (is_double(sort) ? 0x1p-51 : 0x1p-22))) far++;
            }
          }
        }
        if (sort < NORMAL || sort >= POISSON)
          printf("%s %d %s: %d streams, %zu differ\n", k->name, k->orderings[o], sorts[sort], streams, differ);
        else
          printf("%s %d %s: %d streams, %zu differ, apart by %.2f (%.2f), %zu by more than 2\n", k->name,
                 k->orderings[o], sorts[sort], streams, differ, most / unit, of_both / unit, far);
        fflush(stdout);
      }
    }
  }
  return 0;
}
