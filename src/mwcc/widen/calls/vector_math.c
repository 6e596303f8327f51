/* Mathematical functions on all lanes at once: glibc's libmvec, where it is within the error bounds of CUDA.
 *
 * libmvec allows 4 units in the last place, CUDA's tables mostly 1 or 2. Measured over millions of arguments, most
 * of its float functions exceed CUDA's bound (expf 2.5 of 2, logf 3.9 of 1), and so do many in double. Those are
 * called lane by lane from libm; -use_fast_math uses libmvec as it is. Kernels rarely need either: the device
 * headers have mathematics as arithmetic (src/device/moonwarp/math), so that only clang's own built-ins are calls of
 * libm. */
#include "mwcc/widen/widen.h"

#include <stdlib.h>
#include <string.h>

typedef struct vector_function {
  const char *root;
  bool float_exact, double_exact; /* within CUDA's bound, as measured */
} vector_function;

static const vector_function functions[] = {
    {"sin", 0, 0},   {"cos", 0, 0},   {"exp", 0, 0},   {"log", 0, 0},   {"pow", 0, 0},  {"tan", 1, 0},
    {"asin", 0, 0},  {"acos", 0, 1},  {"atan", 0, 0},  {"atan2", 0, 0}, {"sinh", 1, 1}, {"cosh", 0, 0},
    {"tanh", 0, 0},  {"asinh", 1, 1}, {"acosh", 1, 1}, {"atanh", 1, 1}, {"exp2", 1, 0}, {"exp10", 0, 0},
    {"expm1", 0, 0}, {"log2", 0, 0},  {"log10", 0, 0}, {"log1p", 0, 0}, {"cbrt", 0, 0}, {"erf", 0, 0},
    {"erfc", 1, 1},  {"hypot", 0, 0},
};

static const vector_function *find_function(const char *root) {
  for (size_t i = 0; i < MW_COUNT(functions); i++)
    if (strcmp(functions[i].root, root) == 0) return &functions[i];
  return NULL;
}

const char *math_function(const char *name, LLVMTypeRef type) {
  char root[32];
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  if (kind != LLVMFloatTypeKind && kind != LLVMDoubleTypeKind) return NULL;
  size_t length;
  if (starts_with(name, "llvm.")) {
    name += strlen("llvm.");
    length = strcspn(name, ".");
  } else {
    length = strlen(name);
    if (kind == LLVMFloatTypeKind && length && name[length - 1] == 'f' && strcmp(name, "erf") != 0) length--;
  }
  if (length >= sizeof root) return NULL;
  memcpy(root, name, length);
  root[length] = 0;
  const vector_function *found = find_function(root);
  return found ? found->root : NULL;
}

/* libmvec's function for `lanes` elements of the type, by its vector ABI name. */
static LLVMValueRef declare(program *p, const char *root, LLVMTypeRef type, unsigned bytes, unsigned lanes,
                            unsigned arguments) {
  LLVMTypeRef piece = LLVMVectorType(type, lanes), params[2] = {piece, piece};
  char letter = lanes * bytes == 64 ? 'e' : lanes * bytes == 32 ? 'd' : 'b';
  char *name = mw_format("_ZGV%cN%u%s_%s%s", letter, lanes, arguments == 2 ? "vv" : "v", root, bytes == 4 ? "f" : "");
  LLVMValueRef function = LLVMGetNamedFunction(p->module, name);
  if (!function) {
    p->uses_vector_math = true;
    function = LLVMAddFunction(p->module, name, LLVMFunctionType(piece, params, arguments, 0));
    add_attribute(p, function, "nounwind");
    add_attribute(p, function, "willreturn");
  }
  free(name);
  return function;
}

static LLVMValueRef pick(widener *w, LLVMValueRef vector, unsigned from, unsigned lanes) {
  LLVMValueRef indices[64];
  for (unsigned i = 0; i < lanes; i++) indices[i] = constant_i32(w->p, from + i);
  return LLVMBuildShuffleVector(w->b, vector, LLVMGetPoison(LLVMTypeOf(vector)), LLVMConstVector(indices, lanes), "");
}

/* `vector` with the lanes from `from` on replaced by `part`. */
static LLVMValueRef insert_lanes(widener *w, LLVMValueRef vector, LLVMValueRef part, unsigned from, unsigned lanes) {
  LLVMValueRef indices[64], spread[64], poison = LLVMGetPoison(w->p->i32);
  unsigned width = (unsigned)w->width;
  for (unsigned i = 0; i < width; i++) spread[i] = i < lanes ? constant_i32(w->p, i) : poison;
  part = LLVMBuildShuffleVector(w->b, part, LLVMGetPoison(LLVMTypeOf(part)), LLVMConstVector(spread, width), "");
  for (unsigned i = 0; i < width; i++)
    indices[i] = constant_i32(w->p, i >= from && i < from + lanes ? width + i - from : i);
  return LLVMBuildShuffleVector(w->b, vector, part, LLVMConstVector(indices, width), "");
}

/* Call the function for one vector's lanes, as many at a time as it takes. */
static LLVMValueRef call_vector(widener *w, LLVMValueRef call, LLVMValueRef callee, unsigned lanes, LLVMValueRef active,
                                bool all, int u) {
  unsigned width = (unsigned)w->width, arguments = LLVMGetNumArgOperands(call);
  LLVMTypeRef type = LLVMTypeOf(call);
  LLVMValueRef operands[2], result = LLVMGetPoison(vector_type(w, type));
  for (unsigned a = 0; a < arguments; a++) {
    operands[a] = value_vector(w, LLVMGetOperand(call, a), u);
    /* inactive lanes have the argument 1, which every function accepts */
    if (!all) operands[a] = LLVMBuildSelect(w->b, active, operands[a], splat(w, LLVMConstReal(type, 1)), "");
  }
  for (unsigned from = 0; from < width; from += lanes) {
    LLVMValueRef pieces[2];
    for (unsigned a = 0; a < arguments; a++)
      pieces[a] = lanes == width ? operands[a] : pick(w, operands[a], from, lanes);
    LLVMValueRef piece = LLVMBuildCall2(w->b, LLVMGlobalGetValueType(callee), callee, pieces, arguments, "");
    result = lanes == width ? piece : insert_lanes(w, result, piece, from, lanes);
  }
  return result;
}

bool has_vector_math(program *p, const char *root, LLVMTypeRef type) {
  const vector_function *function = find_function(root);
  bool exact = LLVMGetTypeKind(type) == LLVMFloatTypeKind ? function->float_exact : function->double_exact;
  return (exact || p->options->fast_math) && strstr(p->features, "+avx2");
}

bool call_vector_math(widener *w, LLVMValueRef call, const char *root, mask m, vectors *result) {
  program *p = w->p;
  LLVMTypeRef type = LLVMTypeOf(call);
  bool is_float = LLVMGetTypeKind(type) == LLVMFloatTypeKind;
  if (!has_vector_math(p, root, type)) return false;
  unsigned bytes = is_float ? 4 : 8, width = (unsigned)w->width, arguments = LLVMGetNumArgOperands(call);
  unsigned lanes = (strstr(p->features, "+avx512f") ? 64 : 32) / bytes;
  if (width < lanes) lanes = width;
  if (lanes * bytes < 16) return false;
  LLVMValueRef callee = declare(p, root, type, bytes, lanes, arguments);
  for (int u = 0; u < w->vectors; u++)
    result->of[u] = call_vector(w, call, callee, lanes, mask_vector(w, m, u), m.all, u);
  return true;
}
