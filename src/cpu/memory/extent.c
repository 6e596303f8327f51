/* The allocator of an address range: extents in address order without gaps, the free ones also in bins by size
 * (segregated fit). */
#include "extent.h"

#include <stdlib.h>

enum { PER_BLOCK = 128, MOST_TRIED = 32 };

typedef struct block {
  struct block *next;
  cpu_extent extents[PER_BLOCK];
} block;

static cpu_extent *extent_new(cpu_space *space) {
  if (!space->unused) {
    block *fresh = mw_alloc(sizeof *fresh);
    fresh->next = space->blocks;
    space->blocks = fresh;
    for (int i = 0; i < PER_BLOCK; i++) {
      fresh->extents[i].next = space->unused;
      space->unused = &fresh->extents[i];
    }
  }
  cpu_extent *extent = space->unused;
  space->unused = extent->next;
  *extent = (cpu_extent){0};
  return extent;
}

static void extent_drop(cpu_space *space, cpu_extent *extent) {
  extent->next = space->unused;
  space->unused = extent;
}

static int bin_of(const cpu_space *space, size_t span) {
  int bin = 63 - __builtin_clzll(span / space->page);
  return bin < CPU_EXTENT_BINS ? bin : CPU_EXTENT_BINS - 1;
}

static void bin_add(cpu_space *space, cpu_extent *extent) {
  int bin = bin_of(space, extent->span);
  extent->state = CPU_EXTENT_FREE;
  extent->prev = NULL;
  extent->next = space->bins[bin];
  if (extent->next) extent->next->prev = extent;
  space->bins[bin] = extent;
  space->filled |= 1ull << bin;
}

static void bin_remove(cpu_space *space, cpu_extent *extent) {
  int bin = bin_of(space, extent->span);
  if (extent->prev)
    extent->prev->next = extent->next;
  else
    space->bins[bin] = extent->next;
  if (extent->next) extent->next->prev = extent->prev;
  if (!space->bins[bin]) space->filled &= ~(1ull << bin);
  extent->prev = extent->next = NULL;
}

void cpu_space_open(cpu_space *space, uintptr_t address, size_t bytes, size_t page) {
  *space = (cpu_space){.page = page};
  cpu_extent *all = extent_new(space);
  all->address = address;
  all->span = bytes;
  space->first = all;
  bin_add(space, all);
}

void cpu_space_close(cpu_space *space) {
  for (block *b = space->blocks, *next; b; b = next) {
    next = b->next;
    free(b);
  }
  *space = (cpu_space){0};
}

/* Split off the part after the first `span` bytes; it is in no bin yet. */
static cpu_extent *split(cpu_space *space, cpu_extent *extent, size_t span) {
  cpu_extent *rest = extent_new(space);
  rest->address = extent->address + span;
  rest->span = extent->span - span;
  rest->open = extent->open;
  rest->before = extent;
  rest->after = extent->after;
  if (rest->after) rest->after->before = rest;
  extent->after = rest;
  extent->span = span;
  return rest;
}

static size_t lead(const cpu_extent *extent, size_t align) { return -extent->address & (align - 1); }

static bool fits(const cpu_extent *extent, size_t span, size_t align) {
  return extent->span >= span && extent->span - span >= lead(extent, align);
}

static cpu_extent *find(cpu_space *space, size_t span, size_t align) {
  int bin = bin_of(space, span);
  uint64_t candidates = space->filled >> bin << bin;
  while (candidates) {
    bin = __builtin_ctzll(candidates);
    candidates &= candidates - 1;
    /* There may be many small runs, each slightly too small: try a few only. The last bins have few runs. */
    int tries = candidates ? MOST_TRIED : INT32_MAX;
    for (cpu_extent *e = space->bins[bin]; e && tries--; e = e->next) {
      if (fits(e, span, align)) return e;
    }
  }
  return NULL;
}

cpu_extent *cpu_space_take(cpu_space *space, size_t span, size_t align) {
  cpu_extent *extent = find(space, span, align);
  if (!extent) return NULL;
  bin_remove(space, extent);
  size_t skip = lead(extent, align);
  if (skip) {
    cpu_extent *rest = split(space, extent, skip);
    bin_add(space, extent);
    extent = rest;
  }
  if (extent->span > span) bin_add(space, split(space, extent, span));
  return extent;
}

/* `second` follows `first`, both free and in no bin. */
static cpu_extent *merge(cpu_space *space, cpu_extent *first, cpu_extent *second) {
  first->span += second->span;
  first->open |= second->open;
  first->after = second->after;
  if (first->after) first->after->before = first;
  extent_drop(space, second);
  return first;
}

void cpu_space_give(cpu_space *space, cpu_extent *extent) {
  cpu_extent *after = extent->after, *before = extent->before;
  if (after && after->state == CPU_EXTENT_FREE) {
    bin_remove(space, after);
    merge(space, extent, after);
  }
  if (before && before->state == CPU_EXTENT_FREE) {
    bin_remove(space, before);
    extent = merge(space, before, extent);
  }
  bin_add(space, extent);
}
