/* Findings of a checked run on a GPU in words, which are those of the CPU device (src/cpu/check). */
#include "session.h"

#include "device/moonwarp/guard_layout.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static bool is_same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static bool is_at(const mw_finding_end *a, const mw_finding_end *b) {
  return a->line == b->line && is_same(a->file, b->file);
}

static int width_of(const char *scope) {
  static const char *const scopes[] = {"warp", "block", "grid", "launches"};
  for (int i = 0; i < (int)MW_COUNT(scopes); i++)
    if (scope && strcmp(scopes[i], scope) == 0) return i;
  return -1;
}

/* Findings at the same lines are one. */
static bool is_known(check_session *check, const mw_finding *made) {
  for (size_t i = 0; i < check->finding_count; i++) {
    mw_finding *f = &check->findings[i];
    if (strcmp(f->kind, made->kind) != 0 || !is_at(&f->here, &made->here) || !is_at(&f->other, &made->other)) continue;
    f->count += made->count;
    if (width_of(made->scope) > width_of(f->scope)) {
      f->scope = made->scope;
      free((char *)(uintptr_t)f->hint);
      f->hint = made->hint ? mw_strdup(made->hint) : NULL;
    }
    return true;
  }
  return false;
}

/* The list has copies of the texts. */
void check_add(check_session *check, const mw_finding *finding) {
  if (is_known(check, finding)) return;
  check->findings = mw_realloc(check->findings, (check->finding_count + 1) * sizeof *check->findings);
  mw_finding *f = &check->findings[check->finding_count++];
  *f = *finding;
  const char **const texts[] = {&f->here.kernel, &f->here.file, &f->other.kernel, &f->other.file,
                                &f->array,       &f->hint,      &f->text};
  for (size_t k = 0; k < MW_COUNT(texts); k++) *texts[k] = *texts[k] ? mw_strdup(*texts[k]) : NULL;
}

/* ---- ends ---- */

const check_launch *check_launch_of(const check_session *check, unsigned run) {
  for (size_t i = check->launch_count; i-- > 0;)
    if (run - check->launches[i].base < check->launches[i].blocks) return &check->launches[i];
  return NULL;
}

static const check_site *site_of(const check_session *check, unsigned site) {
  static const check_site none;
  return site && site < check->next_site ? &check->sites[site] : &none;
}

static void unfold(unsigned number, const unsigned size[3], unsigned out[3]) {
  out[0] = number % size[0];
  out[1] = number / size[0] % size[1];
  out[2] = number / size[0] / size[1];
}

static mw_finding_end end_of(const check_session *check, const mw_follow_end *from, const char *access) {
  const check_site *site = site_of(check, from->site);
  const check_launch *launch = check_launch_of(check, from->run);
  mw_finding_end end = {.file = site->file, .line = site->line, .access = access};
  if (!launch || !launch->kernel) return end;
  end.kernel = launch->kernel;
  end.has_thread = 1;
  unfold(from->run - launch->base, launch->grid, end.block);
  unfold(from->thread, launch->block, end.thread);
  return end;
}

/* ---- races ---- */

static const char *verb_of(unsigned flags) {
  if (flags & MW_FOLLOW_ATOMIC) return "atomic";
  return flags & MW_FOLLOW_STORE ? "write" : "read";
}

static const char *advice_of(const mw_follow_finding *f, const char *scope) {
  if ((f->here.flags | f->other.flags) & MW_FOLLOW_COPY)
    return "one is an asynchronous copy that was not waited for: wait for it, then __syncthreads()";
  if (strcmp(scope, "launches") == 0)
    return "no event or synchronisation orders the two launches: record an event and wait for it, or use one stream";
  if (strcmp(scope, "grid") == 0)
    return "blocks run in any order: use an atomic, a second launch, or a fence (__threadfence) with an atomic flag";
  if ((f->here.flags | f->other.flags) & MW_FOLLOW_ATOMIC)
    return "the other access is not atomic, and no __syncthreads() is between them";
  if (strcmp(scope, "warp") == 0) return "no __syncthreads() or __syncwarp() is between them";
  return "no __syncthreads() is between them";
}

static const char *scope_of(const check_session *check, const mw_follow_finding *f) {
  if (check_launch_of(check, f->here.run) != check_launch_of(check, f->other.run)) return "launches";
  if (f->here.run != f->other.run) return "grid";
  return f->here.thread / MW_FOLLOW_LANES == f->other.thread / MW_FOLLOW_LANES ? "warp" : "block";
}

static void add_index(mw_finding *made, const mw_follow_finding *f) {
  if (!f->object || !f->bytes || f->bytes > 16) return;
  made->has_index = 1;
  made->index = (int64_t)(f->address - f->object) / (int64_t)f->bytes;
}

static void add_race(check_session *check, const mw_follow_finding *f) {
  const check_launch *here = check_launch_of(check, f->here.run), *other = check_launch_of(check, f->other.run);
  if (here != other && here && other && mw_happens_before(&other->order, &here->order)) return;
  const check_site *site = site_of(check, f->here.site), *second = site_of(check, f->other.site);
  bool writes = f->here.flags & MW_FOLLOW_STORE, wrote = f->other.flags & MW_FOLLOW_STORE;
  bool swap = wrote && (!writes || (second->line && second->line < site->line));
  mw_finding_end ends[] = {end_of(check, &f->here, verb_of(f->here.flags)),
                           end_of(check, &f->other, verb_of(f->other.flags))};
  const char *scope = scope_of(check, f);
  mw_finding made = {.kind = "race",
                     .here = ends[swap],
                     .other = ends[!swap],
                     .has_other = 1,
                     .array = site->name,
                     .count = f->count,
                     .scope = scope,
                     .hint = advice_of(f, scope)};
  add_index(&made, f);
  check_add(check, &made);
}

/* ---- the other kinds ---- */

typedef struct words {
  const char *kind, *scope, *hint;
} words;

static const words words_of[] = {
    [MW_FOLLOW_UNWRITTEN] = {"uninitialised", NULL, NULL},
    [MW_FOLLOW_DIVERGED] = {"barrier_divergence", "block",
                            "all threads of a block have to reach the same __syncthreads()"},
    [MW_FOLLOW_RETURNED] = {"barrier_divergence", "block", "let threads without work skip the work, not the barrier"},
    [MW_FOLLOW_STUCK] = {"barrier_divergence", "block", "let as many threads arrive as the barrier expects"},
    [MW_FOLLOW_GRID] = {"barrier_divergence", "grid", "all threads of the grid have to call grid.sync()"},
    [MW_FOLLOW_OWN_LANE] = {"warp_mask", "warp",
                            "the mask names the lanes that call: __activemask() is no substitute for it"},
    [MW_FOLLOW_NEVER] = {"warp_mask", "warp", "compute the mask with __ballot_sync() before the branch"},
    [MW_FOLLOW_OTHER_CALL] = {"warp_mask", "warp", "name the lanes that take this branch: __ballot_sync() before it"},
    [MW_FOLLOW_ABSENT] = {"warp_mask", "warp", "name all lanes that are read from, and let them call"},
    [MW_FOLLOW_USED_ABSENT] = {"warp_mask", "warp", "name all lanes that are read from, and let them call"},
    [MW_FOLLOW_FREED_TWICE] = {"invalid_free", NULL, NULL},
    [MW_FOLLOW_NOT_MALLOC] = {"invalid_free", NULL, NULL},
    [MW_FOLLOW_PAST_BLOCK] = {"out_of_bounds", NULL, NULL},
    [MW_FOLLOW_FREED_BLOCK] = {"use_after_free", NULL, NULL},
};

static char *text_of(const check_session *check, const mw_follow_finding *f) {
  const check_launch *launch = check_launch_of(check, f->here.run);
  unsigned low = (unsigned)f->value, high = (unsigned)(f->value >> 32), id[3] = {0};
  bool wrote = f->here.flags & MW_FOLLOW_STORE;
  long long distance = (long long)(f->address - f->object);
  switch (f->kind) {
  case MW_FOLLOW_UNWRITTEN: return mw_strdup("used a value that nothing has written");
  case MW_FOLLOW_DIVERGED: return mw_strdup("waits at one barrier, and other threads of its block wait at another");
  case MW_FOLLOW_RETURNED:
    if (launch) unfold(low, launch->block, id);
    return mw_format("waits at a barrier that thread (%u,%u,%u) never reaches: it has returned", id[0], id[1], id[2]);
  case MW_FOLLOW_STUCK:
    return mw_strdup("waits for arrivals at a barrier, and all other threads of its block wait too or have returned");
  case MW_FOLLOW_GRID: return mw_strdup("waits for the whole grid, and some blocks have ended without waiting");
  case MW_FOLLOW_OWN_LANE:
    return mw_format("calls a warp function with the mask 0x%08x, which does not name its own lane, %u", low,
                     f->here.thread % MW_FOLLOW_LANES);
  case MW_FOLLOW_NEVER:
    return mw_format("calls a warp function with the mask 0x%08x, and its lane %u never calls it", low, high);
  case MW_FOLLOW_OTHER_CALL:
    return mw_strdup("calls a warp function, and other lanes of its mask call another one instead");
  case MW_FOLLOW_ABSENT:
    return mw_format("reads lane %u in a shuffle in which that lane does not take part: the value is undefined", low);
  case MW_FOLLOW_USED_ABSENT:
    return mw_strdup("used what a shuffle read from a lane that does not take part in it: the value is undefined");
  case MW_FOLLOW_FREED_TWICE: return mw_strdup("freed memory that was freed before");
  case MW_FOLLOW_NOT_MALLOC: return mw_strdup("freed memory that malloc did not return");
  case MW_FOLLOW_FREED_BLOCK: return mw_format("%s a block of malloc that was freed", wrote ? "wrote to" : "read");
  default:
    return mw_format("%s bytes %lld to %lld of a block of malloc, and it has %u", wrote ? "wrote to" : "read", distance,
                     distance + (long long)f->bytes - 1, low);
  }
}

static bool is_access(const mw_follow_finding *f) {
  return f->kind == MW_FOLLOW_UNWRITTEN || f->kind == MW_FOLLOW_PAST_BLOCK || f->kind == MW_FOLLOW_FREED_BLOCK;
}

static void add_other(check_session *check, const mw_follow_finding *f) {
  if (f->kind >= MW_COUNT(words_of) || !words_of[f->kind].kind) return;
  const words *w = &words_of[f->kind];
  bool two = f->kind == MW_FOLLOW_DIVERGED || f->kind == MW_FOLLOW_OTHER_CALL;
  mw_finding made = {.kind = w->kind,
                     .here = end_of(check, &f->here, is_access(f) ? verb_of(f->here.flags) : NULL),
                     .count = f->count,
                     .scope = w->scope,
                     .hint = w->hint,
                     .has_other = two};
  if (two) {
    made.other = end_of(check, &f->other, NULL);
    if (is_at(&made.here, &made.other)) return;
  }
  if (is_access(f) && site_of(check, f->here.site)->name) {
    made.array = site_of(check, f->here.site)->name;
    add_index(&made, f);
  }
  char *text = text_of(check, f);
  made.text = text;
  check_add(check, &made);
  free(text);
}

/* ---- collecting ---- */

static CUresult fetch(const check_session *check, void *to, uint64_t from, size_t bytes) {
  CUresult result = cu.cuMemcpyDtoHAsync(to, from, bytes, check->device->side);
  return result ? result : cu.cuStreamSynchronize(check->device->side);
}

static void add_race_of_log(check_session *check, const mw_follow_finding *f) { add_race(check, f); }

/* In the order of their places. */
static int by_place(const void *a, const void *b) {
  const mw_follow_finding *x = a, *y = b;
  if (x->here.site != y->here.site) return x->here.site < y->here.site ? -1 : 1;
  return x->key < y->key ? -1 : x->key > y->key;
}

static CUresult collect_list(check_session *check, const mw_follow_session *end) {
  size_t count = 0;
  mw_follow_finding *list = mw_alloc(end->finding_room * sizeof *list);
  CUresult result = fetch(check, list, end->findings, end->finding_room * sizeof *list);
  for (size_t i = 0; i < end->finding_room && result == 0; i++)
    if (list[i].key && list[i].ready) list[count++] = list[i];
  qsort(list, count, sizeof *list, by_place);
  for (size_t i = 0; i < count; i++) {
    if (list[i].kind == MW_FOLLOW_RACE)
      add_race(check, &list[i]);
    else
      add_other(check, &list[i]);
  }
  free(list);
  return result;
}

static CUresult collect_leaks(check_session *check, const mw_follow_session *end) {
  if (!(check->kinds & MW_CHECK_MEMORY)) return 0;
  mw_follow_malloc *list = mw_alloc(end->malloc_room * sizeof *list);
  CUresult result = fetch(check, list, end->mallocs, end->malloc_room * sizeof *list);
  for (size_t i = 0; i < end->malloc_room && result == 0; i++) {
    const mw_follow_malloc *m = &list[i];
    if (!m->address || m->is_freed || !m->site) continue;
    mw_follow_end here = {.site = m->site, .run = m->run, .thread = m->thread};
    char *text = mw_format("allocated %u bytes by malloc that nothing has freed", m->bytes);
    mw_finding made = {.kind = "leak",
                       .here = end_of(check, &here, NULL),
                       .count = 1,
                       .text = text,
                       .hint = "free it in the same or a later kernel"};
    check_add(check, &made);
    free(text);
  }
  free(list);
  return result;
}

static void say(mw_text *notes, bool is_so, const char *what) {
  if (is_so) mw_text_addf(notes, "%s%s", notes->length ? "\n" : "", what);
}

static void add_notes(const check_session *check, const mw_follow_session *end, mw_text *notes) {
  unsigned n = end->notes;
  say(notes, n & MW_FOLLOW_NAMED, "races in shared memory of blocks with PTX barriers of a form that is not known");
  say(notes, n & MW_FOLLOW_CLUSTERS, "races in shared memory of clusters");
  say(notes, n & MW_FOLLOW_BULK, "races in shared memory of blocks with asynchronous copies by the hardware");
  say(notes, n & MW_FOLLOW_LOG_FULL, "races that fences and atomics may order, after a million of these");
  say(notes, n & MW_FOLLOW_LIST_FULL, "findings and blocks of malloc beyond the first thousands");
  say(notes, n & MW_FOLLOW_MASKS, "warp functions after the first 32 masks of a warp");
  say(notes, n & MW_FOLLOW_STORES, "initialisation after stores in PTX of a form that is not known");
  say(notes, check->misses_reads, "races of kernels' reads with work in streams that were made after them");
  say(notes, check->lacks_memory, "arrays for whose shadows the GPU has no memory");
  say(notes, check->has_many, "launches after the first 268 million blocks, or a million places in kernels");
}

int check_collect(check_session *check, mw_text *notes) {
  mw_follow_session end = {0};
  CUresult result = fetch(check, &end, check->session, sizeof end);
  if (result == 0) result = collect_list(check, &end);
  if (result == 0) check_decide(check, &end, add_race_of_log);
  if (result == 0) result = check_commands(check, add_race);
  if (result == 0) result = collect_leaks(check, &end);
  add_notes(check, &end, notes);
  return cuda_outcome(check->device, result, "the end of a checked run");
}

/* ---- failed launches ---- */

/* "kernel k wrote to x[3], and …; file:7, block …" -> "wrote to x[3], and …" */
static char *predicate_of(const mw_error *error) {
  const char *begin = error->message;
  size_t name = error->kernel ? strlen("kernel ") + strlen(error->kernel) + 1 : 0;
  if (strlen(begin) > name) begin += name;
  return mw_format("%.*s", (int)strcspn(begin, ";"), begin);
}

bool cuda_check_keeps(cuda_device *device, const mw_guard_report *r, mw_error *error) {
  check_session *check = device->check;
  bool known = r->kind == MW_GUARD_OUTSIDE || r->kind == MW_GUARD_NOWHERE || r->kind == MW_GUARD_MISALIGNED;
  if (!check || !known) return false;
  mw_lock(&check->lock);
  const char *kind = r->kind == MW_GUARD_MISALIGNED                                     ? "misaligned"
                     : r->kind == MW_GUARD_NOWHERE && check_is_freed(check, r->address) ? "use_after_free"
                                                                                        : "out_of_bounds";
  char *text = predicate_of(error);
  mw_finding made = {.kind = kind, .count = 1, .text = text, .array = r->text[0] ? r->text : NULL};
  made.here = (mw_finding_end){.kernel = error->kernel,
                               .file = error->file,
                               .line = error->line,
                               .has_thread = 1,
                               .access = r->is_store ? "write" : "read"};
  memcpy(made.here.block, r->block, sizeof r->block);
  memcpy(made.here.thread, r->thread, sizeof r->thread);
  if (r->kind == MW_GUARD_OUTSIDE && r->bytes) {
    made.has_index = 1;
    made.index = (int64_t)(r->address - r->object) / (int64_t)r->bytes;
  }
  check_add(check, &made);
  free(text);
  mw_unlock(&check->lock);
  mw_error_free(error);
  return true;
}
