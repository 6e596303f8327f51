/* MemorySanitizer's calls become those of a checked run on a GPU (moonwarp/checked_run/written.h). The counterpart of
 * value_shadow.c: an origin is the site of a load, and a function keeps in registers what its accesses look up. */
#include "value_check.h"
#include "device/moonwarp/checked_run/layout.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

enum { PAGES, SHARED, PAGE_MASK, SHARED_WORDS, WHOLE }; /* of a frame */
enum { GENERIC_SPACE = 0, SHARED_SPACE = 3, CONSTANT_SPACE = 4, WORD = 8, PAIR = 16, PARTS = 8 };

bool is_checked_function(const value_check *c, LLVMValueRef f) {
  size_t length;
  if (LLVMIsDeclaration(f)) return false;
  return !c->p->options->gpu || !strstr(LLVMGetValueName2(f, &length), "__mw_");
}

LLVMValueRef call_gpu_function(value_check *c, const char *name, LLVMValueRef *arguments, unsigned count) {
  LLVMValueRef f = LLVMGetNamedFunction(c->p->module, name);
  if (!f) die("the function %s is not in the module: is moonwarp/checked_run/written.h this compiler's?", name);
  return LLVMBuildCall2(c->b, LLVMGlobalGetValueType(f), f, arguments, count, "");
}

/* ---- what a function keeps ---- */

/* The first instruction that is no alloca; those of constant size are moved before it, where they stay when functions
   are inlined into the block. */
static LLVMValueRef open_entry(value_check *c, LLVMValueRef f) {
  LLVMBasicBlockRef entry = LLVMGetEntryBasicBlock(f);
  LLVMValueRef first = LLVMGetFirstInstruction(entry);
  while (LLVMIsAAllocaInst(first)) first = LLVMGetNextInstruction(first);
  for (LLVMValueRef i = first, next; i; i = next) {
    next = LLVMGetNextInstruction(i);
    if (!LLVMIsAAllocaInst(i) || !LLVMIsAConstantInt(LLVMGetOperand(i, 0))) continue;
    LLVMInstructionRemoveFromParent(i);
    LLVMPositionBuilderBefore(c->b, first);
    LLVMInsertIntoBuilder(c->b, i);
  }
  return first;
}

/* At the entry: the frame, and the memory of the latest load of an unwritten value. */
static void open_frame(value_check *c, LLVMValueRef call) {
  program *p = c->p;
  LLVMValueRef f = LLVMGetBasicBlockParent(LLVMGetInstructionParent(call));
  if (c->framed == f) return;
  c->framed = f;
  LLVMTypeRef fields[] = {p->i64, p->i64, p->i32, p->i32};
  LLVMTypeRef latest = LLVMStructTypeInContext(p->context, fields, MW_COUNT(fields), 0);
  LLVMPositionBuilderBefore(c->b, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(f)));
  LLVMSetCurrentDebugLocation2(c->b, NULL);
  c->latest = LLVMBuildAlloca(c->b, latest, GPU_SHADOW);
  LLVMPositionBuilderBefore(c->b, open_entry(c, f));
  LLVMBuildStore(c->b, constant_i32(p, 0), LLVMBuildStructGEP2(c->b, latest, c->latest, 2, GPU_SHADOW));
  LLVMValueRef frame = call_gpu_function(c, "__mw_guard_shadow_frame", NULL, 0);
  for (unsigned i = 0; i < GPU_FRAME; i++) c->frame[i] = LLVMBuildExtractValue(c->b, frame, i, "");
}

/* ---- an access ---- */

/* Memory that has a shadow. */
typedef struct place {
  LLVMValueRef address, object, whole; /* generic pointers; i32 */
  unsigned flags, alignment;           /* alignment: of the access, which is checked */
  const char *name;
} place;

static LLVMValueRef generic(value_check *c, LLVMValueRef pointer) {
  if (LLVMTypeOf(pointer) == c->p->pointer) return pointer;
  return LLVMBuildAddrSpaceCast(c->b, pointer, c->p->pointer, "");
}

/* The number of the kernel's parameter; -1: it is none. */
static int parameter_of(const program *p, LLVMValueRef root) {
  for (size_t n = 0; n < p->kernel_count && LLVMIsAArgument(root); n++)
    for (size_t i = 0; i < p->kernels[n].param_count && p->kernels[n].body == LLVMGetParamParent(root); i++)
      if (LLVMGetParam(p->kernels[n].body, (unsigned)i) == root) return (int)i;
  return -1;
}

/* Local variables whose shadows are not known, constants and struct parameters count as written. */
static bool is_memory(const value_check *c, LLVMValueRef root) {
  unsigned byval = LLVMGetEnumAttributeKindForName("byval", 5), i = 0;
  if (root == c->unwritten || root == c->absent || is_written(c, root) || LLVMIsAAllocaInst(root)) return false;
  if (LLVMGetPointerAddressSpace(LLVMTypeOf(root)) == CONSTANT_SPACE) return false;
  if (LLVMIsAGlobalVariable(root)) return !LLVMIsGlobalConstant(root) && !is_reference(c->p, root);
  if (!LLVMIsAArgument(root)) return !LLVMIsAConstant(root);
  LLVMValueRef f = LLVMGetParamParent(root);
  while (LLVMGetParam(f, i) != root) i++;
  return !LLVMGetEnumAttributeAtIndex(f, i + 1, byval);
}

/* Where the builder is. False: all that is read there counts as written. */
static bool find_place(value_check *c, LLVMValueRef address, place *out) {
  enum { MOST = 32, GLOBAL_SPACE = 1 };
  program *p = c->p;
  LLVMValueRef root = root_of(address);
  accessed o;
  if (!is_memory(c, root)) return false;
  *out = (place){.address = generic(c, address), .whole = constant_i32(p, 0), .alignment = 1};
  if (find_accessed(p, address, &o)) root = o.base, out->name = o.name;
  if (LLVMIsAAllocaInst(root)) return false;
  int parameter = parameter_of(p, root);
  unsigned space = LLVMGetPointerAddressSpace(LLVMTypeOf(root));
  out->object = generic(c, root);
  out->flags = space == SHARED_SPACE                     ? MW_FOLLOW_IN_SHARED
               : space == GLOBAL_SPACE || parameter >= 0 ? MW_FOLLOW_IN_GLOBAL
                                                         : 0;
  if (parameter >= 0 && parameter < MOST)
    out->whole = LLVMBuildAnd(c->b, c->frame[WHOLE], constant_i32(p, 1u << parameter), "");
  return true;
}

/* The address as a number, or the offset in shared memory. */
static LLVMValueRef number_of(value_check *c, const place *at, LLVMValueRef address) {
  LLVMTypeRef offset = LLVMPointerTypeInContext(c->p->context, SHARED_SPACE);
  if (at->flags & MW_FOLLOW_IN_SHARED) address = LLVMBuildAddrSpaceCast(c->b, address, offset, "");
  return LLVMBuildPtrToInt(c->b, address, c->p->i64, "");
}

static LLVMValueRef part_of(value_check *c, LLVMValueRef pointer, uint64_t offset) {
  LLVMValueRef index = constant_i64(c->p, offset);
  return offset ? LLVMBuildGEP2(c->b, c->p->i8, pointer, &index, 1, GPU_SHADOW) : pointer;
}

/* A power of two that is left of the access at the offset. */
static uint64_t bytes_of_part(uint64_t left, uint64_t most) {
  while (most > left) most /= 2;
  return most;
}

static LLVMValueRef flags_of(value_check *c, const place *at, uint64_t bytes) {
  return constant_i32(c->p, at->flags | (at->alignment >= bytes ? MW_FOLLOW_ALIGNED : 0));
}

static LLVMTypeRef word_type(value_check *c, uint64_t bytes) {
  return LLVMIntTypeInContext(c->p->context, (unsigned)(8 * bytes));
}

/* ---- loads ---- */

static void load_part(value_check *c, const place *at, LLVMValueRef site, uint64_t offset, uint64_t bytes,
                      LLVMValueRef to) {
  program *p = c->p;
  LLVMValueRef address = part_of(c, at->address, offset), number = number_of(c, at, address), *f = c->frame;
  LLVMValueRef flags = flags_of(c, at, bytes), size = constant_i64(p, bytes);
  if (bytes == PAIR) {
    LLVMValueRef arguments[] = {address,   number,   at->object, site,         flags,          at->whole,
                                c->latest, f[PAGES], f[SHARED],  f[PAGE_MASK], f[SHARED_WORDS]};
    LLVMValueRef pair = call_gpu_function(c, "__mw_guard_shadow_load_pair", arguments, MW_COUNT(arguments));
    for (unsigned k = 0; k < 2; k++)
      LLVMSetAlignment(
          LLVMBuildStore(c->b, LLVMBuildExtractValue(c->b, pair, k, ""), part_of(c, to, offset + k * WORD)), 1);
    return;
  }
  LLVMValueRef arguments[] = {address,   number,    size,     at->object, site,         flags,
                              at->whole, c->latest, f[PAGES], f[SHARED],  f[PAGE_MASK], f[SHARED_WORDS]};
  LLVMValueRef shadow = call_gpu_function(c, "__mw_guard_shadow_load", arguments, MW_COUNT(arguments));
  if (bytes < WORD) shadow = LLVMBuildTrunc(c->b, shadow, word_type(c, bytes), "");
  LLVMSetAlignment(LLVMBuildStore(c->b, shadow, part_of(c, to, offset)), 1);
}

/* `to` gets the shadow of memory; most: bytes of an access, by its alignment. */
static void load_shadow(value_check *c, const place *at, LLVMValueRef site, LLVMValueRef bytes, uint64_t most,
                        LLVMValueRef to) {
  uint64_t count = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : UINT64_MAX;
  if (count > PARTS * most) {
    LLVMValueRef arguments[] = {at->address, bytes, at->object, site, to, c->latest};
    call_gpu_function(c, "__mw_guard_shadow_fetch", arguments, MW_COUNT(arguments));
    return;
  }
  for (uint64_t offset = 0, part; offset < count; offset += part) {
    part = bytes_of_part(count - offset, most);
    load_part(c, at, site, offset, part, to);
  }
}

/* ---- stores ---- */

static void store_part(value_check *c, const place *at, uint64_t bytes, LLVMValueRef shadow, uint64_t offset) {
  program *p = c->p;
  LLVMValueRef address = part_of(c, at->address, offset), *f = c->frame;
  LLVMValueRef arguments[] = {address,
                              number_of(c, at, address),
                              constant_i64(p, bytes),
                              shadow,
                              flags_of(c, at, bytes),
                              at->whole,
                              f[PAGES],
                              f[SHARED],
                              f[PAGE_MASK],
                              f[SHARED_WORDS]};
  call_gpu_function(c, "__mw_guard_shadow_store", arguments, MW_COUNT(arguments));
}

/* from: memory with the shadow; NULL: all is written. */
static void store_shadow(value_check *c, const place *at, LLVMValueRef bytes, uint64_t most, LLVMValueRef from) {
  program *p = c->p;
  uint64_t count = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : UINT64_MAX;
  if (from && most > WORD) most = WORD;
  if (count > PARTS * most) {
    LLVMValueRef arguments[] = {at->address, bytes, from ? from : LLVMConstNull(p->pointer)};
    call_gpu_function(c, "__mw_guard_shadow_put", arguments, MW_COUNT(arguments));
    return;
  }
  for (uint64_t offset = 0, part; offset < count; offset += part) {
    part = bytes_of_part(count - offset, most);
    LLVMValueRef shadow = constant_i64(p, 0);
    if (from) {
      LLVMValueRef loaded = LLVMBuildLoad2(c->b, word_type(c, part), part_of(c, from, offset), "");
      LLVMSetAlignment(loaded, 1);
      shadow = LLVMBuildZExt(c->b, loaded, p->i64, "");
    }
    store_part(c, at, part, shadow, offset);
  }
}

static bool is_store_to(LLVMValueRef i, LLVMValueRef address) {
  LLVMOpcode opcode = LLVMGetInstructionOpcode(i);
  if (opcode == LLVMStore) return LLVMGetOperand(i, 1) == address;
  return (opcode == LLVMAtomicRMW || opcode == LLVMAtomicCmpXchg) && LLVMGetOperand(i, 0) == address;
}

/* The access for which the shadow is stored: it has been checked when it has happened. Between the two MemorySanitizer
   has a branch, to the store of an origin. */
static LLVMValueRef access_after(LLVMValueRef call, LLVMValueRef address) {
  enum { STEPS = 4 };
  LLVMValueRef i = LLVMGetNextInstruction(call);
  for (unsigned step = 0; step < STEPS; step++) {
    for (; i; i = LLVMGetNextInstruction(i)) {
      if (is_store_to(i, address)) return i;
      if (LLVMIsATerminatorInst(i)) break;
    }
    unsigned count = i ? LLVMGetNumSuccessors(i) : 0;
    if (!count) return NULL;
    i = LLVMGetFirstInstruction(LLVMGetSuccessor(i, count - 1));
  }
  return NULL;
}

static LLVMValueRef stored_shadow(LLVMValueRef part) {
  for (LLVMUseRef use = LLVMGetFirstUse(part); use; use = LLVMGetNextUse(use))
    if (LLVMIsAStoreInst(LLVMGetUser(use)) && LLVMGetOperand(LLVMGetUser(use), 1) == part) return LLVMGetUser(use);
  return NULL;
}

static void make_gpu_store(value_check *c, LLVMValueRef call, LLVMValueRef part, LLVMValueRef bytes, uint64_t count) {
  LLVMValueRef address = LLVMGetOperand(call, 0), access = access_after(call, address);
  LLVMValueRef shadow = slot(c, call, (unsigned)(count > WIDEST ? count : WIDEST)), store = stored_shadow(part);
  bool is_clean = store && LLVMIsNull(LLVMGetOperand(store, 0));
  place at;
  LLVMReplaceAllUsesWith(part, shadow);
  if (!store && !access) return; /* of an argument */
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(access ? access : store));
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(call));
  if (!find_place(c, address, &at)) return;
  if (access && LLVMIsAStoreInst(access)) at.alignment = LLVMGetAlignment(access);
  store_shadow(c, &at, bytes, PAIR, is_clean ? NULL : shadow);
}

/* ---- MemorySanitizer's calls ---- */

/* Of the load before the call, for which it is. */
static unsigned alignment_before(LLVMValueRef call, LLVMValueRef address) {
  enum { STEPS = 4 };
  LLVMValueRef i = call;
  for (unsigned step = 0; step < STEPS && (i = LLVMGetPreviousInstruction(i)); step++)
    if (LLVMIsALoadInst(i) && LLVMGetOperand(i, 0) == address) return LLVMGetAlignment(i);
  return 1;
}

static LLVMValueRef make_gpu_load(value_check *c, LLVMValueRef call, LLVMValueRef bytes, uint64_t count,
                                  unsigned *origin) {
  program *p = c->p;
  LLVMValueRef address = LLVMGetOperand(call, 0), root = root_of(address);
  LLVMValueRef shadow = slot(c, call, (unsigned)(count > WIDEST ? count : WIDEST));
  place at = {0};
  LLVMPositionBuilderBefore(c->b, call);
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(call));
  bool is_absent = root == c->absent && p->options->checks & MW_CHECK_BARRIERS;
  bool is_memory = find_place(c, address, &at);
  at.alignment = alignment_before(call, address);
  *origin = add_followed_site(p, call, is_memory ? at.name : NULL, count) | (is_absent ? MW_FOLLOW_FROM_SHUFFLE : 0);
  if (is_absent && count <= WORD) {
    LLVMValueRef all = call_gpu_function(c, "__mw_guard_shadow_absent", NULL, 0);
    if (count < WORD) all = LLVMBuildTrunc(c->b, all, word_type(c, count), "");
    LLVMBuildStore(c->b, all, shadow);
  } else if (is_memory) {
    load_shadow(c, &at, constant_i32(p, *origin), bytes, PAIR, shadow);
    *origin = 0; /* the thread's latest load of an unwritten value: selecting origins would cost much */
  } else {
    LLVMBuildMemSet(c->b, shadow, LLVMConstInt(p->i8, root == c->unwritten ? 0xff : 0, 0), bytes, 1);
  }
  return shadow;
}

static void make_gpu_metadata(value_check *c, LLVMValueRef call, bool stores) {
  program *p = c->p;
  const char *suffix = strrchr(callee_name(call), '_') + 1;
  LLVMValueRef bytes = *suffix == 'n' ? LLVMGetOperand(call, 1) : constant_i64(p, strtoul(suffix, NULL, 10));
  uint64_t count = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : LONGEST;
  if (!LLVMIsAConstantInt(bytes)) bytes = constant_i64(p, count);
  LLVMValueRef local = gpu_local_shadow(c, LLVMGetOperand(call, 0)), shadow = local;
  unsigned origin = 0;
  if (!stores && !local) shadow = make_gpu_load(c, call, bytes, count, &origin);
  if (!stores && local) origin = add_followed_site(p, call, NULL, count);
  LLVMValueRef line = slot(c, call, (unsigned)(count > WIDEST ? count : WIDEST));
  LLVMPositionBuilderBefore(c->b, call);
  if (!stores) LLVMBuildStore(c->b, constant_i32(p, origin), line);
  for (LLVMUseRef use = LLVMGetFirstUse(call), next; use; use = next) {
    next = LLVMGetNextUse(use);
    LLVMValueRef part = LLVMGetUser(use);
    bool is_shadow = LLVMIsAExtractValueInst(part) && *LLVMGetIndices(part) == 0;
    if (is_shadow && stores && !local)
      make_gpu_store(c, call, part, bytes, count);
    else
      LLVMReplaceAllUsesWith(part, is_shadow ? shadow : line);
    LLVMInstructionEraseFromParent(part);
  }
}

static void make_gpu_warning(value_check *c, LLVMValueRef call) {
  LLVMValueRef own = constant_i32(c->p, add_followed_site(c->p, call, NULL, 0));
  LLVMValueRef arguments[] = {LLVMGetOperand(call, 0), own, c->latest};
  LLVMPositionBuilderBefore(c->b, call);
  call_gpu_function(c, "__mw_guard_unwritten", arguments, MW_COUNT(arguments));
}

/* The shadow of a copy's source, in memory of its own; NULL: all is written. */
static LLVMValueRef source_shadow(value_check *c, LLVMValueRef call, LLVMValueRef from, LLVMValueRef bytes) {
  enum { LARGEST = 1024 };
  uint64_t count = LLVMIsAConstantInt(bytes) ? LLVMConstIntGetZExtValue(bytes) : LARGEST + 1;
  LLVMValueRef local = gpu_local_shadow(c, from);
  if (local) return local;
  if (root_of(from) != c->unwritten || count > LARGEST) return NULL;
  LLVMValueRef made = slot(c, call, (unsigned)(count ? count : 1));
  LLVMPositionBuilderBefore(c->b, call);
  LLVMBuildMemSet(c->b, made, LLVMConstInt(c->p->i8, 0xff, 0), bytes, 1);
  return made;
}

static uint64_t part_for(unsigned alignment) { return alignment >= PAIR ? PAIR : alignment >= 1 ? alignment : 1; }

/* Builder: before the call. from: NULL for a fill. */
static void copy_gpu_shadow(value_check *c, LLVMValueRef call, LLVMValueRef from, alignments known) {
  program *p = c->p;
  LLVMValueRef target = LLVMGetOperand(call, 0), bytes = LLVMGetOperand(call, 2);
  LLVMValueRef to = gpu_local_shadow(c, target), shadow = from ? source_shadow(c, call, from, bytes) : NULL;
  place target_place, source_place;
  LLVMPositionBuilderBefore(c->b, call);
  bool reads = from && !shadow && find_place(c, from, &source_place);
  if (to && shadow) {
    LLVMBuildMemMove(c->b, to, 1, shadow, 1, bytes);
  } else if (to && reads) {
    LLVMValueRef site = constant_i32(p, add_followed_site(p, call, source_place.name, 0));
    source_place.alignment = known.source;
    load_shadow(c, &source_place, site, bytes, part_for(known.source), to);
  } else if (to) {
    LLVMBuildMemSet(c->b, to, LLVMConstNull(p->i8), bytes, 1);
  } else if (find_place(c, target, &target_place) && reads) {
    LLVMValueRef arguments[] = {target_place.address, source_place.address, bytes};
    call_gpu_function(c, "__mw_guard_shadow_move", arguments, MW_COUNT(arguments));
  } else if (find_place(c, target, &target_place)) {
    target_place.alignment = known.target;
    store_shadow(c, &target_place, bytes, part_for(known.target), shadow);
  }
}

static void make_gpu_copy(value_check *c, LLVMValueRef call, const char *what) {
  alignments known = c->next_copy < c->copy_count ? c->copies[c->next_copy++] : (alignments){1, 1};
  LLVMPositionBuilderBefore(c->b, call);
  copy_memory(c, call, what, known);
  copy_gpu_shadow(c, call, strcmp(what, "memset") == 0 ? NULL : LLVMGetOperand(call, 1), known);
}

static void begin_gpu_local(value_check *c, LLVMValueRef call, bool by_caller) {
  LLVMValueRef shadow = gpu_local_shadow(c, LLVMGetOperand(call, 0)), bytes = LLVMGetOperand(call, 1);
  LLVMPositionBuilderBefore(c->b, call);
  if (shadow) LLVMBuildMemSet(c->b, shadow, LLVMConstInt(c->p->i8, by_caller ? 0 : 0xff, 0), bytes, 1);
}

void rewrite_gpu_call(value_check *c, LLVMValueRef call, const char *what) {
  open_frame(c, call);
  LLVMSetCurrentDebugLocation2(c->b, LLVMInstructionGetDebugLoc(call));
  if (starts_with(what, "metadata_ptr_for_") && make_shuffled(c, call)) return;
  if (starts_with(what, "metadata_ptr_for_"))
    make_gpu_metadata(c, call, starts_with(what, "metadata_ptr_for_store"));
  else if (strcmp(what, "warning") == 0)
    make_gpu_warning(c, call);
  else if (strcmp(what, "get_context_state") == 0) {
    forget_state(call);
    if (LLVMGetFirstUse(call)) make_context(c, call);
  } else if (strcmp(what, "poison_alloca") == 0 || strcmp(what, "unpoison_alloca") == 0)
    begin_gpu_local(c, call, *what == 'u');
  else if (strcmp(what, "chain_origin") == 0)
    LLVMReplaceAllUsesWith(call, LLVMGetOperand(call, 0));
  else if (starts_with(what, "mem"))
    make_gpu_copy(c, call, what);
}
