/* Watching launches: what launch.c needs of watch.c, and what drivers need to say what their watchers saw. */
#ifndef MW_WATCH_H
#define MW_WATCH_H

#include "core/core.h"
#include "device/moonwarp/measured_run/rules.h"

struct mw_watch {
  mw_refs refs;
  mw_device *device;
  void *state;       /* the driver's */
  unsigned observes; /* of enum mw_observed */
  char *text;        /* mw_watch_result's */
};

/* The watch of the calling thread's launches, or NULL. */
extern _Thread_local mw_watch *mw_watch_current;

/* Prepare the request of a launch that is watched. */
int mw_watch_request(const mw_watch *watch, const mw_kernel *kernel, mw_launch_request *request);

/* ---- watch_text.c: results, as lines of text with tabs between their fields ---- */

/* A place in watched code, with its position in the script's source; texts may be NULL. See mw_site. */
typedef struct mw_watched_site {
  uint32_t kind, space, bytes, detail;
  int line, outer_line;
  uint32_t column;
  const char *file, *outer_file, *name, *function;
} mw_watched_site;

/* What was counted there, in one space. See src/cpu/watch/tallies.h and coalescing.h. */
typedef struct mw_watched_counts {
  uint64_t executed, lanes, full, divergent, requests, sectors, ideal, wavefronts, least, bytes, used, collisions,
      moved, issued, rounds, round_wavefronts;
} mw_watched_counts;

/* The fields of a site, with a tab before each; and, to the end of the line, what was counted there, or what a basic
   block did on one line: instructions by class. */
void mw_watch_add_site(mw_text *out, const mw_watched_site *site);
void mw_watch_add_counts(mw_text *out, const mw_watched_counts *counts);
void mw_watch_add_work(mw_text *out, uint64_t executed, uint64_t lanes, const uint32_t *work, size_t classes,
                       uint32_t flops);
/* A line with the addresses of an access by active lanes. */
void mw_watch_add_sample(mw_text *out, size_t number, uint32_t lanes, const uint64_t at[32]);
/* The rules of a capability such as "1.1", "" for today's; MW_INVALID_VALUE. */
int mw_watch_rules(const char *capability, enum mw_rule_set *out);

#endif
