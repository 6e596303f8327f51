/* Watched code (--observe): before every access, barrier, warp function, fence and branch, and at the start of every
 * basic block, a call names the site. The runtime's watchers count, or look for races (src/cpu/watch/watch.h).
 *
 * The pass runs on the normal form, where the program's accesses are about those that nvcc would emit: functions are
 * inlined, values are in registers, and nothing is vectorised. Adjacent members of an aligned struct are one access
 * there, of up to 16 bytes (combine). Later passes keep the calls, in their order, whatever happens to the accesses.
 *
 * A texture or surface function of the headers, between the calls of read/texture_calls.c, is one access. */
#include "mwcc/analysis/analysis.h"
#include "mwcc/analysis/simt.h"
#include "mwcc/read/read.h"
#include "mwcc/support/predicates.h"
#include "watch_sites.h"

#include <stdlib.h>
#include <string.h>

typedef struct marker {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef functions[2]; /* WATCH_ADDRESS, WATCH_NUMBER */
  LLVMTypeRef types[2];
  LLVMValueRef function;     /* whose code is marked */
  LLVMBasicBlockRef *blocks; /* of the function, and the number of the MW_SITE_CODE site of each */
  size_t *codes, count;
  bool *in_texture; /* of each: whether it begins within a texture function */
  size_t issued;    /* of the block being marked, as mw_site.issued */
} marker;

/* Call with a number or an address, at the builder's position; the call has the position of `at`. */
static void call_marker(marker *m, size_t number, LLVMValueRef word, LLVMValueRef at) {
  bool is_address = LLVMGetTypeKind(LLVMTypeOf(word)) == LLVMPointerTypeKind;
  if (is_address && LLVMTypeOf(word) != m->p->pointer) word = LLVMBuildAddrSpaceCast(m->b, word, m->p->pointer, "");
  LLVMValueRef arguments[] = {constant_i32(m->p, (unsigned)number), word};
  LLVMValueRef call = LLVMBuildCall2(m->b, m->types[!is_address], m->functions[!is_address], arguments, 2, "");
  LLVMInstructionSetDebugLoc(call, LLVMInstructionGetDebugLoc(at));
}

static void mark(marker *m, LLVMValueRef before, size_t number, LLVMValueRef word) {
  LLVMPositionBuilderBefore(m->b, before);
  call_marker(m, number, word, before);
}

static size_t new_access(marker *m, LLVMValueRef access, uint64_t bytes) {
  size_t number = add_access_site(m->p, m->function, access, bytes);
  m->p->sites[number].of.issued = (uint32_t)m->issued;
  return number;
}

/* ---- texture and surface functions ---- */

static bool is_texture_end(LLVMValueRef i) { return LLVMIsACallInst(i) && strcmp(callee_name(i), TEXTURE_END) == 0; }
static bool is_texture_begin(LLVMValueRef i) {
  return LLVMIsACallInst(i) &&
         (strcmp(callee_name(i), TEXTURE_READ) == 0 || strcmp(callee_name(i), TEXTURE_WRITE) == 0);
}

/* Whether what follows the instruction is within one, if that is so of what precedes it. */
static bool stays_in_texture(LLVMValueRef i, bool before) {
  return is_texture_begin(i) || (before && !is_texture_end(i));
}

/* All ways to a block begin inside of a texture function or outside, since it is entered and left in one place. */
static void find_textures(marker *m) {
  m->in_texture = mw_alloc((m->count + 1) * sizeof *m->in_texture);
  for (bool changed = LLVMGetNamedFunction(m->p->module, TEXTURE_END) != NULL; changed;) {
    changed = false;
    for (size_t n = 0; n < m->count; n++) {
      bool inside = m->in_texture[n];
      for (LLVMValueRef i = LLVMGetFirstInstruction(m->blocks[n]); i; i = LLVMGetNextInstruction(i))
        inside = stays_in_texture(i, inside);
      LLVMValueRef end = LLVMGetBasicBlockTerminator(m->blocks[n]);
      for (unsigned s = 0; s < LLVMGetNumSuccessors(end) && inside; s++)
        for (size_t k = 0; k < m->count; k++) {
          if (m->blocks[k] != LLVMGetSuccessor(end, s) || m->in_texture[k]) continue;
          m->in_texture[k] = changed = true;
        }
    }
  }
}

/* The block's instructions without those of texture functions but the calls where they begin; whether its end is outside. */
static bool leave_textures_out(const marker *m, size_t n, instructions *block) {
  bool inside = m->in_texture[n];
  size_t count = 0;
  for (size_t k = 0; k < block->count; k++) {
    LLVMValueRef i = block->items[k];
    bool was_inside = inside;
    inside = stays_in_texture(i, inside);
    if (is_texture_begin(i) || !(was_inside || inside)) block->items[count++] = i;
  }
  block->count = count;
  return !inside;
}

static void mark_texture(marker *m, LLVMValueRef begin) {
  bool writes = strcmp(callee_name(begin), TEXTURE_WRITE) == 0;
  size_t number = add_texture_site(m->p, m->function, begin, writes ? MW_SITE_STORE : MW_SITE_LOAD);
  mark(m, begin, number, LLVMConstNull(m->p->pointer));
}

static void drop_texture_calls(program *p) {
  static const char *const names[] = {TEXTURE_READ, TEXTURE_WRITE, TEXTURE_END};
  for (size_t n = 0; n < MW_COUNT(names); n++) {
    LLVMValueRef f = LLVMGetNamedFunction(p->module, names[n]);
    for (LLVMUseRef use; f && (use = LLVMGetFirstUse(f));) LLVMInstructionEraseFromParent(LLVMGetUser(use));
    if (f) LLVMDeleteFunction(f);
  }
}

/* ---- accesses ---- */

/* A load or store of a number at a constant distance from `base`. */
typedef struct member {
  LLVMValueRef access, base;
  int64_t offset;
  uint64_t bytes;
  unsigned align;
  bool is_store, combined;
} member;

typedef struct members {
  member *items;
  size_t count;
} members;

/* The constant distance of a getelementptr from its base; false: it is not constant. */
static bool constant_distance(program *p, LLVMValueRef gep, int64_t *out) {
  LLVMTypeRef type = LLVMGetGEPSourceElementType(gep);
  int64_t distance = 0;
  for (unsigned i = 1; i < (unsigned)LLVMGetNumOperands(gep); i++) {
    LLVMValueRef index = LLVMGetOperand(gep, i);
    if (!LLVMIsAConstantInt(index)) return false;
    int64_t number = LLVMConstIntGetSExtValue(index);
    bool is_struct = i > 1 && LLVMGetTypeKind(type) == LLVMStructTypeKind;
    if (is_struct) {
      distance += (int64_t)LLVMOffsetOfElement(p->layout, type, (unsigned)number);
      type = LLVMStructGetTypeAtIndex(type, (unsigned)number);
      continue;
    }
    if (i > 1) type = LLVMGetElementType(type);
    distance += number * (int64_t)LLVMABISizeOfType(p->layout, type);
  }
  *out = distance;
  return true;
}

static member member_of(program *p, LLVMValueRef access) {
  bool is_store = LLVMIsAStoreInst(access) != NULL;
  LLVMValueRef address = LLVMGetOperand(access, is_store);
  LLVMTypeRef type = LLVMTypeOf(is_store ? LLVMGetOperand(access, 0) : access);
  member m = {.access = access, .base = address, .is_store = is_store, .align = LLVMGetAlignment(access)};
  m.bytes = LLVMStoreSizeOfType(p->layout, type);
  int64_t distance;
  while (LLVMIsAGetElementPtrInst(m.base) && constant_distance(p, m.base, &distance)) {
    m.offset += distance;
    m.base = LLVMGetOperand(m.base, 0);
  }
  return m;
}

enum { WIDEST = 16 /* bytes of one thread's access */ };

/* The members that cover `bytes` from `first` on, without gaps; false: they do not. `until`: the number of members. */
static bool covers(const members *list, const member *first, uint64_t bytes, size_t *picked, size_t *count) {
  *count = 0;
  for (uint64_t at = 0; at < bytes;) {
    size_t i = 0;
    while (i < list->count && (list->items[i].combined || list->items[i].base != first->base ||
                               list->items[i].offset != first->offset + (int64_t)at))
      i++;
    if (i == list->count || at + list->items[i].bytes > bytes) return false;
    picked[(*count)++] = i;
    at += list->items[i].bytes;
  }
  return *count > 1;
}

/* Mark the accesses of a window, in which no memory changes (loads), or none is read (stores). */
static void mark_window(marker *m, members *list) {
  for (size_t i = 0; i < list->count; i++) {
    const member *first = &list->items[i];
    size_t picked[WIDEST], count = 0;
    if (first->combined) continue;
    for (uint64_t bytes = first->align < WIDEST ? first->align : WIDEST; bytes > first->bytes; bytes /= 2) {
      if (!covers(list, first, bytes, picked, &count)) continue;
      size_t earliest = picked[0];
      for (size_t n = 0; n < count; n++) {
        list->items[picked[n]].combined = true;
        if (picked[n] < earliest) earliest = picked[n];
      }
      LLVMValueRef before = list->items[earliest].access, distance = constant_i64(m->p, (uint64_t)first->offset);
      size_t number = new_access(m, first->access, bytes);
      LLVMPositionBuilderBefore(m->b, before);
      LLVMTypeRef i8 = m->p->i8;
      LLVMValueRef address = first->offset ? LLVMBuildGEP2(m->b, i8, first->base, &distance, 1, "") : first->base;
      call_marker(m, number, address, before);
      break;
    }
  }
  for (size_t i = 0; i < list->count; i++) {
    const member *one = &list->items[i];
    if (one->combined) continue;
    size_t number = new_access(m, one->access, one->bytes);
    mark(m, one->access, number, LLVMGetOperand(one->access, one->is_store));
  }
  list->count = 0;
}

static void mark_other_access(marker *m, LLVMValueRef i) {
  if (LLVMIsAAtomicRMWInst(i) || LLVMIsAAtomicCmpXchgInst(i)) {
    LLVMTypeRef type = LLVMTypeOf(LLVMGetOperand(i, 1));
    size_t number = new_access(m, i, LLVMStoreSizeOfType(m->p->layout, type));
    mark(m, i, number, LLVMGetOperand(i, 0));
    return;
  }
  if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i)) { /* volatile or atomic */
    member one = member_of(m->p, i);
    mark(m, i, new_access(m, i, one.bytes), LLVMGetOperand(i, one.is_store));
    return;
  }
  if (!LLVMIsACallInst(i)) return; /* a fence */
  const char *name = callee_name(i);
  bool copies = starts_with(name, "llvm.memcpy.") || starts_with(name, "llvm.memmove.");
  if (!copies && !starts_with(name, "llvm.memset.")) return;
  LLVMValueRef bytes = LLVMGetOperand(i, 2);
  if (!LLVMIsAConstantInt(bytes)) return; /* of a loop that copies: its length is not known here */
  uint64_t size = LLVMConstIntGetZExtValue(bytes);
  if (copies) mark(m, i, add_copy_site(m->p, m->function, i, MW_SITE_LOAD, size), LLVMGetOperand(i, 1));
  mark(m, i, add_copy_site(m->p, m->function, i, MW_SITE_STORE, size), LLVMGetOperand(i, 0));
}

static LLVMValueRef address_of(LLVMValueRef access) { return LLVMGetOperand(access, LLVMIsAStoreInst(access) ? 1 : 0); }

/* Whether a write may change the value of a load from `address`: not if one accesses shared memory and the other is
   through a kernel's parameter. */
static bool may_change(LLVMValueRef write, LLVMValueRef address) {
  if (!LLVMIsAStoreInst(write)) return !touches_no_memory(write) && !LLVMIsALoadInst(write);
  memory_kind to = memory_of(address_of(write)), from = memory_of(address);
  if (from == MEMORY_UNKNOWN && LLVMIsAArgument(root_of(address))) from = MEMORY_GLOBAL;
  if (to == MEMORY_UNKNOWN && LLVMIsAArgument(root_of(address_of(write)))) to = MEMORY_GLOBAL;
  return to == from || to == MEMORY_UNKNOWN || from == MEMORY_UNKNOWN;
}

/* Whether the load repeats an earlier one of its block, whose value nvcc keeps in a register. */
static bool is_repeated(const instructions *block, size_t n) {
  LLVMValueRef load = block->items[n];
  for (size_t i = n; i-- > 0;) {
    LLVMValueRef before = block->items[i];
    if (LLVMIsALoadInst(before) && address_of(before) == address_of(load) && LLVMTypeOf(before) == LLVMTypeOf(load))
      return !LLVMGetVolatile(before);
    if (may_change(before, address_of(load))) return false;
  }
  return false;
}

static bool is_plain(LLVMValueRef i, bool store) {
  return (store ? LLVMIsAStoreInst(i) : LLVMIsALoadInst(i)) && !LLVMGetVolatile(i) &&
         LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic;
}

/* Whether the access loads the handle of a texture or surface, which a GPU's code has as a constant. */
static bool is_handle(const marker *m, LLVMValueRef access) {
  LLVMValueRef root = root_of(address_of(access));
  bool counts = m->p->options->gpu || m->p->options->observe & MW_OBSERVE_CODE;
  for (size_t i = 0; i < m->p->variable_count && counts; i++)
    if (m->p->variables[i].reference && m->p->variables[i].global == root) return true;
  return false;
}

/* Whether stepped code accesses a variable of its own, which is recorded from line to line. */
static bool is_variable(const marker *m, LLVMValueRef access) {
  return m->p->options->observe & MW_OBSERVE_STEP && LLVMIsAAllocaInst(root_of(address_of(access)));
}

static void mark_accesses(marker *m, const instructions *block) {
  members loads = {mw_alloc((block->count + 1) * sizeof(member)), 0},
          stores = {mw_alloc((block->count + 1) * sizeof(member)), 0};
  for (size_t n = 0; n < block->count; n++) {
    LLVMValueRef i = block->items[n];
    bool is_load = is_plain(i, false), is_store = is_plain(i, true);
    if (is_texture_begin(i)) mark_texture(m, i);
    if ((is_load || is_store) && (is_variable(m, i) || is_handle(m, i))) continue;
    if (is_load) {
      mark_window(m, &stores);
      if (!is_repeated(block, n)) loads.items[loads.count++] = member_of(m->p, i);
    } else if (is_store) {
      mark_window(m, &loads);
      stores.items[stores.count++] = member_of(m->p, i);
    } else if (!touches_no_memory(i)) {
      mark_window(m, &loads);
      mark_window(m, &stores);
      mark_other_access(m, i);
    }
  }
  mark_window(m, &loads);
  mark_window(m, &stores);
  free(loads.items);
  free(stores.items);
}

/* ---- events ---- */

static LLVMValueRef wide(marker *m, LLVMValueRef number) { return LLVMBuildZExtOrBitCast(m->b, number, m->p->i64, ""); }

static LLVMValueRef word_of(marker *m, LLVMValueRef low, LLVMValueRef high) {
  LLVMValueRef word = wide(m, low);
  if (!high) return word;
  return LLVMBuildOr(m->b, word, LLVMBuildShl(m->b, wide(m, high), constant_i64(m->p, 32), ""), "");
}

static void mark_event(marker *m, LLVMValueRef i) {
  const char *name = LLVMIsACallInst(i) ? callee_name(i) : "";
  const warp_call *warp = *name ? find_warp_call(name) : NULL;
  LLVMPositionBuilderBefore(m->b, i);
  LLVMValueRef zero = constant_i64(m->p, 0);
  if (warp && warp->mask >= 0) {
    bool shuffles = warp->call >= MW_WARP_SHUFFLE && warp->call <= MW_WARP_SHUFFLE_XOR;
    LLVMValueRef mask = LLVMGetOperand(i, (unsigned)warp->mask), lane = shuffles ? LLVMGetOperand(i, 2) : NULL;
    size_t number = add_event_site(m->p, m->function, i, MW_SITE_WARP, warp->call);
    if (shuffles) note_segments(m->p, number, LLVMGetOperand(i, 3));
    call_marker(m, number, word_of(m, mask, lane), i);
  } else if (is_named_barrier(name)) {
    unsigned kind = strcmp(name, BARRIER_ARRIVE) == 0 ? MW_BARRIER_ARRIVE : MW_BARRIER_NAMED;
    LLVMValueRef word = word_of(m, LLVMGetOperand(i, 0), LLVMGetOperand(i, 1));
    call_marker(m, add_event_site(m->p, m->function, i, MW_SITE_BARRIER, kind), word, i);
  } else if (is_block_wait(i) || is_barrier(i) || strcmp(name, "__mw_grid_wait") == 0) {
    unsigned kind = is_block_wait(i)                      ? MW_BARRIER_PHASE
                    : strcmp(name, "__mw_grid_wait") == 0 ? MW_BARRIER_GRID
                    : starts_with(name, "__mw_barrier.")  ? MW_BARRIER_VOTE
                                                          : MW_BARRIER_BLOCK;
    call_marker(m, add_event_site(m->p, m->function, i, MW_SITE_BARRIER, kind), zero, i);
  } else if (LLVMIsAFenceInst(i) || starts_with(name, "llvm.nvvm.membar.")) {
    unsigned scope = strstr(name, ".cta") ? MW_FENCE_BLOCK : strstr(name, ".gl") ? MW_FENCE_DEVICE : MW_FENCE_SYSTEM;
    call_marker(m, add_event_site(m->p, m->function, i, MW_SITE_FENCE, scope), zero, i);
  }
}

static void mark_branch(marker *m, LLVMValueRef end) {
  if (!LLVMIsABranchInst(end) || !LLVMIsConditional(end) || LLVMIsAConstant(LLVMGetCondition(end))) return;
  LLVMPositionBuilderBefore(m->b, end);
  size_t number = add_event_site(m->p, m->function, end, MW_SITE_BRANCH, 0);
  call_marker(m, number, wide(m, LLVMGetCondition(end)), end);
}

/* ---- blocks ---- */

static instructions list_block(LLVMBasicBlockRef block) {
  instructions all = {0};
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) all.count++;
  all.items = mw_alloc((all.count + 1) * sizeof *all.items);
  size_t n = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i; i = LLVMGetNextInstruction(i)) all.items[n++] = i;
  return all;
}

static void mark_code(marker *m, const instructions *block, size_t number) {
  size_t first = 0;
  while (LLVMIsAPHINode(block->items[first]) || LLVMIsAAllocaInst(block->items[first])) first++;
  LLVMValueRef at = block->items[first];
  LLVMPositionBuilderBefore(m->b, at);
  call_marker(m, number, constant_i64(m->p, 0), at);
}

static void mark_block(marker *m, size_t n) {
  unsigned what = m->p->options->observe;
  instructions all = list_block(m->blocks[n]);
  m->issued = NO_SITE;
  if (what & MW_OBSERVE_CODE) m->issued = issuing_site(m->blocks, m->codes, m->count, n);
  if (what & MW_OBSERVE_CODE) mark_code(m, &all, m->codes[n]);
  bool is_outside = leave_textures_out(m, n, &all);
  if (what & MW_OBSERVE_ACCESS) mark_accesses(m, &all);
  for (size_t i = 0; i < all.count && what & MW_OBSERVE_SYNC; i++) mark_event(m, all.items[i]);
  if (what & MW_OBSERVE_BRANCH && is_outside) mark_branch(m, LLVMGetBasicBlockTerminator(m->blocks[n]));
  free(all.items);
}

static void mark_function(marker *m) {
  m->count = LLVMCountBasicBlocks(m->function);
  m->blocks = mw_alloc((m->count + 1) * sizeof(LLVMBasicBlockRef));
  m->codes = mw_alloc((m->count + 1) * sizeof *m->codes);
  LLVMGetBasicBlocks(m->function, m->blocks);
  find_textures(m);
  for (size_t n = 0; n < m->count && m->p->options->observe & MW_OBSERVE_CODE; n++) {
    instructions all = list_block(m->blocks[n]);
    leave_textures_out(m, n, &all);
    m->codes[n] = add_code_sites(m->p, m->function, LLVMGetBasicBlockTerminator(m->blocks[n]), &all);
    free(all.items);
  }
  for (size_t n = 0; n < m->count; n++) mark_block(m, n);
  free(m->blocks);
  free(m->codes);
  free(m->in_texture);
}

void mark_watched(program *p) {
  if (!p->options->observe) return;
  run_passes(p, "function(loop-mssa(licm))"); /* as nvcc hoists loads out of loops that write nothing */
  marker m = {.p = p, .b = LLVMCreateBuilderInContext(p->context)};
  m.functions[0] = declare_marker(p, WATCH_ADDRESS, p->pointer, &m.types[0]);
  m.functions[1] = declare_marker(p, WATCH_NUMBER, p->i64, &m.types[1]);
  EACH_FUNCTION(p, f) {
    size_t length;
    if (p->options->gpu && strstr(LLVMGetValueName2(f, &length), "__mw_")) continue; /* what counts is not counted */
    m.function = f;
    mark_function(&m);
  }
  drop_texture_calls(p);
  LLVMDisposeBuilder(m.b);
  verify_module(p, "watch markers");
}
