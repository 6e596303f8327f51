/* The allocator of an address range: which pages are free, cached, live or reserved. It only keeps records; heap.c maps
 * and protects pages. Not thread-safe: the heap's lock guards it. */
#ifndef MW_CPU_EXTENT_H
#define MW_CPU_EXTENT_H

#include "base/base.h"

typedef enum cpu_extent_state {
  CPU_EXTENT_FREE,    /* without pages; merged with free neighbours */
  CPU_EXTENT_CACHED,  /* freed, with its pages, for the next allocation of its size */
  CPU_EXTENT_LIVE,    /* an allocation */
  CPU_EXTENT_RESERVED /* a stack area: its owner sets its protection */
} cpu_extent_state;

typedef struct cpu_extent cpu_extent;
struct cpu_extent {
  uintptr_t address;
  size_t span;                /* bytes, whole pages */
  cpu_extent *before, *after; /* neighbours by address */
  cpu_extent *prev, *next;    /* free: in its bin; cached: of the same size; live: in its hash chain (next) */
  cpu_extent *older, *newer;  /* cached: by time */
  size_t data;                /* live, cached: accessible bytes from `address` on; the rest is a guard */
  size_t bytes;               /* live, cached: the requested size */
  uintptr_t user;             /* live, cached: the allocation's address */
  cpu_extent_state state;
  bool open;  /* free, cached: some of it may still be accessible */
  bool fresh; /* cached: freed since cpu_heap_settle was last called */
};

enum { CPU_EXTENT_BINS = 48 };

typedef struct cpu_space {
  size_t page;
  cpu_extent *first;
  cpu_extent *bins[CPU_EXTENT_BINS]; /* free extents by the binary logarithm of their pages */
  uint64_t filled;                   /* bit i: bins[i] is not empty */
  cpu_extent *unused;                /* structs, linked by next */
  void *blocks;                      /* the allocations that contain the structs */
} cpu_space;

void cpu_space_open(cpu_space *space, uintptr_t address, size_t bytes, size_t page);
void cpu_space_close(cpu_space *space);
/* Take `span` bytes (whole pages) aligned to `align` from free space; NULL if there is no such run. The caller sets the
   extent's state; `open` is that of the free run. */
cpu_extent *cpu_space_take(cpu_space *space, size_t span, size_t align);
/* Make it free and merge it with free neighbours: the pointer is invalid afterwards. */
void cpu_space_give(cpu_space *space, cpu_extent *extent);

#endif
