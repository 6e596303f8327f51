/* The watcher "accesses": the first accesses of each worker, one by one, for pictures of who read what in small launches.
 *
 * The result has a line for each: "access", the site's number and fields (cpu_watch_add_site), the block's number, the
 * thread's in its block, and the address; of shared memory, where it is from the start of the block's. A last line,
 * "left out", has the number of those that there was no room for, if any. */
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROOM = 1 << 14 }; /* accesses of a worker that are kept */

typedef struct seen {
  uint64_t block, address;
  uint32_t site, space, thread;
} seen;

typedef struct accesses {
  mw_text text;
  uint64_t left_out;
} accesses;

typedef struct launch_accesses {
  accesses *all;
  const cpu_watched *launch;
} launch_accesses;

typedef struct worker_accesses {
  size_t count;
  uint64_t left_out;
  seen of[ROOM];
} worker_accesses;

static int accesses_open(cpu_device *device, const char *options, void **state) {
  (void)device;
  (void)options;
  *state = mw_alloc(sizeof(accesses));
  return MW_SUCCESS;
}

static void accesses_close(void *state) {
  accesses *a = state;
  mw_text_free(&a->text);
  free(a);
}

static void *accesses_begin(void *state, const cpu_watched *launch) {
  launch_accesses *l = mw_alloc(sizeof *l);
  *l = (launch_accesses){state, launch};
  return l;
}

static void *accesses_enter(void *launch) {
  (void)launch;
  return mw_alloc(sizeof(worker_accesses));
}

static void on_access(void *worker, const cpu_watch_event *e) {
  worker_accesses *w = worker;
  if (e->site->is_texture) return;
  uint64_t from = e->space == MW_SPACE_SHARED ? (uintptr_t)e->worker->shared : 0;
  for (uint32_t rest = e->lanes; rest; rest &= rest - 1) {
    unsigned lane = (unsigned)__builtin_ctz(rest);
    if (w->count == ROOM)
      w->left_out++;
    else
      w->of[w->count++] = (seen){e->worker->block, e->words[lane] - from, e->number, e->space, 32 * e->warp + lane};
  }
}

static void accesses_leave(void *launch, void *worker) {
  launch_accesses *l = launch;
  worker_accesses *w = worker;
  for (size_t i = 0; i < w->count; i++) {
    const seen *s = &w->of[i];
    mw_site site = l->launch->sites[s->site];
    site.space = s->space;
    mw_text_addf(&l->all->text, "access\t%u", s->site);
    cpu_watch_add_site(&l->all->text, l->launch->kernel, &site);
    mw_text_addf(&l->all->text, "\t%llu\t%u\t%llu\n", (unsigned long long)s->block, s->thread,
                 (unsigned long long)s->address);
  }
  l->all->left_out += w->left_out;
  free(w);
}

static void accesses_end(void *launch, bool failed) {
  (void)failed;
  free(launch);
}

static void accesses_result(void *state, mw_text *out) {
  const accesses *a = state;
  mw_text_add(out, a->text.data, a->text.length);
  if (a->left_out) mw_text_addf(out, "left out\t%llu\n", (unsigned long long)a->left_out);
}

const cpu_watcher cpu_accesses = {
    .name = "accesses",
    .observes = MW_OBSERVE_ACCESS,
    .open = accesses_open,
    .close = accesses_close,
    .begin = accesses_begin,
    .enter = accesses_enter,
    .on = {[MW_SITE_LOAD] = on_access,
           [MW_SITE_STORE] = on_access,
           [MW_SITE_ATOMIC] = on_access,
           [MW_SITE_REDUCTION] = on_access},
    .leave = accesses_leave,
    .end = accesses_end,
    .result = accesses_result,
};
