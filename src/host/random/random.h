/* What the files of cuRAND's host functions share. The kernels are those of the device headers moonwarp/random/…_stream.h,
 * from which mw.random's are made as well; here is what launches them. */
#ifndef MW_HOST_RANDOM_H
#define MW_HOST_RANDOM_H

#include "../host.h"
#include "../include/curand.h"

/* What is drawn, as the kernels call it. */
typedef enum random_what {
  RANDOM_BITS,
  RANDOM_UNIFORM,
  RANDOM_UNIFORM_DOUBLE,
  RANDOM_NORMAL,
  RANDOM_NORMAL_DOUBLE,
  RANDOM_LOGNORMAL,
  RANDOM_LOGNORMAL_DOUBLE,
  RANDOM_POISSON
} random_what;

typedef enum random_family { RANDOM_COLUMNS, RANDOM_MTGP, RANDOM_MT, RANDOM_SOBOL } random_family;

typedef struct random_type {
  int type; /* curandRngType_t */
  random_family family;
  const char *kind; /* in the kernels' texts */
  bool offsets, pairs, wide, scrambled;
  unsigned unit;    /* numbers that a column makes of what is not normal; Philox's are always so many */
  unsigned words;   /* of a column's state */
  int orderings[4]; /* that it has, 0 where there are no more */
  int columns[4];   /* or states, in that ordering */
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
  bool fresh; /* MT19937's states are not at a turn yet */
  cudaStream_t stream;
  uint64_t seed;
  int ordering;
  unsigned dimensions;
  /* How far it is, in cuRAND's count: after a change of seed or ordering it goes on from there. Whole units, and the
     numbers of one that was begun. */
  uint64_t position;
  unsigned beyond;
  random_module *modules;
  /* The stream, once it has begun. */
  uint64_t states, more; /* addresses: states, or direction vectors; MTGP32's parameters, or first words */
  unsigned column;       /* that makes the next unit, */
  unsigned skip;         /* of which so many numbers are left out */
  uint64_t at, turn;     /* numbers made (of Sobol's sequences points); the turn that MT19937's states are at */
} random_generator;

/* ---- launching (random.c) ---- */

/* Run a kernel of a text (a header of moonwarp/random/ and a macro) with blocks of 128 threads, or of `block`, in the
   generator's stream; arguments are pointers to values. */
int random_launch(random_generator *g, const char *text, const char *name, size_t blocks, unsigned rows, unsigned block,
                  void *const *arguments);
int random_memory_new(random_generator *g, size_t bytes, uint64_t *address);
/* In the order of the generator's stream. */
void random_memory_free(random_generator *g, uint64_t address);
int random_copy(random_generator *g, uint64_t target, uint64_t source, size_t bytes);
void random_modules_release(random_generator *g);
/* cuRAND's code for one of the core's, whose words are kept for mwCudaErrorMessage. */
curandStatus_t random_end(int code);
curandStatus_t random_fail(curandStatus_t status, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- drawing (stream.c) ---- */

/* `count` numbers into device memory. */
int random_draw(random_generator *g, random_what what, uint64_t out, size_t count, double a, double b);
size_t random_size(const random_generator *g, random_what what); /* bytes of a number */
/* Numbers that come together: where a call ends within a unit, the next one goes on there. */
unsigned random_unit(const random_generator *g, random_what what);
/* Give the stream's memory back; the next numbers begin it anew. */
void random_rewind(random_generator *g);

/* ---- tables (tables.c) ---- */

/* Direction vectors and first words of the generator's dimensions, as device memory. */
int random_vectors(random_generator *g, uint64_t *vectors, uint64_t *begins);

/* ---- generators (curand.c) ---- */

random_generator *random_find(curandGenerator_t handle);
/* NULL where there is none of this number, a curandRngType_t. */
const random_type *random_type_of(int number);
/* `count` numbers, which come in units, were drawn. */
void random_moved(random_generator *g, size_t count, unsigned unit);
/* Make numbers by f into an output of the generator's user: on the host by way of the device's memory. */
int random_make(random_generator *g, void *out, size_t count, size_t size,
                int (*f)(random_generator *g, uint64_t to, size_t count, void *data), void *data);

#endif
