/* Optimise, generate code, link, seal.
 *
 * LLVM's own pipeline for the level asked for; then an object file, which the system's linker makes a shared object (a
 * few milliseconds); then the trailer with the checksum. The result appears under its name all at once. */
#include "mwcc.h"

#include <llvm-c/BitWriter.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void optimise(program *p) {
  static const char *const pipelines[] = {"always-inline,default<O0>", "always-inline,default<O1>",
                                          "always-inline,default<O2>", "always-inline,default<O3>"};
  run_passes(p, pipelines[p->options->level]);
}

/* What a function and the deepest chain of functions it calls keep on the stack, as far as it is known before code
   generation: local arrays. A recursion counts once. */
static size_t stack_of(program *p, LLVMValueRef function, LLVMValueRef *path, size_t depth) {
  for (size_t i = 0; i < depth; i++)
    if (path[i] == function) return 0;
  if (depth == 64) return 0;
  path[depth] = function;
  size_t own = 0, deepest = 0;
  instructions list = instructions_of_function(function);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef i = list.items[n];
    if (LLVMIsAAllocaInst(i)) {
      LLVMValueRef count = LLVMGetOperand(i, 0);
      own += LLVMABISizeOfType(p->layout, LLVMGetAllocatedType(i)) *
             (LLVMIsAConstantInt(count) ? LLVMConstIntGetZExtValue(count) : 1);
      continue;
    }
    int operands = LLVMGetNumOperands(i);
    for (int o = 0; o < operands; o++) { /* called, or handed to run_fibers */
      LLVMValueRef operand = LLVMGetOperand(i, (unsigned)o);
      if (LLVMValueIsBasicBlock(operand) || !LLVMIsAFunction(operand) || LLVMIsDeclaration(operand)) continue;
      size_t below = stack_of(p, operand, path, depth + 1);
      if (below > deepest) deepest = below;
    }
  }
  free(list.items);
  return own + deepest;
}

void measure_stacks(program *p) {
  LLVMValueRef path[64];
  for (size_t i = 0; i < p->kernel_count; i++) p->kernels[i].local_bytes = stack_of(p, p->kernels[i].run, path, 0);
}

static void write_output(const char *path, const void *data, size_t length) {
  if (strcmp(path, "-") == 0) {
    if (fwrite(data, 1, length, stdout) != length || fflush(stdout)) die("writing to standard output failed");
  } else if (mw_file_write(path, data, length) != MW_SUCCESS) {
    die("%s", mw_error_last()->message);
  }
}

static LLVMMemoryBufferRef generate(program *p, LLVMCodeGenFileType type) {
  char *message = NULL;
  LLVMMemoryBufferRef buffer;
  if (LLVMTargetMachineEmitToMemoryBuffer(p->machine, p->module, type, &message, &buffer))
    die("code generation failed: %s", message);
  return buffer;
}

static void link_object(const program *p, const char *object, const char *output) {
  const char *linker = getenv("MOONWARP_LD");
  const char *args[] = {linker && *linker ? linker : "ld",
                        "-shared",
                        "-z",
                        "now",
                        "-z",
                        "noexecstack",
                        "--eh-frame-hdr",
                        "--hash-style=gnu",
                        "-o",
                        output,
                        object,
                        "-L/lib/x86_64-linux-gnu",
                        "-L/lib/aarch64-linux-gnu",
                        "-L/usr/lib64",
                        "-L/lib64",
                        "-L/usr/lib",
                        "--as-needed",
                        "-l:libm.so.6",
                        "-l:libc.so.6",
                        p->uses_vector_math ? "-l:libmvec.so.1" : NULL,
                        NULL};
  mw_child_result result = {0};
  if (mw_child_run(args, NULL, &(mw_child_limits){0}, &result) != MW_SUCCESS)
    die("the linker 'ld' cannot be run (%s): install binutils, or set MOONWARP_LD", mw_error_last()->message);
  if (result.status != 0) die("the linker failed: %s", result.errors.data ? result.errors.data : "");
  mw_child_result_free(&result);
}

static void seal(const char *path, const char *output) {
  mw_text file = {0};
  if (mw_file_read(path, &file) != MW_SUCCESS) die("%s", mw_error_last()->message);
  unlink(path);
  mw_trailer trailer = {.length = file.length, .magic = "MWOIMG1"};
  mw_hash hash = mw_hash_start();
  mw_hash_add(&hash, file.data, file.length);
  trailer.low = hash.low, trailer.high = hash.high;
  mw_text_add(&file, &trailer, sizeof trailer);
  write_output(output, file.data, file.length);
}

static void emit_mwo(program *p) {
  LLVMMemoryBufferRef object = generate(p, LLVMObjectFile);
  bool to_stdout = strcmp(p->options->output, "-") == 0;
  char *folder = NULL;
  if (to_stdout && mw_directory_temporary(&folder) != MW_SUCCESS) die("%s", mw_error_last()->message);
  char *stem = to_stdout ? mw_format("%s/out", folder) : mw_format("%s.%d", p->options->output, (int)getpid());
  char *object_path = mw_format("%s.o", stem), *linked_path = mw_format("%s.so", stem);
  write_output(object_path, LLVMGetBufferStart(object), LLVMGetBufferSize(object));
  link_object(p, object_path, linked_path);
  unlink(object_path);
  seal(linked_path, p->options->output);
  if (folder) mw_directory_remove(folder);
}

void emit(program *p) {
  switch (p->options->emit) {
  case EMIT_MWO: emit_mwo(p); return;
  case EMIT_IR: {
    char *text = LLVMPrintModuleToString(p->module);
    write_output(p->options->output, text, strlen(text));
    return;
  }
  case EMIT_ASM:
  case EMIT_OBJECT: {
    LLVMMemoryBufferRef buffer = generate(p, p->options->emit == EMIT_ASM ? LLVMAssemblyFile : LLVMObjectFile);
    write_output(p->options->output, LLVMGetBufferStart(buffer), LLVMGetBufferSize(buffer));
    return;
  }
  }
}
