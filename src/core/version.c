/* The library's version and interface text, and its clock. */
#include "moonwarp.h"

#include <time.h>

/* ISO C guarantees string literals of only 4095 bytes; all common compilers accept far longer ones. */
#pragma GCC diagnostic ignored "-Woverlength-strings"
static const char abi_text[] =
#include "abi_text.inc"
    ;

const char *mw_version(void) { return MW_VERSION; }

const char *mw_abi_text(void) { return abi_text; }

double mw_time(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}
