/* What the files of cuRAND's host functions share. The kernels are those of the device headers
 * moonwarp/random/…_stream.h, which mw.random uses too; these files launch them. */
#ifndef MW_HOST_RANDOM_H
#define MW_HOST_RANDOM_H

#include "../host.h"
#include "../include/curand.h"

/* The kind of numbers, as the kernels call it. */
typedef enum random_what {
  RANDOM_BITS,
  RANDOM_UNIFORM,
  RANDOM_UNIFORM_DOUBLE,
  RANDOM_NORMAL,
  RANDOM_NORMAL_DOUBLE,
  RANDOM_LOGNORMAL,
  RANDOM_LOGNORMAL_DOUBLE,
  RANDOM_POISSON, /* by the inverse of the distribution, a word each */
  RANDOM_SINGLE   /* normal ones by themselves, of types with pairs */
} random_what;

typedef enum random_family { RANDOM_COLUMNS, RANDOM_MTGP, RANDOM_MT, RANDOM_SOBOL } random_family;

typedef struct random_type {
  int type; /* curandRngType_t */
  random_family family;
  const char *kind; /* in the kernels' texts */
  bool offsets, pairs, wide, scrambled;
  unsigned unit;         /* numbers that a column makes at a time, except for normal ones; Philox's for all */
  unsigned words;        /* of a column's state */
  double table, inverse; /* means of Poisson's distribution below and up to which there are tables (discrete.c) */
  int orderings[4];      /* that it supports, then zeros */
  int columns[4];        /* or states, by ordering */
} random_type;

/* A module that was compiled for a generator. */
typedef struct random_module {
  struct random_module *next;
  char *text;
  mw_module *module;
} random_module;

typedef struct random_generator {
  const random_type *type;
  host_context *context;
  bool on_host, begun;
  bool fresh; /* MT19937's states stand before the first turn */
  cudaStream_t stream;
  uint64_t seed;
  int ordering;
  unsigned dimensions;
  /* The position in cuRAND's count, from which a stream continues after a change of seed or ordering: whole units,
     and numbers of a unit that was begun. */
  uint64_t position;
  unsigned beyond;
  random_module *modules;
  /* The stream, once begun. */
  uint64_t states, more; /* addresses: states, or direction vectors; MTGP32's parameters, or first words */
  unsigned column;       /* the column that makes the next unit, */
  unsigned skip;         /* of which this many numbers are skipped */
  uint64_t at;           /* numbers made; of Sobol's sequences points */
  uint64_t turn;         /* of MT19937's states: a turn twists each of them once */
} random_generator;

/* ---- launching (random.c) ---- */

/* Run a kernel of a text (a header of moonwarp/random/ and a macro) with blocks of 128 threads, or of `block`, in the
   generator's stream; arguments are pointers to values. */
int random_launch(random_generator *g, const char *text, const char *name, size_t blocks, unsigned rows, unsigned block,
                  void *const *arguments);
int random_launch_in(random_generator *g, const char *text, const char *name, const host_geometry *geometry,
                     void *const *arguments);
/* Whether the generator's device is a GPU, which wants other grids than the CPU device. */
bool random_on_gpu(const random_generator *g);
int random_memory_new(random_generator *g, size_t bytes, uint64_t *address);
/* In the order of the generator's stream. */
void random_memory_free(random_generator *g, uint64_t address);
int random_copy(random_generator *g, uint64_t target, uint64_t source, size_t bytes);
void random_modules_release(random_generator *g);
/* cuRAND's code for one of the core's, whose message is saved for mwCudaErrorMessage. */
curandStatus_t random_end(int code);
curandStatus_t random_fail(curandStatus_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- drawing (stream.c) ---- */

/* Write `count` numbers to device memory. */
int random_draw(random_generator *g, random_what what, uint64_t out, size_t count, double a, double b);
size_t random_size(const random_generator *g, random_what what); /* bytes of a number */
/* Numbers that are made together: if a call ends within a unit, the next one continues there. */
unsigned random_unit(const random_generator *g, random_what what);
/* Free the stream's memory; the next numbers begin it anew. */
void random_rewind(random_generator *g);

/* ---- tables (tables.c) ---- */

/* Direction vectors and first words of the generator's dimensions, as device memory. */
int random_vectors(random_generator *g, uint64_t *vectors, uint64_t *begins);

/* ---- generators (curand.c) ---- */

random_generator *random_find(curandGenerator_t handle);
/* NULL for an unknown number (a curandRngType_t). */
const random_type *random_type_of(int number);
/* `count` numbers, made in units, were drawn. */
void random_moved(random_generator *g, size_t count, unsigned unit);
/* Write numbers by f to the user's output: for a host generator through device memory. */
int random_make(random_generator *g, void *out, size_t count, size_t size,
                int (*f)(random_generator *g, uint64_t to, size_t count, void *data), void *data);

#endif
