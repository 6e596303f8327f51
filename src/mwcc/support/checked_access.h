/* Calls of checked code, which later passes lower or compute inline. */
#ifndef MWCC_CHECKED_ACCESS_H
#define MWCC_CHECKED_ACCESS_H

#include "mwcc/mwcc.h"

/* Before an access: mw_services.check_access's arguments, and accessed.param. */
#define CHECK_ACCESS_FUNCTION "__mw_check_access"
/* Events of a checked run (mw_check_event), reported by the headers, by inline PTX and by bounds_check.c. */
#define CHECK_EVENT_FUNCTION "__mw_check_event"
/* A call of mw_services.check_shadow, from value_check.c. */
#define CHECK_SHADOW_FUNCTION "__mw_check_shadow"
/* A variable that stands for mw_worker.shadow, an i64. */
#define SHADOW_DISTANCE "__mw_shadow_distance"
/* Calls CHECK_EVENT_FUNCTION if its third argument is true. */
#define CHECK_EVENT_IF "__mw_check_event_if"

/* Whether this is screened code, which runs before the code that follows each thread: race_screen.c. */
static inline bool is_screened(const program *p) { return p->options->checks & MW_CHECKED_SCREEN; }

/* Whether it notes accesses and warp functions. Else it only looks for values that nothing has written. */
static inline bool notes_accesses(const options *o) {
  return o->checks & MW_CHECKED_SCREEN && o->checks & (MW_CHECK_RACES | MW_CHECK_BARRIERS);
}

/* Marks stores to cells (widen/calls/race_screening.c), whose addresses are near those of accesses in bounds. */
#define CELLS_METADATA "mw.cells"

#endif
