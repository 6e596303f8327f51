/* The watcher "counters": counts, for each site, what a GPU's counters would (Nsight Compute's, on compute capability
 * 9.0). Rules of the memory system are in coalescing.h; here are tables of sums.
 *
 * The result has a line for each site that was executed: "site", the kernel's name, the number of the launch's kernel,
 * the site's fields (cpu_watch_add_site), and the sums. Sites of several launches of one kernel are added up. */
#include "tallies.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A unit's kernels that were launched, and the sums of its sites. */
typedef struct tally {
  struct tally *next;
  const cpu_kernel *kernel;
  size_t count;
  uint64_t launches, blocks;
  site_sums *of;
  struct sample *samples; /* of the first launch, or NULL */
  struct step *steps;
  size_t step_count;
} tally;

typedef struct counters {
  rules rules;
  tally *tallies;
} counters;

typedef struct launch_counts {
  counters *all;
  const cpu_watched *launch;
  tally *into;
} launch_counts;

/* What is drawn: the first call at each site in the launch's first block, and what the first warp does, step by step. */
enum { STEPS = 512 };

typedef struct sample {
  uint32_t lanes; /* 0: there is none */
  uint64_t at[32];
} sample;

typedef struct step {
  uint32_t site, lanes;
} step;

typedef struct worker_counts {
  site_sums *of;
  tallies *tallies;
  sample *samples; /* by site */
  step steps[STEPS];
  size_t step_count;
} worker_counts;

static int counters_open(cpu_device *device, const char *options, void **state) {
  (void)device;
  counters *c = mw_alloc(sizeof *c);
  int code = mw_watch_rules(options, &c->rules.set);
  if (code != MW_SUCCESS) {
    free(c);
    return code;
  }
  *state = c;
  return MW_SUCCESS;
}

static void counters_close(void *state) {
  counters *c = state;
  for (tally *t = c->tallies, *next; t; t = next) {
    next = t->next;
    free(t->of);
    free(t->samples);
    free(t->steps);
    free(t);
  }
  free(c);
}

/* ---- launches ---- */

static tally *find_or_add(counters *c, const cpu_watched *launch) {
  tally **at = &c->tallies;
  while (*at && (*at)->kernel != launch->kernel) at = &(*at)->next;
  if (*at) return *at;
  tally *t = *at = mw_alloc(sizeof *t);
  *t = (tally){.kernel = launch->kernel, .count = launch->site_count};
  t->of = mw_alloc((t->count + 1) * sizeof *t->of);
  return t;
}

static void *counters_begin(void *state, const cpu_watched *launch) {
  launch_counts *l = mw_alloc(sizeof *l);
  *l = (launch_counts){state, launch, find_or_add(state, launch)};
  return l;
}

static void *counters_enter(void *state) {
  const launch_counts *l = state;
  worker_counts *w = mw_alloc(sizeof *w);
  *w = (worker_counts){.tallies = tallies_new(&l->all->rules, l->launch->sites, l->launch->site_count)};
  w->of = mw_alloc((l->launch->site_count + 1) * sizeof *w->of);
  w->samples = mw_alloc((l->launch->site_count + 1) * sizeof *w->samples);
  return w;
}

static void counters_leave(void *state, void *worker) {
  const launch_counts *l = state;
  worker_counts *w = worker;
  tallies_settle(w->tallies, w->of);
  uint64_t *to = (uint64_t *)l->into->of;
  const uint64_t *from = (const uint64_t *)w->of;
  for (size_t i = 0; i < l->into->count * sizeof *w->of / sizeof *to; i++) to[i] += from[i];
  if (w->step_count && !l->into->steps) {
    l->into->samples = w->samples;
    l->into->steps = mw_alloc(w->step_count * sizeof *w->steps);
    memcpy(l->into->steps, w->steps, w->step_count * sizeof *w->steps);
    l->into->step_count = w->step_count;
  } else {
    free(w->samples);
  }
  free(w->of);
  free(w);
}

static void counters_end(void *state, bool failed) {
  launch_counts *l = state;
  const uint32_t *grid = l->launch->command->kernel.frame.grid;
  (void)failed;
  l->into->launches++;
  l->into->blocks += (uint64_t)grid[0] * grid[1] * grid[2];
  free(l);
}

/* ---- calls ---- */

/* Whether the call is drawn: it is in the launch's first block. */
static bool is_drawn(const cpu_watch_event *e) { return e->worker->block == 0; }

static void take_sample(worker_counts *w, const cpu_watch_event *e) {
  uint64_t words[32];
  if (!is_drawn(e) || w->samples[e->number].lanes) return;
  if (e->bases) cpu_watch_expand(e, words);
  w->samples[e->number].lanes = e->lanes;
  memcpy(w->samples[e->number].at, e->bases ? words : e->words, sizeof w->samples->at);
}

static sums *count_call(worker_counts *w, const cpu_watch_event *e) {
  sums *s = &w->of[e->number][e->space < CPU_WATCH_SPACES ? e->space : 0];
  s->executed++;
  s->lanes += (unsigned)__builtin_popcount(e->lanes);
  return s;
}

static void on_event(void *worker, const cpu_watch_event *e) {
  worker_counts *w = worker;
  count_call(w, e)->full += e->lanes == ~0u;
  tallies_open(w->tallies, e->number);
}

static void on_access(void *worker, const cpu_watch_event *e) {
  worker_counts *w = worker;
  if (e->site->is_texture) {
    on_event(w, e);
    return;
  }
  take_sample(w, e);
  tallies_count(w->tallies, e, w->of);
  tallies_open(w->tallies, e->number);
}

static void on_code(void *worker, const cpu_watch_event *e) {
  worker_counts *w = worker;
  count_call(w, e)->full += e->lanes == ~0u;
  if (is_drawn(e) && e->warp == 0 && w->step_count < STEPS) w->steps[w->step_count++] = (step){e->number, e->lanes};
  if (!is_drawn(e) || w->step_count == STEPS) tallies_open(w->tallies, e->number);
}

static void on_branch(void *worker, const cpu_watch_event *e) {
  worker_counts *w = worker;
  sums *s = count_call(w, e);
  s->full += e->takes == e->lanes;
  s->divergent += e->takes && e->takes != e->lanes;
  tallies_open(w->tallies, e->number);
}

static mw_tally *counters_tallies(void *worker) { return tallies_table(((worker_counts *)worker)->tallies); }

/* What is drawn is not there yet where the worker begins with the first block. */
static void counters_first_block(void *worker) { tallies_close(((worker_counts *)worker)->tallies); }

/* ---- the result ---- */

static void add_line(mw_text *out, const tally *t, size_t i, unsigned space, const sums *s) {
  const memory_sums *m = &s->memory;
  uint32_t with = t->kernel->unit->image->sites[i].issued;
  uint64_t issued = with < t->count ? t->of[with][0].executed : s->executed;
  mw_site site = t->kernel->unit->image->sites[i];
  site.space = space;
  mw_text_addf(out, "site\t%zu", i);
  cpu_watch_add_site(out, t->kernel, &site);
  mw_watch_add_counts(out, &(mw_watched_counts){.executed = s->executed,
                                                .lanes = s->lanes,
                                                .full = s->full,
                                                .divergent = s->divergent,
                                                .requests = m->requests,
                                                .sectors = m->sectors,
                                                .ideal = m->ideal,
                                                .wavefronts = m->wavefronts,
                                                .least = m->least,
                                                .bytes = m->bytes,
                                                .used = m->used,
                                                .collisions = m->collisions,
                                                .moved = m->moved,
                                                .issued = issued,
                                                .rounds = m->rounds,
                                                .round_wavefronts = m->round_wavefronts});
}

/* What a basic block did on one line: the counts are those of its code site. */
static void add_work(mw_text *out, const tally *t, size_t i, const sums *code) {
  const mw_site *site = &t->kernel->unit->image->sites[i];
  mw_text_addf(out, "work\t%zu", i);
  cpu_watch_add_site(out, t->kernel, site);
  mw_watch_add_work(out, code->executed, code->lanes, site->work, MW_WORK_CLASSES, site->flops);
}

static void add_drawn(mw_text *out, const tally *t) {
  for (size_t i = 0; i < t->count && t->samples; i++)
    if (t->samples[i].lanes) mw_watch_add_sample(out, i, t->samples[i].lanes, t->samples[i].at);
  for (size_t i = 0; i < t->step_count; i++) mw_text_addf(out, "step\t%u\t%u\n", t->steps[i].site, t->steps[i].lanes);
}

static void counters_result(void *state, mw_text *out) {
  const counters *c = state;
  for (const tally *t = c->tallies; t; t = t->next) {
    const mw_site *sites = t->kernel->unit->image->sites;
    mw_text_addf(out, "kernel\t%s\t%llu\t%llu\t%s\n", t->kernel->image->info.name, (unsigned long long)t->launches,
                 (unsigned long long)t->blocks, t->kernel->image->info.tier);
    const sums *code = NULL;
    for (size_t i = 0; i < t->count; i++) {
      if (sites[i].kind == MW_SITE_CODE) code = &t->of[i][0];
      if (sites[i].kind == MW_SITE_WORK && code && code->executed) add_work(out, t, i, code);
      for (unsigned space = 0; space < CPU_WATCH_SPACES; space++)
        if (t->of[i][space].executed) add_line(out, t, i, space, &t->of[i][space]);
    }
    add_drawn(out, t);
  }
}

const cpu_watcher cpu_counters = {
    .name = "counters",
    .takes_runs = true,
    .observes = MW_OBSERVE_ACCESS | MW_OBSERVE_SYNC | MW_OBSERVE_BRANCH | MW_OBSERVE_CODE,
    .open = counters_open,
    .close = counters_close,
    .begin = counters_begin,
    .enter = counters_enter,
    .on = {[MW_SITE_LOAD] = on_access,
           [MW_SITE_STORE] = on_access,
           [MW_SITE_ATOMIC] = on_access,
           [MW_SITE_REDUCTION] = on_access,
           [MW_SITE_BARRIER] = on_event,
           [MW_SITE_WARP] = on_event,
           [MW_SITE_FENCE] = on_event,
           [MW_SITE_BRANCH] = on_branch,
           [MW_SITE_CODE] = on_code},
    .tallies = counters_tallies,
    .first_block = counters_first_block,
    .leave = counters_leave,
    .end = counters_end,
    .result = counters_result,
};
