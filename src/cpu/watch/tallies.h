/* What is counted at a site, and the tallies of a worker: counts of which generated code does a part by itself (mw_tally,
 * tallies.c). */
#ifndef MW_CPU_TALLIES_H
#define MW_CPU_TALLIES_H

#include "coalescing.h"

enum { CPU_WATCH_SPACES = MW_SPACE_LOCAL + 1 };

/* The sums of a site, for accesses in each space. */
typedef struct sums {
  uint64_t executed, lanes; /* calls, and active lanes in them */
  uint64_t full;            /* a branch: calls in which all active lanes took it; else calls with 32 lanes */
  uint64_t divergent;       /* a branch: some lanes took it and some did not */
  memory_sums memory;
} sums;

typedef sums site_sums[CPU_WATCH_SPACES];

typedef struct tallies tallies;

tallies *tallies_new(const rules *r, const mw_site *sites, size_t count);
/* The table for generated code. */
mw_tally *tallies_table(tallies *t);
/* From now on generated code may count at the site, or at none: it makes all calls. */
void tallies_open(tallies *t, uint32_t site);
void tallies_close(tallies *t);
/* Count an access, to `into` or to its pattern. */
void tallies_count(tallies *t, const cpu_watch_event *event, site_sums *into);
/* Add to `into`, by site, what generated code has counted; then free the tallies. */
void tallies_settle(tallies *t, site_sums *into);

#endif
