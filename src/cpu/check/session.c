/* The session of a checked run: its findings, grouped by lines, and the places in the code that they name. */
#include "screen.h"
#include "session.h"

#include "cpu/memory/heap.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Checks for which each thread is followed. */
enum { FOLLOWED = MW_CHECK_RACES | MW_CHECK_BARRIERS };

/* ---- opening and closing ---- */

cpu_check *cpu_check_of(const cpu_device *device) {
  return atomic_load_explicit(&((cpu_device *)device)->check, memory_order_acquire);
}

int cpu_check_begin(void *handle, unsigned kinds, uint64_t seed) {
  cpu_device *device = handle;
  if (cpu_check_of(device))
    return fail(MW_INVALID_VALUE, "a checked run of this device is under way already: checked runs do not nest");
  cpu_check *check = mw_alloc(sizeof *check);
  check->device = device;
  check->kinds = kinds;
  check->seed = seed;
  if (kinds & MW_CHECK_INITIALISATION) check_values_open(check);
  if (!check->values && kinds & MW_CHECK_INITIALISATION && !(kinds & FOLLOWED)) {
    free(check);
    return fail(MW_MEMORY_ALLOCATION, "found no address space for a shadow of the device's memory, by which a checked "
                                      "run follows values: run it without the limit on address space (ulimit -v)");
  }
  mw_lock_init(&check->lock);
  check->global = shadow_new();
  check->published = views_new();
  check_order_open(check);
  atomic_store(&device->check, check);
  return MW_SUCCESS;
}

static void free_sites(check_sites *sites) {
  for (uint32_t i = 0; i < sites->count; i++) {
    free((char *)(uintptr_t)sites->items[i].kernel);
    free((char *)(uintptr_t)sites->items[i].file);
  }
  free(sites->items);
  free(sites->slots);
}

static void free_keys(cpu_check *check);

int cpu_check_end(void *handle, mw_report **out) {
  cpu_device *device = handle;
  cpu_check *check = cpu_check_of(device);
  if (!check) return fail(MW_INVALID_VALUE, "no checked run of this device is under way");
  check_lifetime_end(check);
  atomic_store(&device->check, NULL);
  *out = mw_report_new(check->findings, check->finding_count);
  mw_report_say(*out, check->left_out.data);
  free_keys(check);
  free_sites(&check->sites);
  check_order_close(check);
  shadow_free(check->global);
  check_values_close(check);
  cpu_screen_session_end(device);
  views_free(check->published);
  pthread_mutex_destroy(&check->lock);
  free(check);
  return MW_SUCCESS;
}

/* ---- the lock ---- */

static bool is_checked(const cpu_worker *worker) {
  return worker->command && worker->command->checked && cpu_check_of(worker->device);
}

static uint64_t checks_of(const cpu_worker *worker) { return worker->work->kernel->unit->image->checks; }

void cpu_check_lock(const cpu_worker *worker) {
  if (!worker->holds_check) mw_lock(&worker->session->lock);
}

void cpu_check_unlock(const cpu_worker *worker) {
  if (!worker->holds_check) mw_unlock(&worker->session->lock);
}

void cpu_check_enter(cpu_worker *worker) {
  worker->finding = NULL;
  worker->session = is_checked(worker) ? cpu_check_of(worker->device) : NULL;
  if (!worker->session) return;
  check_launch *launch = check_launch_at(worker->session, worker->command->checked);
  cpu_check_lock(worker);
  memcpy(launch->grid, worker->work->frame.grid, sizeof launch->grid);
  memcpy(launch->block, worker->work->frame.block, sizeof launch->block);
  memcpy(launch->cluster, worker->work->frame.cluster, sizeof launch->cluster);
  worker->holds_check = checks_of(worker) & FOLLOWED;
  worker->base.shadow = check_shadow_distance(worker->session);
  if (!worker->holds_check) mw_unlock(&worker->session->lock);
  if (cpu_screen_runs(worker->command)) cpu_screen_enter(worker);
}

void cpu_check_leave(cpu_worker *worker) {
  if (!worker->session) return;
  cpu_fault *fault = &worker->fault;
  if (cpu_screen_runs(worker->command)) cpu_screen_leave(worker, fault->kind != CPU_FAULT_NONE);
  if (fault->kind == CPU_FAULT_READ || fault->kind == CPU_FAULT_WRITE) check_show_address(worker, &fault->address);
  /* What a kernel without checks has written, as those of the library's operations, is not seen. */
  cpu_check_lock(worker);
  if (!(checks_of(worker) & MW_CHECK_INITIALISATION)) check_wrote_all(worker->session);
  mw_unlock(&worker->session->lock);
  worker->holds_check = false;
  worker->session = NULL;
}

void cpu_check_pause(cpu_worker *worker) {
  if (!worker->holds_check) return;
  pthread_mutex_t *lock = &cpu_check_of(worker->device)->lock;
  mw_unlock(lock);
  sched_yield();
  mw_lock(lock);
}

bool cpu_check_covers_children(const cpu_kernel *kernel) {
  uint64_t checks = kernel->unit->image->checks;
  return checks && !(checks & FOLLOWED);
}

void cpu_check_leaves_out(cpu_worker *worker, const char *child) {
  cpu_check *check = worker->session;
  if (!check) return;
  char *line = mw_format("kernel %s, which kernel %s launched%s\n", child, worker->work->kernel->image->info.name,
                         check->kinds & FOLLOWED ? "; runs that check memory and initialisation alone include it" : "");
  cpu_check_lock(worker);
  if (!check->left_out.data || !strstr(check->left_out.data, line)) mw_text_addf(&check->left_out, "%s", line);
  cpu_check_unlock(worker);
  free(line);
}

/* ---- places ---- */

static uint32_t slot_of(const check_sites *sites, uintptr_t pc) {
  uint32_t at = (uint32_t)((uint64_t)pc * 0x9e3779b97f4a7c15u >> 40) & (sites->slot_count - 1);
  while (sites->slots[at] && sites->items[sites->slots[at] - 1].pc != pc) at = (at + 1) & (sites->slot_count - 1);
  return at;
}

static void grow_sites(check_sites *sites) {
  if (sites->count == sites->capacity) {
    sites->capacity = sites->capacity ? 2 * sites->capacity : 64;
    sites->items = mw_realloc(sites->items, sites->capacity * sizeof *sites->items);
  }
  if (2 * (sites->count + 1) < sites->slot_count) return;
  free(sites->slots);
  sites->slot_count = sites->slot_count ? 2 * sites->slot_count : 256;
  sites->slots = mw_alloc(sites->slot_count * sizeof *sites->slots);
  for (uint32_t i = 0; i < sites->count; i++) sites->slots[slot_of(sites, sites->items[i].pc)] = i + 1;
}

typedef struct new_site {
  cpu_check *check;
  const cpu_worker *worker;
  uintptr_t pc;
} new_site;

/* On the thread's own stack: reading line tables takes much of it. */
static void add_site(void *argument) {
  const new_site *n = argument;
  check_sites *sites = &n->check->sites;
  const cpu_kernel *kernel = n->worker->work->kernel;
  check_site *site = &sites->items[sites->count++];
  const char *file = NULL;
  int line = 0;
  *site = (check_site){.pc = n->pc, .unit = kernel->unit, .kernel = mw_strdup(kernel->image->info.name)};
  if (!cpu_line_of(kernel->unit, n->pc, &file, &line) && kernel->image->info.file) {
    line = kernel->image->info.line;
    file = cpu_place_of(kernel->unit, kernel->image->info.file, &line);
  }
  site->file = file ? mw_strdup(file) : NULL;
  site->line = line;
  sites->slots[slot_of(sites, n->pc)] = sites->count;
}

static uint32_t known_site(const check_sites *sites, uintptr_t pc) {
  return sites->slot_count ? sites->slots[slot_of(sites, pc)] : 0;
}

uint32_t check_site_at_pc(cpu_worker *worker, uintptr_t pc) {
  cpu_check *check = worker->session;
  check_sites *sites = &check->sites;
  if (known_site(sites, pc)) return known_site(sites, pc);
  grow_sites(sites);
  add_site(&(new_site){check, worker, pc});
  return sites->count;
}

uint32_t check_site_of(cpu_worker *worker, uintptr_t pc) {
  cpu_check *check = cpu_check_of(worker->device);
  check_sites *sites = &check->sites;
  if (known_site(sites, pc)) return known_site(sites, pc);
  grow_sites(sites);
  new_site n = {check, worker, pc};
  bool within = worker->in_service;
  cpu_service_call(&worker->base, add_site, &n);
  worker->in_service = within;
  return sites->count;
}

uint32_t check_site_beside(cpu_check *check, uint32_t site, int lines) {
  check_sites *sites = &check->sites;
  uintptr_t pc = sites->items[site - 1].pc + ((uintptr_t)lines << 48); /* no code address, and the same for both */
  if (sites->slots[slot_of(sites, pc)]) return sites->slots[slot_of(sites, pc)];
  grow_sites(sites);
  check_site from = sites->items[site - 1], *made = &sites->items[sites->count++];
  *made =
      (check_site){pc, from.unit, mw_strdup(from.kernel), from.file ? mw_strdup(from.file) : NULL, from.line + lines};
  sites->slots[slot_of(sites, pc)] = sites->count;
  return sites->count;
}

uint32_t check_site_here(cpu_worker *worker) {
  cpu_checked *self = worker->checked;
  size_t slot = worker->call / 4 % MW_COUNT(self->sites);
  if (self->sites[slot].pc != worker->call) {
    self->sites[slot].site = check_site_of(worker, worker->call);
    self->sites[slot].pc = worker->call;
  }
  return self->sites[slot].site;
}

/* ---- findings ---- */

/* What makes findings one: their lines. */
typedef struct finding_key {
  const char *kind;
  const char *files[2];
  int lines[2];
} finding_key;

static void free_keys(cpu_check *check) { free(check->keys); }

static bool is_same(const char *a, const char *b) { return a == b || (a && b && strcmp(a, b) == 0); }

static finding_key key_of(const cpu_check *check, const check_fact *fact) {
  const check_site *here = check_site_at(check, fact->here.site);
  const check_site *other = fact->other ? check_site_at(check, fact->other->site) : NULL;
  return (finding_key){fact->kind,
                       {here ? here->file : NULL, other ? other->file : NULL},
                       {here ? here->line : 0, other ? other->line : 0}};
}

static mw_finding *find(const cpu_check *check, const finding_key *key) {
  for (size_t i = 0; i < check->finding_count; i++) {
    const finding_key *k = &check->keys[i];
    if (strcmp(k->kind, key->kind) == 0 && k->lines[0] == key->lines[0] && k->lines[1] == key->lines[1] &&
        is_same(k->files[0], key->files[0]) && is_same(k->files[1], key->files[1]))
      return &check->findings[i];
  }
  return NULL;
}

static void fill_end(cpu_check *check, const check_end *from, mw_finding_end *to) {
  const check_site *site = check_site_at(check, from->site);
  const check_launch *launch = check_launch_at(check, from->launch);
  if (site) {
    to->kernel = mw_strdup(site->kernel);
    to->file = site->file ? mw_strdup(site->file) : NULL;
    to->line = site->line;
  }
  to->access = from->access;
  to->has_thread = launch && from->thread != ~0u;
  if (!to->has_thread) return;
  cpu_unfold(from->block, launch->grid, to->block);
  cpu_unfold(from->thread, launch->block, to->thread);
}

static int width_of(const char *scope) {
  static const char *const scopes[] = {"warp", "block", "grid", "launches"};
  for (int i = 0; i < (int)MW_COUNT(scopes); i++)
    if (scope && strcmp(scopes[i], scope) == 0) return i;
  return -1;
}

void check_found(cpu_check *check, const check_fact *fact) {
  finding_key key = key_of(check, fact);
  mw_finding *known = find(check, &key);
  if (known) {
    known->count++;
    if (fact->scope && width_of(fact->scope) > width_of(known->scope)) {
      known->scope = fact->scope;
      free((char *)(uintptr_t)known->hint);
      known->hint = fact->hint ? mw_strdup(fact->hint) : NULL;
    }
    return;
  }
  if (check->finding_count == check->finding_capacity) {
    check->finding_capacity = check->finding_capacity ? 2 * check->finding_capacity : 8;
    check->findings = mw_realloc(check->findings, check->finding_capacity * sizeof *check->findings);
    check->keys = mw_realloc(check->keys, check->finding_capacity * sizeof *check->keys);
  }
  mw_finding *made = &check->findings[check->finding_count];
  *made = (mw_finding){.kind = fact->kind, .scope = fact->scope, .count = 1};
  fill_end(check, &fact->here, &made->here);
  made->has_other = fact->other != NULL;
  if (fact->other) fill_end(check, fact->other, &made->other);
  made->array = fact->array ? mw_strdup(fact->array) : NULL;
  made->has_index = fact->has_index;
  made->index = fact->index;
  made->hint = fact->hint ? mw_strdup(fact->hint) : NULL;
  made->text = fact->text ? mw_strdup(fact->text) : NULL;
  key.files[0] = made->here.file, key.files[1] = made->other.file;
  check->keys[check->finding_count++] = key;
}

/* ---- failed kernels ---- */

static const char *kind_of(cpu_check *check, const cpu_worker *worker) {
  const cpu_fault *fault = &worker->fault;
  if (fault->kind == CPU_FAULT_READ || fault->kind == CPU_FAULT_WRITE)
    return cpu_check_is_freed(check, fault->address) ? "use_after_free" : "out_of_bounds";
  if (fault->kind == CPU_FAULT_MISALIGNED) return "misaligned";
  return fault->kind == CPU_FAULT_SERVICE ? worker->finding : NULL;
}

/* "kernel k wrote to x[3], and …; file:7, block …" -> "wrote to x[3], and …" */
static char *predicate_of(const cpu_worker *worker, const mw_error *error) {
  if (worker->fault.kind == CPU_FAULT_SERVICE) return mw_strdup(worker->fault.what);
  char *text = mw_strdup(error->message), *begin = text, *end = strchr(text, ';');
  if (end) *end = '\0';
  size_t name = strlen("kernel ") + strlen(error->kernel) + 1;
  if (strlen(text) > name) begin = text + name;
  char *made = mw_strdup(begin);
  free(text);
  return made;
}

bool cpu_check_keeps(cpu_worker *worker, const cpu_command *command, mw_error *error) {
  cpu_check *check = cpu_check_of(worker->device);
  if (!check || !command->checked || cpu_command_doing(command) != CPU_KERNEL) return false;
  if (cpu_screen_runs(command)) { /* it is run again */
    mw_error_free(error);
    return true;
  }
  mw_lock(&check->lock);
  const char *kind = kind_of(check, worker);
  check_launch *launch = check_launch_at(check, command->checked);
  if (launch) launch->stopped = true;
  if (kind) {
    check_end here = {.thread = worker->base.thread, .block = (uint32_t)worker->base.block, .launch = command->checked};
    bool stores = worker->fault.kind == CPU_FAULT_WRITE || worker->finding_stores;
    bool accesses =
        strcmp(kind, "out_of_bounds") == 0 || strcmp(kind, "use_after_free") == 0 || strcmp(kind, "misaligned") == 0;
    if (accesses) here.access = stores ? "write" : "read";
    check_fact fact = {.kind = kind, .here = here, .text = predicate_of(worker, error)};
    if (worker->fault.kind == CPU_FAULT_SERVICE && accesses) {
      fact.array = worker->finding_array;
      fact.has_index = worker->finding_has_index;
      fact.index = worker->finding_index;
    }
    check_sites *sites = &check->sites;
    grow_sites(sites);
    check_site *site = &sites->items[sites->count++]; /* the error knows its line */
    *site = (check_site){
        .kernel = mw_strdup(error->kernel), .file = error->file ? mw_strdup(error->file) : NULL, .line = error->line};
    fact.here.site = sites->count;
    check_found(check, &fact);
    free((char *)(uintptr_t)fact.text);
  }
  mw_unlock(&check->lock);
  if (kind) mw_error_free(error);
  return kind != NULL;
}
