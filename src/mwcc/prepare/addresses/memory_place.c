/* Places of accesses: see memory_place.h.
 *
 * An address is decomposed into a root, terms and a constant. An index is extended before it is multiplied by the size
 * of an element, so the terms of a narrow index are taken apart only where the source's arithmetic cannot wrap (nsw,
 * disjoint bits): then the extension of a sum is the sum of the extensions. Arithmetic on 64 bits may wrap as addresses
 * do. Two places with the same root and the same terms differ by a constant. Places with different roots are apart if
 * the roots are different objects. */
#include "memory_place.h"
#include "mwcc/support/predicates.h"
#include "mwcc/analysis/simt.h"

#include <string.h>

enum { DEPTH = 12 };

static void add_term(place *s, LLVMValueRef value, uint64_t times) {
  for (int i = 0; i < s->term_count; i++) {
    if (s->terms[i].value != value) continue;
    s->terms[i].times += times;
    if (!s->terms[i].times) s->terms[i] = s->terms[--s->term_count];
    return;
  }
  if (s->term_count == MOST_TERMS) {
    s->exact = false;
    return;
  }
  s->terms[s->term_count++] = (place_term){value, times};
}

static bool is_wide(LLVMValueRef value) { return LLVMGetIntTypeWidth(LLVMTypeOf(value)) >= 64; }

/* Whether the extension of the operation's result is the result of the operation on the extended operands. */
static bool is_exact(LLVMValueRef operation) {
  if (LLVMGetInstructionOpcode(operation) == LLVMOr) return LLVMGetIsDisjoint(operation);
  return is_wide(operation) || LLVMGetNSW(operation);
}

static void add_index(place *s, LLVMValueRef value, uint64_t times, int depth) {
  if (LLVMIsAConstantInt(value) && LLVMGetIntTypeWidth(LLVMTypeOf(value)) <= 64) {
    s->offset += times * (uint64_t)LLVMConstIntGetSExtValue(value);
    return;
  }
  LLVMOpcode opcode = depth && LLVMIsAInstruction(value) ? LLVMGetInstructionOpcode(value) : (LLVMOpcode)0;
  LLVMValueRef a = opcode ? LLVMGetOperand(value, 0) : NULL;
  LLVMValueRef b = opcode && LLVMGetNumOperands(value) > 1 ? LLVMGetOperand(value, 1) : NULL;
  switch (opcode) {
  case LLVMAdd:
  case LLVMSub:
  case LLVMOr:
    if (!is_exact(value)) break;
    add_index(s, a, times, depth - 1);
    add_index(s, b, opcode == LLVMSub ? -times : times, depth - 1);
    return;
  case LLVMMul:
    if (!is_exact(value) || !LLVMIsAConstantInt(b)) break;
    add_index(s, a, times * (uint64_t)LLVMConstIntGetSExtValue(b), depth - 1);
    return;
  case LLVMShl:
    if (!is_exact(value) || !LLVMIsAConstantInt(b) || LLVMConstIntGetZExtValue(b) >= 31) break;
    add_index(s, a, times << LLVMConstIntGetZExtValue(b), depth - 1);
    return;
  case LLVMSExt: add_index(s, a, times, depth - 1); return;
  case LLVMZExt:
    if (!LLVMGetNNeg(value)) break;
    add_index(s, a, times, depth - 1);
    return;
  default: break;
  }
  add_term(s, value, times);
}

static void add_indices(const program *p, place *s, LLVMValueRef gep) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  for (unsigned i = 1; i <= LLVMGetNumIndices(gep); i++) {
    LLVMValueRef index = LLVMGetOperand(gep, i);
    if (i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      unsigned field = (unsigned)LLVMConstIntGetZExtValue(index);
      s->offset += LLVMOffsetOfElement(p->layout, type, field);
      type = LLVMStructGetTypeAtIndex(type, field);
      continue;
    }
    if (i > 1) type = LLVMGetElementType(type);
    add_index(s, index, LLVMABISizeOfType(p->layout, type), DEPTH);
  }
}

static void decompose(const program *p, place *s, LLVMValueRef address) {
  for (;; address = LLVMGetOperand(address, 0)) {
    LLVMOpcode opcode = opcode_of(address);
    if (opcode == LLVMGetElementPtr)
      add_indices(p, s, address);
    else if (opcode != LLVMAddrSpaceCast && opcode != LLVMBitCast && opcode != LLVMFreeze)
      break;
  }
  s->root = address;
}

static unsigned parameter_number(const kernel *k, LLVMValueRef argument) {
  unsigned number = 0;
  while (LLVMGetParam(k->body, number) != argument) number++;
  return number;
}

static bool has_parameter_attribute(const kernel *k, unsigned number, const char *name) {
  unsigned kind = LLVMGetEnumAttributeKindForName(name, strlen(name));
  return LLVMGetEnumAttributeAtIndex(k->body, number + 1, kind) != NULL;
}

static void find_base(const program *p, const kernel *k, place *s, LLVMValueRef root, int depth);

LLVMValueRef find_pointer_field(const program *p, LLVMValueRef load, uint64_t *offset) {
  place field = {.exact = true};
  decompose(p, &field, LLVMGetOperand(load, 0));
  if (!is_plain_access(load) || field.term_count || !field.exact || !is_byval_parameter(field.root)) return NULL;
  *offset = (uint64_t)field.offset;
  return is_only_read(field.root) ? field.root : NULL;
}

static void find_loaded_base(const program *p, const kernel *k, place *s, LLVMValueRef load) {
  uint64_t offset;
  LLVMValueRef parameter = find_pointer_field(p, load, &offset);
  if (!parameter) return;
  s->base = BASE_PARAMETER;
  s->parameter = (uint32_t)(k->params[parameter_number(k, parameter)].offset + offset);
}

static bool have_one_base(const place *a, const place *b) {
  return a->base == b->base && a->object == b->object && a->parameter == b->parameter;
}

/* A phi or select of pointers, or a pointer that a loop advances: all incoming pointers must have one base. */
static void find_merged_base(const program *p, const kernel *k, place *s, LLVMValueRef root, int depth) {
  bool chooses = LLVMIsASelectInst(root) != NULL, any = false;
  unsigned count = chooses ? 2 : LLVMCountIncoming(root);
  place found = {0};
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef from = root_of(chooses ? LLVMGetOperand(root, i + 1) : LLVMGetIncomingValue(root, i));
    place other = {0};
    if (from == root) continue;
    find_base(p, k, &other, from, depth - 1);
    if (!other.base || (any && !have_one_base(&found, &other))) return;
    found = other;
    any = true;
  }
  s->base = found.base, s->object = found.object, s->parameter = found.parameter;
  s->is_restricted = found.is_restricted, s->is_dynamic = found.is_dynamic;
}

static void find_base(const program *p, const kernel *k, place *s, LLVMValueRef root, int depth) {
  if (!depth) return;
  if (memory_of(root) == MEMORY_CONSTANT) {
    s->base = BASE_CONSTANT;
  } else if (LLVMIsAArgument(root) && LLVMGetParamParent(root) == k->body) {
    unsigned number = parameter_number(k, root);
    s->base = has_parameter_attribute(k, number, "byval") ? BASE_BYVAL : BASE_PARAMETER;
    s->parameter = (uint32_t)k->params[number].offset;
    s->is_restricted = has_parameter_attribute(k, number, "noalias");
  } else if (LLVMIsAAllocaInst(root)) {
    s->base = BASE_LOCAL, s->object = root;
  } else if (LLVMIsAGlobalVariable(root)) {
    s->base = memory_of(root) == MEMORY_SHARED ? BASE_SHARED : BASE_VARIABLE, s->object = root;
    for (size_t i = 0; i < p->shared_count; i++)
      if (p->shareds[i].global == root) s->is_dynamic = p->shareds[i].dynamic;
  } else if (LLVMIsALoadInst(root)) {
    find_loaded_base(p, k, s, root);
  } else if (LLVMIsAPHINode(root) || LLVMIsASelectInst(root)) {
    find_merged_base(p, k, s, root, depth);
  }
}

place place_of(const program *p, const kernel *k, LLVMValueRef access) {
  enum { MERGES = 4 };
  bool stores = LLVMIsAStoreInst(access) != NULL;
  LLVMTypeRef type = stores ? LLVMTypeOf(LLVMGetOperand(access, 0)) : LLVMTypeOf(access);
  place s = {.exact = true, .type = type, .bytes = LLVMStoreSizeOfType(p->layout, type)};
  decompose(p, &s, LLVMGetOperand(access, stores ? 1 : 0));
  find_base(p, k, &s, s.root, MERGES);
  s.is_root_pointer = s.base == BASE_PARAMETER && (LLVMIsAArgument(s.root) || LLVMIsALoadInst(s.root));
  return s;
}

static bool have_same_terms(const place *a, const place *b) {
  if (!a->exact || !b->exact || a->term_count != b->term_count) return false;
  for (int i = 0; i < a->term_count; i++) {
    int k = 0;
    while (k < b->term_count && (b->terms[k].value != a->terms[i].value || b->terms[k].times != a->terms[i].times)) k++;
    if (k == b->term_count) return false;
  }
  return true;
}

static bool have_same_root(const place *a, const place *b) {
  return a->root == b->root || (a->is_root_pointer && b->is_root_pointer && a->parameter == b->parameter);
}

static place_relation compare_bases(const place *a, const place *b) {
  if (!a->base || !b->base) return PLACES_MAY_OVERLAP;
  if (a->base != b->base) {
    /* A parameter may point to a __device__ variable. */
    bool outside = a->base == BASE_VARIABLE || b->base == BASE_VARIABLE;
    bool pointer = a->base == BASE_PARAMETER || b->base == BASE_PARAMETER;
    return outside && pointer ? PLACES_MAY_OVERLAP : PLACES_DISJOINT;
  }
  switch (a->base) {
  case BASE_PARAMETER:
    if (a->parameter == b->parameter) return PLACES_MAY_OVERLAP;
    return a->is_restricted || b->is_restricted ? PLACES_DISJOINT : PLACES_SEPARATE;
  case BASE_LOCAL:
  case BASE_VARIABLE: return a->object == b->object ? PLACES_MAY_OVERLAP : PLACES_DISJOINT;
  case BASE_SHARED:
    return a->object == b->object || (a->is_dynamic && b->is_dynamic) ? PLACES_MAY_OVERLAP : PLACES_DISJOINT;
  default: return PLACES_MAY_OVERLAP;
  }
}

place_relation compare_places(const place *a, const place *b) {
  if (!have_same_root(a, b) || !have_same_terms(a, b)) return compare_bases(a, b);
  uint64_t distance = b->offset - a->offset;
  if (!distance && a->type == b->type) return PLACES_EQUAL;
  return distance >= a->bytes && -distance >= b->bytes ? PLACES_DISJOINT : PLACES_MAY_OVERLAP;
}
