/* Screened code (--checks=16 and more): vector code that runs first and looks for signs of races. If it finds none, the
 * code that follows each thread need not run (src/cpu/check/screen.c).
 *
 * It notes the accesses to shared memory, and to arrays that the kernel stores to, unless all accesses to the array are
 * atomic: widen/calls/race_screening.c. Others are only read, or only accessed by atomics, and cannot race; the runtime
 * makes sure that no two parameters point into one array that is not noted through both. A kernel is screened if plain
 * accesses, atomics, barriers of the block, fences and warp functions are all by which its threads interact, and if it
 * can be run again: it prints nothing, and what it writes is known. Fences are not noted: without their order, more
 * launches are suspected, never fewer. All other kernels run only as code that follows threads. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/support/checked_access.h"
#include "mwcc/support/predicates.h"
#include "prepare.h"

#include <stdlib.h>
#include <string.h>

typedef enum access_kind { READS, STORES, ATOMICS, ACCESS_KINDS } access_kind;

typedef struct screen {
  const program *p;
  uint64_t arrays[ACCESS_KINDS]; /* by word of the parameter block */
  bool can_screen, reads_unknown;
} screen;

static uint64_t bit_of(unsigned number) { return 1ull << (number - 1); }

static bool has_distance(LLVMValueRef number, int steps) {
  if (LLVMIsACallInst(number)) return strcmp(callee_name(number), SHADOW_DISTANCE) == 0;
  LLVMOpcode opcode = opcode_of(number);
  bool sums = opcode == LLVMAdd || opcode == LLVMSub || opcode == LLVMOr, chooses = opcode == LLVMSelect;
  bool converts = opcode == LLVMIntToPtr || opcode == LLVMPtrToInt;
  bool moves = opcode == LLVMGetElementPtr || opcode == LLVMFreeze || opcode == LLVMAddrSpaceCast;
  if (!steps) return false;
  if (LLVMIsAPHINode(number)) return has_distance(LLVMGetIncomingValue(number, 0), steps - 1);
  if (chooses) return has_distance(LLVMGetOperand(number, 1), steps - 1);
  if (!sums && !converts && !moves) return false;
  return has_distance(LLVMGetOperand(number, 0), steps - 1) ||
         (sums && has_distance(LLVMGetOperand(number, 1), steps - 1));
}

/* A shadow of a value, which is at a distance from its address. */
static bool is_shadow(LLVMValueRef root) { return has_distance(root, 8); }

static void note_address(screen *s, LLVMValueRef address, access_kind kind) {
  accessed o;
  LLVMValueRef root = root_of(address);
  if (LLVMIsAAllocaInst(root) || (kind == READS && is_byval_parameter(address))) return;
  if (is_made_from_integer(root)) {
    s->can_screen = s->can_screen && (kind == READS || is_shadow(root));
    s->reads_unknown = s->reads_unknown || !is_shadow(root);
    return;
  }
  bool found = find_accessed(s->p, address, &o);
  if (found && LLVMIsAAllocaInst(o.base)) return;
  if (found && o.param && o.param <= 64) {
    s->arrays[kind] |= bit_of(o.param);
    return;
  }
  if (LLVMIsAGlobalVariable(root) && (kind == READS || is_shared_variable(s->p, root))) return;
  s->can_screen = false;
}

static void note_copy(screen *s, LLVMValueRef call, bool copies) {
  enum { LONGEST = 64 };
  LLVMValueRef bytes = LLVMGetOperand(call, 2);
  if (!LLVMIsAConstantInt(bytes) || LLVMConstIntGetZExtValue(bytes) > LONGEST) {
    /* of a local array or of shadows, which are not noted */
    LLVMValueRef target = root_of(LLVMGetOperand(call, 0));
    bool local = LLVMIsAAllocaInst(target) || is_shadow(target);
    if (copies) {
      LLVMValueRef source = root_of(LLVMGetOperand(call, 1));
      local = local && (LLVMIsAAllocaInst(source) || is_shadow(source) || LLVMIsAGlobalVariable(source));
    }
    s->can_screen = s->can_screen && local;
    return;
  }
  note_address(s, LLVMGetOperand(call, 0), STORES);
  if (copies) note_address(s, LLVMGetOperand(call, 1), READS);
}

bool is_event_of_values(LLVMValueRef call) {
  return LLVMConstIntGetZExtValue(LLVMGetOperand(call, 0)) == MW_CHECK_UNWRITTEN;
}

static bool is_block_barrier(LLVMValueRef call) {
  return is_barrier(call) && !is_block_wait(call) && !is_named_barrier(callee_name(call));
}

/* Whether it is a warp function that accesses no noted memory, and whose mask names the participating lanes. */
static bool is_screened_warp_call(const char *name) {
  const warp_call *kind = find_warp_call(name);
  return kind && kind->mask >= 0;
}

static void note_call(screen *s, LLVMValueRef call) {
  const char *name = callee_name(call);
  bool copies = starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.");
  if (copies || starts_with(name, "llvm.memset."))
    note_copy(s, call, copies);
  else if (strcmp(name, CHECK_EVENT_FUNCTION) == 0)
    s->can_screen = s->can_screen && is_event_of_values(call);
  else if (!touches_no_memory(call) && !is_block_barrier(call) && !is_screened_warp_call(name) &&
           !starts_with(name, "llvm.assume") && !starts_with(name, "llvm.prefetch"))
    s->can_screen = false;
}

static void note_instruction(screen *s, LLVMValueRef i) {
  switch (LLVMGetInstructionOpcode(i)) {
  case LLVMLoad:
    s->can_screen = s->can_screen && is_plain_access(i);
    note_address(s, LLVMGetOperand(i, 0), READS);
    return;
  case LLVMStore:
    s->can_screen = s->can_screen && is_plain_access(i);
    note_address(s, LLVMGetOperand(i, 1), STORES);
    return;
  case LLVMAtomicRMW:
  case LLVMAtomicCmpXchg:
    s->can_screen = s->can_screen && !LLVMGetVolatile(i) &&
                    (!is_block_scope(i) || is_shared_variable(s->p, root_of(LLVMGetOperand(i, 0))));
    note_address(s, LLVMGetOperand(i, 0), ATOMICS);
    return;
  case LLVMCall: note_call(s, i); return;
  default: return;
  }
}

/* Without checks of races, threads are not followed, and do the same when they run again: what they only write they write
   again. But what atomics return depends on the order of threads. */
static uint64_t restored(const screen *s, uint64_t writes) {
  bool follows = s->p->options->checks & (MW_CHECK_RACES | MW_CHECK_BARRIERS);
  bool repeats = !follows && !s->arrays[ATOMICS] && !s->reads_unknown;
  return repeats ? writes & s->arrays[READS] : writes;
}

void choose_screened(program *p) {
  for (size_t k = 0; k < p->kernel_count; k++) {
    kernel *owner = &p->kernels[k];
    screen s = {.p = p, .can_screen = !p->follows};
    instructions list = instructions_of_function(owner->body);
    for (size_t n = 0; n < list.count && s.can_screen; n++) note_instruction(&s, list.items[n]);
    free(list.items);
    owner->screened = s.can_screen;
    owner->reads = s.arrays[READS];
    owner->writes = s.arrays[STORES] | s.arrays[ATOMICS];
    owner->notes = s.arrays[STORES] | (s.arrays[ATOMICS] & s.arrays[READS]);
    owner->restores = restored(&s, owner->writes);
  }
}

/* The kernel that the access is a part of, if it is screened. */
static const kernel *screened_kernel(const program *p, LLVMValueRef access) {
  LLVMValueRef function = LLVMGetBasicBlockParent(LLVMGetInstructionParent(access));
  for (size_t k = 0; k < p->kernel_count; k++)
    if (p->kernels[k].body == function && p->kernels[k].screened) return &p->kernels[k];
  return NULL;
}

static bool has_array(uint64_t arrays, const accessed *o) {
  return o->param && o->param <= 64 && arrays & bit_of(o->param);
}

bool is_noted(const program *p, LLVMValueRef access, const accessed *o) {
  const kernel *owner = screened_kernel(p, access);
  return owner && (is_shared_variable(p, o->base) || has_array(owner->notes, o));
}

/* Another parameter may point into the same array, if the accesses through both are noted. */
bool are_reads_noted(const program *p, LLVMValueRef access, const accessed *o) {
  const kernel *owner = screened_kernel(p, access);
  return owner && (is_shared_variable(p, o->base) || owner->reads & owner->notes);
}
