/* Copies, fills, and functions of the driver's. Large copies and fills are divided into pieces for several workers. */
#include "command.h"

#include <string.h>

enum { PIECE = 512 << 10, TILE = 4096 };

static bool overlap(const cpu_transfer_work *work) {
  uintptr_t target = (uintptr_t)work->target, source = (uintptr_t)work->source;
  return target < source + work->count && source < target + work->count;
}

static bool is_box(cpu_command_kind kind) { return kind == CPU_COPY_BOX || kind == CPU_FILL_BOX; }

uint64_t cpu_transfer_blocks(cpu_command_kind kind, cpu_transfer_work *work) {
  if (is_box(kind)) {
    uint64_t rows = (uint64_t)work->box.height * work->box.depth;
    work->piece = PIECE / work->box.width ? PIECE / work->box.width : 1;
    return (rows + work->piece - 1) / work->piece;
  }
  work->piece = PIECE / work->size ? PIECE / work->size : 1;
  if (kind == CPU_COPY && overlap(work)) work->piece = work->count;
  if (work->count <= work->piece) return 1;
  return (work->count + work->piece - 1) / work->piece;
}

static bool all_bytes_equal(const unsigned char *pattern, size_t size) {
  return size == 1 || memcmp(pattern, pattern + 1, size - 1) == 0;
}

static void fill(unsigned char *target, const unsigned char *pattern, size_t size, size_t count) {
  if (all_bytes_equal(pattern, size)) {
    memset(target, pattern[0], size * count);
    return;
  }
  /* Fill a tile by doubling, then copy the tile, which stays in the first-level cache. */
  size_t bytes = size * count, done = size, tile = size >= TILE ? size : TILE / size * size;
  memcpy(target, pattern, size);
  while (done < bytes) {
    size_t step = done < tile ? done : tile;
    if (step > bytes - done) step = bytes - done;
    memcpy(target + done, target, step);
    done += step;
  }
}

static void run_box(const cpu_command *command, uint64_t first, uint64_t last) {
  const cpu_transfer_work *work = &command->transfer;
  const mw_box *box = &work->box;
  uint64_t rows = (uint64_t)box->height * box->depth, end = last * work->piece < rows ? last * work->piece : rows;
  for (uint64_t row = first * work->piece; row < end; row++) {
    size_t z = row / box->height, y = row % box->height;
    unsigned char *target = (unsigned char *)(uintptr_t)box->target + z * box->target_slice + y * box->target_pitch;
    uint64_t source = box->source + z * box->source_slice + y * box->source_pitch;
    if (cpu_command_doing(command) == CPU_COPY_BOX)
      memmove(target, (const void *)(uintptr_t)source, box->width);
    else
      fill(target, work->pattern, work->size, box->width / work->size);
  }
}

void cpu_transfer_run(const cpu_command *command, uint64_t first, uint64_t last) {
  const cpu_transfer_work *work = &command->transfer;
  if (cpu_command_doing(command) == CPU_FUNCTION) {
    work->function(work->context, first, last);
    return;
  }
  if (is_box(cpu_command_doing(command))) {
    run_box(command, first, last);
    return;
  }
  size_t begin = first * work->piece, end = last * work->piece < work->count ? last * work->piece : work->count;
  if (begin >= end) return;
  if (cpu_command_doing(command) == CPU_COPY)
    memmove(work->target + begin, work->source + begin, end - begin);
  else
    fill(work->target + begin * work->size, work->pattern, work->size, end - begin);
}
