/* Transparent huge pages for the heap and for the program itself.
 *
 * mwcc runs briefly and touches each page of its heap about once, so page faults, and clearing the pages, are a notable
 * part of its time; with pages of 2 MB there are few. Its code and tables take 80 MB, of which a run uses about 10 MB
 * in scattered places: more small pages than the TLB has entries. */
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

/* A hint only: if the kernel has no huge pages, it maps small ones. */
void use_large_pages(void) {
  mallopt(M_TOP_PAD, AHEAD);
  mallopt(M_TRIM_THRESHOLD, INT_MAX);
  mallopt(M_MMAP_THRESHOLD, AHEAD);
  void *volatile more = malloc(PAGE); /* more than is free, so that the heap grows, by M_TOP_PAD bytes in addition */
  uintptr_t next = (uintptr_t)more, end = (uintptr_t)sbrk(0) / PAGE * PAGE;
  uintptr_t start = (next + 2 * PAGE) / PAGE * PAGE; /* after what malloc has written so far, on small pages */
  free(more);
  if (next >= end || start >= end) return;
  madvise((void *)start, end - start, MADV_HUGEPAGE);
  more = malloc(start - next); /* never used: it lets the next allocation start in the first huge page */
}

/* The calling thread's heap (arena), which starts with M_TOP_PAD bytes. */
void use_large_pages_here(void) {
  void *volatile more = malloc(AHEAD / 2); /* after what malloc has written so far */
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
extern const Elf64_Ehdr __ehdr_start __attribute__((visibility("hidden"))); /* defined by the linker: the ELF header */

/* Read the program's file in huge pages, if it is not in the page cache yet and the file system supports them (ext4
   since Linux 6.16, XFS, Btrfs). This runs before LLVM's constructors, which touch code all over the program. The
   linker aligns the segments accordingly (-z max-page-size in the Makefile). A hint only. */
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
