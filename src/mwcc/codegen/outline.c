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

#include <stdlib.h>

static bool is_inside(const cfg *g, const region *r, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return false;
  int n = number_of(g, LLVMGetInstructionParent(value));
  return n >= 0 && r->has[n];
}

typedef struct values {
  LLVMValueRef *items;
  size_t count;
} values;

static bool has_value(const values *list, LLVMValueRef value) {
  for (size_t i = 0; i < list->count; i++)
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
  values in, again, out;  /* again: rematerialised, each after its operands */
  LLVMBasicBlockRef head; /* the block that calls the region */
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

static void add_used(live_values *live, LLVMValueRef value) {
  if (has_value(&live->in, value) || has_value(&live->again, value)) return;
  if (!LLVMIsAInstruction(value) || !is_rematerialisable(value) ||
      (LLVMIsALoadInst(value) && !still_holds(live, value))) {
    add_value(&live->in, value);
    return;
  }
  for (int o = 0; o < LLVMGetNumOperands(value); o++) {
    LLVMValueRef operand = LLVMGetOperand(value, (unsigned)o);
    if (LLVMIsAInstruction(operand) || LLVMIsAArgument(operand)) add_used(live, operand);
  }
  add_value(&live->again, value);
}

/* The values live into the region, and those live out of it. */
static void find_live(const cfg *g, const region *r, live_values *live) {
  for (int n = 0; n < g->count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(g->blocks[n]); i; i = LLVMGetNextInstruction(i))
      for (int o = 0; o < LLVMGetNumOperands(i); o++) {
        LLVMValueRef value = LLVMGetOperand(i, (unsigned)o);
        if (!is_from_elsewhere(value, g->blocks[n])) continue;
        bool made = is_inside(g, r, value);
        if (r->has[n] && !made) add_used(live, value);
        if (!r->has[n] && made) add_value(&live->out, value);
      }
}

/* ---- single entry, single exit ---- */

/* Replace the phi by one in which the incoming edges from inside of the region (or from outside) are a single edge. */
static void replace_incoming(const cfg *g, const region *r, LLVMValueRef phi, bool inside, LLVMValueRef value,
                             LLVMBasicBlockRef from) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(LLVMGetTypeContext(LLVMTypeOf(phi)));
  LLVMPositionBuilderBefore(b, phi);
  LLVMValueRef made = LLVMBuildPhi(b, LLVMTypeOf(phi), "");
  LLVMAddIncoming(made, &value, &from, 1);
  for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
    LLVMBasicBlockRef block = LLVMGetIncomingBlock(phi, i);
    LLVMValueRef other = LLVMGetIncomingValue(phi, i);
    if (r->has[number_of(g, block)] == inside) continue;
    if (other == phi) other = made;
    LLVMAddIncoming(made, &other, &block, 1);
  }
  LLVMReplaceAllUsesWith(phi, made);
  LLVMInstructionEraseFromParent(phi);
  LLVMDisposeBuilder(b);
}

/* Redirect the edges into the block from inside of the region (or from outside) to `to`, with phis for their values;
   the block's own phis then have one value for them, on the edge from `as`. */
static void redirect(program *p, const cfg *g, const region *r, int block, bool inside, LLVMBasicBlockRef to,
                     LLVMBasicBlockRef as) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  for (LLVMValueRef next, i = LLVMGetFirstInstruction(g->blocks[block]); LLVMIsAPHINode(i); i = next) {
    next = LLVMGetNextInstruction(i);
    LLVMPositionBuilderAtEnd(b, to);
    LLVMValueRef joined = LLVMBuildPhi(b, LLVMTypeOf(i), "");
    for (unsigned n = 0; n < LLVMCountIncoming(i); n++) {
      LLVMBasicBlockRef from = LLVMGetIncomingBlock(i, n);
      LLVMValueRef value = LLVMGetIncomingValue(i, n);
      if (r->has[number_of(g, from)] == inside) LLVMAddIncoming(joined, &value, &from, 1);
    }
    replace_incoming(g, r, i, inside, joined, as);
  }
  LLVMDisposeBuilder(b);
  for (int n = 0; n < g->count; n++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(g->blocks[n]);
    for (unsigned s = 0; r->has[n] == inside && s < LLVMGetNumSuccessors(end); s++)
      if (LLVMGetSuccessor(end, s) == g->blocks[block]) LLVMSetSuccessor(end, s, to);
  }
}

static void add_block(cfg *g, region *r, LLVMBasicBlockRef block, bool inside) {
  size_t room = (size_t)g->count + 2;
  g->blocks = mw_realloc(g->blocks, room * sizeof *g->blocks);
  r->has = mw_realloc(r->has, room);
  g->blocks[g->count] = block;
  r->has[g->count++] = inside;
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
static void use_instead(const cfg *g, const region *r, bool inside, LLVMValueRef value, LLVMValueRef other) {
  for (LLVMUseRef next, use = LLVMGetFirstUse(value); use; use = next) {
    LLVMValueRef user = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    if (is_inside(g, r, user) != inside) continue;
    for (int o = 0; o < LLVMGetNumOperands(user); o++)
      if (LLVMGetOperand(user, (unsigned)o) == value) LLVMSetOperand(user, (unsigned)o, other);
    next = LLVMGetFirstUse(value); /* the user may have had several of the uses */
  }
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
static void build_call(transfer *h, const cfg *g, const region *r, LLVMBasicBlockRef head, LLVMValueRef callee,
                       LLVMMetadataRef scope, unsigned line) {
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
  LLVMInstructionSetDebugLoc(call, LLVMDIBuilderCreateDebugLocation(h->p->context, line, 1, scope, NULL));
  for (size_t i = 0; i < h->live.out.count; i++) {
    LLVMValueRef value = h->live.out.items[i];
    use_instead(g, r, false, value, load_field(h, h->memory, fields++, LLVMTypeOf(value)));
  }
  LLVMBuildBr(h->b, g->blocks[r->exit]);
  free(arguments);
}

static LLVMMetadataRef in_scope(program *p, LLVMMetadataRef place, LLVMMetadataRef scope) {
  LLVMMetadataRef around = LLVMDILocationGetInlinedAt(place);
  return LLVMDIBuilderCreateDebugLocation(p->context, LLVMDILocationGetLine(place), LLVMDILocationGetColumn(place),
                                          around ? LLVMDILocationGetScope(place) : scope,
                                          around ? in_scope(p, around, scope) : NULL);
}

/* In `start`, before its branch: read the live-ins, and rematerialise. */
static void receive_values(transfer *h, const cfg *g, const region *r, LLVMBasicBlockRef start, LLVMValueRef function,
                           LLVMMetadataRef scope) {
  const values *in = &h->live.in, *again = &h->live.again;
  LLVMValueRef *taken = mw_alloc((in->count + again->count + 1) * sizeof *taken);
  unsigned count = 1, fields = 0;
  LLVMPositionBuilderBefore(h->b, LLVMGetBasicBlockTerminator(start));
  for (size_t i = 0; i < in->count; i++) {
    LLVMTypeRef type = LLVMTypeOf(in->items[i]);
    taken[i] = is_parameter(type_between(h->p, type))
                   ? LLVMBuildBitCast(h->b, LLVMGetParam(function, count++), type, "")
                   : load_field(h, LLVMGetParam(function, 0), fields++, type);
  }
  /* Clones use the caller's values; these are replaced below, with all others in the region. */
  for (size_t i = 0; i < again->count; i++) {
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(again->items[i]);
    taken[in->count + i] = LLVMInstructionClone(again->items[i]);
    LLVMInsertIntoBuilder(h->b, taken[in->count + i]);
    if (place) LLVMInstructionSetDebugLoc(taken[in->count + i], in_scope(h->p, place, scope));
  }
  for (size_t i = 0; i < in->count; i++) use_instead(g, r, true, in->items[i], taken[i]);
  for (size_t i = 0; i < again->count; i++) use_instead(g, r, true, again->items[i], taken[in->count + i]);
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

static LLVMValueRef extract(program *p, const kernel *k, LLVMValueRef from, cfg *g, region *r) {
  transfer h = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(p->context, from, "outlined"),
                    start = LLVMAppendBasicBlockInContext(p->context, from, "start"),
                    end = LLVMAppendBasicBlockInContext(p->context, from, "end");
  redirect(p, g, r, r->entry, false, head, start);
  LLVMPositionBuilderAtEnd(h.b, start);
  LLVMBuildBr(h.b, g->blocks[r->entry]);
  redirect(p, g, r, r->exit, true, end, head);
  add_block(g, r, head, false);
  add_block(g, r, start, true);
  add_block(g, r, end, true);
  h.live.p = p, h.live.head = head;
  find_live(g, r, &h.live);
  choose_types(&h);
  LLVMPositionBuilderBefore(h.b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(from)));
  h.memory = LLVMBuildAlloca(h.b, h.record, "between");
  char *name = mw_format("outlined.%s", k->linkage);
  LLVMValueRef function = LLVMAddFunction(p->module, name, h.type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  take_attributes(from, function);
  add_attribute(p, function, "noinline");
  LLVMSetSubprogram(function, k->outlined_scope);
  move_block(p, start, function, k->outlined_scope);
  for (int n = 0; n < g->count; n++)
    if (r->has[n] && g->blocks[n] != start) move_block(p, g->blocks[n], function, k->outlined_scope);
  receive_values(&h, g, r, start, function, k->outlined_scope);
  return_values(&h, end, function);
  build_call(&h, g, r, head, function, LLVMGetSubprogram(from), (unsigned)k->line);
  LLVMDisposeBuilder(h.b);
  free(name), free(h.params), free(h.live.in.items), free(h.live.again.items), free(h.live.out.items);
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
