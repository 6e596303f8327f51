/* Buffers: device memory behind a handle.
 *
 * There are three counts (core.h). `refs`: handles. `uses`: commands in flight, and one more while the buffer is not
 * freed; at 0 the memory is freed. `sides`: 2, the handles and the memory; at 0 the struct is freed. A completion may
 * release a use, so that must not wait, and may access the device only through driver->free. */
#include "core/core.h"
#include "core/graph/capture.h"
#include "core/launch/command.h"
#include "core/graph/graph.h"

#include <stdlib.h>
#include <string.h>

/* ---- lifetime ---- */

/* Queued work still uses freed buffers. A host that allocates and frees faster than the device works, as in a loop of
   operations on large arrays, would hold ever more memory, and each result would be on new pages: wait for the work. If
   memory is short, wait for it once, and try again. */
static int allocate(mw_device *device, mw_memory_kind kind, size_t bytes, uint64_t *address) {
  if (atomic_load_explicit(&device->lingering, memory_order_relaxed) > device->driver->lingering &&
      atomic_load(&device->captures) == 0)
    (void)mw_device_wait(device);
  int code = device->driver->alloc(device->state, kind, bytes, address);
  if (code != MW_MEMORY_ALLOCATION) return code;
  (void)mw_device_wait(device);
  return device->driver->alloc(device->state, kind, bytes, address);
}

static mw_buffer *make(mw_device *device, uint64_t address, void (*give_back)(void *device, uint64_t address)) {
  mw_buffer *buffer = mw_alloc(sizeof *buffer);
  mw_refs_init(&buffer->refs);
  mw_refs_init(&buffer->uses);
  mw_refs_init(&buffer->sides);
  mw_refs_take(&buffer->sides);
  atomic_init(&buffer->freed, false);
  buffer->device = mw_device_retain(device);
  buffer->epoch = atomic_load(&device->epoch);
  buffer->address = address;
  buffer->give_back = give_back;
  return buffer;
}

mw_buffer *mw_buffer_of_handle(mw_device *device, uint64_t handle, void (*give_back)(void *device, uint64_t handle)) {
  return make(device, handle, give_back);
}

int mw_buffer_new(mw_device *device, size_t bytes, mw_buffer **out) {
  return mw_buffer_new_kind(device, MW_MEMORY_DEVICE, bytes, out);
}

int mw_buffer_new_kind(mw_device *device, mw_memory_kind kind, size_t bytes, mw_buffer **out) {
  uint64_t address = 0;
  if (kind != MW_MEMORY_DEVICE && kind != MW_MEMORY_PINNED && kind != MW_MEMORY_MANAGED)
    return fail(MW_INVALID_VALUE, "a buffer is device, pinned or managed memory, not kind %d", (int)kind);
  if (bytes > 0) {
    int code = allocate(device, kind, bytes, &address);
    if (code != MW_SUCCESS) return code;
  }
  mw_buffer *buffer = make(device, address, bytes > 0 ? device->driver->free : NULL);
  buffer->bytes = bytes;
  bool is_far = bytes == 0 || (kind == MW_MEMORY_DEVICE && device->driver->far);
  buffer->host = is_far ? NULL : device->driver->host(device->state, address);
  *out = buffer;
  return MW_SUCCESS;
}

mw_buffer *mw_buffer_retain(mw_buffer *buffer) {
  mw_refs_take(&buffer->refs);
  return buffer;
}

static void drop_part(mw_buffer *buffer) {
  if (mw_refs_drop(&buffer->sides)) free(buffer);
}

void mw_buffer_release(mw_buffer *buffer) {
  if (!buffer || !mw_refs_drop(&buffer->refs)) return;
  mw_device *device = buffer->device;
  mw_buffer_free(buffer);
  drop_part(buffer);
  mw_device_release(device);
}

int mw_buffer_free(mw_buffer *buffer) {
  if (atomic_exchange(&buffer->freed, true)) return MW_SUCCESS;
  atomic_fetch_add_explicit(&buffer->device->lingering, buffer->bytes, memory_order_relaxed);
  mw_buffer_unuse(buffer);
  return MW_SUCCESS;
}

int mw_buffer_use(mw_buffer *buffer) {
  if (buffer->epoch != atomic_load_explicit(&buffer->device->epoch, memory_order_relaxed))
    return fail(MW_INVALID_RESOURCE_HANDLE, "this memory was lost when %s was reset", buffer->device->name);
  /* Never increment from 0: the memory is freed then, even if `freed` is not visible yet. */
  int uses = atomic_load_explicit(&buffer->uses, memory_order_relaxed);
  while (!atomic_load(&buffer->freed) && uses > 0)
    if (atomic_compare_exchange_weak(&buffer->uses, &uses, uses + 1)) return MW_SUCCESS;
  return fail(MW_INVALID_RESOURCE_HANDLE, "this memory was freed");
}

void mw_buffer_unuse(mw_buffer *buffer) {
  if (!mw_refs_drop(&buffer->uses)) return;
  mw_device *device = buffer->device;
  atomic_fetch_sub_explicit(&device->lingering, buffer->bytes, memory_order_relaxed);
  bool is_hidden = device->driver->discard && atomic_load_explicit(&buffer->hidden, memory_order_relaxed);
  if (buffer->give_back && buffer->epoch == atomic_load(&device->epoch))
    (is_hidden ? device->driver->discard : buffer->give_back)(device->state, buffer->address);
  drop_part(buffer);
}

/* ---- facts ---- */

int mw_buffer_is_freed(const mw_buffer *buffer) { return atomic_load(&buffer->freed); }
size_t mw_buffer_size(const mw_buffer *buffer) { return buffer->bytes; }
uint64_t mw_buffer_address(mw_buffer *buffer) {
  mw_buffer_show(buffer);
  return mw_buffer_is_freed(buffer) ? 0 : buffer->address;
}
mw_device *mw_buffer_device(const mw_buffer *buffer) { return buffer->device; }

/* ---- host access ---- */

static int check_range(const mw_buffer *buffer, size_t offset, size_t bytes, const char *what) {
  if (offset <= buffer->bytes && bytes <= buffer->bytes - offset) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%s of %zu bytes at byte %zu goes past the end of %zu bytes of memory", what, bytes,
              offset, buffer->bytes);
}

int mw_buffer_write(mw_buffer *buffer, size_t offset, const void *source, size_t bytes) {
  int code = check_range(buffer, offset, bytes, "a write");
  if (code == MW_SUCCESS) code = mw_capture_refuse_wait(buffer->device);
  if (code == MW_SUCCESS) code = mw_buffer_use(buffer);
  if (code != MW_SUCCESS) return code;
  mw_device *device = buffer->device;
  if (bytes > 0) code = device->driver->write(device->stream, buffer->address + offset, source, bytes);
  mw_buffer_unuse(buffer);
  return code;
}

int mw_buffer_read(mw_buffer *buffer, size_t offset, void *target, size_t bytes) {
  int code = check_range(buffer, offset, bytes, "a read");
  if (code == MW_SUCCESS) code = mw_buffer_use(buffer);
  if (code != MW_SUCCESS) return code;
  mw_device *device = buffer->device;
  code = mw_device_synchronize(device);
  if (code == MW_SUCCESS && bytes > 0) {
    if (buffer->host)
      memcpy(target, buffer->host + offset, bytes);
    else
      code = device->driver->read(device->stream, buffer->address + offset, target, bytes);
  }
  mw_buffer_unuse(buffer);
  return code;
}

void *mw_buffer_host(mw_buffer *buffer) {
  if (mw_buffer_is_freed(buffer) || !buffer->host) return NULL;
  if (mw_device_wait(buffer->device) != MW_SUCCESS) return NULL;
  mw_buffer_show(buffer);
  mw_buffer_wrote(buffer, 0, buffer->bytes);
  return buffer->host;
}

void mw_buffer_wrote(const mw_buffer *buffer, size_t offset, size_t bytes) {
  const mw_device *device = buffer->device;
  if (device->driver->wrote) device->driver->wrote(device->state, buffer->address + offset, bytes);
}

/* ---- commands ---- */

static int capture_copy(mw_stream *stream, mw_buffer *target, size_t target_offset, mw_buffer *source,
                        size_t source_offset, size_t bytes) {
  int code = mw_capture_check(stream);
  if (code != MW_SUCCESS) return code;
  const mw_work work = {.kind = MW_WORK_BUFFER_COPY,
                        .target = mw_buffer_retain(target),
                        .target_offset = target_offset,
                        .source = mw_buffer_retain(source),
                        .source_offset = source_offset,
                        .bytes = bytes};
  return mw_capture_add(stream, &work);
}

static int capture_fill(mw_stream *stream, mw_buffer *buffer, size_t offset, const void *pattern, size_t size,
                        size_t count) {
  int code = mw_capture_check(stream);
  if (code != MW_SUCCESS) return code;
  mw_work work = {.kind = MW_WORK_BUFFER_FILL,
                  .target = mw_buffer_retain(buffer),
                  .target_offset = offset,
                  .pattern = mw_alloc(size),
                  .size = size,
                  .count = count};
  memcpy(work.pattern, pattern, size);
  return mw_capture_add(stream, &work);
}

int mw_buffer_copy(mw_buffer *target, size_t target_offset, mw_buffer *source, size_t source_offset, size_t bytes) {
  return mw_buffer_copy_in(mw_stream_of(target->device), target, target_offset, source, source_offset, bytes);
}

int mw_buffer_copy_in(mw_stream *stream, mw_buffer *target, size_t target_offset, mw_buffer *source,
                      size_t source_offset, size_t bytes) {
  if (target->device != source->device)
    return fail(MW_INVALID_VALUE, "a copy of memory from %s to %s: both have to be on one device", source->device->name,
                target->device->name);
  int code = check_range(source, source_offset, bytes, "a copy");
  if (code == MW_SUCCESS) code = check_range(target, target_offset, bytes, "a copy");
  if (code != MW_SUCCESS) return code;
  if (mw_capture_concerns(stream)) return capture_copy(stream, target, target_offset, source, source_offset, bytes);
  mw_command *command = mw_command_new(NULL, 2);
  code = mw_command_use(command, target);
  if (code == MW_SUCCESS) code = mw_command_use(command, source);
  if (code != MW_SUCCESS || bytes == 0) goto end;
  mw_device *device = target->device;
  code = device->driver->copy(stream->state, target->address + target_offset, source->address + source_offset, bytes,
                              mw_command_completion(command));
  if (code == MW_SUCCESS) return MW_SUCCESS;
end:
  mw_command_end(command);
  return code;
}

int mw_buffer_fill(mw_buffer *buffer, size_t offset, const void *pattern, size_t size, size_t count) {
  return mw_buffer_fill_in(mw_stream_of(buffer->device), buffer, offset, pattern, size, count);
}

int mw_buffer_fill_in(mw_stream *stream, mw_buffer *buffer, size_t offset, const void *pattern, size_t size,
                      size_t count) {
  if (size == 0) return fail(MW_INVALID_VALUE, "a fill with a pattern of 0 bytes");
  if (count > SIZE_MAX / size)
    return fail(MW_INVALID_VALUE, "a fill of %zu times %zu bytes is larger than the address space", count, size);
  int code = check_range(buffer, offset, size * count, "a fill");
  if (code != MW_SUCCESS) return code;
  if (mw_capture_concerns(stream)) return capture_fill(stream, buffer, offset, pattern, size, count);
  mw_command *command = mw_command_new(NULL, 1);
  code = mw_command_use(command, buffer);
  if (code != MW_SUCCESS || count == 0) goto end;
  mw_device *device = buffer->device;
  code = device->driver->fill(stream->state, buffer->address + offset, pattern, size, count,
                              mw_command_completion(command));
  if (code == MW_SUCCESS) return MW_SUCCESS;
end:
  mw_command_end(command);
  return code;
}
