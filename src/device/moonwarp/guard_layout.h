/* Data that kernels on a GPU and the host exchange about failures, for kernels and src/cuda/guard/failure_reports.c.
 *
 * Pointers are integers, so that the layout is the same for both. Kernels identify a grid by the GPU's number
 * (%gridid), which counts the launches of a context. The host has its own numbers for launches that it can stop; a grid
 * that starts writes its %gridid to the entry of that number. */
#ifndef MOONWARP_GUARD_LAYOUT_H
#define MOONWARP_GUARD_LAYOUT_H

/* The most launches that are distinguished at a time, and the most failures that the host has not read yet. */
#define MW_GUARD_LAUNCHES 1024
#define MW_GUARD_REPORTS  64

enum mw_guard_kind {
  MW_GUARD_ASSERT = 1,
  MW_GUARD_TRAP,
  MW_GUARD_STOPPED, /* by the host */
  MW_GUARD_OUTSIDE, /* an access outside of the object that its address is derived from */
  MW_GUARD_NOWHERE, /* an access to memory of no array */
  MW_GUARD_MISALIGNED,
};

typedef struct mw_guard_report {
  unsigned long long grid;
  unsigned long long object, address, bytes, size; /* of an access: bytes of the object from that address on */
  unsigned int count; /* the number of reports including this one, written last; one less while it is incomplete */
  unsigned int kind, unit, line, is_store, unused;
  unsigned int block[3], thread[3];
  char file[128], function[256];
  char text[512]; /* the assertion, or the array's name */
} mw_guard_report;

/* In pinned host memory. */
typedef struct mw_guard_host {
  mw_guard_report reports[MW_GUARD_REPORTS]; /* the n-th at n % MW_GUARD_REPORTS */
  struct {
    unsigned long long grid, number;
  } begun[MW_GUARD_LAUNCHES]; /* launch `number`, at number % MW_GUARD_LAUNCHES */
} mw_guard_host;

/* In device memory. A grid's entries are at its number % MW_GUARD_LAUNCHES. */
typedef struct mw_guard_words {
  unsigned int stops[MW_GUARD_LAUNCHES]; /* 2 * grid: its threads have to end: one failed; + 1: the host stopped it */
  unsigned int left[MW_GUARD_LAUNCHES];  /* 2 * grid: one of its threads has reported that the host stopped it */
  unsigned int barriers[MW_GUARD_LAUNCHES]; /* barriers of the whole grid */
  unsigned int reports, unused;
  unsigned long long heap_first, heap_last; /* the range of addresses that malloc has returned in checked kernels */
} mw_guard_words;

/* The live allocations, by address. */
typedef struct mw_guard_table {
  unsigned long long count;
  struct {
    unsigned long long base, bytes;
  } extents[1];
} mw_guard_table;

/* A module's variable __mw_guard, which the host fills in when it loads the module. In modules with memory checks, the
   host updates the table's address before a launch if it has changed. */
typedef struct mw_guard {
  unsigned long long host, words, table;
  unsigned int unit, unused;
} mw_guard;

#endif
