/* The watcher "steps": records what the threads of some blocks do, line by line, for mw.debug to step through in both
 * directions. Options, with blanks between them: numbers of blocks ("0" if there are none), and "most=N", the number of
 * records for all of them.
 *
 * A record says what a thread's next line will find changed: variables of its functions that are in memory and in scope
 * are compared with the values at its line before; writes to arrays and shared memory are looked at one by one, the
 * bytes before the write in its own call, those after it in the block's next call.
 *
 * The result, in which fields are separated by tabs, numbers with letters are hexadecimal, and bytes are in the order of
 * memory:
 *
 *   site, its number and fields (cpu_watch_add_site), what mw_site.about says
 *   block, its number; and of that block, in the order in which it happened:
 *     e, site, warp, lanes         these lanes are at the beginning of a line; all that stands before it has happened
 *     f, thread, site              the thread enters a function
 *     l, thread                    and leaves it
 *     d, thread, site, address     declares a variable of the function that it is in
 *     g, site, address             a shared or module variable
 *     v, thread, site, address, bytes          a variable has changed
 *     m, thread, site, address, before, after  the thread has written there
 *     r, thread, site, address, bytes          it has read global memory
 *   full, the number of records: further ones were left out */
#include "cpu/execution/worker.h"
#include "cpu/memory/heap.h"
#include "watch.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_RECORDS = 400000, MOST_BLOCKS = 64, WIDEST = 64 /* bytes of an access that are recorded */ };

typedef struct steps {
  uint64_t blocks[MOST_BLOCKS];
  size_t block_count;
  _Atomic size_t left; /* records that may still be made */
  size_t most;
  mw_text text;
  bool full;
} steps;

typedef struct launch_steps {
  steps *all;
  const cpu_watched *launch;
} launch_steps;

typedef struct declared {
  uint32_t site, depth;
  uint64_t address;
  unsigned char *bytes; /* at the latest line; NULL: at none so far */
} declared;

typedef struct thread_steps {
  uint32_t *lines; /* of each function that it is in, outermost first: the site of the latest line */
  size_t depth, room;
  declared *variables;
  size_t count, variable_room;
} thread_steps;

/* A write that may not have been done yet. */
typedef struct pending {
  bool any;
  uint32_t thread, site, bytes;
  uint64_t address;
  unsigned char before[WIDEST];
} pending;

typedef struct worker_steps {
  const launch_steps *launch;
  bool records; /* the current block */
  mw_text text;
  thread_steps *threads; /* CPU_MAX_THREADS of them; NULL until a block is recorded */
  pending write;
  uint64_t *global_places; /* by site: where the block has a shared or module variable, as recorded */
} worker_steps;

static int steps_open(cpu_device *device, const char *options, void **state) {
  (void)device;
  steps *s = mw_alloc(sizeof *s);
  s->most = MOST_RECORDS;
  for (const char *at = options; *at;) {
    char *end;
    bool is_most = strncmp(at, "most=", 5) == 0;
    unsigned long long number = strtoull(at + (is_most ? 5 : 0), &end, 10);
    if (is_most)
      s->most = number;
    else if (s->block_count < MOST_BLOCKS && end != at)
      s->blocks[s->block_count++] = number;
    else
      break;
    at = end + (*end == ' ');
  }
  if (!s->block_count) s->block_count = 1;
  atomic_store(&s->left, s->most);
  *state = s;
  return MW_SUCCESS;
}

static void steps_close(void *state) {
  steps *s = state;
  mw_text_free(&s->text);
  free(s);
}

static void *steps_begin(void *state, const cpu_watched *launch) {
  launch_steps *l = mw_alloc(sizeof *l);
  *l = (launch_steps){state, launch};
  for (size_t i = 0; i < launch->site_count; i++) {
    const mw_site *site = &launch->sites[i];
    mw_text_addf(&l->all->text, "site\t%zu", i);
    cpu_watch_add_site(&l->all->text, launch->kernel, site);
    mw_text_addf(&l->all->text, "\t%s\n", site->about ? site->about : "");
  }
  return l;
}

static void *steps_enter(void *launch) {
  worker_steps *w = mw_alloc(sizeof *w);
  w->launch = launch;
  return w;
}

static void forget_threads(worker_steps *w) {
  for (size_t i = 0; i < CPU_MAX_THREADS && w->threads; i++) {
    for (size_t n = 0; n < w->threads[i].count; n++) free(w->threads[i].variables[n].bytes);
    free(w->threads[i].variables);
    free(w->threads[i].lines);
  }
  free(w->threads);
  free(w->global_places);
  w->threads = NULL;
  w->global_places = NULL;
}

/* ---- records ---- */

/* Whether there is room for one more. */
static bool may_record(worker_steps *w) {
  steps *all = w->launch->all;
  if (atomic_load_explicit(&all->left, memory_order_relaxed)) {
    atomic_fetch_sub_explicit(&all->left, 1, memory_order_relaxed);
    return true;
  }
  all->full = true;
  return false;
}

static void add_bytes(mw_text *out, const void *bytes, size_t count) {
  static const char digits[] = "0123456789abcdef";
  char text[2 * WIDEST];
  const unsigned char *from = bytes;
  for (size_t at = 0; at < count; at += WIDEST) {
    size_t piece = count - at < WIDEST ? count - at : WIDEST;
    for (size_t i = 0; i < piece; i++) {
      text[2 * i] = digits[from[at + i] >> 4];
      text[2 * i + 1] = digits[from[at + i] & 15];
    }
    mw_text_add(out, text, 2 * piece);
  }
}

/* The write before this call is done by now. */
static void settle_write(worker_steps *w) {
  const pending *p = &w->write;
  if (!p->any) return;
  w->write.any = false;
  if (!may_record(w)) return;
  mw_text_addf(&w->text, "m\t%u\t%u\t%llx\t", p->thread, p->site, (unsigned long long)p->address);
  add_bytes(&w->text, p->before, p->bytes);
  mw_text_addf(&w->text, "\t");
  add_bytes(&w->text, (const void *)(uintptr_t)p->address, p->bytes);
  mw_text_addf(&w->text, "\n");
}

static bool is_visible(const worker_steps *w, uint32_t line, uint32_t variable) {
  const char *about = line == UINT32_MAX ? NULL : w->launch->launch->sites[line].about;
  char *end;
  for (const char *at = about; at && *at; at = end + (*end == ' '))
    if (strtoul(at, &end, 10) == variable) return true;
  return false;
}

static void compare_variables(worker_steps *w, uint32_t thread) {
  thread_steps *t = &w->threads[thread];
  for (size_t i = 0; i < t->count; i++) {
    declared *d = &t->variables[i];
    const mw_site *site = &w->launch->launch->sites[d->site];
    const void *now = (const void *)(uintptr_t)d->address;
    if (!site->bytes || d->depth > t->depth || !is_visible(w, t->lines[d->depth - 1], d->site)) continue;
    if (d->bytes && memcmp(d->bytes, now, site->bytes) == 0) continue;
    if (!may_record(w)) return;
    if (!d->bytes) d->bytes = mw_alloc(site->bytes);
    memcpy(d->bytes, now, site->bytes);
    mw_text_addf(&w->text, "v\t%u\t%u\t%llx\t", thread, d->site, (unsigned long long)d->address);
    add_bytes(&w->text, now, site->bytes);
    mw_text_addf(&w->text, "\n");
  }
}

/* ---- calls ---- */

static void enter_function(worker_steps *w, uint32_t thread, uint32_t site) {
  thread_steps *t = &w->threads[thread];
  if (t->depth == t->room) {
    t->room = t->room ? 2 * t->room : 4;
    t->lines = mw_realloc(t->lines, t->room * sizeof *t->lines);
  }
  t->lines[t->depth++] = UINT32_MAX;
  if (may_record(w)) mw_text_addf(&w->text, "f\t%u\t%u\n", thread, site);
}

static void leave_function(worker_steps *w, uint32_t thread) {
  thread_steps *t = &w->threads[thread];
  if (t->depth) t->depth--;
  while (t->count && t->variables[t->count - 1].depth > t->depth) free(t->variables[--t->count].bytes);
  if (may_record(w)) mw_text_addf(&w->text, "l\t%u\n", thread);
}

static void declare_variable(worker_steps *w, uint32_t thread, uint32_t number, uint64_t address) {
  thread_steps *t = &w->threads[thread];
  const mw_site *site = &w->launch->launch->sites[number];
  if (site->space != MW_SPACE_LOCAL) {
    if (w->global_places[number] == address || !may_record(w)) return;
    w->global_places[number] = address;
    mw_text_addf(&w->text, "g\t%u\t%llx\n", number, (unsigned long long)address);
    return;
  }
  for (size_t i = 0; i < t->count; i++)
    if (t->variables[i].site == number && t->variables[i].depth == t->depth) return;
  if (t->count == t->variable_room) {
    t->variable_room = t->variable_room ? 2 * t->variable_room : 8;
    t->variables = mw_realloc(t->variables, t->variable_room * sizeof *t->variables);
  }
  t->variables[t->count++] = (declared){.site = number, .depth = (uint32_t)t->depth, .address = address};
  if (may_record(w)) mw_text_addf(&w->text, "d\t%u\t%u\t%llx\n", thread, number, (unsigned long long)address);
}

/* Whether the bytes are in memory that may be read here: the access itself may be a bad one. */
static bool is_readable(const cpu_watch_event *e, uint64_t address, size_t bytes) {
  const cpu_worker *worker = (const cpu_worker *)e->worker;
  uint64_t base, first = (uintptr_t)worker->base.shared, end = (uintptr_t)worker->shared_end;
  size_t size;
  if (address >= first && address + bytes <= end) return true;
  return cpu_heap_find(worker->device->heap, address, &base, &size) && address - base + bytes <= size;
}

static void take_access(worker_steps *w, const cpu_watch_event *e, uint32_t thread, uint64_t address) {
  const mw_site *site = e->site;
  if (site->is_texture || site->bytes > WIDEST || !is_readable(e, address, site->bytes)) return;
  const void *now = (const void *)(uintptr_t)address;
  if (site->kind != MW_SITE_LOAD) {
    w->write = (pending){.any = true, .thread = thread, .site = e->number, .bytes = site->bytes, .address = address};
    memcpy(w->write.before, now, site->bytes);
  } else if (e->space != MW_SPACE_SHARED && may_record(w)) {
    mw_text_addf(&w->text, "r\t%u\t%u\t%llx\t", thread, e->number, (unsigned long long)address);
    add_bytes(&w->text, now, site->bytes);
    mw_text_addf(&w->text, "\n");
  }
}

typedef struct call {
  worker_steps *w;
  const cpu_watch_event *event;
} call;

/* On the worker's own stack: it allocates memory. */
static void record(void *argument) {
  call *c = argument;
  worker_steps *w = c->w;
  const cpu_watch_event *e = c->event;
  uint32_t first = 32 * e->warp;
  settle_write(w);
  for (uint32_t rest = e->lanes; rest; rest &= rest - 1) {
    uint32_t lane = (uint32_t)__builtin_ctz(rest), thread = first + lane;
    thread_steps *t = &w->threads[thread];
    switch (e->site->kind) {
    case MW_SITE_STEP:
      if (t->depth) t->lines[t->depth - 1] = e->number;
      compare_variables(w, thread);
      break;
    case MW_SITE_ENTER: enter_function(w, thread, e->number); break;
    case MW_SITE_LEAVE: leave_function(w, thread); break;
    case MW_SITE_VARIABLE: declare_variable(w, thread, e->number, e->words[lane]); break;
    default: take_access(w, e, thread, e->words[lane]); break;
    }
  }
  if (e->site->kind == MW_SITE_STEP && may_record(w))
    mw_text_addf(&w->text, "e\t%u\t%u\t%x\n", e->number, e->warp, e->lanes);
}

static void on_event(void *worker, const cpu_watch_event *e) {
  worker_steps *w = worker;
  if (!w->records) return;
  call c = {w, e};
  cpu_service_call(e->worker, record, &c);
}

/* ---- blocks ---- */

static void steps_block(void *worker, uint64_t block) {
  worker_steps *w = worker;
  const steps *all = w->launch->all;
  w->records = false;
  for (size_t i = 0; i < all->block_count; i++) w->records |= all->blocks[i] == block;
  if (!w->records) return;
  w->threads = mw_alloc(CPU_MAX_THREADS * sizeof *w->threads);
  w->global_places = mw_alloc((w->launch->launch->site_count + 1) * sizeof *w->global_places);
  mw_text_addf(&w->text, "block\t%llu\n", (unsigned long long)block);
}

static void steps_block_end(void *worker, uint64_t block) {
  worker_steps *w = worker;
  (void)block;
  if (w->records) settle_write(w);
  w->records = false;
  forget_threads(w);
}

static void steps_leave(void *launch, void *worker) {
  const launch_steps *l = launch;
  worker_steps *w = worker;
  mw_text_add(&l->all->text, w->text.data ? w->text.data : "", w->text.length);
  mw_text_free(&w->text);
  forget_threads(w);
  free(w);
}

static void steps_end(void *launch, bool failed) {
  (void)failed;
  free(launch);
}

static void steps_result(void *state, mw_text *out) {
  const steps *s = state;
  mw_text_add(out, s->text.data ? s->text.data : "", s->text.length);
  if (s->full) mw_text_addf(out, "full\t%zu\n", s->most);
}

const cpu_watcher cpu_steps = {
    .name = "steps",
    .observes = MW_OBSERVE_STEP | MW_OBSERVE_ACCESS,
    .open = steps_open,
    .close = steps_close,
    .begin = steps_begin,
    .enter = steps_enter,
    .on = {[MW_SITE_LOAD] = on_event,
           [MW_SITE_STORE] = on_event,
           [MW_SITE_ATOMIC] = on_event,
           [MW_SITE_REDUCTION] = on_event,
           [MW_SITE_STEP] = on_event,
           [MW_SITE_ENTER] = on_event,
           [MW_SITE_LEAVE] = on_event,
           [MW_SITE_VARIABLE] = on_event},
    .block_begin = steps_block,
    .block_end = steps_block_end,
    .leave = steps_leave,
    .end = steps_end,
    .result = steps_result,
};
