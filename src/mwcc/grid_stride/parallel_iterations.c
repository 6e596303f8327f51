/* Rounds of a grid-stride loop that workers may do in any order.
 *
 * A grid has as many blocks as somebody thought a GPU should have, and a worker that has its share of them finds its part of each
 * round, leaping from one to the next; where there are fewer blocks than workers, some have nothing to do. If no round needs
 * what another one leaves, the rounds of a block are as good as blocks: then the launch is one of all rounds' blocks, in the order of
 * memory, and a worker gets a stretch of them (mw_frame.rounds).
 *
 * Rounds of other threads may not need each other's, or their blocks could not run at the same time. But a thread may go back to what
 * it did: a[i] += a[i - gridDim.x * blockDim.x]. So this is for kernels in which every access is of one element for each round, as in
 * y[i] = a * x[i] + y[i] (footprint.h). Whether two parameters point to the same memory is seen when the kernel is launched: where
 * they do, other than to the same elements, its blocks do their rounds one after the other. */
#include "grid_stride.h"
#include "mwcc/analysis/analysis.h"

#include <stdlib.h>

static bool is_count(const void *of, LLVMValueRef value) { return value == ((const grid_loop *)of)->count; }

void find_free_rounds(const program *p, kernel *k, const grid_loop *l) {
  const footprint_search s = {.p = p, .k = k, .is_number = is_count, .context = l, .into = &k->rounds_footprints};
  instructions all = instructions_of_function(k->body);
  bool good = true;
  for (size_t i = 0; i < all.count && good; i++) {
    LLVMValueRef here = all.items[i];
    good = LLVMIsALoadInst(here) || LLVMIsAStoreInst(here) ? add_footprint(&s, here) : is_harmless(here);
  }
  free(all.items);
  if (!good || !are_elements(&k->rounds_footprints)) k->rounds_footprints.count = 0;
}

typedef struct launch_code {
  program *p;
  const kernel *k;
  LLVMBuilderRef b;
  LLVMValueRef params;
} launch_code;

static LLVMValueRef parameter_of(void *context, LLVMValueRef argument) {
  const launch_code *c = context;
  program *p = c->p;
  LLVMTypeRef type = LLVMTypeOf(argument);
  unsigned i = 0;
  while (LLVMGetParam(c->k->body, i) != argument) i++;
  size_t offset = c->k->params[i].offset;
  if (type != p->i1) return load_invariant(p, c->b, type, c->params, offset);
  return LLVMBuildICmp(c->b, LLVMIntNE, load_invariant(p, c->b, p->i8, c->params, offset), LLVMConstNull(p->i8), "");
}

/* rounds = the elements, by so many as the grid has threads; 0 where they are too many, or none, or need each other. */
void build_free_rounds(program *p, kernel *k) {
  if (!k->rounds_footprints.count || k->rounds) return;
  char *name = mw_format("rounds.%s", k->linkage);
  launch_code c = {.p = p, .k = k, .b = LLVMCreateBuilderInContext(p->context)};
  k->rounds = LLVMAddFunction(p->module, name, LLVMFunctionType(p->i64, &p->pointer, 1, 0));
  free(name);
  LLVMSetLinkage(k->rounds, LLVMInternalLinkage);
  prefer_widest(p, k->rounds);
  LLVMValueRef frame = LLVMGetParam(k->rounds, 0), one = constant_i64(p, 1);
  LLVMPositionBuilderAtEnd(c.b, LLVMAppendBasicBlockInContext(p->context, k->rounds, "entry"));
  c.params = load_invariant(p, c.b, p->pointer, frame, offsetof(mw_frame, params));
  LLVMValueRef end = repeat_value(c.b, k->rounds_end, parameter_of, &c);
  end = k->rounds_signed ? LLVMBuildSExt(c.b, end, p->i64, "") : LLVMBuildZExt(c.b, end, p->i64, "");
  LLVMValueRef last = LLVMBuildSub(c.b, end, one, "");
  LLVMValueRef good = keep_apart(p, c.b, k, &k->rounds_footprints, c.params, last);
  LLVMValueRef blocks = load_invariant(p, c.b, p->i32, frame, offsetof(mw_frame, grid));
  LLVMValueRef threads =
      LLVMBuildMul(c.b, LLVMBuildZExt(c.b, blocks, p->i64, ""), constant_i64(p, block_size(p, 'x')), "");
  LLVMValueRef rounds = LLVMBuildAdd(c.b, LLVMBuildUDiv(c.b, last, threads, ""), one, "");
  LLVMBuildRet(c.b, LLVMBuildSelect(c.b, good, rounds, constant_i64(p, 0), ""));
  LLVMDisposeBuilder(c.b);
}
