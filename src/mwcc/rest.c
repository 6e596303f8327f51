/* A part of a large function as a function of its own: code for it is generated beside the rest's (shares.c).
 *
 * What is taken out has one way in and one way out, and is run at most once for each block of the launch: what it costs to
 * hand over values by way of memory is little there. The caller keeps what lies before and behind. */
#include "simt.h"

#include <stdlib.h>
#include <string.h>

#define LEAST     600 /* instructions that a function has to have */
#define HALF      250 /* and each part of it */
#define MOST_LIVE 16  /* values that are handed over, one way or the other */
#define DEAR      8   /* instructions that one of them costs, in the choice of where to cut */
#define COPYING   100 /* and what the copy of the module costs */

typedef struct cfg {
  LLVMBasicBlockRef *blocks;
  size_t *weights, total;
  int count;
} cfg;

/* ---- the function's blocks as a graph ---- */

static int number_of(const cfg *g, LLVMBasicBlockRef block) {
  for (int n = 0; n < g->count; n++)
    if (g->blocks[n] == block) return n;
  return -1;
}

static int successors(const void *context, int n, int out[2]) {
  const cfg *g = context;
  LLVMValueRef end = LLVMGetBasicBlockTerminator(g->blocks[n]);
  int count = (int)LLVMGetNumSuccessors(end);
  for (int i = 0; i < count; i++) out[i] = number_of(g, LLVMGetSuccessor(end, (unsigned)i));
  return count;
}

/* Fails where a block ends in another way than a branch or a return. */
static bool read_blocks(LLVMValueRef function, cfg *g) {
  g->count = (int)LLVMCountBasicBlocks(function);
  g->blocks = mw_alloc((size_t)(g->count + 1) * sizeof *g->blocks);
  g->weights = mw_alloc((size_t)(g->count + 1) * sizeof *g->weights);
  LLVMGetBasicBlocks(function, g->blocks);
  for (int n = 0; n < g->count; n++) {
    LLVMValueRef end = LLVMGetBasicBlockTerminator(g->blocks[n]);
    if (!LLVMIsABranchInst(end) && !LLVMIsAReturnInst(end)) return false;
    for (LLVMValueRef i = LLVMGetFirstInstruction(g->blocks[n]); i; i = LLVMGetNextInstruction(i)) g->weights[n]++;
    g->total += g->weights[n];
  }
  return true;
}

/* ---- which part ---- */

typedef struct part {
  bool *has; /* by block */
  size_t weight, live;
  int entry, exit; /* exit is the first block behind it */
} part;

/* What is reached from the entry without passing the exit; false if it can be entered elsewhere. */
static bool fill(const cfg *g, const order *o, part *r) {
  int depth = 0, *stack = mw_alloc((size_t)(2 * g->count + 2) * sizeof *stack), succs[2];
  bool good = true;
  memset(r->has, 0, (size_t)g->count);
  r->weight = 0;
  stack[depth++] = r->entry;
  while (depth && good) {
    int n = stack[--depth];
    if (r->has[n] || n == r->exit) continue;
    r->has[n] = true;
    r->weight += g->weights[n];
    good = dominates(o, r->entry, n);
    for (int i = successors(g, n, succs); i-- > 0;) stack[depth++] = succs[i];
  }
  free(stack);
  return good;
}

static bool is_local(LLVMValueRef value) { return LLVMIsAInstruction(value) || LLVMIsAArgument(value); }

static bool is_inside(const cfg *g, const part *r, LLVMValueRef value) {
  if (!LLVMIsAInstruction(value)) return false;
  int n = number_of(g, LLVMGetInstructionParent(value));
  return n >= 0 && r->has[n];
}

typedef struct values {
  LLVMValueRef *items;
  size_t count;
} values;

static void add_value(values *list, LLVMValueRef value) {
  for (size_t i = 0; i < list->count; i++)
    if (list->items[i] == value) return;
  list->items = mw_realloc(list->items, (list->count + 1) * sizeof *list->items);
  list->items[list->count++] = value;
}

/* What the part uses and does not make, and what it makes and others use. */
static void find_live(const cfg *g, const part *r, values *in, values *out) {
  for (int n = 0; n < g->count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(g->blocks[n]); i; i = LLVMGetNextInstruction(i))
      for (int o = 0; o < LLVMGetNumOperands(i); o++) {
        LLVMValueRef value = LLVMGetOperand(i, (unsigned)o);
        if (LLVMValueIsBasicBlock(value) || !is_local(value)) continue;
        bool made = is_inside(g, r, value);
        if (r->has[n] && !made) add_value(in, value);
        if (!r->has[n] && made) add_value(out, value);
      }
}

/* A local array made inside would be one more each time. */
static bool makes_arrays(const cfg *g, const part *r) {
  for (int n = 0; n < g->count; n++)
    for (LLVMValueRef i = LLVMGetFirstInstruction(g->blocks[n]); r->has[n] && i; i = LLVMGetNextInstruction(i))
      if (LLVMIsAAllocaInst(i)) return true;
  return false;
}

static size_t count_live(const cfg *g, const part *r) {
  values in = {0}, out = {0};
  find_live(g, r, &in, &out);
  free(in.items);
  free(out.items);
  return in.count + out.count;
}

/* When the later of the two is done. */
static size_t length_of(const cfg *g, const part *r) {
  size_t rest = g->total - r->weight, taken = r->weight + COPYING;
  return (rest > taken ? rest : taken) + DEAR * r->live;
}

/* The loop that who comes to the node for the first time is in already; -1: none. */
static int loop_around(const order *o, int n) {
  int l = o->innermost[n];
  return l >= 0 && o->loops[l].header == n ? o->loops[l].parent : l;
}

/* The best part, if any is worth it. */
static bool choose_part(const cfg *g, const order *o, part *best) {
  part r = {.has = mw_alloc((size_t)g->count + 1)};
  size_t least = g->total - g->total / 8;
  bool found = false;
  for (int n = 1; n < g->count; n++) {
    int around = loop_around(o, n);
    if (o->index[n] < 0 || (around >= 0 && o->loops[around].depth > 1)) continue;
    for (int exit = o->ipdom[n]; exit >= 0; exit = o->ipdom[exit]) {
      r.entry = n, r.exit = exit;
      if (loop_around(o, exit) != around) continue;
      if (!fill(g, o, &r)) break;
      if (r.weight < HALF || g->total - r.weight < HALF) continue;
      r.live = 0;
      if (length_of(g, &r) >= least) continue;
      r.live = count_live(g, &r);
      if (r.live > MOST_LIVE || length_of(g, &r) >= least || makes_arrays(g, &r)) continue;
      least = length_of(g, &r), found = true;
      memcpy(best->has, r.has, (size_t)g->count);
      best->weight = r.weight, best->live = r.live, best->entry = n, best->exit = exit;
    }
  }
  free(r.has);
  return found;
}

/* ---- one way in, one way out ---- */

/* The phi anew, with what it takes from blocks of the part, or from the others, replaced by one value from one block. */
static void replace_incoming(const cfg *g, const part *r, LLVMValueRef phi, bool inside, LLVMValueRef value,
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

/* Edges into the block from the part, or from outside of it, lead to `to`, which takes over what phis do with them; the
   block's own phis have one value instead, from `as`. */
static void redirect(program *p, const cfg *g, const part *r, int block, bool inside, LLVMBasicBlockRef to,
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

static void add_block(cfg *g, part *r, LLVMBasicBlockRef block, bool inside) {
  size_t room = (size_t)g->count + 2;
  g->blocks = mw_realloc(g->blocks, room * sizeof *g->blocks);
  r->has = mw_realloc(r->has, room);
  g->blocks[g->count] = block;
  r->has[g->count++] = inside;
}

/* ---- values that are handed over ---- */

/* As a number of so many bits: masks of lanes are one in a register, and in memory a byte for each bit. */
static LLVMTypeRef type_between(program *p, LLVMTypeRef type) {
  if (LLVMGetTypeKind(type) != LLVMVectorTypeKind || LLVMGetElementType(type) != p->i1) return type;
  return LLVMIntTypeInContext(p->context, LLVMGetVectorSize(type));
}

static bool is_parameter(LLVMTypeRef between) {
  LLVMTypeKind kind = LLVMGetTypeKind(between);
  return kind == LLVMPointerTypeKind || (kind == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(between) <= 64);
}

/* In the part, or everywhere else, `other` instead of the value. */
static void use_instead(const cfg *g, const part *r, bool inside, LLVMValueRef value, LLVMValueRef other) {
  for (LLVMUseRef next, use = LLVMGetFirstUse(value); use; use = next) {
    LLVMValueRef user = LLVMGetUser(use);
    next = LLVMGetNextUse(use);
    if (is_inside(g, r, user) != inside) continue;
    for (int o = 0; o < LLVMGetNumOperands(user); o++)
      if (LLVMGetOperand(user, (unsigned)o) == value) LLVMSetOperand(user, (unsigned)o, other);
    next = LLVMGetFirstUse(value); /* several of them may have been the user's */
  }
}

typedef struct handing {
  program *p;
  LLVMBuilderRef b;
  values in, out;
  LLVMTypeRef *params, record, type; /* record: what is no parameter, in memory; parameter 0 points there */
  unsigned param_count;
  LLVMValueRef memory;
} handing;

static void choose_types(handing *h) {
  size_t count = h->in.count + h->out.count, fields = 0;
  LLVMTypeRef *types = mw_alloc((count + 1) * sizeof *types);
  h->params = mw_alloc((count + 1) * sizeof *h->params);
  h->params[h->param_count++] = h->p->pointer;
  for (size_t i = 0; i < count; i++) {
    LLVMValueRef value = i < h->in.count ? h->in.items[i] : h->out.items[i - h->in.count];
    LLVMTypeRef type = type_between(h->p, LLVMTypeOf(value));
    if (i < h->in.count && is_parameter(type))
      h->params[h->param_count++] = type;
    else
      types[fields++] = type;
  }
  h->record = LLVMStructTypeInContext(h->p->context, types, (unsigned)fields, 0);
  h->type = LLVMFunctionType(h->p->void_type, h->params, h->param_count, 0);
  free(types);
}

static LLVMValueRef load_field(handing *h, LLVMValueRef memory, unsigned n, LLVMTypeRef type) {
  LLVMValueRef at = LLVMBuildStructGEP2(h->b, h->record, memory, n, "");
  LLVMValueRef loaded = LLVMBuildLoad2(h->b, LLVMStructGetTypeAtIndex(h->record, n), at, "");
  return LLVMBuildBitCast(h->b, loaded, type, "");
}

static void store_field(handing *h, LLVMValueRef memory, unsigned n, LLVMValueRef value) {
  LLVMBuildStore(h->b, value, LLVMBuildStructGEP2(h->b, h->record, memory, n, ""));
}

static LLVMValueRef between(handing *h, LLVMValueRef value) {
  return LLVMBuildBitCast(h->b, value, type_between(h->p, LLVMTypeOf(value)), "");
}

/* At the end of `head`: the function is called, and what it made is there. Ends with a branch to the exit. */
static void build_call(handing *h, const cfg *g, const part *r, LLVMBasicBlockRef head, LLVMValueRef callee,
                       LLVMMetadataRef scope, unsigned line) {
  LLVMValueRef *arguments = mw_alloc((h->param_count + 1) * sizeof *arguments);
  unsigned count = 0, fields = 0;
  LLVMPositionBuilderAtEnd(h->b, head);
  arguments[count++] = h->memory;
  for (size_t i = 0; i < h->in.count; i++) {
    LLVMValueRef value = between(h, h->in.items[i]);
    if (is_parameter(LLVMTypeOf(value)))
      arguments[count++] = value;
    else
      store_field(h, h->memory, fields++, value);
  }
  LLVMValueRef call = LLVMBuildCall2(h->b, h->type, callee, arguments, count, "");
  LLVMInstructionSetDebugLoc(call, LLVMDIBuilderCreateDebugLocation(h->p->context, line, 1, scope, NULL));
  for (size_t i = 0; i < h->out.count; i++) {
    LLVMValueRef value = h->out.items[i];
    use_instead(g, r, false, value, load_field(h, h->memory, fields++, LLVMTypeOf(value)));
  }
  LLVMBuildBr(h->b, g->blocks[r->exit]);
  free(arguments);
}

/* In `start`, before its branch. */
static void take_over(handing *h, const cfg *g, const part *r, LLVMBasicBlockRef start, LLVMValueRef function) {
  unsigned count = 1, fields = 0;
  LLVMPositionBuilderBefore(h->b, LLVMGetBasicBlockTerminator(start));
  for (size_t i = 0; i < h->in.count; i++) {
    LLVMTypeRef type = LLVMTypeOf(h->in.items[i]);
    LLVMValueRef value = is_parameter(type_between(h->p, type))
                             ? LLVMBuildBitCast(h->b, LLVMGetParam(function, count++), type, "")
                             : load_field(h, LLVMGetParam(function, 0), fields++, type);
    use_instead(g, r, true, h->in.items[i], value);
  }
}

static void hand_back(handing *h, LLVMBasicBlockRef end, LLVMValueRef function) {
  unsigned fields = LLVMCountStructElementTypes(h->record) - (unsigned)h->out.count;
  LLVMPositionBuilderAtEnd(h->b, end);
  for (size_t i = 0; i < h->out.count; i++)
    store_field(h, LLVMGetParam(function, 0), fields++, between(h, h->out.items[i]));
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

static LLVMMetadataRef in_scope(program *p, LLVMMetadataRef place, LLVMMetadataRef scope) {
  LLVMMetadataRef around = LLVMDILocationGetInlinedAt(place);
  return LLVMDIBuilderCreateDebugLocation(p->context, LLVMDILocationGetLine(place), LLVMDILocationGetColumn(place),
                                          around ? LLVMDILocationGetScope(place) : scope,
                                          around ? in_scope(p, around, scope) : NULL);
}

static void move_block(program *p, LLVMBasicBlockRef block, LLVMValueRef function, LLVMMetadataRef scope) {
  LLVMRemoveBasicBlockFromParent(block);
  LLVMAppendExistingBasicBlock(function, block);
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) {
    LLVMMetadataRef place = LLVMInstructionGetDebugLoc(i);
    if (place) LLVMInstructionSetDebugLoc(i, in_scope(p, place, scope));
  }
}

static LLVMValueRef take_out(program *p, const kernel *k, LLVMValueRef from, cfg *g, part *r) {
  handing h = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  LLVMBasicBlockRef head = LLVMAppendBasicBlockInContext(p->context, from, "rest"),
                    start = LLVMAppendBasicBlockInContext(p->context, from, "start"),
                    end = LLVMAppendBasicBlockInContext(p->context, from, "end");
  redirect(p, g, r, r->entry, false, head, start);
  LLVMPositionBuilderAtEnd(h.b, start);
  LLVMBuildBr(h.b, g->blocks[r->entry]);
  redirect(p, g, r, r->exit, true, end, head);
  add_block(g, r, head, false);
  add_block(g, r, start, true);
  add_block(g, r, end, true);
  find_live(g, r, &h.in, &h.out);
  choose_types(&h);
  LLVMPositionBuilderBefore(h.b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(from)));
  h.memory = LLVMBuildAlloca(h.b, h.record, "between");
  char *name = mw_format("rest.%s", k->linkage);
  LLVMValueRef function = LLVMAddFunction(p->module, name, h.type);
  LLVMSetLinkage(function, LLVMInternalLinkage);
  take_attributes(from, function);
  add_attribute(p, function, "noinline");
  LLVMSetSubprogram(function, k->rest_scope);
  move_block(p, start, function, k->rest_scope);
  for (int n = 0; n < g->count; n++)
    if (r->has[n] && g->blocks[n] != start) move_block(p, g->blocks[n], function, k->rest_scope);
  take_over(&h, g, r, start, function);
  hand_back(&h, end, function);
  build_call(&h, g, r, head, function, LLVMGetSubprogram(from), (unsigned)k->line);
  LLVMDisposeBuilder(h.b);
  free(name), free(h.params), free(h.in.items), free(h.out.items);
  return function;
}

LLVMValueRef take_rest(program *p, const kernel *k, LLVMValueRef from) {
  cfg g = {0};
  LLVMValueRef taken = NULL;
  if (k->rest_scope && read_blocks(from, &g) && g.total >= LEAST) {
    flow f = {.count = g.count, .entry = 0, .succs = successors, .context = &g};
    order o = order_of(&f);
    part best = {.has = mw_alloc((size_t)g.count + 1)};
    if (choose_part(&g, &o, &best)) taken = take_out(p, k, from, &g, &best);
    order_free(&o);
    free(best.has);
  }
  free(g.blocks);
  free(g.weights);
  verify_module(p, "taking a function apart");
  return taken;
}
