/* Instructions for the helpers of tensor cores' products (src/device/moonwarp/tensor/): before they are inlined their bodies,
 * which are portable, are replaced.
 *
 *   __mw_dot_pairs       sum + the products of two signed numbers of 16 bits, in each lane of 32
 *   __mw_dot_bytes       sum + the products of four unsigned and four signed bytes
 *   __mw_toward_zero16   integers as floats, rounded towards zero
 *
 * VNNI has the first two. AVX-512, AVX2 and SSE2 have the products of pairs, and the portable form of the other uses them. */
#include "mwcc/mwcc.h"
#include "mwcc/support/predicates.h"
#include "machine.h"

#include <string.h>

enum { LANES = 16 };

typedef struct {
  const char *feature, *instruction; /* NULL: every x86-64 has it */
  unsigned lanes;
} pair_products;

static const pair_products PAIRS[] = {{"+avx512bw", "llvm.x86.avx512.pmaddw.d.512", 16},
                                      {"+avx2", "llvm.x86.avx2.pmadd.wd", 8},
                                      {NULL, "llvm.x86.sse2.pmadd.wd", 4}};

/* `count` lanes of a vector of `type`, from `first` on. */
static LLVMValueRef part(program *p, LLVMBuilderRef b, LLVMValueRef vector, LLVMTypeRef type, unsigned first,
                         unsigned count) {
  LLVMValueRef items[2 * LANES], whole = LLVMBuildBitCast(b, vector, type, "");
  for (unsigned i = 0; i < count; i++) items[i] = constant_i32(p, first + i);
  return LLVMBuildShuffleVector(b, whole, LLVMGetPoison(type), LLVMConstVector(items, count), "");
}

static LLVMValueRef by_pairs(program *p, LLVMBuilderRef b, const pair_products *how, LLVMValueRef *arguments) {
  LLVMTypeRef shorts = LLVMVectorType(LLVMInt16TypeInContext(p->context), 2 * LANES);
  LLVMValueRef parts[LANES / 4], items[LANES];
  unsigned count = LANES / how->lanes;
  for (unsigned i = 0; i < count; i++) {
    LLVMValueRef factors[2];
    for (unsigned n = 0; n < 2; n++)
      factors[n] = part(p, b, arguments[n + 1], shorts, 2 * how->lanes * i, 2 * how->lanes);
    parts[i] = call_intrinsic(p, b, how->instruction, NULL, 0, factors, 2);
  }
  for (unsigned lanes = how->lanes; count > 1; count /= 2, lanes *= 2) {
    for (unsigned i = 0; i < 2 * lanes; i++) items[i] = constant_i32(p, i);
    for (unsigned i = 0; i < count / 2; i++)
      parts[i] = LLVMBuildShuffleVector(b, parts[2 * i], parts[2 * i + 1], LLVMConstVector(items, 2 * lanes), "");
  }
  return LLVMBuildAdd(b, arguments[0], parts[0], "");
}

static LLVMValueRef pairs(program *p, LLVMBuilderRef b, LLVMValueRef *arguments) {
  if (strstr(p->features, "+avx512vnni"))
    return call_intrinsic(p, b, "llvm.x86.avx512.vpdpwssd.512", NULL, 0, arguments, 3);
  const pair_products *how = PAIRS;
  while (how->feature && !strstr(p->features, how->feature)) how++;
  return by_pairs(p, b, how, arguments);
}

static LLVMValueRef bytes(program *p, LLVMBuilderRef b, LLVMValueRef *arguments) {
  return call_intrinsic(p, b, "llvm.x86.avx512.vpdpbusd.512", NULL, 0, arguments, 3);
}

static LLVMValueRef toward_zero(program *p, LLVMBuilderRef b, LLVMValueRef *arguments) {
  enum { TOWARD_ZERO = 3, NO_EXCEPTIONS = 8 };
  LLVMTypeRef from = LLVMTypeOf(arguments[0]);
  LLVMTypeRef types[] = {LLVMVectorType(LLVMFloatTypeInContext(p->context), LANES), from};
  LLVMValueRef operands[] = {arguments[0], constant_i32(p, TOWARD_ZERO | NO_EXCEPTIONS)};
  return call_intrinsic(p, b, "llvm.x86.avx512.sitofp.round", types, 2, operands, 2);
}

static const struct {
  const char *name, *feature; /* the helper's, mangled; NULL: every x86-64 has an instruction */
  LLVMValueRef (*make)(program *, LLVMBuilderRef, LLVMValueRef *arguments);
} HELPERS[] = {{"_ZL14__mw_dot_pairsI", NULL, pairs},
               {"_ZL14__mw_dot_bytesI", "+avx512vnni", bytes},
               {"_ZL18__mw_toward_zero16I", "+avx512f", toward_zero}};

void form_tensor_instructions(program *p) {
  if (!starts_with(p->triple, "x86_64")) return;
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  EACH_FUNCTION(p, f) {
    size_t length, n = 0;
    const char *name = LLVMGetValueName2(f, &length);
    while (n < MW_COUNT(HELPERS) && !starts_with(name, HELPERS[n].name)) n++;
    if (n == MW_COUNT(HELPERS) || !LLVMCountBasicBlocks(f)) continue;
    if (HELPERS[n].feature && !strstr(p->features, HELPERS[n].feature)) continue;
    LLVMValueRef arguments[3];
    LLVMGetParams(f, arguments);
    empty_function(f);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(p->context, f, ""));
    LLVMBuildRet(b, HELPERS[n].make(p, b, arguments));
  }
  LLVMDisposeBuilder(b);
}
