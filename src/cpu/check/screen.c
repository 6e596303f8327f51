/* Screened launches: a run of vector code that looks for signs of races, before the code that follows each thread.
 *
 * A launch in a checked run consists of several commands. The first saves the arrays that the kernel writes. The second
 * runs the screened code on all workers, which notes its accesses in cells (mwo.h,
 * src/mwcc/widen/calls/race_screening.c). The third compares and clears the cells. Without a sign of a mistake the
 * launch is done. Otherwise the arrays are restored, and the code that follows threads runs: only that code reports
 * findings. So the findings are those of a run without screening, and launches without findings are fast. One thing
 * differs: screened code may be compiled for one block size, and a load that is dead in it is not an access.
 *
 * Cells show races within one launch. So launches are screened only in the legacy default stream and while there are no
 * non-blocking streams: all other work of the device then happens before the launch or after it. A race between such a
 * launch and a launch in a non-blocking stream that is created later is not found. */
#include "screen.h"
#include "session.h"

#include "cpu/memory/heap.h"
#include "cpu/memory/pointer_arguments.h"
#include "cpu/execution/cluster.h"
#include "cpu/schedule/stream.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum {
  WORD = 4,
  PIECE = 1 << 20,
  WRITES = 0,
  READS = 1,
  MOST = 64 /* pointers, in the first words of the parameter block */
};
static const uint64_t saved_most = (uint64_t)4 << 30, saved_between = (uint64_t)256 << 20;

/* Of a device: cells for all its memory, in address space that is allocated on use, and memory for saved arrays. One
   launch of the legacy stream uses them at a time. */
struct cpu_cells {
  unsigned char *of[2];
  uint64_t base, size;
  unsigned char *saved;
  uint64_t saved_size;
};

typedef struct written {
  uint64_t base, bytes, at; /* at: of its first piece */
  bool noted, restored;
} written;

struct cpu_screen {
  cpu_device *device;
  uint32_t number; /* of all launches, from 1 */
  uint32_t thread_bits, block_bits, block_unit;
  atomic_uint suspicious;
  atomic_uint_fast64_t claims[2], found[2];
  written arrays[MOST];
  unsigned count;
  uint64_t pieces;
  unsigned char **values; /* of each piece: the shadow of its values, or NULL if all of it is written */
  mw_completion own;
};

enum { LANES = 16 };
typedef uint32_t lanes __attribute__((vector_size(LANES * sizeof(uint32_t)), aligned(4), may_alias));

/* ---- cells ---- */

static unsigned char *reserve(uint64_t bytes) {
  void *found = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (found == MAP_FAILED) return NULL;
  (void)madvise(found, bytes, MADV_HUGEPAGE);
  return found;
}

static struct cpu_cells *cells_of(cpu_device *device) {
  struct cpu_cells *cells = device->cells;
  if (!cells) {
    cells = device->cells = mw_alloc(sizeof *cells);
    cpu_heap_range(device->heap, &cells->base, &cells->size);
    for (int i = 0; i < 2; i++) cells->of[i] = reserve(cells->size);
  }
  return cells->of[WRITES] && cells->of[READS] ? cells : NULL;
}

void cpu_screen_close(cpu_device *device) {
  struct cpu_cells *cells = device->cells;
  if (!cells) return;
  for (int i = 0; i < 2; i++)
    if (cells->of[i]) munmap(cells->of[i], cells->size);
  if (cells->saved) munmap(cells->saved, cells->saved_size);
  free(cells);
  device->cells = NULL;
}

/* The memory for saved arrays stays for the next checked run, unless it is large. Cells of arrays are empty. */
void cpu_screen_session_end(cpu_device *device) {
  struct cpu_cells *cells = device->cells;
  if (!cells || cells->saved_size <= saved_between) return;
  munmap(cells->saved, cells->saved_size);
  cells->saved = NULL;
  cells->saved_size = 0;
}

static uint32_t *cell_at(const struct cpu_cells *cells, int which, uint64_t address) {
  return (uint32_t *)(void *)(cells->of[which] + (address - cells->base));
}

/* ---- which launches ---- */

static bool set_bits(cpu_screen *s, const mw_launch_request *request) {
  uint64_t threads = (uint64_t)request->block[0] * request->block[1] * request->block[2];
  uint64_t blocks = (uint64_t)request->grid[0] * request->grid[1] * request->grid[2];
  unsigned of_thread = 64 - (unsigned)__builtin_clzll(threads + 1), of_block = 64 - (unsigned)__builtin_clzll(blocks);
  if (of_thread + of_block > 32) return false;
  s->thread_bits = (1u << of_thread) - 1;
  s->block_unit = 1u << (32 - of_block);
  s->block_bits = ~(s->block_unit - 1);
  return true;
}

static written *find_array(cpu_screen *s, uint64_t base) {
  for (unsigned i = 0; i < s->count; i++)
    if (s->arrays[i].base == base) return &s->arrays[i];
  return NULL;
}

/* Arrays that are not restored are not needed further. */
static void count_pieces(cpu_screen *s) {
  unsigned kept = 0;
  for (unsigned i = 0; i < s->count; i++) {
    if (!s->arrays[i].restored) continue;
    s->arrays[kept] = s->arrays[i];
    s->arrays[kept++].at = s->pieces;
    s->pieces += (s->arrays[i].bytes + PIECE - 1) / PIECE;
  }
  s->count = kept;
}

/* The arrays that pointers of the parameter block point into. False: it is not known which arrays are written; or one is
   written through one pointer and accessed in another way through another, and `noted`: only accesses of the same array
   are compared. */
static bool find_arrays(cpu_screen *s, const cpu_kernel *kernel, const void *params, bool noted) {
  uint64_t unknown = kernel->image->writes;
  for (int pass = 0; pass < 2; pass++) /* first those that are written */
    for (size_t i = 0; i < kernel->pointer_count; i++) {
      size_t bytes, word = kernel->pointers[i] / sizeof(uint64_t);
      uint64_t address, base, bit = word < MOST ? 1ull << word : 0;
      bool writes = kernel->image->writes & bit, notes = kernel->image->notes & bit;
      bool restores = kernel->image->restores & bit;
      if (writes != (pass == 0)) continue;
      unknown &= ~bit;
      memcpy(&address, (const char *)params + kernel->pointers[i], sizeof address);
      bool found = cpu_heap_find(s->device->heap, address, &base, &bytes);
      if (!found && writes) return false;
      written *array = found ? find_array(s, base) : NULL;
      if (array && noted && !(array->noted && notes)) return false;
      if (array) array->restored = true; /* what one pointer reads may be written by the other */
      if (array || !writes) continue;
      s->arrays[s->count++] = (written){base, bytes, 0, notes, restores};
    }
  count_pieces(s);
  return !unknown && s->pieces <= saved_most / PIECE;
}

bool cpu_screen_is_ordered(const cpu_stream *stream) {
  if (!(stream->flags & MW_STREAM_LEGACY)) return false;
  for (const cpu_stream *s = stream->device->streams; s; s = s->next)
    if (s->flags & MW_STREAM_NON_BLOCKING) return false;
  return true;
}

cpu_screen *cpu_screen_new(cpu_device *device, const mw_launch_request *request, const cpu_kernel_work *work,
                           const cpu_kernel *screened) {
  static atomic_uint number;
  const mw_mwo_kernel *image = screened->image;
  const cpu_check *check = cpu_check_of(device);
  mw_frame frame = work->frame;
  if (!check || check->seed || !image->screened || request->watch || request->reference_count) return NULL;
  bool notes = check->kinds & (MW_CHECK_RACES | MW_CHECK_BARRIERS);
  if (image->info.reference_count || (notes && (image->iterations || image->gangs > 1 || image->packed > 1)))
    return NULL;
  if ((image->fits && !image->fits(&frame)) || !cpu_pointers_are_separate(screened, request->params)) return NULL;
  if (cpu_blocks_wait(&frame) || !cells_of(device)) return NULL;
  cpu_screen *s = mw_alloc(sizeof *s);
  s->device = device;
  s->number = atomic_fetch_add(&number, 1) + 1;
  if (!set_bits(s, request) || !find_arrays(s, screened, request->params, notes)) {
    free(s);
    return NULL;
  }
  s->values = mw_alloc((s->pieces + 1) * sizeof *s->values);
  return s;
}

void cpu_screen_free(cpu_screen *s) {
  if (!s) return;
  for (uint64_t i = 0; i < s->pieces; i++) free(s->values[i]);
  free(s->values);
  free(s);
}

static void finish(void *context) {
  cpu_screen *s = context;
  mw_completion own = s->own;
  cpu_screen_free(s);
  if (own.done) own.done(own.context);
}

mw_completion cpu_screen_completion(cpu_screen *s, mw_completion own) {
  s->own = own;
  return (mw_completion){finish, s};
}

/* ---- steps ---- */

uint64_t cpu_screen_pieces(const cpu_screen *s) { return s->pieces ? s->pieces : 1; }

void cpu_screen_begin(void *context, uint64_t first, uint64_t last) {
  cpu_screen *s = context;
  struct cpu_cells *cells = s->device->cells;
  (void)first, (void)last;
  if (cells->saved_size >= s->pieces * PIECE) return;
  if (cells->saved) munmap(cells->saved, cells->saved_size);
  cells->saved_size = s->pieces * PIECE;
  cells->saved = reserve(cells->saved_size);
  if (cells->saved) return;
  cells->saved_size = 0;
  atomic_store(&s->suspicious, 2); /* no memory to save arrays: the screened code does not run */
}

typedef struct piece {
  const written *array;
  uint64_t address, bytes;
  unsigned char *saved;
} piece;

static piece piece_at(const cpu_screen *s, uint64_t i) {
  const written *array = &s->arrays[0];
  for (unsigned n = 1; n < s->count && s->arrays[n].at <= i; n++) array = &s->arrays[n];
  uint64_t from = (i - array->at) * PIECE, left = array->bytes - from;
  return (piece){array, array->base + from, left < PIECE ? left : PIECE, s->device->cells->saved + i * PIECE};
}

static uint64_t end_of(const cpu_screen *s, uint64_t last) { return last < s->pieces ? last : s->pieces; }

/* Arrays begin and end at multiples of a vector. */
static bool is_zero(const unsigned char *bytes, uint64_t count) {
  enum { PART = 4096 };
  for (uint64_t i = 0, end; i < count; i = end) {
    lanes any[2] = {0};
    end = i + PART < count ? i + PART : count;
    for (uint64_t k = i; k < end; k += sizeof any)
      for (int n = 0; n < 2; n++) any[n] |= ((const lanes *)(const void *)(bytes + k))[n];
    any[0] |= any[1];
    for (int n = 0; n < LANES; n++)
      if (any[0][n]) return false;
  }
  return true;
}

void cpu_screen_save(void *context, uint64_t first, uint64_t last) {
  cpu_screen *s = context;
  if (atomic_load(&s->suspicious)) return;
  for (uint64_t i = first; i < end_of(s, last); i++) {
    piece p = piece_at(s, i);
    memcpy(p.saved, (const void *)(uintptr_t)p.address, p.bytes);
    const unsigned char *bits = check_values_at(cpu_check_of(s->device), p.address, p.bytes);
    if (!bits || is_zero(bits, p.bytes)) continue;
    s->values[i] = mw_alloc(p.bytes);
    memcpy(s->values[i], bits, p.bytes);
  }
}

void cpu_screen_restore(void *context, uint64_t first, uint64_t last) {
  cpu_screen *s = context;
  if (!cpu_screen_is_suspicious(s) || !s->device->cells->saved_size) return;
  for (uint64_t i = first; i < end_of(s, last); i++) {
    piece p = piece_at(s, i);
    memcpy((void *)(uintptr_t)p.address, p.saved, p.bytes);
    unsigned char *bits = check_values_at(cpu_check_of(s->device), p.address, p.bytes);
    if (!bits) continue;
    if (s->values[i])
      memcpy(bits, s->values[i], p.bytes);
    else if (!is_zero(bits, p.bytes))
      memset(bits, 0, p.bytes);
  }
}

static uint64_t sum_of(const lanes *counts) {
  uint64_t sum = 0;
  for (int i = 0; i < LANES; i++) sum += (*counts)[i];
  return sum;
}

/* Count the cells in use, and clear them. Arrays begin and end at multiples of a vector. */
static uint64_t count_and_clear(uint32_t *cells, uint64_t count) {
  lanes used = {0};
  for (uint64_t k = 0; k < count; k += LANES) {
    lanes *at = (lanes *)(void *)(cells + k);
    used -= (lanes)(*at != 0);
  }
  uint64_t sum = sum_of(&used);
  if (sum) memset(cells, 0, count * WORD);
  return sum;
}

/* Whether a word was written by one block and read by another. */
static bool crosses_blocks(const uint32_t *writes, const uint32_t *reads, uint64_t count, uint32_t block_bits) {
  lanes crossing = {0};
  for (uint64_t k = 0; k < count; k += LANES) {
    lanes wrote = *(const lanes *)(const void *)(writes + k), read = *(const lanes *)(const void *)(reads + k);
    crossing |= (lanes)(wrote != 0) & (lanes)(read != 0) & (wrote ^ read) & block_bits;
  }
  crossing = (lanes)(crossing != 0) & 1;
  return sum_of(&crossing);
}

/* Find words that one block wrote and another block read, and count the words in use. A block claims each word that it
   finds unused; two blocks may claim the same word at the same time, and then there are more claims than words in use
   (cpu_screen_is_suspicious). Arrays whose accesses are not noted are skipped. */
void cpu_screen_compare(void *context, uint64_t first, uint64_t last) {
  enum { PART = 2048 };
  cpu_screen *s = context;
  const struct cpu_cells *cells = s->device->cells;
  bool wrote = atomic_load(&s->claims[WRITES]), read = atomic_load(&s->claims[READS]), crossing = false;
  uint64_t found[2] = {0};
  for (uint64_t i = first; i < end_of(s, last); i++) {
    piece p = piece_at(s, i);
    uint64_t words = (p.bytes + LANES * WORD - 1) / (LANES * WORD) * LANES;
    if (!p.array->noted) continue;
    for (uint64_t at = 0, part; at < words; at += part) {
      uint32_t *writes = cell_at(cells, WRITES, p.address) + at, *reads = cell_at(cells, READS, p.address) + at;
      part = words - at < PART ? words - at : PART;
      if (wrote && read) crossing = crossing || crosses_blocks(writes, reads, part, s->block_bits);
      if (wrote) found[WRITES] += count_and_clear(writes, part);
      if (read) found[READS] += count_and_clear(reads, part);
    }
  }
  if (crossing) atomic_store(&s->suspicious, 1);
  for (int i = 0; i < 2; i++) atomic_fetch_add(&s->found[i], found[i]);
}

/* ---- running ---- */

bool cpu_screen_is_suspicious(cpu_screen *s) {
  if (atomic_load(&s->suspicious)) return true;
  return atomic_load(&s->claims[WRITES]) != atomic_load(&s->found[WRITES]) ||
         atomic_load(&s->claims[READS]) != atomic_load(&s->found[READS]);
}

static bool has_screened_code(const cpu_command *command) {
  return command->kernel.kernel->unit->image->checks & MW_CHECKED_SCREEN;
}

bool cpu_screen_runs(const cpu_command *command) { return command->screen && has_screened_code(command); }

bool cpu_screen_skips(const cpu_command *command) {
  if (!command->screen) return false;
  if (has_screened_code(command))
    return atomic_load(
        &command->screen->suspicious); /* something suspicious was seen: the rest of this run does not matter */
  return !cpu_screen_is_suspicious(command->screen);
}

void cpu_screen_enter(cpu_worker *worker) {
  const cpu_screen *s = worker->command->screen;
  const struct cpu_cells *cells = s->device->cells;
  mw_worker *base = &worker->base;
  for (int i = 0; i < 2; i++) {
    base->cells[i] = (uint64_t)(uintptr_t)cells->of[i] - cells->base;
    base->claims[i] = 0;
  }
  base->thread_bits = s->thread_bits;
  base->block_bits = s->block_bits;
  base->block_unit = s->block_unit;
  base->suspicious = 0;
  bool has_clear_cells =
      worker->screened == s->number && worker->screened_shared == base->shared && base->shared_tag < UINT32_MAX / 2;
  if (has_clear_cells) return;
  worker->screened = s->number;
  worker->screened_shared = base->shared;
  base->shared_tag = 0;
  for (int i = 0; i < 2; i++) memset(cell_at(cells, i, (uint64_t)(uintptr_t)base->shared), 0, base->shared_bytes);
}

void cpu_screen_leave(cpu_worker *worker, bool failed) {
  cpu_screen *s = worker->command->screen;
  if (failed || worker->base.suspicious) atomic_store(&s->suspicious, 1);
  for (int i = 0; i < 2; i++) atomic_fetch_add(&s->claims[i], worker->base.claims[i]);
}
