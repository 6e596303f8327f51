/* Scheduling the blocks of a command: see cpu_command_take. */
#include "command.h"
#include "command_list.h"
#include "stream.h"

static const double worth_seconds = 20e-6, grain_seconds = 2e-6, piece_seconds = 50e-6;
static const double alternating_seconds = 200e-6, waking_seconds = 50e-6;

/* ---- in order ---- */

static uint64_t round_up(uint64_t n, uint64_t unit) { return (n + unit - 1) / unit * unit; }

static bool take_next(cpu_command *command, uint64_t workers, cpu_taken *out) {
  uint64_t taken = atomic_load_explicit(&command->taken, memory_order_relaxed), next;
  do {
    if (taken >= command->blocks) return false;
    uint64_t left = command->blocks - taken, share = command->by_rows ? command->grain : left / (2 * workers);
    share = round_up(share < command->grain ? command->grain : share, command->unit);
    next = taken + (share < left ? share : left);
  } while (!atomic_compare_exchange_weak(&command->taken, &taken, next));
  *out = (cpu_taken){.first = taken, .last = next, .begins = taken == 0, .rest = next < command->blocks};
  if (command->backwards) out->first = command->blocks - next, out->last = command->blocks - taken;
  return true;
}

/* ---- a range for each worker, with stealing ---- */

static uint64_t pack(uint64_t first, uint64_t last) { return first | last << 32; }
static uint64_t first_of(uint64_t range) { return range & UINT32_MAX; }
static uint64_t left_in(uint64_t range) { return (range >> 32) - first_of(range); }

/* Take a quarter of the rest of a range, at its front or end. Not more, since others cannot help with taken blocks, and
   neighbouring blocks may all be long. */
static bool take_part(cpu_command *command, _Atomic uint64_t *range, bool at_front, cpu_taken *out) {
  uint64_t old = atomic_load_explicit(range, memory_order_relaxed), rest;
  do {
    uint64_t left = left_in(old), share = (left + 3) / 4, first = first_of(old), last = first + left;
    if (left == 0) return false;
    share = round_up(share < command->grain ? command->grain : share, command->unit);
    if (share > left) share = left;
    out->first = at_front ? first : last - share;
    out->last = out->first + share;
    rest = at_front ? pack(out->last, last) : pack(first, out->first);
  } while (!atomic_compare_exchange_weak(range, &old, rest));
  uint64_t share = out->last - out->first, before = atomic_fetch_add(&command->taken, share);
  out->begins = before == 0;
  out->rest = before + share < command->blocks;
  return true;
}

/* The range with the most blocks left; NULL: all are empty. */
static _Atomic uint64_t *find_fullest(cpu_command *command, int workers) {
  _Atomic uint64_t *fullest = NULL;
  uint64_t most = 0;
  for (int i = 0; i < workers; i++) {
    uint64_t left = left_in(atomic_load_explicit(&command->ranges[i], memory_order_relaxed));
    if (left > most) most = left, fullest = &command->ranges[i];
  }
  return fullest;
}

static bool take_own(cpu_command *command, int workers, int slot, cpu_taken *out) {
  if (take_part(command, &command->ranges[slot], !command->backwards, out)) return true;
  for (;;) {
    _Atomic uint64_t *other = find_fullest(command, workers);
    if (!other) return false;
    if (take_part(command, other, command->backwards, out)) return true;
  }
}

static uint64_t boundary(const cpu_command *command, uint64_t i, uint64_t workers) {
  uint64_t at = round_up(command->blocks * i / workers, command->unit);
  return at < command->blocks ? at : command->blocks;
}

static void share_out(cpu_command *command, uint64_t workers) {
  if (!command->ranges) command->ranges = mw_alloc(workers * sizeof *command->ranges);
  for (uint64_t i = 0; i < workers; i++) {
    uint64_t first = boundary(command, i, workers), last = boundary(command, i + 1, workers);
    atomic_store_explicit(&command->ranges[i], pack(first, last), memory_order_relaxed);
  }
}

bool cpu_command_take(cpu_command *command, int workers, int slot, cpu_taken *out) {
  if (atomic_load(&command->stop)) return false;
  return command->shared_out ? take_own(command, workers, slot, out) : take_next(command, (uint64_t)workers, out);
}

static double block_seconds(const cpu_kernel *kernel) {
  return atomic_load_explicit(&kernel->block_seconds, memory_order_relaxed);
}

uint64_t cpu_kernel_grain(const cpu_kernel *kernel) {
  double each = block_seconds(kernel);
  return each > 0 && each < grain_seconds ? (uint64_t)(grain_seconds / each) : 1;
}

/* Grow the grain to the number of blocks whose iterations are interchanged, as far as each worker gets as many. */
static uint64_t grow_grain(uint64_t grain, uint64_t together, uint64_t blocks, uint64_t workers) {
  uint64_t most = blocks / workers < together ? blocks / workers : together;
  return grain < most ? most : grain;
}

/* Whether adjacent rows of blocks write adjacent cache lines, more of them than the caches hold: then workers take
   whole rows in order, so that neighbouring lines are written at about the same time. */
static bool writes_columns(const cpu_command *command, uint64_t workers) {
  const mw_mwo_kernel *image = command->kernel.kernel->image;
  uint64_t row = command->kernel.frame.grid[0];
  return image->column_bytes && image->gangs <= 1 && !command->kernel.frame.iterations &&
         command->blocks >= 4 * workers * row && command->blocks * image->column_bytes >= command->kernel.frame.cached;
}

/* Every other long kernel runs backwards: it starts with the data that the previous one left in the caches. */
static void alternate_direction(cpu_command *command, double each, double all) {
  cpu_device *device = command->stream->device;
  if (all < alternating_seconds) return;
  command->backwards = device->ran_backwards = !device->ran_backwards;
  command->piece = (uint64_t)(piece_seconds / each) + 1;
  if (command->piece < command->grain) command->piece = command->grain;
  command->piece = round_up(command->piece, command->unit);
}

void cpu_command_keep_order(cpu_command *command) {
  command->shared_out = command->backwards = command->by_rows = false;
}

void cpu_command_set_grain(cpu_command *command) {
  const cpu_kernel *kernel = command->kernel.kernel;
  bool runs_kernel = cpu_command_doing(command) == CPU_KERNEL;
  uint64_t workers = (uint64_t)command->stream->device->workers;
  command->grain = runs_kernel ? cpu_kernel_grain(kernel) : 1;
  command->unit = runs_kernel && kernel->image->packed > 1 ? kernel->image->packed : 1;
  command->grain = round_up(command->grain, command->unit);
  if (runs_kernel && kernel->image->interchanged && !command->kernel.frame.iterations)
    command->grain = grow_grain(command->grain, kernel->image->interchanged, command->blocks, workers);
  cpu_command_keep_order(command);
  if (command->drawn) command->grain = command->blocks;
  if (!runs_kernel || command->residents || !kernel->image->any_order) return;
  double each = block_seconds(kernel), all = each * (double)command->blocks / (double)workers;
  if (workers > 1 && writes_columns(command, workers)) {
    command->by_rows = true;
    command->grain = round_up(command->grain, command->kernel.frame.grid[0]);
    alternate_direction(command, each, all);
    return;
  }
  if (workers < 2 || command->blocks < 4 * workers || command->blocks > UINT32_MAX) return;
  if (each > 0 && all < worth_seconds) return;
  command->shared_out = true;
  share_out(command, workers);
  alternate_direction(command, each, all);
}

/* The time that one worker would need for the rest of a kernel; 0: unknown. */
static double seconds_left(const cpu_command *command) {
  uint64_t left = command->blocks - atomic_load_explicit(&command->taken, memory_order_relaxed);
  return (double)left * block_seconds(command->kernel.kernel);
}

bool cpu_command_worth(const cpu_command *command) {
  if (command->kind == CPU_LIST && cpu_list_has_more(command)) return true; /* many nodes may follow */
  if (cpu_command_doing(command) != CPU_KERNEL) return command->blocks > 1; /* pieces are large */
  if (command->family) return command->blocks > 1;                          /* launched by kernels: unknown */
  return block_seconds(command->kernel.kernel) == 0 || seconds_left(command) > worth_seconds;
}

bool cpu_command_lasts(const cpu_command *command) {
  if (cpu_command_doing(command) != CPU_KERNEL) return false;
  return seconds_left(command) > waking_seconds * command->stream->device->workers;
}
