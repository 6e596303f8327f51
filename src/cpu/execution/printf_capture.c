/* Buffering of kernels' printf output for the host program, in place of stdout: one text for each device. Calls appear
 * in the order in which they were made, each as a whole. */
#include "cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

enum { MOST = 64 << 20 /* bytes of output that has not been taken */ };

struct cpu_printed {
  pthread_mutex_t lock;
  _Atomic bool kept;
  mw_text text;
  size_t taken;   /* bytes of `text` that have been taken */
  size_t dropped; /* number of calls for which there was no room */
};

struct cpu_printed *cpu_printed_open(void) {
  struct cpu_printed *printed = mw_alloc(sizeof *printed);
  mw_lock_init(&printed->lock);
  return printed;
}

void cpu_printed_close(struct cpu_printed *printed) {
  if (!printed) return;
  pthread_mutex_destroy(&printed->lock);
  mw_text_free(&printed->text);
  free(printed);
}

void cpu_keep_printed(void *handle, bool keep) { atomic_store(&((cpu_device *)handle)->printed->kept, keep); }

bool cpu_printed_is_kept(const cpu_device *device) { return atomic_load(&device->printed->kept); }

void cpu_printed_add(cpu_device *device, const char *text, size_t length) {
  struct cpu_printed *printed = device->printed;
  mw_lock(&printed->lock);
  if (printed->dropped || printed->text.length - printed->taken + length > MOST)
    printed->dropped++;
  else
    mw_text_add(&printed->text, text, length);
  mw_unlock(&printed->lock);
}

size_t cpu_printed_take(void *handle, char *text, size_t size) {
  struct cpu_printed *printed = ((cpu_device *)handle)->printed;
  mw_lock(&printed->lock);
  if (printed->dropped && printed->taken == printed->text.length) {
    mw_text_free(&printed->text);
    printed->taken = 0;
    mw_text_addf(&printed->text, "(%zu more calls of printf were dropped: the buffer was full)\n", printed->dropped);
    printed->dropped = 0;
  }
  size_t left = printed->text.length - printed->taken, count = left < size ? left : size;
  if (count) memcpy(text, printed->text.data + printed->taken, count);
  printed->taken += count;
  if (printed->taken == printed->text.length) {
    mw_text_free(&printed->text);
    printed->taken = 0;
  }
  mw_unlock(&printed->lock);
  return count;
}
