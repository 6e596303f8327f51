/* Module variables and shared memory: from globals to memory that the runtime provides.
 *
 * Before: instructions and constants name globals. After: a module variable is a load of its address from
 * mw_frame.symbols, once at the top of each function that uses it, and a shared variable is an offset into the
 * block's memory. So the object holds no state, and the host, other modules and other template instances can share a
 * variable. Runs after lower_threads: the first parameter leads to the frame. */
#include "mwcc/mwcc.h"
#include "mwcc/analysis/analysis.h"
#include "lower.h"
#include "mwcc/read/read.h"

#include <stdlib.h>
#include <string.h>

/* ---- where a global is now ---- */

static variable *find_variable(program *p, LLVMValueRef value) {
  for (size_t i = 0; i < p->variable_count; i++)
    if (p->variables[i].global == value) return &p->variables[i];
  return NULL;
}

static shared *find_shared(program *p, LLVMValueRef value) {
  for (size_t i = 0; i < p->shared_count; i++)
    if (p->shareds[i].global == value) return &p->shareds[i];
  return NULL;
}

/* Whether a constant is, or is made from, the address of a variable or of shared memory. */
static bool mentions(program *p, LLVMValueRef value) {
  if (!LLVMIsAConstant(value) || LLVMIsAFunction(value)) return false;
  if (LLVMIsAGlobalVariable(value)) return find_variable(p, value) || find_shared(p, value);
  int count = LLVMGetNumOperands(value);
  for (int i = 0; i < count; i++)
    if (mentions(p, LLVMGetOperand(value, (unsigned)i))) return true;
  return false;
}

/* ---- uses in code ---- */

typedef struct rewriter {
  program *p;
  LLVMBuilderRef b;     /* before the use */
  LLVMBuilderRef entry; /* at the top of the function, after what was emitted there */
  LLVMBuilderRef
      block; /* where the shared memory of one of several blocks is selected (shared_privatization.c), or at the top */
  LLVMValueRef function;
  LLVMValueRef own_shared; /* the beginning of that block's memory; NULL: the worker's */
  /* the kernel whose SIMD variant the function is: then there are frame and worker, but no thread */
  const kernel *simd;
  LLVMValueRef *addresses; /* a variable's address in this function, once loaded: variables, then shareds */
} rewriter;

static LLVMValueRef variable_address(rewriter *r, size_t index) {
  program *p = r->p;
  LLVMValueRef frame = LLVMGetParam(r->function, 0);
  if (!r->simd) frame = thread_load(p, r->entry, frame, THREAD_FRAME, 0);
  LLVMValueRef symbols = load_invariant(p, r->entry, p->pointer, frame, offsetof(mw_frame, symbols));
  return load_invariant(p, r->entry, p->pointer, symbols, index * sizeof(void *));
}

static LLVMValueRef shared_address(rewriter *r, const shared *s) {
  program *p = r->p;
  LLVMValueRef thread = LLVMGetParam(r->function, 0), base;
  if (s->dynamic && !r->simd) return thread_load(p, r->entry, thread, THREAD_DYNAMIC, 0);
  if (r->own_shared)
    base = r->own_shared;
  else if (r->simd)
    base = load_invariant(p, r->entry, p->pointer, LLVMGetParam(r->function, 1), offsetof(mw_worker, shared));
  else
    base = thread_load(p, r->entry, thread, THREAD_SHARED, 0);
  LLVMValueRef offset = constant_i64(p, s->dynamic ? r->simd->shared_bytes : s->offset);
  return LLVMBuildInBoundsGEP2(r->block, p->i8, base, &offset, 1, "");
}

static LLVMValueRef global_address(rewriter *r, LLVMValueRef global) {
  variable *v = find_variable(r->p, global);
  shared *s = v ? NULL : find_shared(r->p, global);
  if (!v && !s) return NULL;
  size_t slot = v ? (size_t)(v - r->p->variables) : r->p->variable_count + (size_t)(s - r->p->shareds);
  if (!r->addresses[slot]) {
    LLVMValueRef address = v ? variable_address(r, slot) : shared_address(r, s);
    LLVMTypeRef type = LLVMTypeOf(global);
    if (type != r->p->pointer) address = LLVMBuildAddrSpaceCast(v ? r->entry : r->block, address, type, "");
    r->addresses[slot] = address;
  }
  return r->addresses[slot];
}

/* Rebuild as instructions a constant that mentions a variable. LLVM-C cannot turn a constant expression into an
   instruction, so the kinds that exist are built one by one. */
static LLVMValueRef materialise(rewriter *r, LLVMValueRef constant, LLVMValueRef user) {
  program *p = r->p;
  if (!mentions(p, constant)) return constant;
  if (LLVMIsAGlobalVariable(constant)) return global_address(r, constant);
  unsigned count = (unsigned)LLVMGetNumOperands(constant);
  LLVMTypeRef type = LLVMTypeOf(constant);
  LLVMValueRef result = NULL;
  LLVMValueRef *operands = mw_alloc((count + 1) * sizeof *operands);
  for (unsigned i = 0; i < count; i++) operands[i] = materialise(r, LLVMGetOperand(constant, i), user);
  if (LLVMIsAConstantExpr(constant)) {
    LLVMOpcode opcode = LLVMGetConstOpcode(constant);
    switch (opcode) {
    case LLVMGetElementPtr:
      result = LLVMBuildGEP2(r->b, LLVMGetGEPSourceElementType(constant), operands[0], operands + 1, count - 1, "");
      break;
    case LLVMAddrSpaceCast:
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
    case LLVMTrunc: result = LLVMBuildCast(r->b, opcode, operands[0], type, ""); break;
    case LLVMExtractElement: result = LLVMBuildExtractElement(r->b, operands[0], operands[1], ""); break;
    case LLVMInsertElement: result = LLVMBuildInsertElement(r->b, operands[0], operands[1], operands[2], ""); break;
    case LLVMAdd:
    case LLVMSub:
    case LLVMMul:
    case LLVMXor: result = LLVMBuildBinOp(r->b, opcode, operands[0], operands[1], ""); break;
    default: break;
    }
  } else if (LLVMIsAConstantVector(constant)) {
    result = LLVMGetPoison(type);
    for (unsigned i = 0; i < count; i++)
      result = LLVMBuildInsertElement(r->b, result, operands[i], constant_i32(p, i), "");
  } else if (LLVMIsAConstantStruct(constant) || LLVMIsAConstantArray(constant)) {
    result = LLVMGetPoison(type);
    for (unsigned i = 0; i < count; i++) result = LLVMBuildInsertValue(r->b, result, operands[i], i, "");
  }
  if (!result) {
    complain(p, user, "the address of a device variable is used in a constant that the CPU device cannot build");
    result = LLVMGetPoison(type);
  }
  free(operands);
  return result;
}

static LLVMValueRef before_use(LLVMValueRef user, unsigned operand) {
  return LLVMIsAPHINode(user) ? LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(user, operand)) : user;
}

static const kernel *simd_owner(const program *p, LLVMValueRef function) {
  for (size_t i = 0; i < p->kernel_count; i++)
    if (is_variant(&p->kernels[i], function)) return &p->kernels[i];
  return NULL;
}

/* If several blocks have adjacent shared memory, the call that names the running block selects its copy. */
static void choose_own_shared(rewriter *r, const instructions *list) {
  program *p = r->p;
  for (size_t n = 0; n < list->count; n++) {
    LLVMValueRef call = list->items[n];
    if (!LLVMIsACallInst(call) || strcmp(callee_name(call), PRIVATE_SHARED) != 0) continue;
    LLVMPositionBuilderBefore(r->block, LLVMGetNextInstruction(call));
    LLVMValueRef first =
        load_invariant(p, r->entry, p->pointer, LLVMGetParam(r->function, 1), offsetof(mw_worker, shared));
    LLVMValueRef below = LLVMBuildZExt(r->block, LLVMGetOperand(call, 0), p->i64, "");
    below = LLVMBuildAnd(r->block, below, constant_i64(p, MOST_STRIP_BLOCKS - 1),
                         ""); /* so that store_sandbox.c sees its bounds */
    below = LLVMBuildMul(r->block, below, constant_i64(p, -(uint64_t)shared_stride(r->simd)), "");
    r->own_shared = LLVMBuildGEP2(r->block, p->i8, first, &below, 1, "");
    LLVMInstructionEraseFromParent(call);
    list->items[n] = r->own_shared;
    return;
  }
}

static void rewrite_function(program *p, LLVMValueRef function) {
  instructions list = instructions_of_function(function);
  size_t slots = p->variable_count + p->shared_count;
  rewriter r = {.p = p, .function = function, .simd = simd_owner(p, function)};
  r.b = LLVMCreateBuilderInContext(p->context);
  r.entry = LLVMCreateBuilderInContext(p->context);
  r.addresses = mw_alloc((slots + 1) * sizeof(LLVMValueRef));
  r.block = LLVMCreateBuilderInContext(p->context);
  LLVMPositionBuilderBefore(r.entry, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
  LLVMPositionBuilderBefore(r.block, LLVMGetFirstInstruction(LLVMGetEntryBasicBlock(function)));
  if (r.simd && r.simd->private_shared) choose_own_shared(&r, &list);
  for (size_t n = 0; n < list.count; n++) {
    LLVMValueRef user = list.items[n];
    int count = LLVMGetNumOperands(user);
    for (int i = 0; i < count; i++) {
      LLVMValueRef operand = LLVMGetOperand(user, (unsigned)i);
      if (!operand || LLVMValueIsBasicBlock(operand) || !mentions(p, operand)) continue;
      /* An edge may occur twice in a phi: the same constant must have the same value. */
      LLVMValueRef same = NULL;
      for (int j = 0; LLVMIsAPHINode(user) && j < i; j++)
        if (LLVMGetIncomingBlock(user, (unsigned)j) == LLVMGetIncomingBlock(user, (unsigned)i))
          same = LLVMGetOperand(user, (unsigned)j);
      LLVMPositionBuilderBefore(r.b, before_use(user, (unsigned)i));
      LLVMSetOperand(user, (unsigned)i, same ? same : materialise(&r, operand, user));
    }
  }
  free(list.items);
  free(r.addresses);
  LLVMDisposeBuilder(r.b);
  LLVMDisposeBuilder(r.entry);
  LLVMDisposeBuilder(r.block);
}

/* ---- initial values ---- */

static size_t size_of(program *p, LLVMTypeRef type) { return LLVMABISizeOfType(p->layout, type); }

/* The variable and distance that a pointer constant names. */
static bool split_address(program *p, LLVMValueRef value, size_t *index, int64_t *addend) {
  *addend = 0;
  while (LLVMIsAConstantExpr(value)) {
    switch (LLVMGetConstOpcode(value)) {
    case LLVMAddrSpaceCast:
    case LLVMBitCast:
    case LLVMPtrToInt:
    case LLVMIntToPtr: break;
    case LLVMGetElementPtr: {
      LLVMTypeRef type = LLVMGetGEPSourceElementType(value);
      for (int i = 1; i < LLVMGetNumOperands(value); i++) {
        LLVMValueRef at = LLVMGetOperand(value, (unsigned)i);
        if (!LLVMIsAConstantInt(at)) return false;
        int64_t step = LLVMConstIntGetSExtValue(at);
        if (i == 1) {
          *addend += step * (int64_t)size_of(p, type);
        } else if (LLVMGetTypeKind(type) == LLVMStructTypeKind) {
          *addend += (int64_t)LLVMOffsetOfElement(p->layout, type, (unsigned)step);
          type = LLVMStructGetTypeAtIndex(type, (unsigned)step);
        } else {
          type = LLVMGetElementType(type);
          *addend += step * (int64_t)size_of(p, type);
        }
      }
      break;
    }
    default: return false;
    }
    value = LLVMGetOperand(value, 0);
  }
  variable *v = find_variable(p, value);
  if (v) *index = (size_t)(v - p->variables);
  return v != NULL;
}

/* The initial value without the addresses of variables, which are recorded: the runtime stores them. */
static LLVMValueRef plain_initial(program *p, variable *v, LLVMValueRef value, size_t offset) {
  if (!mentions(p, value)) return value;
  LLVMTypeRef type = LLVMTypeOf(value);
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind == LLVMPointerTypeKind || kind == LLVMIntegerTypeKind) {
    mw_mwo_relocation relocation = {.offset = offset};
    if (split_address(p, value, &relocation.variable, &relocation.addend)) {
      v->relocations = mw_realloc(v->relocations, (v->relocation_count + 1) * sizeof *v->relocations);
      v->relocations[v->relocation_count++] = relocation;
    } else {
      complain(p, NULL, "the initial value of '%s' is an address that the CPU device cannot express", v->name);
    }
    return LLVMConstNull(type);
  }
  unsigned count = (unsigned)LLVMGetNumOperands(value);
  LLVMValueRef *items = mw_alloc((count + 1) * sizeof *items), result;
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef item = LLVMGetOperand(value, i);
    size_t at = kind == LLVMStructTypeKind ? LLVMOffsetOfElement(p->layout, type, i) : i * size_of(p, LLVMTypeOf(item));
    items[i] = plain_initial(p, v, item, offset + at);
  }
  if (kind == LLVMStructTypeKind && LLVMGetStructName(type))
    result = LLVMConstNamedStruct(type, items, count);
  else if (kind == LLVMStructTypeKind)
    result = LLVMConstStructInContext(p->context, items, count, LLVMIsPackedStruct(type));
  else if (kind == LLVMVectorTypeKind)
    result = LLVMConstVector(items, count);
  else
    result = LLVMConstArray2(LLVMGetElementType(type), items, count);
  free(items);
  return result;
}

static void read_initial(program *p, variable *v) {
  LLVMValueRef value = LLVMGetInitializer(v->global);
  if (!value || LLVMIsUndef(value) || LLVMIsNull(value)) return;
  v->initial = plain_initial(p, v, value, 0);
}

/* A constant table that holds a variable's address has no fixed contents: it becomes a variable itself. */
static void promote_tables(program *p) {
  for (bool changed = true; changed;) {
    changed = false;
    for (LLVMValueRef g = LLVMGetFirstGlobal(p->module); g; g = LLVMGetNextGlobal(g)) {
      LLVMValueRef value = LLVMGetInitializer(g);
      if (!value || find_variable(p, g) || find_shared(p, g) || !mentions(p, value)) continue;
      size_t length;
      p->variables = mw_realloc(p->variables, (p->variable_count + 1) * sizeof *p->variables);
      variable *v = &p->variables[p->variable_count++];
      *v =
          (variable){.global = g, .value_type = LLVMGlobalGetValueType(g), .type = ctype_of(p, NULL), .internal = true};
      v->name = v->linkage = mw_strdup(LLVMGetValueName2(g, &length));
      v->size = size_of(p, v->value_type);
      v->align = LLVMGetAlignment(g) ? LLVMGetAlignment(g) : LLVMABIAlignmentOfType(p->layout, v->value_type);
      changed = true;
    }
  }
}

void lower_variables(program *p) {
  promote_tables(p);
  for (size_t i = 0; i < p->variable_count; i++) read_initial(p, &p->variables[i]);
  EACH_FUNCTION(p, f)
  if (!LLVMIsDeclaration(f)) rewrite_function(p, f);
  if (p->complaints) exit(1);
  for (size_t i = 0; i < p->variable_count; i++)
    LLVMSetInitializer(p->variables[i].global, LLVMConstNull(p->variables[i].value_type));
  for (size_t i = 0; i < p->variable_count; i++) {
    LLVMReplaceAllUsesWith(p->variables[i].global,
                           LLVMConstNull(LLVMTypeOf(p->variables[i].global))); /* in dead constants */
    LLVMDeleteGlobal(p->variables[i].global);
    p->variables[i].global = NULL;
  }
  for (size_t i = 0; i < p->shared_count; i++) {
    LLVMReplaceAllUsesWith(p->shareds[i].global, LLVMConstNull(LLVMTypeOf(p->shareds[i].global)));
    LLVMDeleteGlobal(p->shareds[i].global);
    p->shareds[i].global = NULL;
  }
  verify_module(p, "placing variables");
}
