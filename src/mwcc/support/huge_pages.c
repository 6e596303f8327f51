/* The heap and the program itself in large pages.
 *
 * A run of mwcc touches a few megabytes of memory, once, and ends. Page by page the kernel takes longer to find and clear them
 * than many a pass takes to fill them; of pages of two megabytes there are a few. And of its 80 megabytes of program, code and
 * tables, it uses ten, a bit here and a bit there: more than the processor has entries for small pages. */
#include "mwcc/mwcc.h"

#include <elf.h>
#include <limits.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#if defined __GLIBC__ && defined MADV_HUGEPAGE && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
enum { PAGE = 2 << 20, AHEAD = 32 << 20 };

/* Nothing depends on it: where the kernel has no such pages to give, it gives small ones. */
void use_large_pages(void) {
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

/* The thread's own heap, which begins with as many bytes as the first heap grows by. */
void use_large_pages_here(void) {
  void *volatile more = malloc(AHEAD / 2); /* behind what malloc has written so far */
  uintptr_t first = (uintptr_t)more, start = (first + PAGE) / PAGE * PAGE, end = (first + AHEAD / 2) / PAGE * PAGE;
  free(more);
  if (!first) return;
  madvise((void *)start, end - start, MADV_HUGEPAGE);
  more = malloc(start - first);
}
#else
void use_large_pages(void) {}
void use_large_pages_here(void) {}
#endif

#if defined __linux__ && defined MADV_HUGEPAGE && !defined __SANITIZE_ADDRESS__ && !defined __SANITIZE_THREAD__
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden"))); /* the linker's: where the program begins */

/* The file's pages come into memory as large ones where the file system has such (ext4 since Linux 6.16, XFS, Btrfs), if they
   were not there before: before LLVM's own constructors, which touch code all over the program. The linker has put the segments
   at such addresses (-z max-page-size in the Makefile). Nothing depends on it. */
__attribute__((constructor(101))) static void read_in_large_pages(void) {
  enum { SMALL = 4096 };
  const char *image = (const char *)&__ehdr_start;
  const Elf64_Phdr *segments = (const Elf64_Phdr *)(image + __ehdr_start.e_phoff);
  uintptr_t base = __ehdr_start.e_type == ET_DYN ? (uintptr_t)image : 0;
  for (unsigned i = 0; i < __ehdr_start.e_phnum; i++) {
    uintptr_t start = (base + segments[i].p_vaddr) / SMALL * SMALL,
              end = base + segments[i].p_vaddr + segments[i].p_filesz;
    if (segments[i].p_type == PT_LOAD && !(segments[i].p_flags & PF_W))
      madvise((void *)start, end - start, MADV_HUGEPAGE);
  }
}
#endif
