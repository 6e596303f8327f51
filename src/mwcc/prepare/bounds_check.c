/* Bounds checks (--check-memory), as AddressSanitizer's: before every access the runtime checks that it lies in the
 * array from which its address was derived. An index out of range ends the launch with a name and a line, even if the
 * address is valid because it lies in another array.
 *
 * This pass finds the base of each address: after inlining, few steps lead from an access to a parameter, a variable
 * or a local array. The size of variables, shared and local arrays is known here; that of what a pointer points to is
 * known to the device (src/cpu/memory/bounds_check.c). If an address was loaded from memory, or may come from one of
 * several arrays, the access has to lie in any array. Runs before tiers are chosen; checked kernels are not
 * vectorised. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 6 }; /* through phis and selects, each of which may double the work */

static LLVMValueRef object_of(LLVMValueRef pointer, int steps);

/* The object that all values of a phi or select point into; itself if they differ. */
static LLVMValueRef object_of_choice(LLVMValueRef choice, unsigned count, unsigned first, int steps) {
  LLVMValueRef common = NULL;
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef value = LLVMIsAPHINode(choice) ? LLVMGetIncomingValue(choice, i) : LLVMGetOperand(choice, first + i);
    LLVMValueRef object = object_of(value, steps - 1);
    if (object == choice) continue; /* a pointer that a loop advances */
    if (common && object != common) return choice;
    common = object;
  }
  return common ? common : choice;
}

/* As LLVM's getUnderlyingObject. */
static LLVMValueRef object_of(LLVMValueRef pointer, int steps) {
  LLVMValueRef root = root_of(pointer);
  if (steps == 0) return root;
  if (LLVMIsAPHINode(root)) return object_of_choice(root, LLVMCountIncoming(root), 0, steps);
  return opcode_of(root) == LLVMSelect ? object_of_choice(root, 2, 1, steps) : root;
}

/* "_ZZ4tilePfE5cells" -> "cells": a linkage name ends with the variable's name, after its length. */
static const char *last_name(const char *linkage) {
  if (!starts_with(linkage, "_Z")) return linkage;
  for (const char *c = linkage + strlen(linkage); c-- > linkage + 2;) {
    char *end;
    if (*c < '1' || *c > '9') continue;
    if (c[-1] >= '0' && c[-1] <= '9') continue;
    unsigned long length = strtoul(c, &end, 10);
    if (strlen(end) >= length) return mw_format("%.*s", (int)length, end);
  }
  return NULL;
}

/* A kernel's pointer parameter. Other parameters have memory of their own. */
static bool find_parameter(const program *p, LLVMValueRef root, accessed *out) {
  for (size_t k = 0; k < p->kernel_count; k++)
    for (size_t i = 0; i < p->kernels[k].param_count && i < LLVMCountParams(p->kernels[k].body); i++)
      if (LLVMGetParam(p->kernels[k].body, (unsigned)i) == root) {
        const param *found = &p->kernels[k].params[i];
        if (found->type->type.kind != MW_TYPE_POINTER) return false;
        *out = (accessed){root, MW_OBJECT_ALLOCATION, found->name};
        return true;
      }
  *out = (accessed){root, MW_OBJECT_ALLOCATION, NULL};
  return true;
}

static bool find_global(const program *p, LLVMValueRef root, accessed *out) {
  size_t length;
  for (size_t i = 0; i < p->variable_count; i++)
    if (p->variables[i].global == root) {
      *out = (accessed){root, p->variables[i].size, p->variables[i].name};
      return true;
    }
  for (size_t i = 0; i < p->shared_count; i++)
    if (p->shareds[i].global == root) {
      const shared *s = &p->shareds[i];
      *out = (accessed){root, s->dynamic ? MW_OBJECT_SHARED : s->size, last_name(LLVMGetValueName2(root, &length))};
      return true;
    }
  return false; /* a constant of clang's */
}

bool find_accessed(const program *p, LLVMValueRef address, accessed *out) {
  LLVMValueRef root = object_of(address, STEPS);
  if (LLVMIsAGlobalVariable(root)) return find_global(p, root, out);
  if (LLVMIsAAllocaInst(root)) {
    if (!LLVMIsAConstantInt(LLVMGetOperand(root, 0))) return false;
    uint64_t count = LLVMConstIntGetZExtValue(LLVMGetOperand(root, 0));
    *out = (accessed){root, count * LLVMABISizeOfType(p->layout, LLVMGetAllocatedType(root)), "a local array"};
    return root != address;
  }
  if (LLVMIsAArgument(root)) return find_parameter(p, root, out);
  *out = (accessed){root, MW_OBJECT_ALLOCATION, NULL};
  return true;
}

/* ---- checks ---- */

typedef struct checker {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef function;
  LLVMTypeRef type;
} checker;

static LLVMValueRef plain(checker *c, LLVMValueRef pointer) {
  if (LLVMTypeOf(pointer) == c->p->pointer) return pointer;
  return LLVMBuildAddrSpaceCast(c->b, pointer, c->p->pointer, "");
}

/* Nothing is known of an address that was converted from an integer, and it is not checked. Addresses of texels are
   made so: their functions stay in bounds but read whole words, the last of which may extend past the array's last byte
   within its allocation. */
static bool is_from_integer(LLVMValueRef root, int steps) {
  bool is_phi = LLVMIsAPHINode(root), found = opcode_of(root) == LLVMIntToPtr;
  unsigned count = is_phi ? LLVMCountIncoming(root) : opcode_of(root) == LLVMSelect ? 2 : 0;
  for (unsigned i = 0; i < count && steps && !found; i++)
    found = is_from_integer(root_of(is_phi ? LLVMGetIncomingValue(root, i) : LLVMGetOperand(root, 1 + i)), steps - 1);
  return found;
}

static void add_check(checker *c, LLVMValueRef access, LLVMValueRef address, LLVMValueRef bytes, bool is_store) {
  accessed o;
  if (!find_accessed(c->p, address, &o) || is_from_integer(o.base, STEPS)) return;
  LLVMPositionBuilderBefore(c->b, access);
  LLVMValueRef name = o.name ? LLVMBuildGlobalStringPtr(c->b, o.name, "") : LLVMConstNull(c->p->pointer);
  LLVMValueRef arguments[] = {plain(c, o.base),
                              plain(c, address),
                              LLVMBuildZExt(c->b, bytes, c->p->i64, ""),
                              constant_i64(c->p, o.size),
                              name,
                              constant_i32(c->p, is_store)};
  LLVMBuildCall2(c->b, c->type, c->function, arguments, MW_COUNT(arguments), "");
}

static void check_typed(checker *c, LLVMValueRef access, unsigned operand, LLVMTypeRef type, bool is_store) {
  LLVMValueRef bytes = constant_i64(c->p, LLVMStoreSizeOfType(c->p->layout, type));
  add_check(c, access, LLVMGetOperand(access, operand), bytes, is_store);
}

static void check_call(checker *c, LLVMValueRef call) {
  const char *name = callee_name(call);
  bool copies = starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.") ||
                strcmp(name, "memcpy") == 0 || strcmp(name, "memmove") == 0;
  if (!copies && !starts_with(name, "llvm.memset.") && strcmp(name, "memset") != 0) return;
  LLVMValueRef bytes = LLVMGetOperand(call, 2);
  add_check(c, call, LLVMGetOperand(call, 0), bytes, true);
  if (copies) add_check(c, call, LLVMGetOperand(call, 1), bytes, false);
}

static void check_access(checker *c, LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMLoad: check_typed(c, i, 0, LLVMTypeOf(i), false); return;
  case LLVMStore: check_typed(c, i, 1, LLVMTypeOf(LLVMGetOperand(i, 0)), true); return;
  case LLVMAtomicRMW: check_typed(c, i, 0, LLVMTypeOf(i), true); return;
  case LLVMAtomicCmpXchg: check_typed(c, i, 0, LLVMTypeOf(LLVMGetOperand(i, 1)), true); return;
  case LLVMCall: check_call(c, i); return;
  default: return;
  }
}

void check_memory(program *p) {
  if (!p->options->check_memory) return;
  LLVMTypeRef params[] = {p->pointer, p->pointer, p->i64, p->i64, p->pointer, p->i32};
  checker c = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  c.type = LLVMFunctionType(p->void_type, params, MW_COUNT(params), 0);
  c.function = LLVMAddFunction(p->module, "__mw_check_access", c.type);
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f)) continue;
    instructions list = instructions_of_function(f);
    for (size_t i = 0; i < list.count; i++) check_access(&c, list.items[i]);
    free(list.items);
  }
  LLVMDisposeBuilder(c.b);
  verify_module(p, "bounds checks");
}
