/* Error messages of failed kernels, from the recorded fault. */
#include "cpu/schedule/command.h"
#include "fault.h"
#include "cpu/memory/heap.h"
#include "cpu/execution/worker.h"

#include <stdio.h>
#include <string.h>

static int code_of(const cpu_fault *fault) {
  switch (fault->kind) {
  case CPU_FAULT_READ:
  case CPU_FAULT_WRITE: return MW_ILLEGAL_ADDRESS;
  case CPU_FAULT_JUMP: return MW_INVALID_PC;
  case CPU_FAULT_STACK: return MW_HARDWARE_STACK_ERROR;
  case CPU_FAULT_MISALIGNED: return MW_MISALIGNED_ADDRESS;
  case CPU_FAULT_INSTRUCTION: return MW_ILLEGAL_INSTRUCTION;
  case CPU_FAULT_SERVICE: return fault->code;
  case CPU_FAULT_CANCELLED: return MW_LAUNCH_TIMEOUT;
  default: return MW_LAUNCH_FAILURE;
  }
}

/* What failed: the command's own kernel, or one that its kernels launched. */
static const cpu_kernel_work *work_of(const cpu_worker *worker, const cpu_command *command) {
  return worker && worker->work ? worker->work : &command->kernel;
}

void cpu_fault_hint_shared(const cpu_kernel_work *work, char *out, size_t size) {
  const mw_mwo_kernel *image = work->kernel->image;
  *out = '\0';
  if (!image->uses_dynamic_shared || work->frame.dynamic_shared) return;
  snprintf(out, size,
           "; extern __shared__ arrays have the bytes that the launch names, here none: write %s(grid, block, bytes)",
           image->info.name);
}

/* Describe an address: past the block's shared memory, or relative to allocations. */
static void say_where(mw_text *text, const cpu_worker *worker, const cpu_kernel_work *work, uintptr_t address) {
  char where[160];
  if (worker->shared_end && address - (uintptr_t)worker->shared_end < worker->guard) {
    mw_text_addf(text, "byte %zu of the block's shared memory, which has %zu",
                 (size_t)(address - (uintptr_t)worker->base.shared), work->shared);
  } else {
    cpu_heap_describe(worker->device->heap, address, where, sizeof where);
    mw_text_addf(text, "address 0x%zx, %s", (size_t)address, where);
  }
}

/* The predicate of the message, which follows the kernel's name. */
static void say_what(mw_text *text, const cpu_worker *worker, const cpu_command *command, const cpu_fault *fault) {
  const cpu_kernel_work *work = work_of(worker, command);
  char hint[400];
  bool sent;
  switch (fault->kind) {
  case CPU_FAULT_READ:
  case CPU_FAULT_WRITE:
    /* Generated code redirects wild stores and atomics to the start of the heap. Some processors' atomics read
       first. */
    sent = fault->address - work->frame.heap_base < MW_NOWHERE_BYTES;
    mw_text_addf(text, fault->kind == CPU_FAULT_READ && !sent ? "read " : "wrote to ");
    if (fault->address == CPU_ADDRESS_UNKNOWN || sent)
      mw_text_addf(text, "an address that no array holds (a null pointer, or one far off?)");
    else
      say_where(text, worker, work, fault->address);
    cpu_fault_hint_shared(work, hint, sizeof hint);
    mw_text_addf(text, "%s", hint);
    break;
  case CPU_FAULT_JUMP:
    mw_text_addf(text, "called a function at address 0x%zx, where there is none", (size_t)fault->address);
    break;
  case CPU_FAULT_STACK: {
    bool fiber = worker->ring.current != &worker->ring.home;
    size_t room = fiber ? work->stack : worker->stack.size - CPU_STACK_MARGIN;
    mw_text_addf(text, "ran out of stack: a thread has %zu bytes for calls and local arrays%s", room,
                 fiber ? " (the limit \"stack\")" : "");
    break;
  }
  case CPU_FAULT_MISALIGNED: mw_text_addf(text, "used a misaligned address"); break;
  case CPU_FAULT_DIVISION: mw_text_addf(text, "made an integer division that has no result"); break;
  case CPU_FAULT_INSTRUCTION: mw_text_addf(text, "executed an illegal instruction"); break;
  case CPU_FAULT_CANCELLED:
    if (command->interrupted)
      mw_text_addf(text, "was interrupted");
    else
      mw_text_addf(text, "was stopped: it ran longer than %g s (the limit \"time\")", command->seconds);
    break;
  default: mw_text_addf(text, "%s", fault->what); break;
  }
}

void cpu_unfold(uint64_t index, const uint32_t extent[3], unsigned out[3]) {
  out[0] = (unsigned)(index % extent[0]);
  out[1] = (unsigned)(index / extent[0] % extent[1]);
  out[2] = (unsigned)(index / extent[0] / extent[1]);
}

mw_error *cpu_fault_report(struct cpu_worker *worker, const struct cpu_command *command) {
  static const cpu_fault unseen = {.kind = CPU_FAULT_CANCELLED};
  const cpu_fault *fault = worker ? &worker->fault : &unseen;
  const cpu_kernel_work *work = work_of(worker, command);
  const mw_frame *frame = &work->frame;
  const cpu_kernel *kernel = work->kernel;
  mw_error error = {.kind = "kernel", .kernel = kernel->image->info.name};
  mw_text text = {0};

  error.code = code_of(fault);
  error.name = mw_result_name(error.code);
  mw_text_addf(&text, "kernel %s ", error.kernel);
  say_what(&text, worker, command, fault);

  error.file = fault->file;
  error.line = fault->line;
  if (!error.file && fault->pc && !cpu_line_of(kernel->unit, fault->pc, &error.file, &error.line)) error.file = NULL;
  bool exact = error.file != NULL;
  if (!exact && kernel->image->info.file) {
    error.line = kernel->image->info.line;
    error.file = cpu_place_of(kernel->unit, kernel->image->info.file, &error.line);
  }
  if (error.file)
    mw_text_addf(&text, exact ? "; %s:%d" : "; somewhere in the kernel at %s:%d", error.file, error.line);
  else
    error.line = 0;
  /* A worker that could not be prepared has run no block. */
  error.has_block = worker && worker->area && fault->kind != CPU_FAULT_NONE && worker->base.block != MW_SEVERAL_BLOCKS;
  if (error.has_block) {
    bool packed = worker->base.block & MW_PACKED_BLOCKS;
    cpu_unfold(worker->base.block & ~MW_PACKED_BLOCKS, frame->grid, error.block);
    mw_text_addf(&text, "%s block (%u,%u,%u)%s", error.file ? "," : ";", error.block[0], error.block[1], error.block[2],
                 kernel->image->merged > 1 ? " or the one beside it" : "");
    if (packed) mw_text_addf(&text, " or one of the %u after it", kernel->image->packed - 1);
  }
  error.has_thread = error.has_block && worker->base.thread != ~0u;
  if (error.has_thread) {
    cpu_unfold(worker->base.thread, frame->block, error.thread);
    mw_text_addf(&text, ", thread (%u,%u,%u)", error.thread[0], error.thread[1], error.thread[2]);
  }
  if (work != &command->kernel)
    mw_text_addf(&text, "; launched by a kernel, for the launch of %s", command->kernel.kernel->image->info.name);
  if (work->site[0]) mw_text_addf(&text, "%s at %s", work == &command->kernel ? "; launched" : "", work->site);
  error.message = text.data;
  mw_error *copy = mw_error_copy(&error);
  mw_text_free(&text);
  return copy;
}
