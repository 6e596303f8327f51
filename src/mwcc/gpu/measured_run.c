/* Kernels of a measured run on a GPU (mwcc --target=nvptx --observe): they count what their warps do, by the functions
 * of moonwarp/measured_run/calls.h.
 *
 * The kernels get the normal form of the CPU device's, as far as it has one on this target, and the same markers
 * (watch_markers.c), so that the sites are the same. Each marker becomes a call with the launch's address,
 * which is a kernel's last parameter, the site's number and the lanes that are there; the sites are facts of the module
 * (metadata.c). Loads and stores that are inline PTX or intrinsics here get sites of their own, and so do instructions
 * of GPUs alone (counted_ptx.c). LLVM optimises the code after that.
 *
 * Which lanes are there is computed as with a stack of masks (convergence.c). The hardware's mask of active lanes will
 * not do: lanes that a loop has let go may run on before the others leave it, and lanes that call one function at the
 * same time from two places may be active together. So the call at a block's start waits until the lanes are there. */
#include "convergence.h"
#include "instrument.h"
#include "device/moonwarp/measured_run/layout.h"
#include "device/moonwarp/measured_run/rules.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/prepare/observe/watch_sites.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>
#include <string.h>

_Static_assert((int)MW_SITE_CODE == (int)MW_MEASURED_CODE, "the host knows the numbers");
_Static_assert((int)MW_SITE_WORK == (int)MW_MEASURED_WORK, "likewise");
_Static_assert((int)MW_SITE_ATOMIC == (int)MW_FIRST_ATOMIC_KIND, "likewise");
_Static_assert((int)MW_WORK_CLASSES == (int)MW_MEASURED_CLASSES, "likewise");

/* ---- the normal form ---- */

/* Functions of moonwarp's headers stay calls; they have no sites. */
static void keep_ours(program *p) {
  EACH_FUNCTION(p, f) {
    size_t length;
    if (!LLVMIsDeclaration(f) && starts_with(LLVMGetValueName2(f, &length), GUARD_FUNCTION))
      add_attribute(p, f, "noinline");
  }
}

static void bring_to_normal_form(program *p) {
  keep_ours(p);
  keep_described(p);
  choose_inlined(p);
  inline_marked(p);
  drop_noalias(p);
  promote_values(p);
  form_selections(p);
  decide_all_waiting_loops(p);
  normalise(p);
  release_described(p);
  for (size_t i = 0; i < p->kernel_count; i++) LLVMSetLinkage(p->kernels[i].body, LLVMExternalLinkage);
}

/* ---- calls ---- */

typedef struct measurer {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef launch; /* its address in the function that is measured; NULL: not there yet */
  bool has_others;     /* functions that are not kernels */
  convergence c;       /* of the function */
  LLVMValueRef *lanes; /* by block: the mask of those that are there; then of those that take the first edge */
  LLVMValueRef *taking;
} measurer;

static LLVMValueRef call_guard(measurer *m, const char *name, LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef function = guard_function(m->p, name);
  return LLVMBuildCall2(m->b, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

static bool is_kernel(const program *p, LLVMValueRef function) {
  for (size_t i = 0; i < p->kernel_count; i++)
    if (p->kernels[i].body == function) return true;
  return false;
}

static void find_launch(measurer *m, LLVMValueRef function) {
  m->launch = LLVMGetLastParam(function);
  if (is_kernel(m->p, function)) return;
  m->has_others = true;
  guard_position_at_entry(m->b, function);
  m->launch = call_guard(m, "__mw_guard_measured_launch", NULL, 0);
}

static unsigned what_of(const mw_site *site) {
  return site->kind | site->space << MW_MEASURED_SPACE | (site->is_uniform ? MW_MEASURED_UNIFORM : 0) |
         (mw_is_swapped(site->kind, site->detail) ? MW_MEASURED_SWAPPED : 0);
}

/* The mask of the lanes at the builder's position. */
static LLVMValueRef lanes_here(measurer *m) { return m->lanes[convergence_index(&m->c, LLVMGetInsertBlock(m->b))]; }

static void report_access(measurer *m, size_t number, LLVMValueRef address) {
  const mw_site *site = &m->p->sites[number].of;
  if (LLVMTypeOf(address) != m->p->pointer) address = LLVMBuildAddrSpaceCast(m->b, address, m->p->pointer, "");
  LLVMValueRef arguments[] = {m->launch,
                              constant_i32(m->p, (unsigned)number),
                              lanes_here(m),
                              constant_i32(m->p, what_of(site)),
                              constant_i32(m->p, site->bytes),
                              LLVMBuildPtrToInt(m->b, address, m->p->i64, "")};
  call_guard(m, "__mw_guard_measured_access", arguments, MW_COUNT(arguments));
}

static void report_event(measurer *m, size_t number) {
  LLVMValueRef arguments[] = {m->launch, constant_i32(m->p, (unsigned)number), lanes_here(m)};
  call_guard(m, "__mw_guard_measured_event", arguments, MW_COUNT(arguments));
}

/* Those of blocks and branches are lowered before (find_lanes). */
static void lower_marker(measurer *m, LLVMValueRef call) {
  LLVMValueRef site = LLVMGetOperand(call, 0), word = LLVMGetOperand(call, 1);
  size_t number = LLVMConstIntGetZExtValue(site);
  LLVMPositionBuilderBefore(m->b, call);
  switch (m->p->sites[number].of.kind) {
  case MW_SITE_LOAD:
  case MW_SITE_STORE:
  case MW_SITE_ATOMIC:
  case MW_SITE_REDUCTION: report_access(m, number, word); break;
  default: report_event(m, number); break;
  }
  LLVMInstructionEraseFromParent(call);
}

/* The text of inline PTX, or "". */
static const char *text_of(LLVMValueRef call) {
  LLVMValueRef code = LLVMGetCalledValue(call);
  size_t length;
  if (!LLVMIsAInlineAsm(code)) return "";
  const char *text = LLVMGetInlineAsmAsmString(code, &length);
  return text + strspn(text, " \t\n{");
}

/* A barrier, a fence or a warp function that is inline PTX. */
static void report_inline(measurer *m, LLVMValueRef function, LLVMValueRef call) {
  static const struct {
    const char *start;
    mw_site_kind kind;
  } kinds[] = {{"barrier.", MW_SITE_BARRIER}, {"bar.warp.", MW_SITE_WARP}, {"bar.", MW_SITE_BARRIER},
               {"membar.", MW_SITE_FENCE},    {"fence.", MW_SITE_FENCE},   {"shfl.sync.", MW_SITE_WARP},
               {"vote.sync.", MW_SITE_WARP},  {"match.", MW_SITE_WARP},    {"redux.sync.", MW_SITE_WARP}};
  const char *text = text_of(call);
  size_t n = 0;
  while (n < MW_COUNT(kinds) && !starts_with(text, kinds[n].start)) n++;
  bool votes = strstr(text, "barrier.red.") != NULL; /* after the predicate's setp */
  if (n == MW_COUNT(kinds) && !votes) return;
  mw_site_kind kind = votes ? MW_SITE_BARRIER : kinds[n].kind;
  unsigned scope = strstr(text, ".cta") ? MW_FENCE_BLOCK : strstr(text, ".sys") ? MW_FENCE_SYSTEM : MW_FENCE_DEVICE;
  unsigned detail = votes ? MW_BARRIER_VOTE : kind == MW_SITE_FENCE ? scope : MW_BARRIER_BLOCK;
  size_t number = add_event_site(m->p, function, call, kind, detail);
  LLVMPositionBuilderBefore(m->b, call);
  report_event(m, number);
}

/* An access that LLVM has no instruction for; false: it is none. */
static bool report_call(measurer *m, LLVMValueRef function, LLVMValueRef call) {
  gpu_access accesses[2];
  const char *name = callee_name(call), *text = text_of(call);
  if (starts_with(name, "llvm.mem") || find_gpu_accesses(m->p, call, accesses) != 1) return false;
  bool is_atomic = starts_with(name, "llvm.nvvm.atomic.") || strstr(text, "atom.") || strstr(text, "red.");
  mw_site_kind kind = is_atomic              ? LLVMGetFirstUse(call) ? MW_SITE_ATOMIC : MW_SITE_REDUCTION
                      : accesses[0].is_store ? MW_SITE_STORE
                                             : MW_SITE_LOAD;
  uint64_t bytes = LLVMConstIntGetZExtValue(accesses[0].bytes);
  size_t number = add_call_site(m->p, function, call, kind, accesses[0].address, bytes);
  LLVMPositionBuilderBefore(m->b, call);
  report_access(m, number, accesses[0].address);
  return true;
}

/* An instruction of a GPU that LLVM does not know; false: it is none. */
static bool report_ptx(measurer *m, LLVMValueRef function, LLVMValueRef call) {
  counted_access accesses[2];
  LLVMPositionBuilderBefore(m->b, call);
  int count = find_counted_ptx(m->p, m->b, call, accesses);
  for (int k = 0; k < count; k++) {
    const counted_access *a = &accesses[k];
    if (!a->address) {
      report_event(m, add_texture_site(m->p, function, call, a->kind));
      continue;
    }
    size_t number = add_call_site(m->p, function, call, a->kind, a->address, a->bytes);
    m->p->sites[number].of.is_texture = 0; /* its address was a number */
    report_access(m, number, a->address);
  }
  return count > 0;
}

static bool is_marker(LLVMValueRef i) {
  if (!LLVMIsACallInst(i)) return false;
  const char *name = callee_name(i);
  return strcmp(name, WATCH_ADDRESS) == 0 || strcmp(name, WATCH_NUMBER) == 0;
}

/* ---- the lanes of each block ---- */

/* The block's marker of that kind, or NULL. */
static LLVMValueRef find_marker(measurer *m, LLVMBasicBlockRef block, mw_site_kind kind) {
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i))
    if (is_marker(i) && m->p->sites[LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0))].of.kind == kind) return i;
  return NULL;
}

static void position_after_phis(measurer *m, LLVMBasicBlockRef block) {
  LLVMValueRef at = LLVMGetFirstInstruction(block);
  while (LLVMIsAPHINode(at) || LLVMIsAAllocaInst(at)) at = LLVMGetNextInstruction(at);
  LLVMPositionBuilderBefore(m->b, at);
}

/* All lanes of the warp, or those that the hardware runs together. */
static LLVMValueRef all_lanes(measurer *m) { return call_guard(m, "__mw_guard_measured_warp", NULL, 0); }
static LLVMValueRef active_lanes(measurer *m) { return call_guard(m, "__mw_guard_measured_active", NULL, 0); }

/* Count the block's entry; the candidates for its lanes are added later (set_candidates). */
static void enter_block(measurer *m, LLVMValueRef function, int n) {
  program *p = m->p;
  LLVMValueRef marker = find_marker(m, m->c.blocks[n], MW_SITE_CODE), candidates = LLVMGetUndef(p->i32);
  LLVMValueRef site = marker ? LLVMGetOperand(marker, 0) : constant_i32(p, MW_MEASURED_NO_SITE);
  if (marker)
    LLVMPositionBuilderBefore(m->b, marker);
  else
    position_after_phis(m, m->c.blocks[n]);
  if (n == 0) candidates = is_kernel(p, function) ? all_lanes(m) : active_lanes(m);
  LLVMValueRef arguments[] = {m->launch, site, candidates, constant_i32(p, MW_MEASURED_COMES)};
  m->lanes[n] = call_guard(m, "__mw_guard_measured_code", arguments, MW_COUNT(arguments));
  if (marker) LLVMInstructionEraseFromParent(marker);
}

/* Count the block's branch, and find the lanes that take its first edge. */
static void take_branch(measurer *m, int n) {
  program *p = m->p;
  LLVMValueRef marker = find_marker(m, m->c.blocks[n], MW_SITE_BRANCH);
  LLVMValueRef end = LLVMGetBasicBlockTerminator(m->c.blocks[n]);
  LLVMValueRef site = marker ? LLVMGetOperand(marker, 0) : constant_i32(p, MW_MEASURED_NO_SITE);
  if (LLVMIsABranchInst(end) && LLVMIsConditional(end)) {
    LLVMPositionBuilderBefore(m->b, end);
    LLVMValueRef takes = LLVMBuildZExt(m->b, LLVMGetCondition(end), p->i32, "");
    LLVMValueRef arguments[] = {m->launch, site, m->lanes[n], takes};
    m->taking[n] = call_guard(m, "__mw_guard_measured_branch", arguments, MW_COUNT(arguments));
  }
  if (marker) LLVMInstructionEraseFromParent(marker);
}

/* The lanes that go from block n to a successor together. */
static LLVMValueRef lanes_of_edge(measurer *m, int n, int succ) {
  if (m->c.succ_count[n] < 2) return m->lanes[n];
  if (m->c.succs[n][0] == succ) return m->taking[n];
  LLVMPositionBuilderBefore(m->b, LLVMGetBasicBlockTerminator(m->c.blocks[n]));
  return LLVMBuildXor(m->b, m->lanes[n], m->taking[n], "");
}

static void set_candidates(measurer *m, int n) {
  const convergence *c = &m->c;
  if (n == 0) return;
  LLVMValueRef lanes;
  if (c->has_jumps) {
    LLVMPositionBuilderBefore(m->b, m->lanes[n]);
    lanes = active_lanes(m);
  } else if (c->point_of[n] >= 0)
    lanes = m->lanes[c->points[c->point_of[n]].from];
  else if (c->pred_count[n] == 0)
    lanes = constant_i32(m->p, 0);
  else {
    LLVMValueRef *from = mw_alloc((size_t)c->pred_count[n] * sizeof *from);
    LLVMBasicBlockRef *blocks = mw_alloc((size_t)c->pred_count[n] * sizeof *blocks);
    for (int i = 0; i < c->pred_count[n]; i++) {
      from[i] = lanes_of_edge(m, c->preds[n][i], n);
      blocks[i] = c->blocks[c->preds[n][i]];
    }
    LLVMPositionBuilderBefore(m->b, LLVMGetFirstInstruction(c->blocks[n]));
    lanes = LLVMBuildPhi(m->b, m->p->i32, "");
    LLVMAddIncoming(lanes, from, blocks, (unsigned)c->pred_count[n]);
    free(from);
    free(blocks);
  }
  LLVMSetOperand(m->lanes[n], 2, lanes);
}

/* Lanes whose edge leads away from a reconvergence point say so to those that wait there. */
static void leave_points(measurer *m, int n) {
  program *p = m->p;
  for (int i = 0; i < m->c.point_count && m->c.succ_count[n] == 2; i++) {
    const reconvergence *at = &m->c.points[i];
    bool first = leaves_point(at, n, m->c.succs[n][0]), second = leaves_point(at, n, m->c.succs[n][1]);
    if (!first && !second) continue;
    LLVMValueRef end = LLVMGetBasicBlockTerminator(m->c.blocks[n]);
    LLVMPositionBuilderBefore(m->b, end);
    LLVMValueRef goes = constant_i32(p, MW_MEASURED_GOES), stays = constant_i32(p, MW_MEASURED_STAYS);
    LLVMValueRef how = LLVMBuildSelect(m->b, LLVMGetCondition(end), first ? goes : stays, second ? goes : stays, "");
    LLVMValueRef arguments[] = {m->launch, constant_i32(p, MW_MEASURED_NO_SITE), m->lanes[at->from], how};
    call_guard(m, "__mw_guard_measured_code", arguments, MW_COUNT(arguments));
  }
}

static void find_lanes(measurer *m, LLVMValueRef function) {
  convergence_of(function, &m->c);
  m->lanes = mw_alloc((size_t)m->c.count * sizeof *m->lanes);
  m->taking = mw_alloc((size_t)m->c.count * sizeof *m->taking);
  for (int n = 0; n < m->c.count; n++) enter_block(m, function, n);
  for (int n = 0; n < m->c.count; n++) take_branch(m, n);
  for (int n = 0; n < m->c.count; n++) set_candidates(m, n);
  for (int n = 0; n < m->c.count; n++) leave_points(m, n);
}

static void measure_function(measurer *m, LLVMValueRef function) {
  find_launch(m, function);
  find_lanes(m, function);
  instructions list = instructions_of_function(function);
  for (size_t n = 0; n < list.count; n++) {
    if (is_marker(list.items[n]))
      lower_marker(m, list.items[n]);
    else if (LLVMIsACallInst(list.items[n]) && !report_call(m, function, list.items[n]) &&
             !report_ptx(m, function, list.items[n]))
      report_inline(m, function, list.items[n]);
  }
  free(list.items);
  free(m->lanes);
  free(m->taking);
  convergence_free(&m->c);
}

void measure_kernels(program *p) {
  measurer m = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  bring_to_normal_form(p);
  mark_watched(p);
  EACH_FUNCTION(p, function) {
    if (!LLVMIsDeclaration(function) && !guard_is_ours(function)) measure_function(&m, function);
  }
  for (size_t i = 0; i < p->kernel_count && m.has_others; i++) {
    LLVMValueRef launch = LLVMGetLastParam(p->kernels[i].body);
    guard_position_at_entry(m.b, p->kernels[i].body);
    call_guard(&m, "__mw_guard_measured_begin", &launch, 1);
  }
  remove_attribute(guard_function(p, "__mw_guard_begin"), "noinline");
  LLVMDisposeBuilder(m.b);
}
