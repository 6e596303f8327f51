/* A kernel's report as a message, in the CPU device's wording. */
#include "guard.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int code_of(const mw_guard_report *r) {
  switch (r->kind) {
  case MW_GUARD_ASSERT: return MW_ASSERT;
  case MW_GUARD_STOPPED: return MW_LAUNCH_TIMEOUT;
  case MW_GUARD_OUTSIDE:
  case MW_GUARD_NOWHERE: return MW_ILLEGAL_ADDRESS;
  case MW_GUARD_MISALIGNED: return MW_MISALIGNED_ADDRESS;
  default: return MW_LAUNCH_FAILURE;
  }
}

/* "x[10], and x ends with [9]: …" if all are elements of the access's size, else bytes. */
static void say_outside(mw_text *text, const mw_guard_report *r) {
  const char *verb = r->is_store ? "wrote to" : "read", *name = r->text[0] ? r->text : "an array";
  long long distance = (long long)(r->address - r->object), bytes = (long long)r->bytes;
  if (distance % bytes == 0 && r->size % r->bytes == 0 && r->size)
    mw_text_addf(text, "%s %s[%lld], and %s ends with [%llu]: it has %llu elements of %llu bytes", verb, name,
                 distance / bytes, r->text[0] ? name : "it", r->size / r->bytes - 1, r->size / r->bytes, r->bytes);
  else
    mw_text_addf(text, "%s bytes %lld to %lld of %s, and there it has %llu, from 0 on", verb, distance,
                 distance + bytes - 1, name, r->size);
}

/* Where an address is, relative to allocations. */
static void describe_address(uint64_t address, char *out, size_t size) {
  const uint64_t near = (uint64_t)1 << 20;
  size_t count, above = 0;
  cuda_extent *list = cuda_heaps_list(&count);
  while (above < count && list[above].address <= address) above++;
  const cuda_extent *below = above > 0 ? &list[above - 1] : NULL, *next = above < count ? &list[above] : NULL;
  uint64_t into = below ? address - below->address : 0;
  if (below && into < below->bytes)
    snprintf(out, size, "at byte %llu of an array of %llu bytes", (unsigned long long)into,
             (unsigned long long)below->bytes);
  else if (below && into - below->bytes < near)
    snprintf(out, size, "%llu bytes past the end of an array of %llu bytes", (unsigned long long)(into - below->bytes),
             (unsigned long long)below->bytes);
  else if (next && next->address - address < near)
    snprintf(out, size, "%llu bytes before the start of an array of %llu bytes",
             (unsigned long long)(next->address - address), (unsigned long long)next->bytes);
  else
    snprintf(out, size, "which no array holds%s", address < 0x10000 ? " (a null pointer?)" : "");
  free(list);
}

static void say_nowhere(mw_text *text, const mw_guard_report *r) {
  char where[160];
  describe_address(r->address, where, sizeof where);
  mw_text_addf(text, "%s %llu bytes at address 0x%llx, %s%s%s", r->is_store ? "wrote" : "read", r->bytes, r->address,
               where, r->text[0] ? "; it was made from " : "", r->text);
}

static void say_what(mw_text *text, const cuda_device *device, const mw_guard_report *r, bool interrupted) {
  double limit = device->limits[MW_LIMIT_TIME];
  switch (r->kind) {
  case MW_GUARD_ASSERT: mw_text_addf(text, "failed the assertion '%s'", r->text); break;
  case MW_GUARD_TRAP: mw_text_addf(text, "called __trap()"); break;
  case MW_GUARD_STOPPED:
    if (interrupted)
      mw_text_addf(text, "was interrupted");
    else
      mw_text_addf(text, "was stopped: it ran longer than %g s (the limit \"time\")", limit);
    break;
  case MW_GUARD_OUTSIDE: say_outside(text, r); break;
  case MW_GUARD_NOWHERE: say_nowhere(text, r); break;
  case MW_GUARD_MISALIGNED:
    mw_text_addf(text, "used a misaligned address (0x%llx, for %llu bytes)", r->address, r->bytes);
    break;
  default: mw_text_addf(text, "failed"); break;
  }
}

/* The line that CUDA writes for a failed assertion. */
static void print_assertion(const mw_guard_report *r, const char *file, int line) {
  fprintf(stderr, "%s:%d: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n", file, line, r->function,
          r->block[0], r->block[1], r->block[2], r->thread[0], r->thread[1], r->thread[2], r->text);
}

static void say_where(mw_text *text, mw_error *error, const mw_guard_report *r, const mw_kernel_info *kernel,
                      const cuda_unit *unit) {
  bool exact = r->file[0] && r->line;
  error->line = (int)r->line;
  if (exact) error->file = cuda_unit_place(unit, r->file, &error->line);
  if (!exact && kernel && kernel->file) {
    error->file = kernel->file;
    error->line = kernel->line;
  }
  if (error->file)
    mw_text_addf(text, exact ? "; %s:%d" : "; somewhere in the kernel at %s:%d", error->file, error->line);
  else
    error->line = 0;
  if (r->kind == MW_GUARD_STOPPED) return;
  error->has_block = error->has_thread = 1;
  memcpy(error->block, r->block, sizeof error->block);
  memcpy(error->thread, r->thread, sizeof error->thread);
  mw_text_addf(text, "%s block (%u,%u,%u), thread (%u,%u,%u)", error->file ? "," : ";", r->block[0], r->block[1],
               r->block[2], r->thread[0], r->thread[1], r->thread[2]);
}

mw_error *cuda_guard_report(cuda_device *device, const mw_guard_report *r, const mw_kernel_info *kernel,
                            cuda_unit *unit, const char *site, bool interrupted) {
  mw_error error = {.kind = "kernel", .kernel = kernel ? kernel->name : NULL, .code = code_of(r)};
  mw_text text = {0};
  error.name = mw_result_name(error.code);
  mw_text_addf(&text, "%s%s ", kernel ? "kernel " : "a kernel", kernel ? kernel->name : "");
  say_what(&text, device, r, interrupted);
  say_where(&text, &error, r, kernel, unit);
  if (r->kind == MW_GUARD_ASSERT) print_assertion(r, error.file ? error.file : r->file, error.line);
  if (site[0]) mw_text_addf(&text, "; launched at %s", site);
  error.message = text.data;
  mw_error *copy = mw_error_copy(&error);
  mw_text_free(&text);
  return copy;
}
