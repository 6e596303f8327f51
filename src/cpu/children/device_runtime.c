/* The device runtime's calls: launches from kernels, copies, streams, events. See children.h. */
#include "children.h"
#include "cpu/check/check.h"
#include "cpu/memory/heap.h"

#include <string.h>

enum {
  TAIL_LAUNCH = 3,     /* CUDA's streams: cudaStreamTailLaunch */
  FIRE_AND_FORGET = 4, /* cudaStreamFireAndForget */
  SYNC_DEPTH_EXCEEDED = 68,
  PARAMS_MOST = 32764,
  DEPTH_MOST = 24,  /* nested synchronisation, as on CUDA devices */
  SAVED_MOST = 4096 /* grids that are queued before a block runs some itself */
};

typedef struct job {
  cpu_worker *worker;
  mw_device_call call;
  mw_device_request *request; /* a copy */
  uint32_t thread;
  int code;
} job;

/* ---- the block's launches ---- */

static const cpu_grid *current_grid(const job *j) {
  const cpu_grid *grid = j->worker->launching.grid;
  return grid ? grid : &cpu_family_of(j->worker->command)->root;
}

/* That of the worker's current block, or NULL: it has launched nothing yet. */
static cpu_scope *find_scope(const job *j) {
  cpu_scope *scope = j->worker->launching.scope;
  bool current = scope && scope->grid == current_grid(j) && scope->block == j->worker->base.block;
  return current ? scope : NULL;
}

static cpu_scope *get_scope(const job *j) {
  cpu_scope *scope = find_scope(j);
  if (scope) return scope;
  cpu_pile *pile = j->worker->launching.pile;
  cpu_scope_drop(pile, j->worker->launching.scope);
  scope = cpu_cell_new(cpu_family_of(j->worker->command), pile);
  j->worker->launching.scope = scope;
  if (!scope) return NULL;
  scope->grid = current_grid(j);
  scope->block = j->worker->base.block;
  atomic_init(&scope->users, 1);
  return scope;
}

/* ---- errors of threads ---- */

static struct cpu_thread_error *find_error(cpu_scope *scope, uint32_t thread) {
  for (unsigned i = 0; i < scope->error_count; i++)
    if (scope->errors[i].thread == thread) return &scope->errors[i];
  return NULL;
}

static void note_error(const job *j) {
  cpu_scope *scope = get_scope(j);
  if (!scope) return;
  struct cpu_thread_error *error = find_error(scope, j->thread);
  if (!error) {
    if (scope->error_count < MW_COUNT(scope->errors)) scope->error_count++;
    error = &scope->errors[scope->error_count - 1];
  }
  *error = (struct cpu_thread_error){j->thread, j->code};
}

static int last_error(const job *j) {
  cpu_scope *scope = find_scope(j);
  struct cpu_thread_error *error = scope ? find_error(scope, j->thread) : NULL;
  int code = error ? error->code : MW_SUCCESS;
  if (error && j->call == MW_DEVICE_LAST_ERROR) *error = scope->errors[--scope->error_count];
  return code;
}

/* ---- running grids before the block continues ---- */

static cpu_worker *nested_worker(cpu_worker *worker) {
  if (worker->launching.depth == DEPTH_MOST) return NULL;
  if (!worker->launching.nested) {
    cpu_worker *nested = cpu_worker_new(worker->device);
    nested->launching.depth = worker->launching.depth + 1;
    worker->launching.nested = nested;
  }
  worker->launching.nested->launching.pile = worker->launching.pile;
  return worker->launching.nested;
}

/* Run a grid that is ready. False: there is none, or its kernel failed. */
static bool run_one(const cpu_worker *worker, cpu_worker *nested) {
  cpu_pile *pile = nested->launching.pile;
  cpu_grid *grid = pile->ready;
  if (!grid || atomic_load(&worker->command->stop)) return false;
  pile->ready = grid->next;
  cpu_worker_current = nested;
  bool good = cpu_worker_equip(nested) && cpu_grid_run(nested, worker->command, grid, 0, grid->blocks);
  if (!good) cpu_pool_fail(worker->device->pool, nested, worker->command);
  cpu_worker_current = (cpu_worker *)(uintptr_t)worker;
  return good;
}

/* A block waits for what it has launched, and runs it meanwhile. */
static int synchronize(const job *j) {
  cpu_scope *scope = find_scope(j);
  if (!scope || atomic_load(&scope->unfinished) == 0) return MW_SUCCESS;
  cpu_worker *nested = nested_worker(j->worker);
  if (!nested) return SYNC_DEPTH_EXCEEDED;
  while (atomic_load(&scope->unfinished) > 0)
    if (!run_one(j->worker, nested)) return MW_LAUNCH_FAILURE;
  return MW_SUCCESS;
}

/* Very many grids wait: run some. */
static void drain(const job *j, const struct cpu_family *family) {
  cpu_worker *nested = nested_worker(j->worker);
  while (nested && atomic_load(&family->waiting) > SAVED_MOST / 2 && run_one(j->worker, nested)) {}
}

/* ---- queueing ---- */

/* Queue a grid in the stream that the request names. */
static int queue_grid(const job *j, cpu_grid *grid) {
  struct cpu_family *family = cpu_family_of(j->worker->command);
  cpu_pile *pile = j->worker->launching.pile;
  cpu_grid *parent = j->worker->launching.grid ? j->worker->launching.grid : &family->root;
  uint64_t stream = j->request->stream;
  cpu_scope *scope = get_scope(j);
  cpu_queue *queue = NULL;
  if (!scope) return MW_MEMORY_ALLOCATION;
  if (stream < TAIL_LAUNCH) queue = &scope->null;
  if (stream > FIRE_AND_FORGET && !(queue = cpu_queue_find(family, stream))) return MW_INVALID_RESOURCE_HANDLE;
  grid->parent = parent;
  atomic_init(&grid->pending, 1);
  atomic_init(&grid->left, grid->blocks);
  if (grid->kind == CPU_GRID_WORK) atomic_fetch_add(&family->waiting, 1);
  if (stream == TAIL_LAUNCH) {
    mw_lock(&family->lock);
    if (parent->tail_first)
      parent->tail_last->follower = grid;
    else
      parent->tail_first = grid;
    parent->tail_last = grid;
    mw_unlock(&family->lock);
    return MW_SUCCESS;
  }
  grid->scope = scope;
  atomic_fetch_add(&scope->users, 1);
  atomic_fetch_add(&scope->unfinished, 1);
  atomic_fetch_add(&parent->pending, 1);
  cpu_grid_queue(pile, grid, queue);
  if (atomic_load_explicit(&family->waiting, memory_order_relaxed) > SAVED_MOST) drain(j, family);
  return MW_SUCCESS;
}

static cpu_grid *new_grid(const job *j, size_t param_bytes) {
  return cpu_grid_new(cpu_family_of(j->worker->command), j->worker->launching.pile, param_bytes);
}

/* The kernel with this number in the module that the running kernel is of. */
static cpu_kernel *find_kernel(const cpu_worker *worker, uint64_t number) {
  const cpu_kernel *kernel = worker->work->kernel;
  while (kernel->otherwise && !cpu_check_covers_children(kernel)) kernel = kernel->otherwise;
  const cpu_unit *unit = kernel->unit;
  return number >= 1 && number <= unit->image->kernel_count ? &unit->kernels[number - 1] : NULL;
}

static bool is_within(const uint32_t size[3], uint32_t x, uint32_t y, uint32_t z) {
  return size[0] >= 1 && size[0] <= x && size[1] >= 1 && size[1] <= y && size[2] >= 1 && size[2] <= z;
}

static int launch(const job *j) {
  const mw_device_request *r = j->request;
  cpu_kernel *kernel = find_kernel(j->worker, r->kernel);
  if (!kernel || r->param_bytes > PARAMS_MOST) return MW_INVALID_DEVICE_FUNCTION;
  const mw_kernel_info *info = &kernel->image->info;
  if (info->cluster[0]) return MW_NOT_SUPPORTED;
  if (info->reference_count) return MW_NOT_SUPPORTED; /* of textures: only kernels that the host launches have them */
  if (!is_within(r->grid, INT32_MAX, UINT16_MAX, UINT16_MAX) ||
      !is_within(r->block, CPU_MAX_THREADS, CPU_MAX_THREADS, 64))
    return MW_INVALID_CONFIGURATION;
  uint64_t threads = (uint64_t)r->block[0] * r->block[1] * r->block[2];
  if (info->max_threads && threads > (uint64_t)info->max_threads) return MW_LAUNCH_OUT_OF_RESOURCES;
  if (r->shared > CPU_SHARED_MAX) return MW_INVALID_CONFIGURATION;
  const mw_launch_request request = {.kernel = kernel,
                                     .grid = {r->grid[0], r->grid[1], r->grid[2]},
                                     .block = {r->block[0], r->block[1], r->block[2]},
                                     .dynamic_shared = r->shared,
                                     .params = r->params,
                                     .owner = j->worker->work->owner};
  cpu_grid *grid = new_grid(j, r->param_bytes);
  if (!grid) return MW_MEMORY_ALLOCATION;
  if (!kernel->unit->image->checks) cpu_check_leaves_out(j->worker, info->name);
  int code = cpu_launch_configure(j->worker->device, &request, &grid->work);
  if (code) return code;
  grid->work.param_bytes = r->param_bytes;
  grid->work.site = j->worker->work->site;
  grid->work.frame.params = cpu_grid_params(grid);
  memcpy(cpu_grid_params(grid), r->params, r->param_bytes);
  grid->blocks = cpu_launch_blocks(&grid->work);
  return queue_grid(j, grid);
}

/* ---- copies and fills: run as a kernel's code is, so that a bad address fails like a kernel's ---- */

static void run_transfer(const mw_frame *frame, mw_worker *worker, uint64_t first, uint64_t last) {
  const mw_device_request *r = (const void *)frame->params;
  (void)worker, (void)first, (void)last;
  if (r->source)
    memmove((void *)(uintptr_t)r->target, (const void *)(uintptr_t)r->source, r->bytes);
  else
    memset((void *)(uintptr_t)r->target, (int)r->value, r->bytes);
}

static bool on_heap(const cpu_worker *worker, uint64_t address, uint64_t bytes) {
  uint64_t base, size;
  cpu_heap_range(worker->device->heap, &base, &size);
  return address - base < size && bytes <= size - (address - base);
}

static int transfer(const job *j) {
  const mw_device_request *r = j->request;
  bool copies = j->call == MW_DEVICE_COPY;
  if (r->bytes == 0) return MW_SUCCESS;
  if (!on_heap(j->worker, r->target, r->bytes) || (copies && !on_heap(j->worker, r->source, r->bytes)))
    return MW_INVALID_VALUE;
  cpu_grid *grid = new_grid(j, sizeof *r);
  if (!grid) return MW_MEMORY_ALLOCATION;
  grid->work = *j->worker->work;
  grid->work.instead = run_transfer;
  grid->work.frame.params = cpu_grid_params(grid);
  memcpy(cpu_grid_params(grid), r, sizeof *r);
  grid->blocks = 1;
  return queue_grid(j, grid);
}

/* ---- events ---- */

static int queue_event(const job *j) {
  struct cpu_family *family = cpu_family_of(j->worker->command);
  cpu_event *event = cpu_event_find(family, j->request->event);
  if (!event) return MW_INVALID_RESOURCE_HANDLE;
  if (j->request->stream == TAIL_LAUNCH || j->request->stream == FIRE_AND_FORGET) return MW_INVALID_RESOURCE_HANDLE;
  cpu_grid *grid = new_grid(j, 0);
  if (!grid) return MW_MEMORY_ALLOCATION;
  grid->kind = j->call == MW_DEVICE_EVENT_RECORD ? CPU_GRID_RECORD : CPU_GRID_WAIT;
  grid->event = event;
  grid->blocks = 1;
  atomic_fetch_add(&event->users, 1);
  cpu_spin_take(&event->lock);
  grid->number = grid->kind == CPU_GRID_RECORD ? ++event->issued : event->issued;
  cpu_spin_give(&event->lock);
  return queue_grid(j, grid);
}

/* cudaLimitStackSize, cudaLimitPrintfFifoSize, cudaLimitMallocHeapSize, cudaLimitDevRuntimePendingLaunchCount */
static int read_limit(const job *j) {
  mw_device_request *r = j->request;
  switch (r->value) {
  case 0: r->bytes = (uint64_t)cpu_limit(j->worker->device, MW_LIMIT_STACK); return MW_SUCCESS;
  case 1: r->bytes = 1 << 20; return MW_SUCCESS; /* any text is printed */
  case 2: r->bytes = (uint64_t)cpu_limit(j->worker->device, MW_LIMIT_HEAP); return MW_SUCCESS;
  case 4: r->bytes = (uint64_t)cpu_limit(j->worker->device, MW_LIMIT_LAUNCHES); return MW_SUCCESS;
  default: return MW_UNSUPPORTED_LIMIT;
  }
}

/* ---- the service ---- */

static int answer(const job *j) {
  struct cpu_family *family = cpu_family_of(j->worker->command);
  cpu_pile *pile = j->worker->launching.pile;
  mw_device_request *r = j->request;
  switch (j->call) {
  case MW_DEVICE_LAUNCH: return launch(j);
  case MW_DEVICE_COPY:
  case MW_DEVICE_FILL: return transfer(j);
  case MW_DEVICE_STREAM_NEW:
    if (r->value != MW_STREAM_NON_BLOCKING) return MW_INVALID_VALUE; /* others would need the host's NULL stream */
    r->stream = cpu_queue_open(family, pile);
    return r->stream ? MW_SUCCESS : MW_MEMORY_ALLOCATION;
  case MW_DEVICE_STREAM_FREE: return cpu_queue_close(family, pile, r->stream) ? MW_SUCCESS : MW_INVALID_RESOURCE_HANDLE;
  case MW_DEVICE_EVENT_NEW:
    r->event = cpu_event_open(family, pile);
    return r->event ? MW_SUCCESS : MW_MEMORY_ALLOCATION;
  case MW_DEVICE_EVENT_FREE: return cpu_event_close(family, pile, r->event) ? MW_SUCCESS : MW_INVALID_RESOURCE_HANDLE;
  case MW_DEVICE_EVENT_RECORD:
  case MW_DEVICE_EVENT_WAIT: return queue_event(j);
  case MW_DEVICE_LAST_ERROR:
  case MW_DEVICE_PEEK_ERROR: return last_error(j);
  case MW_DEVICE_SYNCHRONIZE: return synchronize(j);
  case MW_DEVICE_LIMIT: return read_limit(j);
  default: return MW_INVALID_VALUE;
  }
}

static void run_job(void *argument) {
  job *j = argument;
  j->code = answer(j);
  if (j->code && j->call != MW_DEVICE_LAST_ERROR && j->call != MW_DEVICE_PEEK_ERROR) note_error(j);
}

uint32_t cpu_device_runtime(mw_worker *base, uint32_t call, mw_device_request *request, uint32_t thread) {
  CPU_SERVICE_ENTER(base);
  mw_device_request copy = *request;
  if (call == MW_DEVICE_LAUNCH && copy.param_bytes) {
    char *buffer = cpu_service_buffer(base);
    memcpy(buffer, copy.params, copy.param_bytes < PARAMS_MOST ? copy.param_bytes : PARAMS_MOST);
    copy.params = buffer;
  }
  job j = {(cpu_worker *)base, (mw_device_call)call, &copy, thread, MW_SUCCESS};
  cpu_service_call(base, run_job, &j);
  request->stream = copy.stream;
  request->event = copy.event;
  request->bytes = copy.bytes;
  return (uint32_t)j.code;
}
