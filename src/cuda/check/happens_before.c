/* Whether fences and atomics order two accesses of a checked run, by the log of its kernels.
 *
 * After a fence, each atomic operation or volatile store of a thread is a release: it publishes what the thread did
 * before the fence. A thread that later reads the word by an atomic or volatile load acquires that, and all that the
 * releasing thread had acquired ("learnt") before; by a relaxed load, from its next fence on. So an access happens
 * before another if a chain of such entries leads from the second thread to a release that covers the first access.
 * What another thread of the block has acquired counts as well if a barrier follows it. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

typedef struct place {
  unsigned run, number;
  unsigned from; /* the entry from which on it counts: itself or a fence; ~0u: none */
} place;

typedef struct knower {
  unsigned run, thread, epoch, until; /* until: entries of the log that it may know */
} knower;

typedef struct decider {
  const mw_follow_event *log;
  unsigned log_count;
  place *learnt; /* entries of that kind, by run */
  size_t learnt_count;
  unsigned *seen, stamp; /* releases that were looked at for this pair */
  knower *stack;
  size_t depth, room;
} decider;

static int by_run(const void *a, const void *b) {
  const place *x = a, *y = b;
  if (x->run != y->run) return x->run < y->run ? -1 : 1;
  return x->number < y->number ? -1 : x->number > y->number;
}

static void find_fences(decider *d) {
  unsigned next[MW_FOLLOW_THREADS]; /* the next fence of each thread of the run */
  for (size_t i = d->learnt_count; i-- > 0;) {
    place *l = &d->learnt[i];
    const mw_follow_event *e = &d->log[l->number];
    if (i + 1 == d->learnt_count || l[1].run != l->run) memset(next, 255, sizeof next);
    if (e->kind == MW_FOLLOW_FENCED)
      next[e->thread % MW_FOLLOW_THREADS] = l->number;
    else if (e->fenced)
      l->from = next[e->thread % MW_FOLLOW_THREADS];
  }
}

static void index_log(decider *d) {
  d->learnt = mw_alloc((d->log_count + 1) * sizeof *d->learnt);
  for (unsigned i = 0; i < d->log_count; i++)
    if (d->log[i].kind != MW_FOLLOW_RELEASED) d->learnt[d->learnt_count++] = (place){d->log[i].run, i, i};
  qsort(d->learnt, d->learnt_count, sizeof *d->learnt, by_run);
  find_fences(d);
}

static size_t first_of(const decider *d, unsigned run) {
  size_t low = 0, high = d->learnt_count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    if (d->learnt[middle].run < run)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static bool covers(const mw_follow_event *release, const mw_follow_end *other, const mw_follow_end *here) {
  unsigned scope = here->run == other->run;
  if (other->flags & MW_FOLLOW_COPY && scope) {
    bool is_own = release->run == other->run && release->thread == other->thread;
    return is_own && ((release->copies - other->step) & 4095) < 2048;
  }
  if (release->run != other->run || !(release->fenced >> scope & 1)) return false;
  /* What is acquired from an atomic write also comes after that write itself. */
  bool is_strong = other->flags & (MW_FOLLOW_ATOMIC | MW_FOLLOW_VOLATILE) && other->flags & MW_FOLLOW_STORE;
  if (is_strong && release->thread == other->thread && release->epoch == other->epoch)
    return other->step <= release->step;
  unsigned epoch = release->fenced_epoch[scope];
  if (release->thread != other->thread) return other->epoch < release->epoch;
  return other->epoch < epoch || (other->epoch == epoch && other->step <= release->fenced_step[scope]);
}

static void push(decider *d, knower k) {
  if (d->depth == d->room) {
    d->room = d->room ? 2 * d->room : 64;
    d->stack = mw_realloc(d->stack, d->room * sizeof *d->stack);
  }
  d->stack[d->depth++] = k;
}

/* The releases at a word up to this one. */
static bool finds_release(decider *d, unsigned number, const mw_follow_pair *pair) {
  for (; number && number <= d->log_count; number = d->log[number - 1].link) {
    const mw_follow_event *release = &d->log[number - 1];
    if (release->kind != MW_FOLLOW_RELEASED || d->seen[number - 1] == d->stamp) return false;
    d->seen[number - 1] = d->stamp;
    if (covers(release, &pair->other, &pair->here)) return true;
    push(d, (knower){release->run, release->thread, release->epoch, number - 1});
  }
  return false;
}

static bool is_ordered(decider *d, const mw_follow_pair *pair) {
  d->stamp++;
  d->depth = 0;
  push(d, (knower){pair->here.run, pair->here.thread, pair->here.epoch, pair->logged});
  while (d->depth) {
    knower k = d->stack[--d->depth];
    for (size_t i = first_of(d, k.run); i < d->learnt_count && d->learnt[i].run == k.run; i++) {
      const mw_follow_event *e = &d->log[d->learnt[i].number];
      bool knows = e->thread == k.thread || e->epoch < k.epoch || e->thread / 32 == k.thread / 32;
      if (knows && d->learnt[i].from < k.until && finds_release(d, e->link, pair)) return true;
    }
  }
  return false;
}

static void *fetch(check_session *check, uint64_t from, size_t count, size_t size) {
  void *to = mw_alloc((count + 1) * size);
  CUresult result = count ? cu.cuMemcpyDtoHAsync(to, from, count * size, check->device->side) : 0;
  if (result == 0) result = cu.cuStreamSynchronize(check->device->side);
  if (result != 0) memset(to, 0, count * size);
  return to;
}

void check_decide(check_session *check, const mw_follow_session *end,
                  void (*race)(check_session *, const mw_follow_finding *)) {
  unsigned count = end->pair_count < end->pair_room ? end->pair_count : end->pair_room;
  if (!count) return;
  decider d = {.log_count = end->log_count < end->log_room ? end->log_count : end->log_room};
  mw_follow_event *log = fetch(check, end->log, d.log_count, sizeof *log);
  mw_follow_pair *pairs = fetch(check, end->pairs, count, sizeof *pairs);
  d.log = log;
  d.seen = mw_alloc((d.log_count + 1) * sizeof *d.seen);
  index_log(&d);
  for (unsigned i = 0; i < count; i++) {
    const mw_follow_pair *p = &pairs[i];
    mw_follow_finding found = {.kind = MW_FOLLOW_RACE,
                               .here = p->here,
                               .other = p->other,
                               .address = p->address,
                               .object = p->object,
                               .bytes = p->bytes,
                               .is_shared = p->is_shared,
                               .count = 1,
                               .ready = 1};
    if (p->here.site && !is_ordered(&d, p)) race(check, &found);
  }
  free(log);
  free(pairs);
  free(d.learnt);
  free(d.seen);
  free(d.stack);
}
