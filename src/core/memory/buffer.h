/* Buffers (buffer.c): device memory behind a handle, with the counts of those that hold it. */
#ifndef MW_BUFFER_H
#define MW_BUFFER_H

#include "base/base.h"

struct mw_buffer {
  mw_refs refs;
  unsigned epoch; /* the device's epoch when it was made */
  void (*give_back)(void *device, uint64_t address);
  mw_refs sides; /* the handles and the memory: the struct is freed with the later of the two */
  mw_device *device;
  uint64_t address;
  size_t bytes;
  unsigned char *host; /* the host's pointer to the memory, or NULL */
  /* The number of commands in flight that use the memory, plus one until the buffer is freed: at 0 the driver gets the
     memory back. */
  mw_refs uses;
  atomic_bool freed;
  atomic_bool hidden; /* memory of a temporary array, whose address only kernels of elementwise functions had */
};

/* The address is given away. */
static inline void mw_buffer_show(mw_buffer *buffer) {
  if (atomic_load_explicit(&buffer->hidden, memory_order_relaxed)) atomic_store(&buffer->hidden, false);
}

/* Wrap a driver's object as a buffer without bytes, whose address is the object's handle and which `give_back`
   destroys. */
mw_buffer *mw_buffer_of_handle(mw_device *device, uint64_t handle, void (*give_back)(void *device, uint64_t handle));

/* Acquire the memory for a command, and release it when the command is done. Acquiring fails on a freed buffer. */
int mw_buffer_use(mw_buffer *buffer);
/* The host has written, or may write, by the buffer's host pointer. */
void mw_buffer_wrote(const mw_buffer *buffer, size_t offset, size_t bytes);
void mw_buffer_unuse(mw_buffer *buffer);

#endif
