/* The map of memory by address: allocations of mw_memory_new and memory registered by mw_memory_register, sorted by
 * address.
 *
 * Device memory is a buffer underneath, so that the same counts determine its lifetime as that of all other memory: a
 * copy in flight takes a use of it. Addresses that are not in the map may belong to a device's arrays or variables: the
 * driver's `find` decides. */
#include "allocation_map.h"
#include "core/array/array.h"
#include "core/launch/command.h"

#include <stdlib.h>
#include <string.h>

typedef struct entry {
  mw_memory_info info;
  mw_buffer *buffer; /* a reference, of device, pinned and managed memory */
  bool lent;         /* mw_memory_lend */
} entry;

static struct {
  pthread_rwlock_t lock;
  entry *entries; /* by address */
  size_t count, capacity;
} book = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* ---- the map, under its lock ---- */

/* The index of the entry for `address`, or where to insert it: the first entry that ends after it. */
static size_t place_of(uint64_t address) {
  size_t low = 0, high = book.count;
  while (low < high) {
    size_t middle = (low + high) / 2;
    const mw_memory_info *info = &book.entries[middle].info;
    if (info->address + info->bytes <= address)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static entry *find(uint64_t address) {
  size_t i = place_of(address);
  return i < book.count && book.entries[i].info.address <= address ? &book.entries[i] : NULL;
}

static void add(const entry *new) {
  if (book.count == book.capacity) {
    book.capacity = book.capacity ? 2 * book.capacity : 64;
    book.entries = mw_realloc(book.entries, book.capacity * sizeof *book.entries);
  }
  size_t i = place_of(new->info.address);
  memmove(&book.entries[i + 1], &book.entries[i], (book.count - i) * sizeof *book.entries);
  book.entries[i] = *new;
  book.count++;
}

static entry take_out(entry *at) {
  entry old = *at;
  size_t i = (size_t)(at - book.entries);
  memmove(at, at + 1, (book.count - i - 1) * sizeof *at);
  book.count--;
  return old;
}

/* ---- making and freeing ---- */

static const char *const kind_names[] = {"unknown", "host", "pinned", "registered", "device", "managed"};

int mw_memory_new(mw_device *device, mw_memory_kind kind, unsigned flags, size_t bytes, uint64_t *address) {
  entry new = {.info = {.kind = kind, .bytes = bytes, .flags = flags}};
  if (kind == MW_MEMORY_UNKNOWN || kind == MW_MEMORY_REGISTERED || (size_t)kind >= MW_COUNT(kind_names))
    return fail(MW_INVALID_VALUE, "%d is not a kind of memory that can be made", (int)kind);
  if (bytes == 0) {
    *address = 0;
    return MW_SUCCESS;
  }
  if (kind == MW_MEMORY_HOST) {
    void *memory = bytes <= PTRDIFF_MAX ? calloc(1, bytes) : NULL;
    if (!memory) return fail(MW_MEMORY_ALLOCATION, "the host has no memory for %zu bytes", bytes);
    new.info.address = (uint64_t)(uintptr_t)memory;
  } else {
    int code = mw_buffer_new_kind(device, kind, bytes, &new.buffer);
    if (code != MW_SUCCESS) return code;
    new.info.address = new.buffer->address;
    new.info.device = device;
  }
  *address = new.info.address;
  pthread_rwlock_wrlock(&book.lock);
  add(&new);
  pthread_rwlock_unlock(&book.lock);
  return MW_SUCCESS;
}

static int fail_free(uint64_t address, const entry *found) {
  if (!found)
    return fail(MW_INVALID_VALUE, "nothing was allocated at 0x%llx, or it was freed", (unsigned long long)address);
  if (found->lent)
    return fail(MW_INVALID_VALUE, "the memory at 0x%llx is an OpenGL buffer: it is freed when the buffer is unmapped",
                (unsigned long long)address);
  if (found->info.kind == MW_MEMORY_REGISTERED)
    return fail(MW_INVALID_VALUE, "the memory at 0x%llx is the host's own: it is registered, and can be unregistered",
                (unsigned long long)address);
  return fail(MW_INVALID_VALUE, "0x%llx is byte %llu of an allocation: memory is freed by its first address",
              (unsigned long long)address, (unsigned long long)(address - found->info.address));
}

static int take_freed(uint64_t address, entry *old) {
  int code = MW_SUCCESS;
  pthread_rwlock_wrlock(&book.lock);
  entry *found = find(address);
  if (found && found->info.address == address && found->info.kind != MW_MEMORY_REGISTERED && !found->lent)
    *old = take_out(found);
  else
    code = fail_free(address, found);
  pthread_rwlock_unlock(&book.lock);
  return code;
}

int mw_memory_free(uint64_t address) {
  entry old = {0};
  int code = address ? take_freed(address, &old) : MW_SUCCESS;
  if (code != MW_SUCCESS || address == 0) return code;
  if (!old.buffer) {
    free((void *)(uintptr_t)address);
    return MW_SUCCESS;
  }
  /* Kernels hold no uses of memory that they got by address, so wait for them. If a hold blocks the wait, the host is
     responsible for work after the hold not accessing the memory. */
  (void)mw_device_wait(old.buffer->device);
  mw_buffer_free(old.buffer);
  mw_buffer_release(old.buffer);
  return MW_SUCCESS;
}

int mw_memory_free_in(mw_stream *stream, uint64_t address) {
  entry old = {0};
  int code = address ? take_freed(address, &old) : MW_SUCCESS;
  if (code != MW_SUCCESS || address == 0) return code;
  if (!old.buffer) {
    code = mw_stream_synchronize(stream);
    free((void *)(uintptr_t)address);
    return code;
  }
  /* A command whose only effect is to end the last use. */
  mw_command *command = mw_command_new(NULL, 1);
  code = mw_command_use(command, old.buffer);
  if (code == MW_SUCCESS) code = stream->device->driver->stream_call(stream->state, mw_command_completion(command));
  if (code != MW_SUCCESS) mw_command_end(command);
  mw_buffer_free(old.buffer);
  mw_buffer_release(old.buffer);
  return code;
}

void mw_memory_lend(mw_buffer *buffer) {
  const entry new = {.info = {MW_MEMORY_DEVICE, buffer->address, buffer->bytes, 0, buffer->device},
                     .buffer = mw_buffer_retain(buffer),
                     .lent = true};
  pthread_rwlock_wrlock(&book.lock);
  add(&new);
  pthread_rwlock_unlock(&book.lock);
}

void mw_memory_unlend(uint64_t address) {
  entry old = {0};
  pthread_rwlock_wrlock(&book.lock);
  entry *found = find(address);
  if (found && found->lent) old = take_out(found);
  pthread_rwlock_unlock(&book.lock);
  mw_buffer_release(old.buffer);
}

int mw_memory_register(mw_device *device, uint64_t address, size_t bytes, unsigned flags) {
  if (address == 0 || bytes == 0)
    return fail(MW_INVALID_VALUE, "there is nothing to register in %zu bytes at 0x%llx", bytes,
                (unsigned long long)address);
  entry new = {.info = {MW_MEMORY_REGISTERED, address, bytes, flags, device}};
  int code = MW_SUCCESS;
  pthread_rwlock_wrlock(&book.lock);
  size_t i = place_of(address);
  const entry *met = i < book.count && book.entries[i].info.address < address + bytes ? &book.entries[i] : NULL;
  if (met && met->info.kind == MW_MEMORY_HOST && met->info.address <= address &&
      address + bytes <= met->info.address + met->info.bytes)
    book.entries[i].info.kind = MW_MEMORY_REGISTERED; /* made by mw_memory_new: all of it */
  else if (met)
    code = fail(MW_HOST_MEMORY_ALREADY_REGISTERED, "part of these %zu bytes is %s memory already", bytes,
                kind_names[met->info.kind]);
  else
    add(&new);
  pthread_rwlock_unlock(&book.lock);
  return code;
}

int mw_memory_unregister(uint64_t address) {
  int code = MW_SUCCESS;
  pthread_rwlock_wrlock(&book.lock);
  entry *found = find(address);
  if (!found || found->info.kind != MW_MEMORY_REGISTERED || found->info.address != address)
    code = fail(MW_HOST_MEMORY_NOT_REGISTERED, "no memory is registered from 0x%llx on", (unsigned long long)address);
  else if (found->info.device)
    (void)take_out(found);
  else
    found->info.kind = MW_MEMORY_HOST;
  pthread_rwlock_unlock(&book.lock);
  return code;
}

/* ---- finding ---- */

void mw_piece_hold(mw_device *device, uint64_t address, mw_piece *out) {
  *out = (mw_piece){0};
  pthread_rwlock_rdlock(&book.lock);
  const entry *found = address ? find(address) : NULL;
  if (found) {
    out->info = found->info;
    if (found->buffer && mw_buffer_use(found->buffer) == MW_SUCCESS) out->buffer = found->buffer;
  }
  pthread_rwlock_unlock(&book.lock);
  if (found || !address || !device) return;
  uint64_t base;
  size_t bytes;
  if (!device->driver->find || !device->driver->find(device->state, address, &base, &bytes)) return;
  out->info = (mw_memory_info){MW_MEMORY_DEVICE, base, bytes, 0, device};
}

void mw_piece_drop(mw_piece *piece) {
  if (piece->buffer) mw_buffer_unuse(piece->buffer);
  piece->buffer = NULL;
}

mw_buffer *mw_memory_buffer(uint64_t address) {
  pthread_rwlock_rdlock(&book.lock);
  const entry *found = address ? find(address) : NULL;
  mw_buffer *buffer = found && found->buffer ? mw_buffer_retain(found->buffer) : NULL;
  pthread_rwlock_unlock(&book.lock);
  return buffer;
}

int mw_memory_find(mw_device *device, uint64_t address, mw_memory_info *out) {
  mw_piece piece;
  mw_piece_hold(device, address, &piece);
  *out = piece.info;
  mw_piece_drop(&piece);
  return MW_SUCCESS;
}

void *mw_memory_host(uint64_t address, size_t bytes) {
  mw_memory_info info;
  mw_memory_find(NULL, address, &info);
  if (info.kind == MW_MEMORY_UNKNOWN) {
    fail(MW_INVALID_VALUE, "0x%llx is not an address of memory that the host allocated", (unsigned long long)address);
  } else if (info.kind == MW_MEMORY_DEVICE) {
    fail(MW_INVALID_VALUE, "0x%llx is device memory, which the host cannot reach: copy it with cudaMemcpy",
         (unsigned long long)address);
  } else if (bytes > info.address + info.bytes - address) {
    fail(MW_INVALID_VALUE, "%zu bytes from byte %llu of an allocation of %zu bytes on go past its end", bytes,
         (unsigned long long)(address - info.address), info.bytes);
  } else {
    return (void *)(uintptr_t)address;
  }
  return NULL;
}

int mw_memory_array(uint64_t address, const mw_type *dtype, int rank, const size_t *shape, mw_array **out) {
  pthread_rwlock_rdlock(&book.lock);
  const entry *found = address ? find(address) : NULL;
  int code = found && found->buffer
                 ? mw_array_over(found->buffer, address - found->info.address, dtype, rank, shape, out)
                 : fail(MW_INVALID_VALUE, "0x%llx is not an address of device memory", (unsigned long long)address);
  pthread_rwlock_unlock(&book.lock);
  return code;
}

int mw_memory_live(size_t i, mw_memory_info *out) {
  int code = MW_INVALID_VALUE;
  pthread_rwlock_rdlock(&book.lock);
  if (i < book.count) {
    *out = book.entries[i].info;
    code = MW_SUCCESS;
  }
  pthread_rwlock_unlock(&book.lock);
  return code ? fail(code, "there are no %zu pieces of memory", i + 1) : code;
}
