/* Block packing: small blocks side by side share a gang.
 *
 * A block of one, two or four threads leaves most lanes of a register unused. Where the threads of a grid's blocks are
 * independent, the lanes can belong to several blocks; then blockIdx.x differs between lanes. Code for one block size
 * has two block functions in this case: the packed one for as many whole packs as there are among the blocks of a row
 * that a worker was given, and the usual one, block by block, for what is left of the row.
 *
 * The kernel's body becomes that of a block which is wider by the factor PACK. With t for the wider block's threadIdx.x
 * and b for the pack's first block,
 *
 *   blockIdx.x = b + t / blockDim.x        threadIdx.x = t % blockDim.x
 *   blockIdx.x * blockDim.x + threadIdx.x = b * blockDim.x + t
 *
 * and blockDim is the constant that it was. So each thread computes from the same ids, in the same order, and a pack
 * has all the threads of its blocks and no others. Blocks cannot observe that they run together: they may run in any
 * order, and have no barrier, warp function, shared memory, or call that knows the block. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/read/read.h"
#include "mwcc/target/target.h"
#include "mwcc/widen/widen.h"

#include <stdlib.h>
#include <string.h>

enum { VECTORS = 4 /* of a pack's row */, FEW_THREADS = 4, MOST_THREADS = 16 };

#define BLOCK_ID  "llvm.nvvm.read.ptx.sreg.ctaid.x"
#define THREAD_ID "llvm.nvvm.read.ptx.sreg.tid.x"

/* ---- which kernels ---- */

static bool is_call_of(LLVMValueRef i, const char *name) {
  return LLVMIsACallInst(i) && strcmp(callee_name(i), name) == 0;
}

static bool is_independent(LLVMValueRef i) {
  return LLVMIsATerminatorInst(i) || LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i) || LLVMIsAPHINode(i) ||
         LLVMIsAAllocaInst(i) || is_alone(i);
}

static bool is_used_outside(const program *p, const char *id, LLVMValueRef body) {
  LLVMValueRef f = LLVMGetNamedFunction(p->module, id);
  for (LLVMUseRef use = f ? LLVMGetFirstUse(f) : NULL; use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!LLVMIsAInstruction(user) || LLVMGetBasicBlockParent(LLVMGetInstructionParent(user)) != body) return true;
  }
  return false;
}

static bool is_power(unsigned n) { return n && !(n & (n - 1)); }

bool can_pack_blocks(const program *p, const kernel *k, int lanes) {
  const options *o = p->options;
  const unsigned *block = p->block;
  if (!has_pass(p, PASS_BLOCK_PACKING) || !o->launch_kernel || o->launch_one || o->width) return false;
  if (p->turned || p->merged > 1 || p->gangs > 1 || !is_power(block[0]) || block[0] >= (unsigned)lanes) return false;
  if (block[0] * block[1] * block[2] > MOST_THREADS) return false;
  if (!k->any_order || k->waits || k->sees_warp || k->shared_bytes || k->dynamic_shared || k->iterations_end ||
      k->saves_state || k->reads_rows_in_place || k->reads_tiles_in_place)
    return false;
  bool good = !is_used_outside(p, BLOCK_ID, k->body) && !is_used_outside(p, THREAD_ID, k->body);
  instructions code = instructions_of_function(k->body);
  for (size_t i = 0; i < code.count && good; i++) good = is_independent(code.items[i]);
  free(code.items);
  return good;
}

/* ---- the body of a pack ---- */

typedef struct packing {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef first, thread; /* the pack's first blockIdx.x; threadIdx.x in the pack */
} packing;

static LLVMValueRef id(const packing *x, const char *name) {
  unsigned number = LLVMLookupIntrinsicID(name, strlen(name));
  LLVMValueRef f = LLVMGetIntrinsicDeclaration(x->p->module, number, NULL, 0);
  return LLVMBuildCall2(x->b, LLVMGlobalGetValueType(f), f, NULL, 0, "");
}

/* The value with the pack's ids in place of the block's: extensions and products of an id. */
static LLVMValueRef of_pack(const packing *x, LLVMValueRef value) {
  if (is_call_of(value, BLOCK_ID)) return x->first;
  if (is_call_of(value, THREAD_ID)) return x->thread;
  LLVMValueRef copy = LLVMInstructionClone(value);
  LLVMSetOperand(copy, 0, of_pack(x, LLVMGetOperand(value, 0)));
  LLVMInsertIntoBuilder(x->b, copy);
  return copy;
}

/* b * blockDim.x + t */
static void replace_index(const packing *x, LLVMValueRef index) {
  LLVMPositionBuilderBefore(x->b, index);
  LLVMValueRef left = of_pack(x, LLVMGetOperand(index, 0)), right = of_pack(x, LLVMGetOperand(index, 1));
  LLVMValueRef sum = LLVMBuildAdd(x->b, left, right, "");
  if (LLVMIsAInstruction(sum) && LLVMGetInstructionOpcode(index) == LLVMAdd) {
    LLVMSetNSW(sum, LLVMGetNSW(index));
    LLVMSetNUW(sum, LLVMGetNUW(index));
  }
  LLVMReplaceAllUsesWith(index, sum);
  LLVMInstructionEraseFromParent(index);
}

static void replace_id(const instructions *code, const char *name, LLVMValueRef by) {
  for (size_t i = 0; i < code->count; i++)
    if (code->items[i] && is_call_of(code->items[i], name)) LLVMReplaceAllUsesWith(code->items[i], by);
}

static void set_range(const packing *x, unsigned end_of_range) {
  unsigned kind = LLVMGetEnumAttributeKindForName("range", 5);
  LLVMValueRef f = LLVMGetNamedFunction(x->p->module, THREAD_ID);
  uint64_t low = 0, end = end_of_range;
  LLVMRemoveEnumAttributeAtIndex(f, LLVMAttributeReturnIndex, kind);
  LLVMAddAttributeAtIndex(f, LLVMAttributeReturnIndex,
                          LLVMCreateConstantRangeAttribute(x->p->context, kind, 32, &low, &end));
}

static LLVMValueRef after_allocas(LLVMValueRef body) {
  LLVMValueRef at = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(body));
  while (LLVMIsAAllocaInst(at)) at = LLVMGetNextInstruction(at);
  return at;
}

static void pack_body(program *p, LLVMValueRef body, unsigned pack) {
  packing x = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  unsigned width = p->block[0], shift = 0;
  while (1u << shift < width) shift++;
  instructions code = instructions_of_function(body);
  LLVMPositionBuilderBefore(x.b, after_allocas(body));
  x.first = id(&x, BLOCK_ID);
  x.thread = id(&x, THREAD_ID);
  LLVMValueRef block = LLVMBuildLShr(x.b, x.thread, constant_i32(p, shift), "");
  block = LLVMBuildNUWAdd(x.b, x.first, shift ? block : x.thread, "");
  LLVMSetNSW(block, 1);
  LLVMValueRef thread = LLVMBuildAnd(x.b, x.thread, constant_i32(p, width - 1), "");
  for (size_t i = 0; i < code.count; i++) {
    if (!is_grid_index(p, code.items[i])) continue;
    replace_index(&x, code.items[i]);
    code.items[i] = NULL;
  }
  replace_id(&code, BLOCK_ID, block);
  replace_id(&code, THREAD_ID, thread);
  set_range(&x, width * pack);
  free(code.items);
  LLVMDisposeBuilder(x.b);
}

unsigned begin_packing(program *p, kernel *k, int lanes) {
  unsigned pack = (unsigned)lanes * VECTORS / p->block[0]; /* a power of two */
  pack_body(p, k->body, pack);
  p->block[0] *= pack;
  p->packed = pack;
  return pack;
}

/* The code for single blocks remains k->variants[0]. */
void end_packing(program *p) {
  p->block[0] /= p->packed;
  p->packed = 1;
}

/* ---- whether it pays ---- */

int count_gathers(const shapes *s) {
  int count = 0;
  for (int i = 0; i < s->graph->value_count; i++) {
    LLVMValueRef value = s->graph->values[i];
    bool loads = LLVMIsALoadInst(value), stores = LLVMIsAStoreInst(value);
    if (loads || stores) count += shape_of(s, LLVMGetOperand(value, loads ? 0 : 1)).kind == SHAPE_VARYING;
  }
  return count;
}

/* With four threads at most, a register is used by half, and a gather replaces as many loads of single blocks. */
bool packing_pays(const program *p, const shapes *packed, int gathers) {
  unsigned threads = p->block[0] / p->packed * p->block[1] * p->block[2];
  return threads < FEW_THREADS || count_gathers(packed) <= gathers;
}

/* ---- the function that calls both ---- */

static void call(program *p, LLVMBuilderRef b, LLVMValueRef run, LLVMValueRef callee, LLVMValueRef first,
                 LLVMValueRef last) {
  LLVMValueRef arguments[] = {LLVMGetParam(run, 0), LLVMGetParam(run, 1), first, last};
  LLVMBuildCall2(b, LLVMGlobalGetValueType(callee), callee, arguments, 4, "");
  add_attribute(p, callee, "noinline");
}

/* for each row of blocks: the packed function for whole packs, then the other one */
void build_packed_run(program *p, kernel *k) {
  LLVMValueRef packed = k->variants[PACKED_VARIANT].function, single = k->variants[0].function;
  char *name = mw_format("run.%s", k->linkage);
  LLVMValueRef run = LLVMAddFunction(p->module, name, LLVMGlobalGetValueType(single));
  free(name);
  LLVMSetLinkage(run, LLVMInternalLinkage);
  add_attribute(p, run, "nounwind");
  prefer_widest(p, run);
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMBasicBlockRef top = LLVMAppendBasicBlockInContext(p->context, run, "entry"),
                    head = LLVMAppendBasicBlockInContext(p->context, run, "rows"),
                    body = LLVMAppendBasicBlockInContext(p->context, run, "row"),
                    done = LLVMAppendBasicBlockInContext(p->context, run, "done");
  LLVMValueRef last = LLVMGetParam(run, 3), first = LLVMGetParam(run, 2);
  LLVMPositionBuilderAtEnd(b, top);
  LLVMValueRef width = load_invariant(p, b, p->i32, LLVMGetParam(run, 0), offsetof(mw_frame, grid));
  width = LLVMBuildZExt(b, width, p->i64, "");
  LLVMBuildBr(b, head);
  LLVMPositionBuilderAtEnd(b, head);
  LLVMValueRef at = LLVMBuildPhi(b, p->i64, "block");
  LLVMBuildCondBr(b, LLVMBuildICmp(b, LLVMIntULT, at, last, ""), body, done);
  LLVMPositionBuilderAtEnd(b, body);
  LLVMValueRef of_row = LLVMBuildSub(b, width, LLVMBuildURem(b, at, width, ""), ""),
               left = LLVMBuildSub(b, last, at, "");
  LLVMValueRef count = LLVMBuildSelect(b, LLVMBuildICmp(b, LLVMIntULT, of_row, left, ""), of_row, left, "");
  LLVMValueRef whole = LLVMBuildAnd(b, count, constant_i64(p, ~((uint64_t)k->pack - 1)), "");
  LLVMValueRef middle = LLVMBuildAdd(b, at, whole, ""), next = LLVMBuildAdd(b, at, count, "");
  call(p, b, run, packed, at, middle);
  call(p, b, run, single, middle, next);
  LLVMBuildBr(b, head);
  LLVMAddIncoming(at, (LLVMValueRef[]){first, next}, (LLVMBasicBlockRef[]){top, body}, 2);
  LLVMPositionBuilderAtEnd(b, done);
  LLVMBuildRetVoid(b);
  LLVMDisposeBuilder(b);
  k->run = run;
}
