/* What a kernel on a GPU and its host tell each other about failures: kernels include this, and src/cuda/guard/guard.c.
 *
 * Pointers are numbers here, so that both have the same bytes. A grid is known by the GPU's own number for it (%gridid),
 * which counts the launches of a context; the host numbers those that it can stop itself, and a grid that begins writes
 * down which number it has. */
#ifndef MOONWARP_GUARD_LAYOUT_H
#define MOONWARP_GUARD_LAYOUT_H

/* Launches that are told apart at a time; failures that the host has not looked at yet. */
#define MW_GUARD_LAUNCHES 1024
#define MW_GUARD_REPORTS  64

enum mw_guard_kind {
  MW_GUARD_ASSERT = 1,
  MW_GUARD_TRAP,
  MW_GUARD_STOPPED, /* by the host */
  MW_GUARD_OUTSIDE, /* an access beyond the memory that its address was made from */
  MW_GUARD_NOWHERE, /* or to memory that no array holds */
  MW_GUARD_MISALIGNED,
};

typedef struct mw_guard_report {
  unsigned long long grid;
  unsigned long long object, address, bytes,
      size;           /* of an access: what it was made from has `size` bytes from there on */
  unsigned int count; /* how many reports there are with this one, written last; one less while it is written */
  unsigned int kind, unit, line, is_store, unused;
  unsigned int block[3], thread[3];
  char file[128], function[256];
  char text[512]; /* the assertion, or the array's name */
} mw_guard_report;

/* Pinned memory of the host's. */
typedef struct mw_guard_host {
  mw_guard_report reports[MW_GUARD_REPORTS]; /* the n-th at n % MW_GUARD_REPORTS */
  struct {
    unsigned long long grid, number;
  } begun[MW_GUARD_LAUNCHES]; /* launch `number`, at number % MW_GUARD_LAUNCHES */
} mw_guard_host;

/* Memory of the device's. What is said of a grid stands at its number % MW_GUARD_LAUNCHES. */
typedef struct mw_guard_words {
  unsigned int stops[MW_GUARD_LAUNCHES]; /* 2 * grid: a thread of it failed, the others are to end; + 1: by the host */
  unsigned int left[MW_GUARD_LAUNCHES];  /* 2 * grid: one of its threads has told that the host stopped it */
  unsigned int barriers[MW_GUARD_LAUNCHES]; /* of the whole grid */
  unsigned int reports, unused;
  unsigned long long heap_first, heap_last; /* addresses that malloc has given kernels with checks */
} mw_guard_words;

/* The live allocations, by address. */
typedef struct mw_guard_table {
  unsigned long long count;
  struct {
    unsigned long long base, bytes;
  } extents[1];
} mw_guard_table;

/* A module's variable __mw_guard, which the host fills in when it loads the module; the table's address, of modules with
   memory checks, before each launch for which it has changed. */
typedef struct mw_guard {
  unsigned long long host, words, table;
  unsigned int unit, unused;
} mw_guard;

#endif
