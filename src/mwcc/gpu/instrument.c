/* Instrumentation of GPU kernels, so that the host can stop them (--stoppable) and that they check their accesses
 * (--check-memory).
 *
 * A kernel on a GPU cannot be stopped from outside, and a fault makes the GPU's context unusable. So kernels call
 * functions of moonwarp/guard_calls.h: at their start they report to the host that they run, loops poll for a request
 * to end (safepoints.c), and each access compares its address with the extent of the object that the address is derived
 * from:
 *
 *   distance = address - base;
 *   if (distance >= limit) refuse(...);
 *   access
 *
 * For variables, shared memory and local arrays, the extent is a constant. For kernel parameters the host passes it;
 * for other pointers it is looked up once, after their definition, in the table of arrays. __mw_guard_refuse checks
 * again, exactly, and returns if the access is correct after all. */
#include "instrument.h"
#include "mwcc/prepare/prepare.h"
#include "mwcc/read/read.h"
#include "mwcc/support/predicates.h"

#include <stdlib.h>
#include <string.h>

LLVMValueRef guard_function(program *p, const char *name) {
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  if (!function) die("the function %s is not in the module: is moonwarp/guard_calls.h this compiler's?", name);
  return function;
}

void guard_call(LLVMBuilderRef b, LLVMValueRef function, LLVMValueRef *arguments, unsigned count) {
  LLVMBuildCall2(b, LLVMGlobalGetValueType(function), function, arguments, count, "");
}

bool guard_is_ours(LLVMValueRef function) {
  size_t length;
  return strstr(LLVMGetValueName2(function, &length), "__mw_") != NULL;
}

void guard_position_at_entry(LLVMBuilderRef b, LLVMValueRef function) {
  LLVMValueRef at = LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function));
  while (LLVMIsAAllocaInst(at) || (LLVMIsACallInst(at) && strcmp(callee_name(at), "__mw_guard_begin") == 0))
    at = LLVMGetNextInstruction(at);
  LLVMPositionBuilderBefore(b, at);
}

/* ---- parameters: the launch's number, and extents ---- */

bool has_passed_extent(const kernel *k, size_t i) { return k->params[i].type->type.kind == MW_TYPE_POINTER; }

static unsigned count_passed(const program *p, const kernel *k, size_t before) {
  unsigned count = 0;
  for (size_t i = 0; i < before && p->options->check_memory; i++) count += has_passed_extent(k, i);
  return count;
}

static LLVMTypeRef with_number(program *p, const kernel *k, LLVMTypeRef type) {
  unsigned count = LLVMCountParamTypes(type),
           more = 1 + 2 * count_passed(p, k, k->param_count) + (p->options->checks || p->options->observe);
  LLVMTypeRef *params = mw_alloc((count + more) * sizeof *params);
  LLVMGetParamTypes(type, params);
  for (unsigned i = 0; i < more; i++) params[count + i] = p->i64;
  LLVMTypeRef result = LLVMFunctionType(LLVMGetReturnType(type), params, count + more, 0);
  free(params);
  return result;
}

static void copy_attributes_at(LLVMValueRef from, LLVMValueRef to, unsigned index) {
  unsigned count = LLVMGetAttributeCountAtIndex(from, index);
  LLVMAttributeRef *list = mw_alloc((count + 1) * sizeof *list);
  LLVMGetAttributesAtIndex(from, index, list);
  for (unsigned i = 0; i < count; i++) LLVMAddAttributeAtIndex(to, index, list[i]);
  free(list);
}

static void move_body(LLVMValueRef old, LLVMValueRef made) {
  size_t length;
  copy_attributes_at(old, made, (unsigned)LLVMAttributeFunctionIndex);
  for (unsigned i = 0; i < LLVMCountParams(old); i++) {
    LLVMValueRef from = LLVMGetParam(old, i), to = LLVMGetParam(made, i);
    const char *name = LLVMGetValueName2(from, &length);
    copy_attributes_at(old, made, i + 1);
    LLVMSetValueName2(to, name, length);
    LLVMReplaceAllUsesWith(from, to);
  }
  for (LLVMBasicBlockRef next, block = LLVMGetFirstBasicBlock(old); block; block = next) {
    next = LLVMGetNextBasicBlock(block);
    LLVMRemoveBasicBlockFromParent(block);
    LLVMAppendExistingBasicBlock(made, block);
  }
}

static void number_kernel(program *p, LLVMBuilderRef b, kernel *k) {
  LLVMValueRef old = k->body, begin = guard_function(p, "__mw_guard_begin");
  size_t length;
  char *name = mw_strdup(LLVMGetValueName2(old, &length));
  LLVMValueRef made = LLVMAddFunction(p->module, "", with_number(p, k, LLVMGlobalGetValueType(old)));
  LLVMMetadataRef subprogram = LLVMGetSubprogram(old);
  LLVMSetFunctionCallConv(made, LLVMGetFunctionCallConv(old));
  LLVMSetSubprogram(old, NULL);
  LLVMSetSubprogram(made, subprogram);
  move_body(old, made);
  LLVMReplaceAllUsesWith(old, made);
  LLVMDeleteFunction(old);
  LLVMSetValueName2(made, name, strlen(name));
  free(name);
  k->body = made;
  LLVMValueRef number = LLVMGetParam(made, (unsigned)k->param_count);
  guard_position_at_entry(b, made);
  guard_call(b, begin, &number, 1);
}

/* ---- checks ---- */

/* The object that a pointer points into, loaded where the pointer is defined. */
typedef struct extent {
  LLVMValueRef root, base, bytes;
} extent;

/* The bound for accesses of a size and alignment: their distance from the extent's base has to be less than the
   limit. */
typedef struct reach {
  LLVMValueRef root, limit;
  uint64_t bytes;
  unsigned alignment;
} reach;

typedef struct checker {
  program *p;
  LLVMBuilderRef b;
  LLVMValueRef find, refuse, refuse_known;
  extent *extents; /* of this function */
  size_t extent_count;
  reach *reaches;
  size_t reach_count;
} checker;

static LLVMValueRef plain(checker *c, LLVMValueRef pointer) {
  if (LLVMTypeOf(pointer) == c->p->pointer) return pointer;
  return LLVMBuildAddrSpaceCast(c->b, pointer, c->p->pointer, "");
}

static LLVMValueRef number_of(checker *c, LLVMValueRef pointer) {
  return LLVMBuildPtrToInt(c->b, plain(c, pointer), c->p->i64, "");
}

static void position_after(checker *c, LLVMValueRef root, LLVMValueRef function) {
  if (!LLVMIsAInstruction(root)) {
    guard_position_at_entry(c->b, function);
    return;
  }
  LLVMValueRef at = LLVMGetNextInstruction(root);
  while (LLVMIsAPHINode(at)) at = LLVMGetNextInstruction(at);
  LLVMPositionBuilderBefore(c->b, at);
}

/* The extent that the host passes for a kernel's parameter. */
static bool find_passed_extent(checker *c, LLVMValueRef root, extent *out) {
  for (size_t n = 0; n < c->p->kernel_count; n++) {
    const kernel *k = &c->p->kernels[n];
    for (size_t i = 0; i < k->param_count; i++) {
      if (LLVMGetParam(k->body, (unsigned)i) != root || !has_passed_extent(k, i)) continue;
      unsigned at = (unsigned)k->param_count + 1 + 2 * count_passed(c->p, k, i);
      *out = (extent){root, LLVMGetParam(k->body, at), LLVMGetParam(k->body, at + 1)};
      return true;
    }
  }
  return false;
}

/* The root's extent. Leaves the builder where it is available. */
static const extent *extent_of(checker *c, LLVMValueRef root, LLVMValueRef function) {
  for (size_t i = 0; i < c->extent_count; i++) {
    if (c->extents[i].root != root) continue;
    if (LLVMIsAInstruction(c->extents[i].bytes))
      LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(c->extents[i].bytes));
    else
      guard_position_at_entry(c->b, function);
    return &c->extents[i];
  }
  extent passed;
  position_after(c, root, function);
  c->extents = mw_realloc(c->extents, (c->extent_count + 1) * sizeof *c->extents);
  if (find_passed_extent(c, root, &passed)) {
    c->extents[c->extent_count] = passed;
    return &c->extents[c->extent_count++];
  }
  LLVMValueRef pointer = plain(c, root);
  LLVMValueRef found = LLVMBuildCall2(c->b, LLVMGlobalGetValueType(c->find), c->find, &pointer, 1, "");
  LLVMValueRef base = LLVMBuildExtractValue(c->b, found, 0, "");
  c->extents[c->extent_count] = (extent){root, base, LLVMBuildExtractValue(c->b, found, 1, "")};
  return &c->extents[c->extent_count++];
}

static LLVMValueRef is_aligned(checker *c, LLVMValueRef number, unsigned alignment) {
  LLVMValueRef rest = LLVMBuildAnd(c->b, number, constant_i64(c->p, alignment - 1), "");
  return LLVMBuildICmp(c->b, LLVMIntEQ, rest, constant_i64(c->p, 0), "");
}

/* The limit is 0 for a root that is not aligned, so that __mw_guard_refuse decides about each of its accesses. */
static LLVMValueRef limit_of(checker *c, LLVMValueRef root, uint64_t bytes, unsigned alignment, LLVMValueRef function) {
  for (size_t i = 0; i < c->reach_count; i++) {
    const reach *r = &c->reaches[i];
    if (r->root == root && r->bytes == bytes && r->alignment == alignment) return r->limit;
  }
  const extent *e = extent_of(c, root, function);
  LLVMValueRef size = constant_i64(c->p, bytes);
  LLVMValueRef fits = LLVMBuildICmp(c->b, LLVMIntUGE, e->bytes, size, "");
  if (alignment > 1) fits = LLVMBuildAnd(c->b, fits, is_aligned(c, number_of(c, root), alignment), "");
  LLVMValueRef last = LLVMBuildAdd(c->b, e->bytes, constant_i64(c->p, 1 - bytes), "");
  LLVMValueRef limit = LLVMBuildSelect(c->b, fits, last, constant_i64(c->p, 0), "");
  c->reaches = mw_realloc(c->reaches, (c->reach_count + 1) * sizeof *c->reaches);
  c->reaches[c->reach_count++] = (reach){root, limit, bytes, alignment};
  return limit;
}

static LLVMValueRef text_of(checker *c, const char *text) {
  return text && *text ? LLVMBuildGlobalStringPtr(c->b, text, "") : LLVMConstNull(c->p->pointer);
}

/* distance <= size && distance + bytes <= size: a distance before the start is larger than any size. */
static LLVMValueRef lies_within(checker *c, LLVMValueRef distance, LLVMValueRef bytes, LLVMValueRef size) {
  LLVMValueRef begins = LLVMBuildICmp(c->b, LLVMIntULE, distance, size, "");
  LLVMValueRef end = LLVMBuildAdd(c->b, distance, bytes, "");
  return LLVMBuildAnd(c->b, begins, LLVMBuildICmp(c->b, LLVMIntULE, end, size, ""), "");
}

static LLVMValueRef dynamic_bytes(checker *c) {
  static const char text[] = "mov.u32 $0, %dynamic_smem_size;", constraint[] = "=r";
  LLVMTypeRef type = LLVMFunctionType(c->p->i32, NULL, 0, 0);
  LLVMValueRef code =
      LLVMGetInlineAsm(type, text, strlen(text), constraint, strlen(constraint), 0, 0, LLVMInlineAsmDialectATT, 0);
  return LLVMBuildZExt(c->b, LLVMBuildCall2(c->b, type, code, NULL, 0, ""), c->p->i64, "");
}

/* A cold path before the access, where the builder then is. Returns the access's block. */
static LLVMBasicBlockRef branch_unless(checker *c, LLVMValueRef access, LLVMValueRef good) {
  program *p = c->p;
  LLVMBasicBlockRef rest = LLVMGetInstructionParent(access), head = split_block(p, access);
  LLVMBasicBlockRef refuse = LLVMInsertBasicBlockInContext(p->context, rest, "refuse");
  LLVMPositionBuilderAtEnd(c->b, head);
  build_likely(p, c->b, good, rest, refuse);
  LLVMPositionBuilderAtEnd(c->b, refuse);
  return rest;
}

/* Arguments that describe the access in the source: name, file, line, whether it is a store. */
static void add_place(checker *c, LLVMValueRef i, const char *name, bool is_store, LLVMValueRef out[4]) {
  const char *file;
  unsigned line, column;
  program_position(i, &file, &line, &column);
  out[0] = text_of(c, name);
  out[1] = text_of(c, file);
  out[2] = constant_i32(c->p, line);
  out[3] = constant_i32(c->p, is_store);
}

/* Whether it is dynamic shared memory, whose size the launch sets; `size` does not distinguish it from other arrays. */
static bool is_dynamic(const checker *c, const accessed *o) {
  for (size_t i = 0; i < c->p->shared_count && o->size == MW_OBJECT_SHARED; i++)
    if (c->p->shareds[i].global == o->base) return c->p->shareds[i].dynamic;
  return false;
}

static void check_known(checker *c, LLVMValueRef i, const gpu_access *a, const accessed *o, unsigned alignment) {
  program *p = c->p;
  LLVMPositionBuilderBefore(c->b, i);
  bool is_constant = LLVMIsAConstantInt(a->bytes) && !is_dynamic(c, o);
  uint64_t most = is_constant ? LLVMConstIntGetZExtValue(a->bytes) : 0;
  LLVMValueRef bytes = LLVMBuildZExt(c->b, a->bytes, p->i64, "");
  LLVMValueRef size = is_dynamic(c, o) ? dynamic_bytes(c) : constant_i64(p, o->size);
  LLVMValueRef distance = LLVMBuildSub(c->b, number_of(c, a->address), number_of(c, o->base), "");
  LLVMValueRef good = is_constant && most <= o->size
                          ? LLVMBuildICmp(c->b, LLVMIntULE, distance, constant_i64(p, o->size - most), "")
                          : lies_within(c, distance, bytes, size);
  if (alignment > 1) good = LLVMBuildAnd(c->b, good, is_aligned(c, distance, alignment), "");
  LLVMValueRef arguments[7] = {distance, bytes, size};
  add_place(c, i, o->name, a->is_store, arguments + 3);
  (void)branch_unless(c, i, good);
  guard_call(c->b, c->refuse_known, arguments, MW_COUNT(arguments));
  LLVMBuildUnreachable(c->b);
}

static void check_found(checker *c, LLVMValueRef i, LLVMValueRef function, const gpu_access *a, const accessed *o,
                        unsigned alignment) {
  bool is_constant = LLVMIsAConstantInt(a->bytes);
  uint64_t most = is_constant ? LLVMConstIntGetZExtValue(a->bytes) : 0;
  LLVMValueRef limit = is_constant ? limit_of(c, o->base, most, alignment, function) : NULL;
  const extent *e = extent_of(c, o->base, function);
  LLVMPositionBuilderBefore(c->b, i);
  LLVMValueRef bytes = LLVMBuildZExt(c->b, a->bytes, c->p->i64, ""), address = number_of(c, a->address);
  LLVMValueRef distance = LLVMBuildSub(c->b, address, e->base, "");
  LLVMValueRef good =
      is_constant ? LLVMBuildICmp(c->b, LLVMIntULT, distance, limit, "") : lies_within(c, distance, bytes, e->bytes);
  if (alignment > 1) /* of the offset from the root, whose low bits LLVM often knows; the limit covers the root's */
    good =
        LLVMBuildAnd(c->b, good, is_aligned(c, LLVMBuildSub(c->b, address, number_of(c, o->base), ""), alignment), "");
  LLVMValueRef arguments[8] = {plain(c, o->base), plain(c, a->address), bytes, constant_i32(c->p, alignment)};
  add_place(c, i, o->name, a->is_store, arguments + 4);
  LLVMBasicBlockRef rest = branch_unless(c, i, good);
  follow_outside(c->p, c->b, i, a, o);
  guard_call(c->b, c->refuse, arguments, MW_COUNT(arguments));
  LLVMBuildBr(c->b, rest);
}

/* Accesses to shadows of local variables (prepare/values/gpu_locals.c). */
static bool is_shadow(LLVMValueRef address) {
  size_t length;
  return starts_with(LLVMGetValueName2(root_of(address), &length), "mw.shadow");
}

static void check(checker *c, LLVMValueRef i, LLVMValueRef function, const gpu_access *a) {
  accessed o, inner;
  unsigned alignment = a->alignment > 16 ? 16 : a->alignment ? a->alignment : 1;
  if (is_shadow(a->address) || !find_accessed(c->p, a->address, &o)) return;
  if (c->p->options->checks && find_inner_array(c->p, c->b, a->address, &inner)) {
    inner.name = o.name;
    check_known(c, i, a, &inner, 1);
  }
  if (o.size == MW_OBJECT_ALLOCATION)
    check_found(c, i, function, a, &o, alignment);
  else
    check_known(c, i, a, &o, alignment);
}

static void record_malloc(checker *c, LLVMValueRef i) {
  if (strcmp(callee_name(i), "malloc") != 0) return;
  LLVMPositionBuilderBefore(c->b, LLVMGetNextInstruction(i));
  LLVMValueRef arguments[] = {i, LLVMBuildZExt(c->b, LLVMGetOperand(i, 0), c->p->i64, "")};
  guard_call(c->b, guard_function(c->p, "__mw_guard_given"), arguments, 2);
}

static void check_function(checker *c, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  c->extent_count = c->reach_count = 0;
  for (size_t n = 0; n < list.count; n++) {
    gpu_access accesses[2];
    int count = find_gpu_accesses(c->p, list.items[n], accesses);
    for (int k = 0; k < count; k++) check(c, list.items[n], function, &accesses[k]);
    if (LLVMIsACallInst(list.items[n])) record_malloc(c, list.items[n]);
  }
  free(list.items);
}

/* ---- traps ---- */

static bool is_trap(LLVMValueRef i) {
  if (!LLVMIsACallInst(i)) return false;
  LLVMValueRef code = LLVMGetCalledValue(i);
  size_t length;
  if (!LLVMIsAInlineAsm(code)) return strcmp(callee_name(i), "llvm.trap") == 0;
  const char *text = LLVMGetInlineAsmAsmString(code, &length);
  text += strspn(text, " \t\n{");
  return strncmp(text, "trap;", 5) == 0 && strspn(text + 5, " \t\n}") == strlen(text + 5);
}

static void report_traps(program *p, LLVMBuilderRef b, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  checker c = {.p = p, .b = b};
  for (size_t n = 0; n < list.count; n++) {
    const char *file;
    unsigned line, column;
    if (!is_trap(list.items[n])) continue;
    program_position(list.items[n], &file, &line, &column);
    LLVMPositionBuilderBefore(b, list.items[n]);
    LLVMValueRef arguments[] = {text_of(&c, file), constant_i32(p, line)};
    guard_call(b, guard_function(p, "__mw_guard_trap"), arguments, 2);
  }
  free(list.items);
}

void guard_drop_unused(program *p, bool keep_poll) {
  EACH_FUNCTION(p, f) {
    size_t length;
    const char *name = LLVMGetValueName2(f, &length);
    if (LLVMIsDeclaration(f) || !starts_with(name, GUARD_FUNCTION)) continue;
    if (!keep_poll || strcmp(name, "__mw_guard_poll") != 0) LLVMSetLinkage(f, LLVMInternalLinkage);
  }
}

void guard_kernels(program *p) {
  if (!p->options->stoppable) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  checker c = {.p = p, .b = b};
  for (size_t i = 0; i < p->kernel_count; i++) number_kernel(p, b, &p->kernels[i]);
  check_values(p);
  if (p->options->checks & MW_CHECK_INITIALISATION) /* what finds shadows is inlined later, and not checked itself */
    run_passes(p, "function(sroa<modify-cfg>,early-cse)");
  else if (p->options->check_memory || p->options->checks)
    run_passes(p, p->options->checks ? "always-inline,cgscc(inline),function(sroa<modify-cfg>,early-cse)"
                                     : "always-inline,cgscc(inline),function(sroa<modify-cfg>,early-cse,"
                                       "load-store-vectorizer)");
  if (p->options->check_memory) {
    c.find = guard_function(p, "__mw_guard_extent");
    c.refuse = guard_function(p, "__mw_guard_refuse");
    c.refuse_known = guard_function(p, "__mw_guard_refuse_known");
  }
  EACH_FUNCTION(p, f) {
    if (LLVMIsDeclaration(f) || guard_is_ours(f)) continue;
    report_traps(p, b, f);
    if (p->options->check_memory) check_function(&c, f);
  }
  if (p->options->checks) follow_kernels(p);
  if (p->options->observe) measure_kernels(p);
  free(c.extents);
  free(c.reaches);
  LLVMDisposeBuilder(b);
  guard_drop_unused(p, true);
  verify_module(p, "guarding kernels");
}
