/* Outlining (LLVM's CodeExtractor, with which docs/notes/alternatives.md compares it): a region of a large function
 * becomes a function, whose code is generated in parallel with that of the rest (parallel.c).
 *
 * The region has a single entry and a single exit. Live-in values are parameters if they fit in registers; the other
 * live-ins and all live-outs are passed in memory. Values that cost an instruction or two, as a filter coefficient
 * broadcast to all lanes, are rematerialised in the region instead. The region is chosen by outline_region.c, or by
 * outline_split.c where most of the function is a single block. */
#include "outline.h"
#include "mwcc/support/predicates.h"
#include "codegen.h"

#include <limits.h>
#include <stdlib.h>

/* While it is extracted, a region's blocks are in a function of their own, by which they are known. */
static bool has_block(LLVMValueRef function, LLVMBasicBlockRef block) {
  return LLVMGetBasicBlockParent(block) == function;
}

static bool is_inside(LLVMValueRef function, LLVMValueRef value) {
  return LLVMIsAInstruction(value) && has_block(function, LLVMGetInstructionParent(value));
}

typedef struct values {
  LLVMValueRef *items;
  size_t count;
} values;

static bool has_value(const values *list, LLVMValueRef value) {
  for (size_t i = list->count; i-- > 0;)
    if (list->items[i] == value) return true;
  return false;
}

static void add_value(values *list, LLVMValueRef value) {
  if (has_value(list, value)) return;
  list->items = mw_realloc(list->items, (list->count + 1) * sizeof *list->items);
  list->items[list->count++] = value;
}

typedef struct live_values {
  program *p;
  values in, rematerialised, out; /* rematerialised: each after its operands */
  LLVMBasicBlockRef head;         /* the block that calls the region */
} live_values;

/* Whether the load would have the same value at the region's entry. */
static bool still_holds(const live_values *live, LLVMValueRef load) {
  if (is_marked_invariant(live->p, load)) return true;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(LLVMGetInstructionParent(load));
  if (!LLVMIsABranchInst(end) || LLVMGetNumSuccessors(end) != 1 || LLVMGetSuccessor(end, 0) != live->head) return false;
  for (LLVMValueRef i = load; i != end; i = LLVMGetNextInstruction(i))
    if (!keeps_memory(i)) return false;
  return true;
}

/* `depth`: so many operations may be rematerialised for the value. */
static void add_used(live_values *live, LLVMValueRef value, unsigned depth) {
  if (has_value(&live->in, value) || has_value(&live->rematerialised, value)) return;
  if (!depth || !LLVMIsAInstruction(value) || !is_rematerialisable(value) ||
      (LLVMIsALoadInst(value) && !still_holds(live, value))) {
    add_value(&live->in, value);
    return;
  }
  for (int o = 0; o < LLVMGetNumOperands(value); o++) {
    LLVMValueRef operand = LLVMGetOperand(value, (unsigned)o);
    if (LLVMIsAInstruction(operand) || LLVMIsAArgument(operand)) add_used(live, operand, depth - 1);
  }
  add_value(&live->rematerialised, value);
}

/* The values live into the region, and those live out of it. */
static void find_live(LLVMValueRef isolated, unsigned depth, live_values *live) {
  instructions all = instructions_of_function(isolated);
  for (size_t n = 0; n < all.count; n++) {
    for (int o = 0; o < LLVMGetNumOperands(all.items[n]); o++) {
      LLVMValueRef value = LLVMGetOperand(all.items[n], (unsigned)o);
      if (LLVMIsAArgument(value) || (LLVMIsAInstruction(value) && !is_inside(isolated, value)))
        add_used(live, value, depth);
    }
    for (LLVMUseRef use = LLVMGetFirstUse(all.items[n]); use; use = LLVMGetNextUse(use)) {
      if (is_inside(isolated, LLVMGetUser(use))) continue;
      add_value(&live->out, all.items[n]);
      break;
    }
  }
  free(all.items);
}

/* ---- single entry, single exit ---- */

/* Replace the phi by one whose incoming edges from inside of the region (or from outside) are one edge. */
static void replace_incoming(LLVMValueRef isolated, LLVMValueRef phi, bool inside, LLVMValueRef value,
                             LLVMBasicBlockRef from) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(phi)));
  LLVMPositionBuilderBefore(b, phi);
  LLVMValueRef made = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
  LLVMAddIncoming(made, &value, &from, 1);
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
    LLVMValueRef other = LLVMGetIncomingValue(phi, i);
    if (has_block(isolated, block) == inside) continue;
    if (other == phi) other = made;
    LLVMAddIncoming(made, &other, &block, 1);
  }
  LLVMReplaceAllUsesWith(phi, made);
  LLVMInstructionEraseFromParent(phi);
  LLVMDisposeBuilder(b);
}

/* Redirect the edges into the block from inside of the region (or from outside) to `to`, with phis for their values;
   the block's own phis then have one value for them, on the edge from `as`. */
static void redirect(program *p, LLVMValueRef isolated, LLVMBasicBlockRef block, bool inside, LLVMBasicBlockRef to,
                     LLVMBasicBlockRef as) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(block); LLVMIsAPHINode(i); i = next) {
    next = LLVMGetNextInstruction(i);
    LLVMPositionBuilderAtEnd(b, to);
    LLVMValueRef joined = LLVMBuildPhi(b, LLVMTypeOf(i), "");
    for (unsigned n = 0; n < LLVMCountIncoming(i); n++) {
      LLVMBasicBlockRef from = LLVMGetIncomingBlock(i, n);
      LLVMValueRef value = LLVMGetIncomingValue(i, n);
      if (has_block(isolated, from) == inside) LLVMAddIncoming(joined, &value, &from, 1);
    }
    replace_incoming(isolated, i, inside, joined, as);
  }
  LLVMDisposeBuilder(b);
  for (LLVMUseRef next, use = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); use; use = next) {
    LLVMValueRef end = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    if (is_inside(isolated, end) != inside) continue;
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++)
      if (LLVMGetSuccessor(end, s) == block) LLVMSetSuccessor(end, s, to);
    next = LLVMGetFirstUse(LLVMBasicBlockAsValue(block)); /* the branch may have had several of the uses */
  }
}

/* ---- live values ---- */

/* Masks are passed as integers: vectors of i1 would take a byte for each bit in memory. */
static LLVMTypeRef type_between(program *p, LLVMTypeRef type) {
  if (!is_vector_type(type) || LLVMGetElementType(type) != p->i1) return type;
  return LLVMIntTypeInContext(p->context, LLVMGetVectorSize(type));
}

static bool is_parameter(LLVMTypeRef between) {
  LLVMTypeKind kind = LLVMGetTypeKind(between);
  return kind == LLVMPointerTypeKind || (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(between) <= 64);
}

/* Replace the value by `other` inside of the region, or everywhere else. */
static void replace_uses(LLVMValueRef isolated, bool inside, LLVMValueRef value, LLVMValueRef other) {
  values users = {0};
  size_t room = 0;
  for (LLVMUseRef use = LLVMGetFirstUse(value); use; use = LLVMGetNextUse(use)) {
    if (users.count == room) users.items = mw_realloc(users.items, (room = 2 * room + 8) * sizeof *users.items);
    users.items[users.count++] = LLVMGetUser(use);
  }
  for (size_t i = 0; i < users.count; i++)
    for (int o = 0; is_inside(isolated, users.items[i]) == inside && o < LLVMGetNumOperands(users.items[i]); o++)
      if (LLVMGetOperand(users.items[i], (unsigned)o) == value) LLVMSetOperand(users.items[i], (unsigned)o, other);
  free(users.items);
}

typedef struct transfer {
  program *p;
  LLVMBuilderRef b;
  live_values live;
  LLVMTypeRef *params, record, type; /* record: the values passed in memory, to which parameter 0 points */
  unsigned param_count;
  LLVMValueRef memory;
} transfer;

static void choose_types(transfer *h) {
  size_t count = h->live.in.count + h->live.out.count, fields = 0;
  LLVMTypeRef *types = mw_alloc((count + 1) * sizeof *types);
  h->params = mw_alloc((count + 1) * sizeof *h->params);
  h->params[h->param_count++] = h->p->pointer;
  for (size_t i = 0; i < count; i++) {
    LLVMValueRef value = i < h->live.in.count ? h->live.in.items[i] : h->live.out.items[i - h->live.in.count];
    LLVMTypeRef type = type_between(h->p, LLVMTypeOf(value));
    if (i < h->live.in.count && is_parameter(type))
      h->params[h->param_count++] = type;
    else
      types[fields++] = type;
  }
  h->record = LLVMStructTypeInContext(h->p->context, types, (unsigned)fields, 0);
  h->type = LLVMFunctionType(h->p->void_type, h->params, h->param_count, 0);
  free(types);
}

static LLVMValueRef load_field(transfer *h, LLVMValueRef memory, unsigned n, LLVMTypeRef type) {
  LLVMValueRef at = LLVMBuildStructGEP2(h->b, h->record, memory, n, "");
  LLVMValueRef loaded = LLVMBuildLoad2(h->b, LLVMStructGetTypeAtIndex(h->record, n), at, "");
  return LLVMBuildBitCast(h->b, loaded, type, "");
}

static void store_field(transfer *h, LLVMValueRef memory, unsigned n, LLVMValueRef value) {
  LLVMBuildStore(h->b, value, LLVMBuildStructGEP2(h->b, h->record, memory, n, ""));
}

static LLVMValueRef between(transfer *h, LLVMValueRef value) {
  return LLVMBuildBitCast(h->b, value, type_between(h->p, LLVMTypeOf(value)), "");
}

/* At the end of `head`: call the function, load its live-outs, and branch to the exit. */
static void build_call(transfer *h, const extraction *e, LLVMBasicBlockRef head, LLVMValueRef callee,
                       LLVMMetadataRef scope) {
  LLVMValueRef *arguments = mw_alloc((h->param_count + 1) * sizeof *arguments);
  unsigned count = 0, fields = 0;
  LLVMPositionBuilderAtEnd(h->b, head);
  arguments[count++] = h->memory;
  for (size_t i = 0; i < h->live.in.count; i++) {
    LLVMValueRef value = between(h, h->live.in.items[i]);
    if (is_parameter(LLVMTypeOf(value)))
      arguments[count++] = value;
    else
      store_field(h, h->memory, fields++, value);
  }
  LLVMValueRef call = LLVMBuildCall2(h->b, h->type, callee, arguments, count, "");
  if (scope) LLVMInstructionSetDebugLoc(call, LLVMDIBuilderCreateDebugLocation(h->p->context, e->line, 1, scope, NULL));
  for (size_t i = 0; i < h->live.out.count; i++) {
    LLVMValueRef value = h->live.out.items[i];
    replace_uses(callee, false, value, load_field(h, h->memory, fields++, LLVMTypeOf(value)));
  }
  LLVMBuildBr(h->b, e->exit);
  free(arguments);
}

static LLVMMetadataRef in_scope(program *p, LLVMMetadataRef place, LLVMMetadataRef scope) {
  LLVMMetadataRef around = LLVMDILocationGetInlinedAt(place);
  return LLVMDIBuilderCreateDebugLocation(p->context, LLVMDILocationGetLine(place), LLVMDILocationGetColumn(place),
                                          around ? LLVMDILocationGetScope(place) : scope,
                                          around ? in_scope(p, around, scope) : NULL);
}

/* In `start`, before its branch: read the live-ins, and rematerialise. */
static void receive_values(transfer *h, LLVMBasicBlockRef start, LLVMValueRef function, LLVMMetadataRef scope) {
  const values *in = &h->live.in, *rematerialised = &h->live.rematerialised;
  LLVMValueRef *taken = mw_alloc((in->count + rematerialised->count + 1) * sizeof *taken);
  unsigned count = 1, fields = 0;
  LLVMPositionBuilderBefore(h->b, LLVMGetBasicBlockTerminator(start));
  for (size_t i = 0; i < in->count; i++) {
    LLVMTypeRef type = LLVMTypeOf(in->items[i]);
    taken[i] = is_parameter(type_between(h->p, type))
                   ? LLVMBuildBitCast(h->b, LLVMGetParam(function, count++), type, "")
                   : load_field(h, LLVMGetParam(function, 0), fields++, type);
  }
  /* Clones use the caller's values; these are replaced below, with all others in the region. */ for (size_t i = 0;
                                                                                                      i < rematerialised
                                                                                                              ->count;
                                                                                                      i++) {
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(rematerialised->items[i]);
    taken[in->count + i] = LLVMInstructionClone(rematerialised->items[i]);
    LLVMInsertIntoBuilder(h->b, taken[in->count + i]);
    if (place) LLVMInstructionSetDebugLoc(taken[in->count + i], in_scope(h->p, place, scope));
  }
  for (size_t i = 0; i < in->count; i++) replace_uses(function, true, in->items[i], taken[i]);
  for (size_t i = 0; i < rematerialised->count; i++)
    replace_uses(function, true, rematerialised->items[i], taken[in->count + i]);
  free(taken);
}

static void return_values(transfer *h, LLVMBasicBlockRef end, LLVMValueRef function) {
  unsigned fields = LLVMCountStructElementTypes(h->record) - (unsigned)h->live.out.count;
  LLVMPositionBuilderAtEnd(h->b, end);
  for (size_t i = 0; i < h->live.out.count; i++)
    store_field(h, LLVMGetParam(function, 0), fields++, between(h, h->live.out.items[i]));
  LLVMBuildRetVoid(h->b);
}

/* ---- the function ---- */

static void take_attributes(LLVMValueRef from, LLVMValueRef to) {
  const LLVMAttributeIndex whole = (LLVMAttributeIndex)LLVMAttributeFunctionIndex;
  unsigned count = LLVMGetAttributeCountAtIndex(from, whole);
  LLVMAttributeRef *list = mw_alloc((count + 1) * sizeof(LLVMAttributeRef));
  LLVMGetAttributesAtIndex(from, whole, list);
  for (unsigned i = 0; i < count; i++) LLVMAddAttributeAtIndex(to, whole, list[i]);
  free(list);
}

static void move_block(program *p, LLVMBasicBlockRef block, LLVMValueRef function, LLVMMetadataRef scope) {
  LLVMRemoveBasicBlockFromParent(block);
  LLVMAppendExistingBasicBlock(function, block);
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(i);
    if (place) LLVMInstructionSetDebugLoc(i, in_scope(p, place, scope));
  }
}

/* Moves the region to a function that has nothing else, with a block `start` before it and a block `end` after it;
   `head` is in its place. */
static LLVMValueRef isolate(program *p, const extraction *e, LLVMBasicBlockRef head, LLVMBasicBlockRef *start,
                            LLVMBasicBlockRef *end) {
  LLVMValueRef isolated = LLVMAddFunction(p->module, "isolated", LLVMFunctionType(p->void_type, NULL, 0, 0));
  *start = LLVMAppendBasicBlockInContext(p->context, isolated, "start");
  for (size_t n = 0; n < e->count; n++) move_block(p, e->blocks[n], isolated, e->scope);
  *end = LLVMAppendBasicBlockInContext(p->context, isolated, "end");
  redirect(p, isolated, e->entry, false, head, *start);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderAtEnd(b, *start);
  LLVMBuildBr(b, e->entry);
  LLVMDisposeBuilder(b);
  redirect(p, isolated, e->exit, true, *end, head);
  return isolated;
}

static void move_all(LLVMValueRef from, LLVMValueRef to) {
  for (LLVMBasicBlockRef block; (block = LLVMGetFirstBasicBlock(from));) {
    LLVMRemoveBasicBlockFromParent(block);
    LLVMAppendExistingBasicBlock(to, block);
  }
}

LLVMValueRef extract_region(program *p, LLVMValueRef from, extraction *e) {
  transfer h = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(p->context, from, "outlined"), start, end;
  LLVMValueRef isolated = isolate(p, e, head, &start, &end);
  h.live.p = p, h.live.head = head;
  find_live(isolated, e->depth, &h.live);
  choose_types(&h);
  LLVMPositionBuilderBefore(h.b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(from)));
  h.memory = LLVMBuildAlloca(h.b, h.record, "between");
  LLVMValueRef function = LLVMAddFunction(p->module, e->name, h.type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  take_attributes(from, function);
  add_attribute(p, function, "noinline");
  LLVMSetSubprogram(function, e->scope);
  move_all(isolated, function);
  LLVMDeleteFunction(isolated);
  receive_values(&h, start, function, e->scope);
  return_values(&h, end, function);
  build_call(&h, e, head, function, LLVMGetSubprogram(from));
  LLVMDisposeBuilder(h.b);
  free(h.params), free(h.live.in.items), free(h.live.rematerialised.items), free(h.live.out.items);
  return function;
}

static LLVMValueRef extract(program *p, const kernel *k, LLVMValueRef from, const cfg *g, const region *r) {
  char *name = mw_format("outlined.%s", k->linkage);
  extraction e = {.blocks = mw_alloc((size_t)(g->count + 1) * sizeof *e.blocks),
                  .entry = g->blocks[r->entry],
                  .exit = g->blocks[r->exit],
                  .name = name,
                  .scope = k->outlined_scope,
                  .line = (unsigned)k->line,
                  .depth = UINT_MAX};
  for (int n = 0; n < g->count; n++)
    if (r->has[n]) e.blocks[e.count++] = g->blocks[n];
  LLVMValueRef function = extract_region(p, from, &e);
  free(e.blocks), free(name);
  return function;
}

LLVMValueRef outline_region(program *p, const kernel *k, LLVMValueRef from) {
  cfg g;
  region best = {0};
  LLVMValueRef taken = NULL;
  if (!k->outlined_scope) return NULL;
  if (choose_region(from, &g, &best) || choose_half(p, from, &g, &best)) taken = extract(p, k, from, &g, &best);
  free(g.blocks);
  free(best.has);
  verify_module(p, "outlining");
  return taken;
}
