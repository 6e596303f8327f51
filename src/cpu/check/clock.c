/* Which accesses of other threads happen before a thread's next access: what the thread "knows" (vector clocks).
 *
 * A thread's time counts the barriers of its block and, between them, its own releases. After a barrier, every thread
 * of the block knows all that the others did before it, so that comparing epochs decides most cases. All other
 * knowledge is in views: sparse sets of (thread, time), which __syncwarp, named barriers, and fences with atomics pass
 * on. Lanes of a warp share one view after __syncwarp; a view is copied before it is changed.
 *
 * A fence followed by an atomic or volatile store of the same thread publishes, at the word that is written, what the
 * thread knew at the fence. A thread that then reads the word by an atomic or volatile load knows it too; no fence is
 * required after that load. Writes without a fence publish nothing, in whatever order they took effect. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

/* ---- views ---- */

typedef struct entry {
  uint64_t key; /* 0: free */
  check_time time;
} entry;

struct view {
  uint32_t references, count, room; /* room: a power of two */
  entry *entries;
};

/* Of a thread, or (thread ALL) of a block up to an epoch. FOR_BLOCK: only for threads of that block to know. */
enum { ALL = 0xfff };
static const uint64_t FOR_BLOCK = 1ull << 63;

static uint64_t key_of(uint32_t launch, uint32_t block, uint32_t thread) {
  return (1ull + (launch & 0x3ffff)) << 44 | (uint64_t)block << 12 | thread;
}

static entry *find(const view *v, uint64_t key) {
  uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 32;
  for (;; at++) {
    entry *e = &v->entries[at & (v->room - 1)];
    if (e->key == key || e->key == 0) return e;
  }
}

static view *view_new(uint32_t room) {
  view *v = mw_alloc(sizeof *v);
  *v = (view){.references = 1, .room = room, .entries = mw_alloc(room * sizeof *v->entries)};
  return v;
}

static view *view_keep(view *v) {
  if (v) v->references++;
  return v;
}

static void view_drop(view *v) {
  if (!v || --v->references) return;
  free(v->entries);
  free(v);
}

static void put(view **at, uint64_t key, check_time time) {
  view *v = *at;
  entry *e = find(v, key);
  if (e->key) {
    if (e->time < time) e->time = time;
    return;
  }
  if (2 * (v->count + 1) > v->room) {
    view *wider = view_new(2 * v->room);
    for (uint32_t i = 0; i < v->room; i++)
      if (v->entries[i].key) *find(wider, v->entries[i].key) = v->entries[i];
    wider->count = v->count;
    view_drop(v);
    *at = v = wider;
    e = find(v, key);
  }
  *e = (entry){key, time};
  v->count++;
}

/* The view at the place as one that may be changed. */
static void make_own(view **at) {
  view *v = *at;
  if (!v) {
    *at = view_new(8);
  } else if (v->references > 1) {
    view *copy = view_new(v->room);
    memcpy(copy->entries, v->entries, v->room * sizeof *v->entries);
    copy->count = v->count;
    v->references--;
    *at = copy;
  }
}

static void join(view **at, const view *from) {
  if (!from || *at == from) return;
  make_own(at);
  for (uint32_t i = 0; i < from->room; i++)
    if (from->entries[i].key) put(at, from->entries[i].key, from->entries[i].time);
}

static bool holds(const view *v, uint64_t key, check_time time) {
  if (!v) return false;
  const entry *e = find(v, key);
  return e->key && e->time >= time;
}

/* ---- what is published at words ---- */

typedef struct published {
  uint64_t address; /* 0: free */
  view *known;
} published;

struct views {
  published *items;
  uint32_t count, room;
};

views *views_new(void) {
  views *all = mw_alloc(sizeof *all);
  all->room = 64;
  all->items = mw_alloc(all->room * sizeof *all->items);
  return all;
}

static void views_clear(views *all) {
  if (!all->count) return;
  for (uint32_t i = 0; i < all->room; i++) view_drop(all->items[i].known);
  memset(all->items, 0, all->room * sizeof *all->items);
  all->count = 0;
}

void views_free(views *all) {
  views_clear(all);
  free(all->items);
  free(all);
}

static published *place_of(const views *all, uint64_t address) {
  uint64_t at = (address * 0x9e3779b97f4a7c15u) >> 32;
  for (;; at++) {
    published *p = &all->items[at & (all->room - 1)];
    if (p->address == address || !p->address) return p;
  }
}

static published *publish_at(views *all, uint64_t address) {
  if (2 * (all->count + 1) > all->room) {
    views wider = {.room = 2 * all->room, .count = all->count, .items = mw_alloc(2 * all->room * sizeof *all->items)};
    for (uint32_t i = 0; i < all->room; i++)
      if (all->items[i].address) *place_of(&wider, all->items[i].address) = all->items[i];
    free(all->items);
    *all = wider;
  }
  published *p = place_of(all, address);
  if (!p->address) all->count++;
  p->address = address;
  return p;
}

/* ---- blocks ---- */

cpu_checked *checked_of(const cpu_worker *worker) { return worker->checked; }

uint32_t checked_thread_of(const cpu_worker *worker) { return worker->ring.current->thread; }

static void forget(cpu_checked *self) {
  for (uint32_t i = 0; i < self->count; i++) {
    view_drop(self->threads[i].known);
    view_drop(self->threads[i].seen);
    self->threads[i] = (checked_thread){0};
  }
  view_drop(self->known);
  self->known = NULL;
  self->has_views = false;
}

void cpu_check_block(cpu_worker *worker, uint32_t count) {
  worker->random = 0;
  if (!worker->holds_check) return;
  cpu_check *check = cpu_check_of(worker->device);
  worker->random = cpu_check_random_state(worker->device, worker->command->checked, worker->base.block + 1);
  if (!worker->checked) {
    worker->checked = mw_alloc(sizeof *worker->checked);
    worker->checked->shared = shadow_new();
    worker->checked->published = views_new();
  }
  cpu_checked *self = worker->checked;
  if (self->check) cpu_check_block_end(worker);
  self->check = check;
  self->launch = worker->command->checked;
  self->block = (uint32_t)worker->base.block;
  self->count = count;
  self->epoch = self->grids = self->clusters = 0;
  self->accesses = self->counted_count = self->unwritten_count = 0;
  memset(self->sites, 0, sizeof self->sites);
  uint64_t shared = (uint64_t)(uintptr_t)worker->base.shared, bytes = worker->command->kernel.shared;
  if (check_wants(check, MW_CHECK_INITIALISATION)) check_set_unwritten(check, shared, bytes);
  if (!check_is_own(worker, shared)) shadow_forget(check->global, shared, bytes);
}

void cpu_check_block_end(cpu_worker *worker) {
  cpu_checked *self = worker->checked;
  if (!self || !self->check) return;
  forget(self);
  shadow_clear(self->shared);
  views_clear(self->published);
  self->check = NULL;
}

void cpu_checked_free(cpu_checked *self) {
  if (!self) return;
  forget(self);
  shadow_free(self->shared);
  views_free(self->published);
  free(self);
}

/* ---- knowledge ---- */

static check_time now(const cpu_checked *self, uint32_t thread) {
  return check_time_of(self->epoch, self->threads[thread].step);
}

bool checked_knows(const cpu_checked *self, uint32_t thread, uint32_t launch, uint32_t block, uint32_t other,
                   check_time time) {
  if (!self->has_views) return false;
  const view *both[] = {self->threads[thread].known, self->known};
  for (size_t i = 0; i < MW_COUNT(both); i++) {
    const view *v = both[i];
    if (!v) continue;
    uint64_t key = key_of(launch, block, other);
    if (holds(v, key, time) || holds(v, key_of(launch, block, ALL), check_time_of(check_epoch(time) + 1, 0)))
      return true;
    if (launch == self->launch && block == self->block && holds(v, key | FOR_BLOCK, time)) return true;
  }
  return false;
}

/* ---- barriers ---- */

void cpu_check_barrier(cpu_worker *worker) {
  cpu_checked *self = worker->checked;
  if (!worker->holds_check || !self->check) return;
  self->epoch++;
  for (uint32_t i = 0; i < self->count; i++) {
    checked_thread *t = &self->threads[i];
    t->step = 0;
    if (!t->known) continue;
    join(&self->known, t->known);
    view_drop(t->known);
    t->known = NULL;
  }
}

/* Threads meet: each of `to` then knows what those of `from` have done and know. */
static void meet(cpu_checked *self, const uint32_t *from, const uint32_t *to, uint32_t first, uint32_t warps) {
  view *known = NULL;
  make_own(&known);
  for (uint32_t w = 0; w < warps; w++) {
    for (uint32_t set = from[w]; set; set &= set - 1) {
      uint32_t thread = first + 32 * w + (uint32_t)__builtin_ctz(set);
      put(&known, key_of(self->launch, self->block, thread), now(self, thread));
      join(&known, self->threads[thread].known);
      self->threads[thread].step++;
    }
  }
  for (uint32_t w = 0; w < warps; w++) {
    for (uint32_t set = to[w]; set; set &= set - 1) {
      checked_thread *t = &self->threads[first + 32 * w + (uint32_t)__builtin_ctz(set)];
      if (from[w] >> __builtin_ctz(set) & 1) {
        view_drop(t->known);
        t->known = view_keep(known);
      } else {
        join(&t->known, known);
      }
    }
  }
  view_drop(known);
  self->has_views = true;
}

void cpu_check_warp(cpu_worker *worker, uint32_t first, uint32_t lanes) {
  cpu_checked *self = worker->checked;
  if (worker->holds_check && self->check) meet(self, &lanes, &lanes, first, 1);
}

void cpu_check_named(cpu_worker *worker, const uint32_t *arrived, const uint32_t *waits, uint32_t warps) {
  cpu_checked *self = worker->checked;
  if (worker->holds_check && self->check) meet(self, arrived, waits, 0, warps);
}

void cpu_check_cluster(cpu_worker *worker) {
  if (worker->holds_check && worker->checked->check) worker->checked->clusters++;
}

void cpu_check_grid(cpu_worker *worker, bool all) {
  if (!worker->holds_check || !worker->checked->check) return;
  worker->checked->grids++;
  if (!all) cpu_check_grid_part(worker);
}

/* ---- fences and atomics ---- */

static void fence(cpu_checked *self, uint32_t thread, unsigned scope) {
  checked_thread *t = &self->threads[thread];
  for (; scope < 2; scope++) {
    t->fenced[scope] = now(self, thread);
    t->fenced_for[scope] = true;
  }
  t->has_fenced = true;
  t->step++;
  join(&t->known, t->seen);
  view_drop(t->seen);
  t->seen = NULL;
}

/* The thread's copies up to a group are done. */
static void learn_copies(cpu_checked *self, uint32_t thread, uint32_t group, view **into) {
  make_own(into);
  put(into, key_of(self->launch, self->block, AGENTS + thread), check_time_of_group(group));
  self->has_views = true;
}

void cpu_check_event(mw_worker *base, mw_check_event event, uint64_t value) {
  CPU_SERVICE_ENTER(base);
  cpu_worker *worker = (cpu_worker *)base;
  cpu_checked *self = worker->checked;
  if (!worker->holds_check) check_unfollowed(worker, event, value);
  if (!worker->holds_check || !self->check) return;
  worker->in_service = 1;
  uint32_t thread = checked_thread_of(worker);
  checked_thread *t = &self->threads[thread];
  bool is_shared = check_is_own(worker, value);
  switch (event) {
  case MW_CHECK_FENCE: fence(self, thread, (unsigned)value); break;
  case MW_CHECK_WAITED: checked_acquire(self, thread, value, is_shared, false); break;
  case MW_CHECK_ATOMIC: t->order = (uint8_t)value; break;
  case MW_CHECK_BLOCK: break; /* cpu_check_block does it */
  case MW_CHECK_ASYNC: t->copies = value; break;
  case MW_CHECK_COMMIT: t->groups++; break;
  case MW_CHECK_UNWRITTEN: check_unwritten(worker, value); break;
  case MW_CHECK_COPIED:
    if (t->groups > value) learn_copies(self, thread, t->groups - (uint32_t)value, &t->known);
    break;
  case MW_CHECK_TRACK:
    learn_copies(self, thread, ++t->groups,
                 &publish_at(is_shared ? self->published : self->check->published, value)->known);
    break;
  }
  cpu_service_leave(worker);
}

/* The phase of a barrier that counts bytes (src/device/moonwarp/sync/mbarrier.h). */
static uint32_t phase_of(uint64_t barrier) {
  return (uint32_t)(__atomic_load_n((const uint64_t *)(uintptr_t)barrier, __ATOMIC_RELAXED) >> 61);
}

static void publish_counted(cpu_checked *self, const check_counted *c) {
  learn_copies(self, c->thread, c->group,
               &publish_at(c->shared ? self->published : self->check->published, c->barrier)->known);
}

void checked_count(cpu_worker *worker, uint32_t thread, uint64_t barrier) {
  cpu_checked *self = worker->checked;
  check_counted c = {.barrier = barrier, .thread = thread, .phase = phase_of(barrier)};
  c.group = ++self->threads[thread].groups;
  c.shared = check_is_own(worker, barrier);
  if (self->counted_count == CHECK_COUNTED)
    publish_counted(self, &c);
  else
    self->counted[self->counted_count++] = c;
}

/* Copies of phases that have ended. */
static void settle_counted(cpu_checked *self) {
  uint32_t left = 0;
  for (const check_counted *c = self->counted; c < self->counted + self->counted_count; c++)
    if (phase_of(c->barrier) == c->phase)
      self->counted[left++] = *c;
    else
      publish_counted(self, c);
  self->counted_count = left;
}

void checked_acquire(cpu_checked *self, uint32_t thread, uint64_t address, bool shared, bool is_relaxed) {
  if (self->counted_count) settle_counted(self);
  const views *all = shared ? self->published : self->check->published;
  if (!all->count) return;
  const published *p = place_of(all, address);
  if (!p->address || !p->known) return;
  view **known = is_relaxed ? &self->threads[thread].seen : &self->threads[thread].known;
  for (uint32_t i = 0; i < p->known->room; i++) {
    entry e = p->known->entries[i];
    if (!e.key) continue;
    uint64_t mine = key_of(self->launch, self->block, 0) | FOR_BLOCK;
    if (e.key & FOR_BLOCK && (e.key & ~(uint64_t)ALL) != mine) continue;
    make_own(known);
    put(known, e.key, e.time);
  }
  self->has_views = true;
}

/* What the thread passes on for a scope: its own accesses up to the fence, and those of the block before the barriers
   that preceded the fence. What other threads fenced before a later barrier is passed on too. */
static void add_fenced(const cpu_checked *self, uint32_t thread, unsigned scope, view **into) {
  uint64_t flag = scope ? FOR_BLOCK : 0;
  check_time fenced = self->threads[thread].fenced[scope];
  uint32_t epoch = check_epoch(fenced);
  put(into, key_of(self->launch, self->block, thread) | flag, fenced);
  if (epoch && !flag) put(into, key_of(self->launch, self->block, ALL), check_time_of(epoch, 0));
  if (epoch == self->epoch) return;
  for (uint32_t i = 0; i < self->count; i++) {
    const checked_thread *t = &self->threads[i];
    if (t->fenced_for[scope] && check_epoch(t->fenced[scope]) < self->epoch &&
        t->fenced[scope] >= check_time_of(epoch, 0))
      put(into, key_of(self->launch, self->block, i) | flag, t->fenced[scope]);
  }
}

void checked_release(cpu_checked *self, uint32_t thread, uint64_t address, bool shared, uint32_t flags) {
  checked_thread *t = &self->threads[thread];
  views *all = shared ? self->published : self->check->published;
  bool updates = flags & MW_ACCESS_UPDATE;
  if (flags & MW_ACCESS_RELEASE) { /* is its own fence */
    t->fenced[1] = now(self, thread);
    t->fenced_for[1] = t->has_fenced = true;
    if (!(flags & MW_ACCESS_BLOCK)) t->fenced[0] = t->fenced[1], t->fenced_for[0] = true;
    t->step++;
  }
  if (!t->has_fenced) {
    if (updates || !all->count) return;
    published *p = place_of(all, address); /* an ordinary store ends what was published there */
    view_drop(p->known);
    p->known = NULL;
    return;
  }
  published *p = publish_at(all, address);
  if (!updates) {
    view_drop(p->known);
    p->known = NULL;
  }
  make_own(&p->known);
  for (unsigned scope = flags & MW_ACCESS_BLOCK ? 1 : 0; scope < 2; scope++)
    if (t->fenced_for[scope]) add_fenced(self, thread, scope, &p->known);
  join(&p->known, t->known);
  join(&p->known, self->known);
  self->has_views = true;
}
