/* Launches: a kernel with its configuration and arguments, which are checked when they are set, and run any number of
 * times.
 *
 * The launch object holds handles: of its kernel and of the arrays that are arguments. A run copies the arguments and
 * takes uses (command.h), so the object may be changed or released while its runs are in flight. */
#include "launch.h"
#include "watch.h"
#include "core/array/array.h"
#include "core/graph/capture.h"
#include "core/graph/graph.h"
#include "core/texture/texture_reference.h"

#include <stdlib.h>
#include <string.h>

/* ---- configuration ---- */

static const char axes[] = "xyz";

static int fail_configuration(const mw_kernel *kernel, char *message) {
  int code = fail(MW_INVALID_CONFIGURATION, "%s", message);
  mw_error_kernel(kernel->info->name, NULL, NULL);
  free(message);
  return code;
}

static int check_block(const mw_kernel *kernel, const unsigned block[3]) {
  const mw_device *device = kernel->module->device;
  const mw_properties *limits = &device->properties;
  for (int i = 0; i < 3; i++) {
    if (block[i] == 0)
      return fail_configuration(kernel, mw_format("the block (%u, %u, %u) has no threads: its %c has to be at least 1",
                                                  block[0], block[1], block[2], axes[i]));
    if (block[i] > (unsigned)limits->max_block[i])
      return fail_configuration(kernel,
                                mw_format("the block (%u, %u, %u) is too large for %s: its %c may be %d at most",
                                          block[0], block[1], block[2], device->name, axes[i], limits->max_block[i]));
  }
  uint64_t threads = (uint64_t)block[0] * block[1] * block[2];
  if (threads > (unsigned)limits->max_threads_per_block)
    return fail_configuration(
        kernel, mw_format("the block (%u, %u, %u) is too large: %u x %u x %u = %llu threads, and %s takes %d at most",
                          block[0], block[1], block[2], block[0], block[1], block[2], (unsigned long long)threads,
                          device->name, limits->max_threads_per_block));
  if (kernel->info->max_threads > 0 && threads > (unsigned)kernel->info->max_threads)
    return fail_configuration(
        kernel, mw_format("the block (%u, %u, %u) is too large for %s: %u x %u x %u = %llu threads, and the kernel is "
                          "compiled for %d at most (__launch_bounds__)",
                          block[0], block[1], block[2], kernel->info->name, block[0], block[1], block[2],
                          (unsigned long long)threads, kernel->info->max_threads));
  return MW_SUCCESS;
}

static int check_grid(const mw_kernel *kernel, const unsigned grid[3]) {
  const mw_device *device = kernel->module->device;
  for (int i = 0; i < 3; i++) {
    if (grid[i] == 0)
      return fail_configuration(kernel, mw_format("the grid (%u, %u, %u) has no blocks: its %c has to be at least 1",
                                                  grid[0], grid[1], grid[2], axes[i]));
    if (grid[i] > device->properties.max_grid[i])
      return fail_configuration(
          kernel, mw_format("the grid (%u, %u, %u) is too large for %s: its %c may be %lld at most", grid[0], grid[1],
                            grid[2], device->name, axes[i], (long long)device->properties.max_grid[i]));
  }
  return MW_SUCCESS;
}

static int check_shared(const mw_kernel *kernel, size_t dynamic) {
  const mw_device *device = kernel->module->device;
  size_t fixed = kernel->info->shared_bytes, most = device->properties.shared_per_block_optin;
  if (fixed <= most && dynamic <= most - fixed) return MW_SUCCESS;
  if (dynamic == 0)
    return fail_configuration(kernel, mw_format("%s declares %zu bytes of shared memory, and a block on %s has %zu",
                                                kernel->info->name, fixed, device->name, most));
  if (fixed == 0)
    return fail_configuration(
        kernel, mw_format("the launch of %s requests %zu bytes of shared memory, and a block on %s has %zu",
                          kernel->info->name, dynamic, device->name, most));
  return fail_configuration(
      kernel,
      mw_format("too much shared memory: %zu bytes that %s declares + %zu bytes that the launch requests = %.0f, "
                "and a block on %s has %zu",
                fixed, kernel->info->name, dynamic, (double)fixed + (double)dynamic, device->name, most));
}

/* Check a thread's stack against the limit. */
static int check_local(const mw_kernel *kernel) {
  mw_device *device = kernel->module->device;
  double stack;
  if (kernel->info->local_bytes == 0 || device->driver->grows_stack) return MW_SUCCESS;
  int code = device->driver->limit_get(device->state, MW_LIMIT_STACK, &stack);
  if (code != MW_SUCCESS || stack == 0 || (double)kernel->info->local_bytes <= stack) return code;
  code = fail(MW_LAUNCH_OUT_OF_RESOURCES,
              "a thread of %s needs %zu bytes of local memory, and the limit 'stack' is %.0f: raise it with "
              "mw.limit(\"stack\", %zu)",
              kernel->info->name, kernel->info->local_bytes, stack, kernel->info->local_bytes * 2);
  mw_error_kernel(kernel->info->name, NULL, NULL);
  return code;
}

int mw_launch_configure(mw_launch *launch, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared) {
  const mw_kernel *kernel = launch->kernel;
  int code = check_block(kernel, block);
  if (code == MW_SUCCESS) code = check_grid(kernel, grid);
  if (code == MW_SUCCESS) code = check_shared(kernel, dynamic_shared);
  if (code == MW_SUCCESS) code = check_local(kernel);
  if (code == MW_SUCCESS && kernel->info->cluster[0]) code = mw_cluster_check(kernel, grid, kernel->info->cluster);
  if (code != MW_SUCCESS) return code;
  mw_launch_request *request = &launch->request;
  memcpy(request->grid, grid, sizeof request->grid);
  memcpy(request->block, block, sizeof request->block);
  request->dynamic_shared = dynamic_shared;
  memcpy(request->cluster, kernel->info->cluster, sizeof request->cluster);
  request->cooperative = request->dependent = false;
  request->kernel = NULL;
  return MW_SUCCESS;
}

void mw_launch_cooperate(mw_launch *launch) { launch->request.cooperative = true; }

void mw_launch_depend(mw_launch *launch) { launch->request.dependent = true; }

int mw_launch_cluster(mw_launch *launch, const unsigned blocks[3]) {
  int code = mw_cluster_check(launch->kernel, launch->request.grid, blocks);
  if (code == MW_SUCCESS) memcpy(launch->request.cluster, blocks, sizeof launch->request.cluster);
  return code;
}

/* ---- lifetime ---- */

static size_t round_up(size_t bytes, size_t to) { return (bytes + to - 1) / to * to; }

/* A single allocation, because scripts make a launch for every call. */
static mw_launch *allocate(const mw_kernel_info *info) {
  size_t align = _Alignof(max_align_t), params = round_up(sizeof(mw_launch), align);
  size_t arrays = params + round_up(info->param_bytes, align);
  size_t set = arrays + info->param_count * sizeof(mw_array *);
  unsigned char *memory = mw_alloc(set + info->param_count * sizeof(bool));
  mw_launch *launch = (mw_launch *)memory;
  launch->params = memory + params;
  launch->request.params = launch->params;
  launch->request.param_bytes = info->param_bytes;
  launch->arrays = (mw_array **)(memory + arrays);
  launch->set = (bool *)(memory + set);
  return launch;
}

int mw_launch_new(mw_kernel *kernel, const unsigned grid[3], const unsigned block[3], size_t dynamic_shared,
                  mw_launch **out) {
  mw_launch *launch = allocate(kernel->info);
  mw_refs_init(&launch->refs);
  launch->kernel = mw_kernel_retain(kernel);
  launch->epoch = kernel->module->epoch;
  launch->request.owner = kernel->module->owner;
  launch->device = kernel->module->device;
  launch->missing = kernel->info->param_count;
  int code = mw_launch_configure(launch, grid, block, dynamic_shared);
  if (code == MW_SUCCESS)
    *out = launch;
  else
    mw_launch_release(launch);
  return code;
}

mw_launch *mw_launch_retain(mw_launch *launch) {
  mw_refs_take(&launch->refs);
  return launch;
}

void mw_launch_release(mw_launch *launch) {
  if (!launch || !mw_refs_drop(&launch->refs)) return;
  mw_launch_clear(launch);
  mw_kernel_release(launch->kernel);
  free(launch->retained);
  free(launch->textures);
  free(launch);
}

mw_launch *mw_launch_copy(const mw_launch *launch) {
  const mw_kernel_info *info = launch->kernel->info;
  mw_launch *copy;
  const mw_launch_request *request = &launch->request;
  if (mw_launch_new(launch->kernel, request->grid, request->block, request->dynamic_shared, &copy) != MW_SUCCESS)
    return NULL; /* cannot happen: it passed the same checks */
  copy->request.cooperative = request->cooperative;
  copy->request.dependent = request->dependent;
  memcpy(copy->request.cluster, request->cluster, sizeof copy->request.cluster);
  memcpy(copy->params, launch->params, info->param_bytes);
  for (size_t i = 0; i < info->param_count; i++) {
    copy->set[i] = launch->set[i];
    if (launch->arrays[i]) copy->arrays[i] = mw_array_retain(launch->arrays[i]);
  }
  copy->missing = launch->missing;
  copy->array_count = launch->array_count;
  copy->retained = mw_alloc((launch->retained_count + 1) * sizeof *copy->retained);
  copy->retained_count = copy->retained_capacity = launch->retained_count;
  for (size_t i = 0; i < launch->retained_count; i++) copy->retained[i] = mw_array_retain(launch->retained[i]);
  copy->textures = mw_alloc((launch->texture_count + 1) * sizeof *copy->textures);
  copy->texture_count = copy->texture_capacity = launch->texture_count;
  for (size_t i = 0; i < launch->texture_count; i++) {
    copy->textures[i] = launch->textures[i];
    mw_texture_retain(launch->textures[i].texture);
  }
  return copy;
}

mw_kernel *mw_launch_kernel(const mw_launch *launch) { return launch->kernel; }

/* ---- running ---- */

static int fail_missing(const mw_launch *launch) {
  const mw_kernel_info *info = launch->kernel->info;
  size_t i = 0;
  while (launch->set[i]) i++;
  char *signature = mw_launch_signature(info);
  mw_place place = mw_launch_place(launch, i);
  int code = fail(MW_INVALID_VALUE, "%s is missing: %s takes %zu argument%s, %s", place.text, info->name,
                  info->param_count, info->param_count == 1 ? "" : "s", signature);
  mw_error_kernel(info->name, NULL, NULL);
  free(signature);
  return code;
}

/* Take uses of everything that the kernel may access. */
static int use_arrays(const mw_launch *launch, mw_command *command) {
  const mw_kernel_info *info = launch->kernel->info;
  for (size_t i = 0, left = launch->array_count; left > 0; i++) {
    if (!launch->arrays[i]) continue;
    left--;
    int code = mw_command_use(command, launch->arrays[i]->buffer);
    if (code == MW_SUCCESS) continue;
    mw_place place = mw_launch_place(launch, i);
    fail(code, "%s is an array that was freed", place.text);
    mw_error_kernel(info->name, NULL, NULL);
    return code;
  }
  for (size_t i = 0; i < launch->retained_count; i++) {
    int code = mw_command_use(command, launch->retained[i]->buffer);
    if (code == MW_SUCCESS) continue;
    fail(code, "an array whose address was given to %s was freed", info->name);
    mw_error_kernel(info->name, NULL, NULL);
    return code;
  }
  return MW_SUCCESS;
}

static int use_textures(const mw_launch *launch, mw_command *command) {
  for (size_t i = 0; i < launch->texture_count; i++) {
    const mw_texture *texture = launch->textures[i].texture;
    uint64_t handle;
    int code = mw_texture_use(launch->textures[i].texture, command, &handle);
    /* Its handle may have changed since it became an argument. */
    if (code == MW_SUCCESS && !launch->textures[i].inside)
      memcpy(launch->params + launch->kernel->info->params[launch->textures[i].param].offset, &handle, sizeof handle);
    if (code == MW_SUCCESS) continue;
    const char *noun = texture->is_surface ? "surface" : "texture";
    if (launch->textures[i].inside)
      fail(code, "a %s whose handle was given to %s is over memory that was freed", noun, launch->kernel->info->name);
    else
      fail(code, "%s is a %s over memory that was freed", mw_launch_place(launch, launch->textures[i].param).text,
           noun);
    mw_error_kernel(launch->kernel->info->name, NULL, NULL);
    return code;
  }
  return MW_SUCCESS;
}

static uint64_t *many_handles(const mw_kernel *kernel) {
  return mw_alloc(kernel->info->reference_count * sizeof(uint64_t));
}

/* The most buffers that it may use. */
static size_t count_buffers(const mw_launch *launch) {
  size_t textures = launch->texture_count + launch->kernel->info->reference_count;
  return launch->array_count + launch->retained_count + MW_TEXTURE_BUFFERS * textures;
}

void *mw_launch_choose(mw_launch *launch, uint64_t times) {
  const mw_kernel *kernel = launch->kernel;
  mw_launch_request *request = &launch->request;
  bool settled = true;
  unsigned checking = atomic_load_explicit(&launch->device->checking, memory_order_relaxed);
  if (request->kernel && !checking) return request->kernel;
  void *handle =
      mw_module_special(kernel->module, kernel->info, kernel->handle, request->grid, request->block, times, &settled);
  request->kernel = settled ? handle : NULL;
  return handle;
}

static int capture(const mw_launch *launch, mw_stream *stream, const char *site) {
  int code = mw_capture_check(stream);
  if (code != MW_SUCCESS) return code;
  const mw_work work = {.kind = MW_WORK_LAUNCH, .launch = mw_launch_copy(launch), .site = mw_strdup(site)};
  return mw_capture_add(stream, &work);
}

/* The command of another run. Runs in close succession share one, unless their textures may have changed in between,
   since taking a use of everything that a kernel may access costs more than the rest of the launch. */
static int take_command(mw_launch *launch, uint64_t *handles, mw_command **out) {
  const mw_kernel *kernel = launch->kernel;
  if (launch->command && mw_command_again(launch->command)) {
    *out = launch->command;
    return MW_SUCCESS;
  }
  mw_command *command = *out = mw_command_new(kernel->module, count_buffers(launch));
  int code = use_arrays(launch, command);
  if (code == MW_SUCCESS) code = use_textures(launch, command);
  if (code == MW_SUCCESS && kernel->bindings) code = mw_reference_use(kernel, command, handles);
  if (code == MW_SUCCESS && launch->texture_count == 0 && !kernel->bindings) {
    mw_command_drop(launch->command);
    launch->command = mw_command_keep(command);
  }
  return code;
}

/* The slow path of a run: with a command of its own, or with references. */
static int run_anew(mw_launch *launch, mw_stream *stream, const char *site) {
  const mw_kernel *kernel = launch->kernel;
  uint64_t few[8], *references = kernel->info->reference_count <= MW_COUNT(few) ? few : many_handles(kernel);
  mw_command *command;
  mw_watch *watch = mw_watch_current && mw_watch_current->device == launch->device ? mw_watch_current : NULL;
  mw_launch_request request = {.kernel = watch ? NULL : mw_launch_choose(launch, 1)};
  int code = take_command(launch, references, &command);
  if (code == MW_SUCCESS) {
    void *handle = request.kernel;
    launch->request.completion = mw_command_completion(command);
    request = launch->request;
    request.kernel = handle;
    if (watch) code = mw_watch_request(watch, kernel, &request);
  }
  if (code == MW_SUCCESS) {
    request.reference_count = kernel->info->reference_count;
    request.reference_names = kernel->info->references;
    request.references = references;
    request.site = site;
    code = stream->device->driver->launch(stream->state, &request);
  }
  if (code != MW_SUCCESS) mw_command_end(command);
  if (references != few) free(references);
  return code;
}

bool mw_launch_is_lost(const mw_launch *launch) {
  return launch->epoch != atomic_load_explicit(&launch->device->epoch, memory_order_relaxed);
}

static int __attribute__((noinline)) run_otherwise(mw_launch *launch, mw_stream *stream, const char *site) {
  const mw_device *device = launch->device;
  const char *name = launch->kernel->info->name;
  if (launch->missing > 0) return fail_missing(launch);
  if (stream->device != device)
    return fail(MW_INVALID_RESOURCE_HANDLE, "%s is compiled for %s, and the stream is %s's", name, device->name,
                stream->device->name);
  if (mw_capture_concerns(stream)) return capture(launch, stream, site);
  if (mw_launch_is_lost(launch))
    return fail(MW_INVALID_RESOURCE_HANDLE, "the module of %s was lost when %s was reset: compile it again", name,
                device->name);
  return run_anew(launch, stream, site);
}

_Atomic int mw_launches_noted;

static void __attribute__((noinline)) note(const mw_launch *launch) {
  mw_sources_note(launch);
  mw_check_note(launch);
}

/* Repeated runs take a fast path, whose cost is small compared with the driver's. A launch that has a command has all
   its arguments set. */
static inline int run(mw_launch *launch, mw_stream *stream, const char *site) {
  mw_device *device = launch->device;
  if (!mw_likely(!atomic_load_explicit(&mw_launches_noted, memory_order_relaxed))) note(launch);
  if (mw_likely(!mw_watch_current && launch->command && launch->request.kernel &&
                !atomic_load_explicit(&device->checking, memory_order_relaxed) && stream->device == device &&
                !mw_launch_is_lost(launch) && !mw_capture_concerns(stream) && mw_command_again(launch->command))) {
    launch->request.site = site;
    int code = device->driver->launch(stream->state, &launch->request);
    if (code != MW_SUCCESS) mw_command_end(launch->command);
    return code;
  }
  return run_otherwise(launch, stream, site);
}

int mw_launch_run_in(mw_launch *launch, mw_stream *stream, const char *site) { return run(launch, stream, site); }

int mw_launch_run(mw_launch *launch, const char *site) { return run(launch, mw_stream_of(launch->device), site); }
