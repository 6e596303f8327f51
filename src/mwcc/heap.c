/* The heap in large pages.
 *
 * A run of mwcc touches a few megabytes of memory, once, and ends. Page by page the kernel takes longer to find and clear them
 * than many a pass takes to fill them; of pages of two megabytes there are a few. */
#include "mwcc.h"

#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __GLIBC__ && defined MADV_HUGEPAGE && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
/* Nothing depends on it: where the kernel has no such pages to give, it gives small ones. */
void use_large_pages(void) {
  enum { PAGE = 2 << 20, AHEAD = 32 << 20 };
  mallopt(M_TOP_PAD, AHEAD);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_MMAP_THRESHOLD, AHEAD);
  void *volatile more = malloc(PAGE); /* than there is: the heap grows by all that is asked for ahead */
  uintptr_t next = (uintptr_t)more, end = (uintptr_t)sbrk(0) / PAGE * PAGE;
  uintptr_t start = (next + 2 * PAGE) / PAGE * PAGE; /* behind what malloc has written so far, which has small pages */
  free(more);
  if (next >= end || start >= end) return;
  madvise((void *)start, end - start, MADV_HUGEPAGE);
  more = malloc(start - next); /* nobody touches it: the next piece is in the first large page */
}
#else
void use_large_pages(void) {}
#endif
