/* DOALL iterations of a grid-stride loop: workers run them in any order.
 *
 * The size of a grid is chosen for a GPU. A worker that runs some of the blocks jumps from its part of one iteration to
 * its part of the next; and with fewer blocks than workers, some workers are idle. If no iteration depends on another,
 * each iteration of a block can be treated as a block: the launch becomes one of blocks * iterations blocks in the
 * order of memory, and a worker runs a contiguous range of them (mw_frame.iterations).
 *
 * Iterations of different threads are independent, since blocks may run concurrently. Those of one thread may not be:
 * a[i] += a[i - gridDim.x * blockDim.x]. So this is for kernels in which every access is to the element of the
 * iteration, as in y[i] = a * x[i] + y[i] (footprint.h). Whether two parameters overlap is tested at the launch: where
 * they do, other than in the same elements, the blocks run their iterations in order. */
#include "grid_stride.h"
#include "mwcc/analysis/analysis.h"

#include <stdlib.h>

static bool is_count(const void *of, LLVMValueRef value) { return value == ((const grid_loop *)of)->count; }

void find_parallel_iterations(const program *p, kernel *k, const grid_loop *l) {
  const footprint_search s = {.p = p, .k = k, .is_number = is_count, .context = l, .into = &k->iteration_footprints};
  instructions all = instructions_of_function(k->body);
  bool good = true;
  for (size_t i = 0; i < all.count && good; i++) {
    LLVMValueRef here = all.items[i];
    good = LLVMIsALoadInst(here) || LLVMIsAStoreInst(here) ? add_footprint(&s, here) : touches_no_memory(here);
  }
  free(all.items);
  if (!good || !are_elements(&k->iteration_footprints)) k->iteration_footprints.count = 0;
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

/* iterations = elements / threads of the grid, rounded up; 0 if there are none or too many, or if they may depend on
   each other. */
void build_iteration_count(program *p, kernel *k) {
  if (!k->iteration_footprints.count || k->iterations) return;
  char *name = mw_format("iterations.%s", k->linkage);
  launch_code c = {.p = p, .k = k, .b = LLVMCreateBuilderInContext(p->context)};
  k->iterations = LLVMAddFunction(p->module, name, LLVMFunctionType(p->i64, &p->pointer, 1, 0));
  free(name);
  LLVMSetLinkage(k->iterations, LLVMInternalLinkage);
  prefer_widest(p, k->iterations);
  LLVMValueRef frame = LLVMGetParam(k->iterations, 0), one = constant_i64(p, 1);
  LLVMPositionBuilderAtEnd(c.b, LLVMAppendBasicBlockInContext(p->context, k->iterations, "entry"));
  c.params = load_invariant(p, c.b, p->pointer, frame, offsetof(mw_frame, params));
  LLVMValueRef end = repeat_value(c.b, k->iterations_end, parameter_of, &c);
  end = k->iterations_signed ? LLVMBuildSExt(c.b, end, p->i64, "") : LLVMBuildZExt(c.b, end, p->i64, "");
  LLVMValueRef last = LLVMBuildSub(c.b, end, one, "");
  LLVMValueRef good = build_disjoint_test(p, c.b, k, &k->iteration_footprints, c.params, last);
  LLVMValueRef blocks = load_invariant(p, c.b, p->i32, frame, offsetof(mw_frame, grid));
  LLVMValueRef threads =
      LLVMBuildMul(c.b, LLVMBuildZExt(c.b, blocks, p->i64, ""), constant_i64(p, block_size(p, 'x')), "");
  LLVMValueRef iterations = LLVMBuildAdd(c.b, LLVMBuildUDiv(c.b, last, threads, ""), one, "");
  LLVMBuildRet(c.b, LLVMBuildSelect(c.b, good, iterations, constant_i64(p, 0), ""));
  LLVMDisposeBuilder(c.b);
}
