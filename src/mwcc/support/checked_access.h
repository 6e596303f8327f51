/* Calls of checked code, which later passes lower or compute inline. */
#ifndef MWCC_CHECKED_ACCESS_H
#define MWCC_CHECKED_ACCESS_H

#include "mwcc/mwcc.h"

/* Before an access: mw_services.check_access's arguments, and accessed.param. */
#define CHECK_ACCESS_FUNCTION "__mw_check_access"
/* What a checked run is to know (mw_check_event): of the headers, of inline PTX, and of bounds_check.c. */
#define CHECK_EVENT_FUNCTION "__mw_check_event"
/* mw_services.check_shadow, of value_check.c. */
#define CHECK_SHADOW_FUNCTION "__mw_check_shadow"
/* mw_worker.shadow: an i64. */
#define SHADOW_DISTANCE "__mw_shadow_distance"
/* CHECK_EVENT_FUNCTION, if its third argument is true. */
#define CHECK_EVENT_IF "__mw_check_event_if"

/* Whether code runs before that which follows each thread, to make it unnecessary: race_screen.c. */
static inline bool is_screened(const program *p) { return p->options->checks & MW_CHECKED_SCREEN; }

/* Of stores to cells (widen/calls/race_screening.c), whose addresses are near those of accesses in bounds. */
#define CELLS_METADATA "mw.cells"

#endif
