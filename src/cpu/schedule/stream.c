/* Streams: first-in, first-out queues of commands, of which the first unfinished one runs. stream_order.c describes a
 * command's states. */
#include "stream.h"
#include "cpu/check/screen.h"
#include "cpu/memory/heap.h"
#include "command_list.h"
#include "cpu/memory/pointer_arguments.h"
#include "pool.h"
#include "cpu/execution/cluster.h"
#include "cpu/execution/cooperative.h"
#include "cpu/watch/watch.h"

#include <stdlib.h>
#include <string.h>

enum { SMALL = 4096 /* up to so many bytes are copied under the lock */ };
static const double spin_seconds = 20e-6;
int cpu_stream_new(void *state, unsigned flags, int priority, mw_stream *handle, void **out) {
  cpu_device *device = state;
  cpu_stream *stream = mw_alloc(sizeof *stream);
  stream->device = device;
  stream->handle = handle;
  stream->flags = flags;
  stream->priority = priority;
  stream->awaited = UINT64_MAX;
  pthread_cond_init(&stream->moved, NULL);
  mw_lock(&device->pool->lock);
  stream->next = device->streams;
  device->streams = stream;
  if (!(flags & (MW_STREAM_NON_BLOCKING | MW_STREAM_LEGACY))) device->blocking++;
  mw_unlock(&device->pool->lock);
  *out = stream;
  return MW_SUCCESS;
}

/* ---- waiting ---- */

/* Spin with the lock released until `target` have retired, there is work to help with, or the time is over. */
static void spin(cpu_pool *pool, const cpu_stream *stream, uint64_t target) {
  cpu_pool_unlock(pool);
  double end = mw_time() + spin_seconds;
  do {
    for (int i = 0; i < 32 && atomic_load(&stream->retired) < target && !cpu_pool_has_work(pool); i++) cpu_relax();
  } while (atomic_load(&stream->retired) < target && !cpu_pool_has_work(pool) && mw_time() < end);
  mw_lock(&pool->lock);
}

/* The stream whose work has to be done for `stream` to continue: itself, or the one that it waits for. NULL: a hold. */
static cpu_stream *root_of(cpu_stream *stream) {
  while (stream && stream->blocked) stream = stream->blocked->stream;
  return stream;
}

int cpu_stream_fail_held(void) {
  return fail(MW_NOT_READY, "the work waits for a host function that was not called yet");
}

bool cpu_stream_wait_until(cpu_stream *stream, uint64_t target) {
  cpu_pool *pool = stream->device->pool;
  bool helps = cpu_fault_possible(), helped = false, held = false, spun = pool->slots == 1;
  bool draws = cpu_streams_are_random(pool);
  stream->pins++;
  stream->wanted = target;
  while (atomic_load(&stream->retired) < target) {
    cpu_stream *root = root_of(stream);
    if ((held = !root)) break;
    cpu_stream *drawn = draws ? cpu_random_start(pool) : NULL;
    if (draws && pool->slots > 1) {
      if (target < stream->awaited) stream->awaited = target;
      cpu_random_wait(pool, &stream->moved);
      continue;
    }
    if (drawn) root = drawn;
    if (helps && cpu_pool_help(pool, root)) {
      helped = true;
    } else if (!spun) {
      spin(pool, stream, target);
      spun = true;
    } else {
      if (target < stream->awaited) stream->awaited = target;
      cpu_pool_wait(pool, &stream->moved);
    }
  }
  if (helped) cpu_pool_wake(pool); /* other threads run the remaining work */
  if (!held && target == stream->issued && !stream->closing) cpu_check_synchronized(stream);
  if (--stream->pins == 0 && stream->closing) pthread_cond_broadcast(&stream->moved);
  return !held;
}

int cpu_stream_synchronize(void *handle) {
  cpu_stream *stream = handle;
  cpu_pool *pool = stream->device->pool;
  /* Usually there is nothing to wait for: each read of an element and each message comes here. What a thread knows to
     have been issued is counted; commands that others issue at the same time may be missed, as with the lock. */
  uint64_t issued = atomic_load_explicit(&stream->issued, memory_order_relaxed);
  if (atomic_load(&stream->retired) >= issued && !cpu_check_of(stream->device)) return MW_SUCCESS;
  mw_lock(&pool->lock);
  bool reached = cpu_stream_wait_until(stream, stream->issued);
  cpu_pool_unlock(pool);
  return reached ? MW_SUCCESS : cpu_stream_fail_held();
}

int cpu_stream_query(void *handle) {
  cpu_stream *stream = handle;
  cpu_pool *pool = stream->device->pool;
  mw_lock(&pool->lock);
  cpu_random_yield(pool);
  bool empty = atomic_load(&stream->retired) == stream->issued;
  if (!empty) cpu_pool_wake(pool); /* the caller probably polls */
  cpu_pool_unlock(pool);
  return empty ? MW_SUCCESS : MW_NOT_READY;
}

static void command_free(cpu_command *command) {
  free(command->ranges);
  free(command->params);
  free(command->site);
  free(command);
}

void cpu_stream_free(void *handle) {
  cpu_stream *stream = handle;
  if (!stream) return;
  cpu_pool *pool = stream->device->pool;
  cpu_device *device = stream->device;
  mw_lock(&pool->lock);
  /* Holds that were not released would block the stream for ever: finish them, so that its work runs. */
  stream->closing = true; /* the program does not wait */
  while (!cpu_stream_wait_until(stream, stream->issued)) cpu_mark_finish(cpu_stream_hold_of(stream));
  while (stream->pins > 0) cpu_pool_wait(pool, &stream->moved);
  cpu_stream **link = &device->streams;
  while (*link != stream) link = &(*link)->next;
  *link = stream->next;
  if (!(stream->flags & (MW_STREAM_NON_BLOCKING | MW_STREAM_LEGACY))) device->blocking--;
  cpu_check_freed(device, stream);
  cpu_pool_unlock(pool);
  for (cpu_command *command = stream->unused, *next; command; command = next) {
    next = command->next;
    command_free(command);
  }
  pthread_cond_destroy(&stream->moved);
  free(stream);
}

/* ---- failures ---- */

void cpu_stream_fail(const cpu_command *command, mw_error *error) {
  mw_stream_fail(command->stream->handle, command->kernel.owner, error);
}

/* ---- queueing ---- */

/* A command to fill and push, with the lock held. Waits until the queue has room, and orders the command after other
   streams' work. */
static cpu_command *command_new(cpu_stream *stream, cpu_command_kind kind, mw_completion completion) {
  if (stream->issued - atomic_load(&stream->retired) >= CPU_QUEUE_MOST) {
    cpu_stream_wait_until(stream, stream->issued - CPU_QUEUE_MOST / 2);
  }
  if (stream->device->blocking > 0) cpu_stream_order(stream);
  return cpu_stream_command(stream, kind, completion);
}

/* begin: whether it has to be started although no thread waits for it. */
static void push(cpu_stream *stream, cpu_command *command, bool begin) {
  command->checked = cpu_check_queued(stream);
  cpu_command_set_grain(command);
  cpu_stream_push(stream, command);
  if (begin) cpu_pool_begin(stream->device->pool, stream, command);
}

static void make_room(cpu_command *command, size_t count) {
  if (command->capacity < count) {
    free(command->params);
    command->capacity = (count + 255) & ~(size_t)255;
    command->params = aligned_alloc(64, command->capacity);
    if (!command->params) command->params = mw_alloc(command->capacity);
  }
}

static void keep_bytes(cpu_command *command, const void *bytes, size_t count) {
  make_room(command, count);
  if (count) memcpy(command->params, bytes, count);
}

/* The launch's handle for a reference, usually the `likely`-th: another compilation of a kernel may list its references
   in another order, or fewer. */
static uint64_t find_handle(const mw_launch_request *request, const char *name, size_t likely) {
  if (likely < request->reference_count && strcmp(request->reference_names[likely], name) == 0)
    return request->references[likely];
  for (size_t i = 0; i < request->reference_count; i++)
    if (strcmp(request->reference_names[i], name) == 0) return request->references[i];
  return 0;
}

/* The stored parameters. For a kernel with texture references they are followed by this launch's handles and a symbol
   table that points to them, so that later bindings do not affect a launch that is already queued. */
static size_t handles_at(const mw_launch_request *request) { return (request->param_bytes + 7) & ~(size_t)7; }

static size_t bytes_for(const cpu_kernel *kernel, const mw_launch_request *request) {
  size_t count = kernel->image->info.reference_count, variables = kernel->unit->image->variable_count;
  return count ? handles_at(request) + count * sizeof(uint64_t) + variables * sizeof(void *) : request->param_bytes;
}

size_t cpu_launch_bytes(const mw_launch_request *request) {
  size_t most = request->param_bytes;
  for (const cpu_kernel *kernel = request->kernel; kernel; kernel = kernel->otherwise)
    if (bytes_for(kernel, request) > most) most = bytes_for(kernel, request);
  return most;
}

void cpu_launch_keep(const cpu_kernel *kernel, const mw_launch_request *request, unsigned char *bytes,
                     mw_frame *frame) {
  size_t count = kernel->image->info.reference_count, variables = kernel->unit->image->variable_count;
  if (request->param_bytes) memcpy(bytes, request->params, request->param_bytes);
  frame->params = bytes;
  if (count == 0) return;
  uint64_t *handles = (uint64_t *)(void *)(bytes + handles_at(request));
  void **symbols = (void **)(void *)(handles + count);
  memcpy(symbols, kernel->unit->symbols, variables * sizeof *symbols);
  for (size_t i = 0; i < count; i++) {
    handles[i] = find_handle(request, kernel->image->info.references[i], i);
    if (kernel->references[i] < variables) symbols[kernel->references[i]] = &handles[i];
  }
  frame->symbols = symbols;
}

static void keep_site(cpu_command *command, const char *site) {
  size_t size = site ? strlen(site) + 1 : 1;
  if (command->site_capacity < size) {
    command->site_capacity = size + 64;
    command->site = mw_realloc(command->site, command->site_capacity);
  }
  memcpy(command->site, site ? site : "", size);
}

/* Whether its blocks switch at random: in a checked run with a seed, where threads do. */
static bool takes_turns(const cpu_device *device, const cpu_kernel_work *work, uint64_t blocks) {
  return cpu_check_is_random(device) && work->kernel->unit->image->checks & MW_CHECK_RACES && blocks <= UINT32_MAX;
}

static cpu_command *new_launch(cpu_stream *stream, const mw_launch_request *request, const cpu_kernel_work *work,
                               mw_completion completion) {
  cpu_command *command = command_new(stream, CPU_KERNEL, completion);
  keep_site(command, request->site);
  command->kernel = *work;
  command->kernel.site = command->site;
  make_room(command, bytes_for(work->kernel, request));
  cpu_launch_keep(work->kernel, request, command->params, &command->kernel.frame);
  command->blocks = cpu_launch_blocks(work);
  return command;
}

/* Queue a command that is no command of the program's. */
static void push_own(cpu_stream *stream, cpu_command *command, uint32_t checked) {
  command->checked = checked;
  cpu_command_set_grain(command);
  cpu_stream_push(stream, command);
  cpu_pool_begin(stream->device->pool, stream, command);
}

static void push_step(cpu_stream *stream, void (*step)(void *context, uint64_t first, uint64_t last),
                      cpu_screen *screen, uint64_t blocks) {
  cpu_command *command = command_new(stream, CPU_FUNCTION, (mw_completion){0});
  command->transfer = (cpu_transfer_work){.function = step, .context = screen};
  command->blocks = blocks;
  push_own(stream, command, 0);
}

/* The commands of a launch that is screened: check/screen.c. */
static void launch_screened(cpu_stream *stream, const mw_launch_request *request, const cpu_kernel_work *work,
                            cpu_screen *screen) {
  cpu_kernel *kernel = request->kernel;
  uint32_t number = cpu_check_queued(stream);
  uint64_t pieces = cpu_screen_pieces(screen);
  cpu_kernel_work screened = *work;
  screened.kernel = kernel;
  screened.frame.symbols = kernel->unit->symbols;
  screened.frame.iterations = kernel->image->iterations ? kernel->image->iterations(&screened.frame) : 0;
  push_step(stream, cpu_screen_begin, screen, 1);
  push_step(stream, cpu_screen_save, screen, pieces);
  cpu_command *command = new_launch(stream, request, &screened, (mw_completion){0});
  command->screen = screen;
  push_own(stream, command, number);
  push_step(stream, cpu_screen_compare, screen, pieces);
  push_step(stream, cpu_screen_restore, screen, pieces);
  command = new_launch(stream, request, work, cpu_screen_completion(screen, request->completion));
  command->screen = screen;
  push_own(stream, command, number);
}

int cpu_stream_launch(void *handle, const mw_launch_request *request) {
  cpu_stream *stream = handle;
  cpu_pool *pool = stream->device->pool;
  cpu_kernel_work work;
  int code = cpu_launch_prepare(stream->device, request, &work);
  if (code) return code;
  cpu_watched *watched = request->watch ? cpu_watched_new(request->watch, work.kernel) : NULL;
  const cpu_kernel *asked = request->kernel;
  cpu_screen *screen =
      asked->unit->image->checks & MW_CHECKED_SCREEN ? cpu_screen_new(stream->device, request, &work, asked) : NULL;

  mw_lock(&pool->lock);
  if (screen && !cpu_screen_is_ordered(stream)) {
    cpu_screen_free(screen);
    screen = NULL;
  }
  if (screen) {
    launch_screened(stream, request, &work, screen);
    cpu_pool_unlock(pool);
    return MW_SUCCESS;
  }
  cpu_command *command = new_launch(stream, request, &work, request->completion);
  if (watched) cpu_watched_begin(watched, command);
  command->drawn = takes_turns(stream->device, &work, command->blocks);
  if (command->drawn || cpu_blocks_wait(&work.frame))
    command->residents = cpu_residents_new(&work.frame, command->blocks);
  push(stream, command, true);
  cpu_pool_unlock(pool);
  return MW_SUCCESS;
}

int cpu_list_run(void *handle, void *list, mw_completion completion) {
  cpu_stream *stream = handle;
  cpu_pool *pool = stream->device->pool;
  mw_lock(&pool->lock);
  cpu_command *command = command_new(stream, CPU_LIST, completion);
  command->list = list;
  cpu_list_load(command, 0);
  push(stream, command, true);
  cpu_pool_unlock(pool);
  return MW_SUCCESS;
}

/* Queue a copy or a fill, with the lock held. begin: as for push. */
static void transfer(cpu_stream *stream, cpu_command *command, const cpu_transfer_work *work, bool begin) {
  command->transfer = *work;
  command->transfer.pattern = command->params;
  command->blocks = cpu_transfer_blocks(command->kind, &command->transfer);
  push(stream, command, begin);
}

int cpu_stream_copy(void *handle, uint64_t target, uint64_t source, size_t bytes, mw_completion completion) {
  cpu_stream *stream = handle;
  cpu_pool *pool = stream->device->pool;
  cpu_transfer_work work = {.target = (unsigned char *)(uintptr_t)target,
                            .source = (unsigned char *)(uintptr_t)source,
                            .size = 1,
                            .count = bytes};
  mw_lock(&pool->lock);
  transfer(stream, command_new(stream, CPU_COPY, completion), &work, true);
  cpu_pool_unlock(pool);
  return MW_SUCCESS;
}

int cpu_stream_fill(void *handle, uint64_t target, const void *pattern, size_t size, size_t count,
                    mw_completion completion) {
  cpu_stream *stream = handle;
  cpu_pool *pool = stream->device->pool;
  cpu_transfer_work work = {.target = (unsigned char *)(uintptr_t)target, .size = size, .count = count};
  mw_lock(&pool->lock);
  cpu_command *command = command_new(stream, CPU_FILL, completion);
  keep_bytes(command, pattern, size);
  transfer(stream, command, &work, true);
  cpu_pool_unlock(pool);
  return MW_SUCCESS;
}

static int transfer_box(cpu_stream *stream, cpu_command_kind kind, const mw_box *box, const void *pattern, size_t size,
                        mw_completion completion) {
  cpu_pool *pool = stream->device->pool;
  cpu_transfer_work work = {.size = size, .box = *box};
  mw_lock(&pool->lock);
  cpu_command *command = command_new(stream, kind, completion);
  keep_bytes(command, pattern, size);
  transfer(stream, command, &work, true);
  cpu_pool_unlock(pool);
  return MW_SUCCESS;
}

int cpu_stream_copy_box(void *stream, const mw_box *box, mw_completion completion) {
  return transfer_box(stream, CPU_COPY_BOX, box, NULL, 0, completion);
}

int cpu_stream_fill_box(void *stream, const mw_box *box, const void *pattern, size_t size, mw_completion completion) {
  return transfer_box(stream, CPU_FILL_BOX, box, pattern, size, completion);
}

int cpu_stream_function(cpu_stream *stream, void (*function)(void *context, uint64_t first, uint64_t last),
                        void *context, uint64_t blocks, mw_completion completion) {
  cpu_pool *pool = stream->device->pool;
  mw_lock(&pool->lock);
  cpu_command *command = command_new(stream, CPU_FUNCTION, completion);
  command->transfer = (cpu_transfer_work){.function = function, .context = context};
  command->blocks = blocks;
  push(stream, command, true);
  cpu_pool_unlock(pool);
  return MW_SUCCESS;
}

int cpu_stream_call(void *handle, mw_completion function) {
  cpu_stream *stream = handle;
  cpu_pool *pool = stream->device->pool;
  mw_lock(&pool->lock);
  cpu_command *command = command_new(stream, CPU_CALL, function);
  command->blocks = 1;
  push(stream, command, true);
  cpu_pool_unlock(pool);
  return MW_SUCCESS;
}

/* Whether a command queued now would have nothing to wait for. */
static bool is_idle(const cpu_stream *stream) {
  if (atomic_load(&stream->retired) != stream->issued) return false;
  return stream->device->blocking == 0 || cpu_stream_ordered(stream);
}

/* Copy between host and device memory, and wait for it. */
static int exchange(cpu_stream *stream, void *target, const void *source, size_t bytes) {
  cpu_pool *pool = stream->device->pool;
  cpu_transfer_work work = {.target = target, .source = source, .size = 1, .count = bytes};
  int code = MW_SUCCESS;
  if (bytes == 0) return MW_SUCCESS;
  mw_lock(&pool->lock);
  cpu_random_yield(pool);
  if (stream->device->holds > 0) {
    /* If this call fails, no queued copy may access the host's memory later: wait for earlier work first, and queue the
       copy only if nothing can block it. */
    if (stream->device->blocking > 0) cpu_stream_order(stream);
    if (!cpu_stream_wait_until(stream, stream->issued)) code = cpu_stream_fail_held();
  }
  if (code == MW_SUCCESS && bytes <= SMALL && is_idle(stream)) {
    memcpy(target, source, bytes);
    cpu_check_synchronized(stream);
    cpu_check_wrote(stream->device, (uint64_t)(uintptr_t)target, bytes);
  } else if (code == MW_SUCCESS) {
    transfer(stream, command_new(stream, CPU_COPY, (mw_completion){0}), &work, false);
    cpu_stream_wait_until(stream, stream->issued);
  }
  cpu_pool_unlock(pool);
  return code;
}

int cpu_stream_write(void *stream, uint64_t target, const void *source, size_t bytes) {
  return exchange(stream, (void *)(uintptr_t)target, source, bytes);
}

int cpu_stream_read(void *stream, uint64_t source, void *target, size_t bytes) {
  return exchange(stream, target, (const void *)(uintptr_t)source, bytes);
}
