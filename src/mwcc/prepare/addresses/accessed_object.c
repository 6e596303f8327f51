/* Which object an address is derived from: after inlining, few steps lead from an access to a pointer in the parameter
 * block, a variable or a local array. As LLVM's getUnderlyingObject, which does not look through loads of parameters. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "mwcc/support/predicates.h"
#include "mwcc/prepare/addresses/memory_place.h"
#include "mwcc/prepare/addresses/addresses.h"

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

/* The kernel of which the value is a parameter, and the parameter's number. */
static const kernel *kernel_of(const program *p, LLVMValueRef argument, size_t *number) {
  for (size_t k = 0; k < p->kernel_count; k++)
    for (size_t i = 0; i < p->kernels[k].param_count && i < LLVMCountParams(p->kernels[k].body); i++)
      if (LLVMGetParam(p->kernels[k].body, (unsigned)i) == argument) {
        *number = i;
        return &p->kernels[k];
      }
  return NULL;
}

/* The word of the parameter block at the offset, from 1; 0: it is not aligned. */
static unsigned word_at(size_t offset) { return offset % 8 ? 0 : (unsigned)(offset / 8) + 1; }

/* A kernel's pointer parameter. Other parameters have memory of their own. */
static bool find_parameter(const program *p, LLVMValueRef root, accessed *out) {
  size_t i;
  const kernel *k = kernel_of(p, root, &i);
  *out = (accessed){root, MW_OBJECT_ALLOCATION, NULL, 0};
  if (!k) return true;
  if (k->params[i].type->type.kind != MW_TYPE_POINTER) return false;
  out->name = k->params[i].name;
  out->param = word_at(k->params[i].offset);
  return true;
}

/* "a.elements" of the pointer at the offset in a parameter; NULL: of an array, a base class or a union. */
static char *field_name(const char *before, const ctype *type, uint64_t offset) {
  const cfield *found = NULL;
  for (size_t i = 0; type->type.kind == MW_TYPE_STRUCT && i < type->type.count; i++) {
    const cfield *f = &type->fields[i];
    if (offset < f->offset || offset - f->offset >= f->type->type.size) continue;
    if (found) return NULL;
    found = f;
  }
  if (!found || !*found->name) return NULL;
  char *name = mw_format("%s.%s", before, found->name);
  if (found->type->type.kind == MW_TYPE_POINTER) return name;
  char *inner = field_name(name, found->type, offset - found->offset);
  free(name);
  return inner;
}

/* A pointer among the fields of a struct parameter. */
static void find_field(const program *p, LLVMValueRef load, accessed *out) {
  uint64_t offset;
  size_t i;
  LLVMValueRef argument = find_pointer_field(p, load, &offset);
  const kernel *k = argument ? kernel_of(p, argument, &i) : NULL;
  if (!k) return;
  out->name = field_name(k->params[i].name, k->params[i].type, offset);
  out->param = word_at(k->params[i].offset + offset);
}

bool is_shared_variable(const program *p, LLVMValueRef root) {
  for (size_t i = 0; i < p->shared_count; i++)
    if (p->shareds[i].global == root) return true;
  return false;
}

static bool find_global(const program *p, LLVMValueRef root, accessed *out) {
  size_t length;
  for (size_t i = 0; i < p->variable_count; i++)
    if (p->variables[i].global == root) {
      *out = (accessed){root, p->variables[i].size, p->variables[i].name, 0};
      return true;
    }
  for (size_t i = 0; i < p->shared_count; i++)
    if (p->shareds[i].global == root) {
      const shared *s = &p->shareds[i];
      *out = (accessed){root, s->dynamic ? MW_OBJECT_SHARED : s->size, last_name(LLVMGetValueName2(root, &length)), 0};
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
    *out = (accessed){root, count * LLVMABISizeOfType(p->layout, LLVMGetAllocatedType(root)), "a local array", 0};
    return root != address;
  }
  if (LLVMIsAArgument(root)) return find_parameter(p, root, out);
  *out = (accessed){root, MW_OBJECT_ALLOCATION, NULL, 0};
  if (LLVMIsALoadInst(root)) find_field(p, root, out);
  return true;
}

/* Nothing is known of an address that was converted from an integer, and it is not checked. The headers compute
   addresses of texels so: they stay in bounds but read whole words, the last of which may extend past the array's last
   byte within its allocation. */
static bool is_converted(LLVMValueRef root, int steps) {
  bool is_phi = LLVMIsAPHINode(root), found = opcode_of(root) == LLVMIntToPtr;
  unsigned count = is_phi ? LLVMCountIncoming(root) : opcode_of(root) == LLVMSelect ? 2 : 0;
  for (unsigned i = 0; i < count && steps && !found; i++)
    found = is_converted(root_of(is_phi ? LLVMGetIncomingValue(root, i) : LLVMGetOperand(root, 1 + i)), steps - 1);
  return found;
}

bool is_made_from_integer(LLVMValueRef root) { return is_converted(root, STEPS); }

bool find_inner_array(program *p, LLVMBuilderRef b, LLVMValueRef address, accessed *inner) {
  while (opcode_of(address) == LLVMAddrSpaceCast) address = LLVMGetOperand(address, 0);
  if (!LLVMIsAGetElementPtrInst(address)) return false;
  unsigned count = (unsigned)LLVMGetNumOperands(address);
  LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
  for (unsigned i = 2; i < count; i++) {
    LLVMValueRef index = LLVMGetOperand(address, i);
    if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      type = LLVMStructGetTypeAtIndex(type, (unsigned)LLVMConstIntGetZExtValue(index));
      continue;
    }
    if (LLVMGetTypeKind(type) != LLVMArrayTypeKind) return false;
    if (i + 1 == count) {
      if (LLVMGetArrayLength2(type) < 2) return false;
      LLVMValueRef *indices = mw_alloc(count * sizeof *indices);
      for (unsigned k = 1; k < i; k++) indices[k - 1] = LLVMGetOperand(address, k);
      LLVMPositionBuilderBefore(b, address);
      inner->base =
          LLVMBuildGEP2(b, LLVMGetGEPSourceElementType(address), LLVMGetOperand(address, 0), indices, i - 1, "");
      inner->size = LLVMABISizeOfType(p->layout, type);
      free(indices);
      return true;
    }
    type = LLVMGetElementType(type);
  }
  return false;
}
