/* The elements of staged rows (rows.h): what each thread stores to shared memory, and which elements are read. */
#include "rows.h"
#include "mwcc/support/predicates.h"

#include <string.h>

/* ---- elements ---- */

static bool is_address_of_element(LLVMValueRef value) {
  return LLVMIsAGetElementPtrInst(value) ||
         (LLVMIsAConstantExpr(value) && LLVMGetConstOpcode(value) == LLVMGetElementPtr);
}

/* Add the constant offset of the indices from number `from` on, which index into `type`; false if one is no constant.
*/
static bool distance_from(const program *p, LLVMValueRef address, unsigned from, LLVMTypeRef type, uint64_t *bytes) {
  for (unsigned n = from; n <= LLVMGetNumIndices(address); n++) {
    LLVMValueRef by = LLVMGetOperand(address, n);
    if (!LLVMIsAConstantInt(by) || LLVMConstIntGetSExtValue(by) < 0) return false;
    uint64_t number = LLVMConstIntGetZExtValue(by);
    if (n > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind) {
      *bytes += LLVMOffsetOfElement(p->layout, type, (unsigned)number);
      type = LLVMStructGetTypeAtIndex(type, (unsigned)number);
      continue;
    }
    if (n > 1 && LLVMGetTypeKind(type) != LLVMArrayTypeKind) return false;
    if (n > 1) type = LLVMGetElementType(type);
    *bytes += number * LLVMABISizeOfType(p->layout, type);
  }
  return true;
}

/* Add an address's constant offset from its base. */
static bool constant_distance(const program *p, LLVMValueRef address, uint64_t *bytes) {
  uint64_t more = 0;
  if (!distance_from(p, address, 1, LLVMGetGEPSourceElementType(address), &more)) return false;
  *bytes += more;
  return true;
}

/* Add the offset of &array[index].member in the element. */
static bool distance_in_element(const program *p, LLVMValueRef address, uint64_t *bytes) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
  return LLVMGetTypeKind(type) == LLVMArrayTypeKind && distance_from(p, address, 3, LLVMGetElementType(type), bytes);
}

/* Match (char *)&array[index] + constant, where the array has one dimension and an element for each thread of the
   block. */
static bool read_element(const row_loop *l, LLVMValueRef address, place *out) {
  const program *p = l->t.p;
  *out = (place){0};
  while (is_address_of_element(address) && constant_distance(p, address, &out->at))
    address = LLVMGetOperand(address, 0);
  if (LLVMIsAGetElementPtrInst(address)) {
    LLVMValueRef zero = LLVMGetOperand(address, 1);
    if (LLVMGetNumIndices(address) < 2 || !LLVMIsAConstantInt(zero) || LLVMConstIntGetZExtValue(zero)) return false;
    if (!distance_in_element(p, address, &out->at)) return false;
    out->index = LLVMGetOperand(address, 2);
  }
  LLVMValueRef base = out->index ? LLVMGetOperand(address, 0) : address;
  out->array = shared_variable(base);
  LLVMTypeRef type = out->array ? LLVMGlobalGetValueType(out->array) : NULL;
  if (!type || LLVMGetTypeKind(type) != LLVMArrayTypeKind || LLVMGetArrayLength2(type) != p->block[X]) return false;
  if (out->index && LLVMGetGEPSourceElementType(address) != type) return false;
  uint64_t size = LLVMABISizeOfType(p->layout, LLVMGetElementType(type));
  if (out->index) return out->at < size;
  out->number = out->at / size, out->at %= size;
  return out->number < p->block[X];
}

static bool is_from_outside(const row_loop *l, LLVMValueRef address) {
  memory_kind from = memory_of(address);
  return from != MEMORY_SHARED && from != MEMORY_LOCAL && depends_on_id(l, address);
}

static bool add_piece(row_loop *l, LLVMValueRef address, piece made) {
  place to;
  if (l->piece_count == MOST_COPIES || !read_element(l, address, &to)) return false;
  if (!to.index || axis_of(to.index) != X) return false;
  made.array = to.array, made.at = to.at;
  for (int i = 0; i < l->piece_count; i++) {
    const piece *other = &l->pieces[i];
    if (other->array == made.array && other->at < made.at + made.bytes && made.at < other->at + other->bytes)
      return false;
  }
  LLVMTypeRef element = LLVMGetElementType(LLVMGlobalGetValueType(to.array));
  if (made.at + made.bytes > LLVMABISizeOfType(l->t.p->layout, element)) return false;
  l->pieces[l->piece_count++] = made;
  return true;
}

bool match_row_store(row_loop *l, LLVMValueRef store) {
  LLVMValueRef load = LLVMGetOperand(store, 0);
  if (!is_plain_access(store) || !LLVMIsALoadInst(load) || !is_plain_access(load)) return false;
  if (LLVMGetInstructionParent(load) != l->t.head || !is_from_outside(l, LLVMGetOperand(load, 0))) return false;
  LLVMTypeRef type = LLVMTypeOf(load);
  piece made = {.store = store,
                .bytes = LLVMStoreSizeOfType(l->t.p->layout, type),
                .from = LLVMGetOperand(load, 0),
                .load = load,
                .align = LLVMGetAlignment(load)};
  if (made.bytes * 8 != LLVMSizeOfTypeInBits(l->t.p->layout, type)) return false;
  return add_piece(l, LLVMGetOperand(store, 1), made);
}

bool match_row_copy(row_loop *l, LLVMValueRef call) {
  enum { TO, FROM, SIZE, IS_VOLATILE, FROM_ATTRIBUTES = FROM + 1 };
  if (!LLVMIsACallInst(call) || !starts_with(callee_name(call), "llvm.memcpy.")) return false;
  LLVMValueRef size = LLVMGetOperand(call, SIZE), is_volatile = LLVMGetOperand(call, IS_VOLATILE);
  if (!LLVMIsAConstantInt(size) || LLVMConstIntGetZExtValue(is_volatile)) return false;
  if (!is_from_outside(l, LLVMGetOperand(call, FROM))) return false;
  unsigned kind = LLVMGetEnumAttributeKindForName("align", 5);
  LLVMAttributeRef align = LLVMGetCallSiteEnumAttribute(call, FROM_ATTRIBUTES, kind);
  piece made = {.store = call,
                .bytes = LLVMConstIntGetZExtValue(size),
                .from = LLVMGetOperand(call, FROM),
                .align = align ? (unsigned)LLVMGetEnumAttributeValue(align) : 1};
  return add_piece(l, LLVMGetOperand(call, TO), made);
}

/* ---- reads ---- */

/* The maximum of a counter: for (i = first; …; i += by), where i + by is compared with a constant. */
static bool most_of_counter(LLVMValueRef phi, uint64_t *most) {
  if (!LLVMIsAPHINode(phi) || LLVMCountIncoming(phi) != 2) return false;
  for (unsigned n = 0; n < 2; n++) {
    LLVMValueRef next = LLVMGetIncomingValue(phi, n), first = LLVMGetIncomingValue(phi, 1 - n);
    LLVMBasicBlockRef latch = LLVMGetIncomingBlock(phi, n);
    LLVMValueRef end = LLVMGetBasicBlockTerminator(latch);
    if (!LLVMIsAConstantInt(first) || !is_operation(next, LLVMAdd) || LLVMGetOperand(next, 0) != phi) continue;
    if (LLVMGetIntTypeWidth(LLVMTypeOf(phi)) < 32) continue;
    LLVMValueRef by = LLVMGetOperand(next, 1);
    if (!LLVMIsAConstantInt(by) || !LLVMIsABranchInst(end) || !LLVMIsConditional(end)) continue;
    LLVMValueRef condition = LLVMGetCondition(end);
    if (!LLVMIsAICmpInst(condition) || LLVMGetOperand(condition, 0) != next) continue;
    LLVMValueRef limit = LLVMGetOperand(condition, 1);
    LLVMIntPredicate less = LLVMGetICmpPredicate(condition);
    if (!LLVMIsAConstantInt(limit) || (less != LLVMIntULT && less != LLVMIntSLT)) continue;
    if (LLVMGetSuccessor(end, 0) != LLVMGetInstructionParent(phi)) continue;
    int64_t from = LLVMConstIntGetSExtValue(first), step = LLVMConstIntGetSExtValue(by),
            to = LLVMConstIntGetSExtValue(limit);
    if (from < 0 || step <= 0 || to < 0 || from > UINT16_MAX || step > UINT16_MAX || to > UINT16_MAX) continue;
    *most = (uint64_t)(to > from ? from + (to - 1 - from) / step * step : from);
    return true;
  }
  return false;
}

/* Whether an index is always one of the block's ids: a bounded counter, perhaps plus a constant. */
static bool is_id(const row_loop *l, LLVMValueRef index) {
  uint64_t most = 0, more = 0;
  if (!index) return true;
  index = unextended(index);
  if (is_addition(index) && LLVMIsAConstantInt(LLVMGetOperand(index, 1))) {
    more = LLVMConstIntGetZExtValue(LLVMGetOperand(index, 1));
    index = unextended(LLVMGetOperand(index, 0));
  }
  if (!most_of_counter(index, &most)) return false;
  return more < l->t.p->block[X] && most < l->t.p->block[X] && most + more < l->t.p->block[X];
}

static const piece *piece_at(const row_loop *l, const place *at, uint64_t bytes) {
  for (int i = 0; i < l->piece_count; i++) {
    const piece *of = &l->pieces[i];
    if (of->array == at->array && at->at >= of->at && at->at + bytes <= of->at + of->bytes) return of;
  }
  return NULL;
}

bool match_row_read(row_loop *l, LLVMValueRef load) {
  place at;
  if (!is_plain_access(load) || l->read_count == MOST_READS || !read_element(l, LLVMGetOperand(load, 0), &at))
    return false;
  const piece *of = piece_at(l, &at, LLVMStoreSizeOfType(l->t.p->layout, LLVMTypeOf(load)));
  if (!of || !is_id(l, at.index)) return false;
  l->reads[l->read_count++] = (row_read){load, at, of};
  return true;
}
