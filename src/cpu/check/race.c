/* The latest accesses to each byte of shared and global memory, and races between them.
 *
 * A word has a list of records: who wrote or read which of its bytes, when, and from where. A new access races with a
 * record of the same bytes if one of them writes, neither happens before the other, and they are not both atomic. A
 * record that happens before the new access is dropped if whatever races with it later would race with the new one as
 * well. Reads by lanes of one warp share a record. A word keeps only a few records of reads by other blocks. */
#include "session.h"

#include "cpu/memory/heap.h"
#include "cpu/execution/cluster.h"
#include "cpu/execution/warp.h"
#include "cpu/schedule/stream.h"

#include <stdlib.h>
#include <string.h>

enum {
  PAGE_SHIFT = 12,
  WORDS = 1 << (PAGE_SHIFT - 2),
  CHUNK = 4096,    /* records allocated together */
  FOREIGN = 8,     /* records of other blocks' reads that a word keeps */
  PAUSE = 1 << 16, /* accesses between pauses */
};

enum { WRITES = 1, STRONG = 2, BLOCK_ONLY = 4, VOLATILE = 8, UPDATES = 16, HOST = 32, RELEASES = 64 };

typedef struct record {
  check_time time, fenced; /* fenced: of an atomic access that releases, the time that it passes on */
  uint32_t launch, block, lanes, site, next;
  uint16_t grids, clusters;
  uint8_t warp, bytes, flags; /* bytes: a set of 4 */
} record;

typedef struct page {
  uint64_t number; /* of the address, plus 1; 0: free */
  uint32_t *words; /* number of the first record, 0: none */
} page;

struct shadow {
  page *pages;
  uint32_t count, room;
  page latest[16]; /* by number */
  record **chunks;
  uint32_t chunk_count, used, unused; /* records handed out; the first that is free again */
};

/* ---- storage ---- */

shadow *shadow_new(void) {
  shadow *s = mw_alloc(sizeof *s);
  s->room = 64;
  s->pages = mw_alloc(s->room * sizeof *s->pages);
  s->used = 1;
  return s;
}

void shadow_clear(shadow *s) {
  for (uint32_t i = 0; i < s->room && s->count; i++)
    if (s->pages[i].number) memset(s->pages[i].words, 0, WORDS * sizeof(uint32_t));
  s->used = 1;
  s->unused = 0;
}

void shadow_free(shadow *s) {
  for (uint32_t i = 0; i < s->room; i++) free(s->pages[i].words);
  for (uint32_t i = 0; i < s->chunk_count; i++) free(s->chunks[i]);
  free(s->pages);
  free(s->chunks);
  free(s);
}

static page *slot_of(page *pages, uint32_t room, uint64_t number) {
  for (uint64_t at = number * 0x9e3779b97f4a7c15u >> 40;; at++) {
    page *p = &pages[at & (room - 1)];
    if (p->number == number || !p->number) return p;
  }
}

static uint32_t *word_of(shadow *s, uint64_t address) {
  uint64_t number = (address >> PAGE_SHIFT) + 1;
  page *latest = &s->latest[(number ^ number >> 8) % MW_COUNT(s->latest)];
  if (latest->number != number) {
    if (2 * (s->count + 1) > s->room) {
      page *wider = mw_alloc(2 * s->room * sizeof *wider);
      for (uint32_t i = 0; i < s->room; i++)
        if (s->pages[i].number) *slot_of(wider, 2 * s->room, s->pages[i].number) = s->pages[i];
      free(s->pages);
      s->pages = wider;
      s->room *= 2;
    }
    page *p = slot_of(s->pages, s->room, number);
    if (!p->number) {
      *p = (page){number, mw_alloc(WORDS * sizeof(uint32_t))};
      s->count++;
    }
    *latest = *p;
  }
  return &latest->words[(address >> 2) & (WORDS - 1)];
}

static record *record_at(const shadow *s, uint32_t number) { return &s->chunks[number / CHUNK][number % CHUNK]; }

static uint32_t record_new(shadow *s) {
  uint32_t number = s->unused;
  if (number) {
    s->unused = record_at(s, number)->next;
    return number;
  }
  number = s->used++;
  if (number / CHUNK == s->chunk_count) {
    s->chunks = mw_realloc(s->chunks, (s->chunk_count + 1) * sizeof *s->chunks);
    s->chunks[s->chunk_count++] = mw_alloc(CHUNK * sizeof(record));
  }
  return number;
}

static void unlink_record(shadow *s, uint32_t *link) {
  uint32_t number = *link;
  record *r = record_at(s, number);
  *link = r->next;
  r->next = s->unused;
  s->unused = number;
}

void shadow_forget(shadow *s, uint64_t address, uint64_t bytes) {
  for (uint64_t at = address & ~3ull; at < address + bytes; at += 4) {
    const page *p = slot_of(s->pages, s->room, (at >> PAGE_SHIFT) + 1);
    if (!p->number) {
      at |= (1u << PAGE_SHIFT) - 4;
      continue;
    }
    uint32_t *word = &p->words[(at >> 2) & (WORDS - 1)];
    while (*word) unlink_record(s, word);
  }
}

/* ---- races ---- */

/* The access being recorded. */
typedef struct touch {
  cpu_check *check;
  const cpu_checked *self; /* NULL: a copy or fill by the host's command */
  uint32_t thread;
  record me;
  uint64_t address, bytes, object;
  const char *name;
  bool shared;
  uint32_t *previous; /* sites that were reported for this access already */
  uint32_t reported, latest_thread, latest_site, latest_block;
} touch;

static bool is_in_same_cluster(const touch *a, uint32_t block) {
  const check_launch *launch = check_launch_at(a->check, a->me.launch);
  uint32_t ours[3], theirs[3];
  cpu_unfold(a->me.block, launch->grid, ours);
  cpu_unfold(block, launch->grid, theirs);
  for (int axis = 0; axis < 3; axis++)
    if (ours[axis] / launch->cluster[axis] != theirs[axis] / launch->cluster[axis]) return false;
  return true;
}

/* Of another block of the launch: whether all blocks, or those of the cluster, have met since. */
static bool has_met(const touch *a, const record *r) {
  return r->grids < a->me.grids || (r->clusters < a->me.clusters && is_in_same_cluster(a, r->block));
}

/* Whether the access of that lane in the record happens before the access `a`. */
static bool happens_before(const touch *a, const record *r, uint32_t which) {
  const record *me = &a->me;
  uint32_t thread = 32u * r->warp + which;
  bool is_agent = thread >= AGENTS;
  if (r->launch != me->launch)
    return check_launch_before(a->check, r->launch, me->launch) ||
           (a->self && checked_knows(a->self, a->thread, r->launch, r->block, thread, r->time));
  if (!a->self) return true;
  if (is_agent) {
    bool same = r->block == me->block && 32u * me->warp + (uint32_t)__builtin_ctz(me->lanes) == thread;
    if ((same && r->time == me->time) || (r->block != me->block && has_met(a, r))) return true;
  } else if (r->block == me->block) {
    if (thread == a->thread || check_epoch(r->time) < a->self->epoch) return true;
  } else if (has_met(a, r)) {
    return true;
  }
  /* A thread that has acquired what an atomic write releases also comes after that write itself. */
  return checked_knows(a->self, a->thread, r->launch, r->block, thread, r->flags & RELEASES ? r->fenced : r->time);
}

/* The first lane of the record whose access does not happen before this one; 32: none. */
static uint32_t unordered_lane(const touch *a, const record *r) {
  if (a->self && r->launch == a->me.launch && r->block == a->me.block && 32u * r->warp < AGENTS &&
      check_epoch(r->time) < a->self->epoch)
    return 32;
  for (uint32_t lanes = r->lanes; lanes; lanes &= lanes - 1) {
    uint32_t which = (uint32_t)__builtin_ctz(lanes);
    if (!happens_before(a, r, which)) return which;
  }
  return 32;
}

/* Atomics with a sufficient scope do not race. Volatile accesses are atomic as well, by which flags are passed; but in
   shared memory they do not keep the lanes of one warp in step. */
static bool conflict(const touch *a, const record *r) {
  const record *me = &a->me;
  if (!((r->flags | me->flags) & WRITES)) return false;
  if (!(r->flags & me->flags & STRONG)) return true;
  bool same_block = r->launch == me->launch && r->block == me->block;
  if ((r->flags | me->flags) & BLOCK_ONLY && !same_block) return true;
  return a->shared && same_block && r->warp == me->warp && r->flags & me->flags & VOLATILE;
}

static const char *verb_of(uint8_t flags) {
  if (flags & UPDATES) return "atomic";
  return flags & WRITES ? "write" : "read";
}

static const char *advice_of(const touch *a, const record *r) {
  const record *me = &a->me;
  if (32u * r->warp >= AGENTS || 32u * me->warp >= AGENTS)
    return "one is an asynchronous copy that was not waited for: wait for it, then __syncthreads()";
  if (r->launch != me->launch)
    return "no event or synchronisation orders the two launches: record an event and wait for it, or use one stream";
  if (r->block != me->block && me->clusters && is_in_same_cluster(a, r->block))
    return "no cluster.sync() is between them";
  if (r->block != me->block)
    return "blocks run in any order: use an atomic, a second launch, or a fence (__threadfence) with an atomic flag";
  if ((r->flags | me->flags) & UPDATES) return "the other access is not atomic, and no __syncthreads() is between them";
  if (r->warp == me->warp) return "no __syncthreads() or __syncwarp() is between them";
  return "no __syncthreads() is between them";
}

static void report(touch *a, const record *r, uint32_t which) {
  const record *me = &a->me;
  uint32_t thread = (32u * r->warp + which) % AGENTS;
  if (a->reported && a->latest_site == r->site && a->latest_thread == thread && a->latest_block == r->block) return;
  a->reported++;
  a->latest_site = r->site, a->latest_thread = thread, a->latest_block = r->block;
  check_end mine = {me->site, a->self ? a->thread : ~0u, me->block, me->launch, verb_of(me->flags)};
  check_end theirs = {r->site, r->flags & HOST ? ~0u : thread, r->block, r->launch, verb_of(r->flags)};
  const check_site *here = check_site_at(a->check, mine.site), *there = check_site_at(a->check, theirs.site);
  /* The first end writes; of two writes, the earlier line is first. */
  bool writes = me->flags & WRITES, wrote = r->flags & WRITES;
  bool swap = wrote && (!writes || (there && here && there->line < here->line));
  bool same_launch = r->launch == me->launch;
  check_fact fact = {.kind = "race",
                     .here = swap ? theirs : mine,
                     .other = swap ? &mine : &theirs,
                     .array = a->name,
                     .scope = !same_launch            ? "launches"
                              : r->block != me->block ? "grid"
                              : r->warp == me->warp   ? "warp"
                                                      : "block",
                     .hint = advice_of(a, r)};
  if (a->object && a->bytes && a->bytes <= 16) {
    fact.has_index = true;
    fact.index = (int64_t)(a->address - a->object) / (int64_t)a->bytes;
  }
  check_found(a->check, &fact);
}

/* ---- recording ---- */

/* Whether a record that happens before the access can be dropped: whatever races with it races with the access too. */
static bool replaces(const record *me, const record *r) {
  if (me->flags & STRONG && !(r->flags & STRONG)) return false;
  return me->flags & WRITES || !(r->flags & WRITES);
}

static bool joins(const record *me, const record *r) {
  return r->launch == me->launch && r->block == me->block && r->warp == me->warp && r->time == me->time &&
         r->flags == me->flags && r->bytes == me->bytes && r->grids == me->grids && r->clusters == me->clusters &&
         r->site == me->site;
}

/* Drop the oldest record of another block, of several. */
static void drop_foreign(touch *a, shadow *s, uint32_t *word) {
  uint32_t *last = NULL, count = 0;
  for (uint32_t *link = word; *link; link = &record_at(s, *link)->next) {
    const record *r = record_at(s, *link);
    bool foreign = r->launch == a->me.launch && r->block != a->me.block;
    if (foreign && r->flags == a->me.flags) last = link, count++;
  }
  if (count > FOREIGN) unlink_record(s, last);
}

static void record_word(touch *a, shadow *s, uint64_t address, uint8_t bytes) {
  uint32_t *word = word_of(s, address), *link = word;
  bool joined = false;
  uint32_t foreign = 0;
  a->me.bytes = bytes;
  while (*link) {
    record *r = record_at(s, *link);
    if (!(r->bytes & bytes)) {
      link = &r->next;
      continue;
    }
    uint32_t which = unordered_lane(a, r);
    if (which < 32) {
      if (conflict(a, r)) report(a, r, which);
      if (!joined && joins(&a->me, r)) {
        r->lanes |= a->me.lanes;
        joined = true;
      }
      foreign += r->block != a->me.block;
    } else if (replaces(&a->me, r)) {
      r->bytes &= (uint8_t)~bytes;
      if (!r->bytes) {
        unlink_record(s, link);
        continue;
      }
    }
    link = &r->next;
  }
  if (joined) return;
  uint32_t number = record_new(s);
  record *made = record_at(s, number);
  *made = a->me;
  made->next = *word;
  *word = number;
  if (foreign > FOREIGN) drop_foreign(a, s, word);
}

static void record_range(touch *a, shadow *s) {
  uint64_t end = a->address + a->bytes;
  for (uint64_t at = a->address & ~3ull; at < end; at += 4) {
    uint64_t low = at < a->address ? a->address - at : 0, high = end - at < 4 ? end - at : 4;
    record_word(a, s, at, (uint8_t)((1u << high) - (1u << low)));
  }
}

static uint8_t flags_of(uint32_t flags) {
  uint8_t own = 0;
  if (flags & MW_ACCESS_STORE) own |= WRITES;
  if (flags & MW_ACCESS_UPDATE) own |= UPDATES;
  if (flags & (MW_ACCESS_ATOMIC | MW_ACCESS_VOLATILE)) own |= STRONG;
  if (flags & MW_ACCESS_VOLATILE) own |= VOLATILE;
  if (flags & MW_ACCESS_BLOCK) own |= BLOCK_ONLY;
  return own;
}

/* What the source says of an atomic access, by MW_CHECK_ATOMIC. */
static uint32_t told_flags(unsigned told, uint32_t flags) {
  enum { RELAXED, CONSUME, ACQUIRE, RELEASE };
  unsigned order = told >> 4;
  if (told & 4) flags |= MW_ACCESS_BLOCK;
  if (!(told & 8)) return flags;
  flags &= ~(uint32_t)(MW_ACCESS_ACQUIRE | MW_ACCESS_RELEASE);
  if (order != RELAXED && order != RELEASE) flags |= MW_ACCESS_ACQUIRE;
  return order >= RELEASE ? flags | MW_ACCESS_RELEASE : flags;
}

/* A thread that reads one word again and again waits for another thread to write it. */
static void let_others_run(cpu_worker *worker, uint32_t thread, uint64_t address) {
  enum { PATIENCE = 16 };
  cpu_checked *self = worker->checked;
  bool again = self->spinning_at == address && self->spinning == thread;
  self->spinning_at = address, self->spinning = thread;
  if (!again) self->spins = 0;
  if (++self->spins % PATIENCE) return;
  uintptr_t call = worker->call;
  cpu_check_pause(worker);
  cpu_warps_yield(worker);
  worker->call = call;
}

bool check_is_own(const cpu_worker *worker, uint64_t address) {
  uint64_t low = (uint64_t)(uintptr_t)worker->base.shared, high = (uint64_t)(uintptr_t)worker->shared_end;
  return address >= low && address < high && !cpu_cluster_has(worker, worker->base.shared);
}

void cpu_check_watch(cpu_worker *worker, uint64_t address, uint64_t bytes, uint64_t object, const char *name,
                     uint32_t flags) {
  cpu_checked *self = worker->checked;
  if (!worker->holds_check || !self->check || !check_wants(self->check, MW_CHECK_RACES)) return;
  bool shared = check_is_own(worker, address);
  if (!shared && !cpu_check_is_global(worker, address)) return;
  uint32_t thread = checked_thread_of(worker);
  bool strong = flags & (MW_ACCESS_ATOMIC | MW_ACCESS_VOLATILE);
  if (worker->random) cpu_check_may_switch(worker);
  if (strong) let_others_run(worker, thread, address);
  worker->in_service = 1;
  if (++self->accesses % PAUSE == 0) cpu_check_pause(worker);
  checked_thread *t = &self->threads[thread];
  bool is_relaxed = false;
  if (flags & MW_ACCESS_ATOMIC && t->order) {
    flags = told_flags(t->order, flags);
    is_relaxed = t->order & 8 && !(flags & MW_ACCESS_ACQUIRE);
    t->order = 0;
  }
  if (strong && (!(flags & MW_ACCESS_STORE) || flags & MW_ACCESS_UPDATE))
    checked_acquire(self, thread, address, shared, is_relaxed);
  touch a = {.check = self->check,
             .self = self,
             .thread = thread,
             .address = address,
             .bytes = bytes,
             .object = object,
             .name = name,
             .shared = shared};
  a.me = (record){.time = check_time_of(self->epoch, self->threads[thread].step),
                  .launch = self->launch,
                  .block = self->block,
                  .lanes = 1u << thread % 32,
                  .warp = (uint8_t)(thread / 32),
                  .grids = (uint16_t)self->grids,
                  .clusters = (uint16_t)self->clusters,
                  .site = check_site_here(worker),
                  .flags = flags_of(flags)};
  if (strong && flags & MW_ACCESS_STORE && t->has_fenced && t->fenced_for[0]) {
    a.me.flags |= RELEASES;
    a.me.fenced = t->fenced[0];
  }
  if (t->copies) {
    a.me.warp = (uint8_t)((AGENTS + thread) / 32);
    a.me.time = check_time_of_group(t->groups + 1);
  }
  record_range(&a, shared ? self->shared : self->check->global);
  if (strong && flags & MW_ACCESS_STORE) checked_release(self, thread, address, shared, flags);
  cpu_service_leave(worker);
}

/* ---- copies and fills ---- */

static void host_access(cpu_check *check, uint32_t launch, uint64_t address, uint64_t bytes, bool writes) {
  touch a = {.check = check, .address = address, .bytes = bytes, .thread = ~0u};
  a.me = (record){.launch = launch, .lanes = 1, .flags = HOST | (writes ? WRITES : 0)};
  record_range(&a, check->global);
}

void cpu_check_transfer(const cpu_command *command) {
  cpu_check *check = cpu_check_of(command->stream->device);
  if (!check || !command->checked) return;
  const cpu_transfer_work *work = &command->transfer;
  mw_lock(&check->lock);
  bool races = check_wants(check, MW_CHECK_RACES);
  if (races && (command->kind == CPU_COPY || command->kind == CPU_FILL)) {
    uint64_t base, size, whole = (uint64_t)work->size * work->count;
    uint64_t ends[] = {(uint64_t)(uintptr_t)work->target, (uint64_t)(uintptr_t)work->source};
    for (int i = 0; i < (command->kind == CPU_COPY ? 2 : 1); i++)
      if (cpu_heap_find(check->device->heap, ends[i], &base, &size))
        host_access(check, command->checked, ends[i], whole, i == 0);
  }
  uint64_t target = (uint64_t)(uintptr_t)work->target, bytes = (uint64_t)work->size * work->count;
  if (command->kind == CPU_COPY)
    check_copied(check, target, (uint64_t)(uintptr_t)work->source, bytes);
  else if (command->kind == CPU_FILL)
    check_wrote(check, target, bytes);
  else
    check_wrote_all(check);
  mw_unlock(&check->lock);
}
