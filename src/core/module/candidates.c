/* Autotuning of specialised kernels. Candidates are the same kernel compiled for other gangs, where the compiler is
 * unsure which gang is the fastest.
 *
 * A candidate is compiled in the background when the kernel has run for long enough that the compile time is likely to
 * pay off. Then the driver runs both alternately in the kernel's next launches, and prefers the faster one. The next
 * candidate follows after as much time again. In the end the cache remembers the winner for the launch class, and
 * another process loads it, in the background as well. No launch ever waits for any of this, and all candidates compute
 * the same bits.
 *
 * $MOONWARP_TRIALS is the number of seconds, or "off". A kernel that was compiled with --width has no candidates. */
#include "background.h"
#include "module.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

typedef struct mw_candidates {
  mw_module *module;
  mw_special *special;
  uint32_t gangs[MW_CANDIDATES], best; /* best: 0: the special's own */
  size_t count, next;
  void *running; /* the candidate in a trial */
} mw_candidates;

/* The seconds that a kernel runs before a trial; negative: there are none. */
static double seconds_before(void) {
  const char *text = getenv("MOONWARP_TRIALS");
  char *end;
  if (!text || !*text) return 0.1;
  double seconds = strtod(text, &end);
  return end != text && !*end && isfinite(seconds) ? seconds : -1;
}

static void drop(void *context) { mw_module_unuse(((mw_candidates *)context)->module); }

/* Any thread; a command in flight, or the caller's handle, keeps the module until then. */
static void add_job(mw_candidates *r, void (*run)(void *context)) {
  mw_module_use(r->module);
  mw_background_add(r->module->device, (mw_job){.run = run, .drop = drop, .context = r});
}

static void *make_candidate(mw_candidates *r, uint32_t gang) {
  mw_special candidate = *r->special;
  candidate.launches.gang = gang;
  return mw_module_make_special(r->module, &candidate);
}

/* ---- in the background ---- */

static void decided(void *context);

static void wait_for_time(mw_candidates *r);

/* Prepare the next trial; after the last one, remember the fastest candidate. */
static void continue_or_finish(mw_candidates *r) {
  if (r->next < r->count)
    wait_for_time(r);
  else
    mw_module_remember_choice(r->module, r->special, r->best);
}

static void challenge(void *context) {
  mw_candidates *r = context;
  const mw_driver *driver = r->module->device->driver;
  r->running = make_candidate(r, r->gangs[r->next++]);
  if (r->running)
    driver->compete(r->special->made, r->running, (mw_completion){decided, r});
  else
    continue_or_finish(r);
  drop(r);
}

static void conclude(void *context) {
  mw_candidates *r = context;
  const mw_driver *driver = r->module->device->driver;
  if (driver->preferred(r->special->made) == r->running) r->best = r->gangs[r->next - 1];
  continue_or_finish(r);
  drop(r);
}

static void recall(void *context) {
  mw_candidates *r = context;
  void *made = make_candidate(r, r->best);
  if (made) r->module->device->driver->prefer(r->special->made, made);
  drop(r);
}

/* ---- on any thread ---- */

static void decided(void *context) { add_job(context, conclude); }

static void ripe(void *context) { add_job(context, challenge); }

static void wait_for_time(mw_candidates *r) {
  r->module->device->driver->ripen(r->special->made, seconds_before(), (mw_completion){ripe, r});
}

void mw_candidates_begin(mw_module *module, mw_special *special) {
  const mw_driver *driver = module->device->driver;
  mw_candidates r = {.module = module, .special = special};
  if (!driver->candidates || seconds_before() < 0) return;
  r.count = driver->candidates(special->made, r.gangs);
  if (r.count == 0) return;
  bool known = mw_module_recall_choice(module, special, &r.best);
  special->candidates = mw_alloc(sizeof *special->candidates);
  *special->candidates = r;
  if (!known)
    wait_for_time(special->candidates);
  else if (r.best)
    add_job(special->candidates, recall);
}
