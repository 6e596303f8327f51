/* Load merging: four neighbouring bytes that a thread loads one by one become one load of 32 bits (cf. LLVM's
 * AggressiveInstCombine, which merges only what is combined to one number).
 *
 *   p[0], p[1], p[2], p[3]   ->   w = *(int *)p;  w, w >> 8, w >> 16, w >> 24, each truncated to 8 bits
 *
 * If lanes are far apart, the bytes take four gathers, and one word a single gather. The thread reads the same bytes:
 * the loads are in one basic block, so that all are executed or none, and between them nothing writes, waits, or may
 * not return. So their order does not matter.
 *
 * If neighbouring lanes load neighbouring bytes, vector loads of bytes are better. So bytes are merged only if the
 * lanes' addresses are at least four bytes apart, or not affine. All hosts are little-endian. */
#include "mwcc/analysis/simt.h"
#include "mwcc/support/predicates.h"
#include "mwcc/prepare/addresses/addresses.h"
#include "mwcc/read/read.h"

#include <stdlib.h>

enum { BYTES = 4, MOST_LOADS = 256, MOST_TERMS = 4 };

/* An address: base + the terms' numbers + offset. A number of 32 bits is sign-extended. */
typedef struct byte_load {
  LLVMValueRef load, base, terms[MOST_TERMS];
  int term_count;
  int64_t offset;
  int run; /* loads with one number have nothing between them that prevents merging */
  bool merged;
} byte_load;

/* ---- addresses ---- */

/* The value without the constants that are added to it: sums that do not wrap, and those of 64 bits. */
static LLVMValueRef without_constants(LLVMValueRef value, int64_t *offset) {
  bool wide = LLVMGetIntTypeWidth(LLVMTypeOf(value)) == 64;
  while (LLVMIsAInstruction(value)) {
    LLVMOpcode opcode = opcode_of(value);
    if (wide && (opcode == LLVMSExt || (opcode == LLVMZExt && LLVMGetNNeg(value)))) {
      value = LLVMGetOperand(value, 0);
      wide = false;
      continue;
    }
    bool adds = (opcode == LLVMAdd && (wide || LLVMGetNSW(value))) || (opcode == LLVMOr && LLVMGetIsDisjoint(value));
    if (!adds || !LLVMIsAConstantInt(LLVMGetOperand(value, 1))) return value;
    *offset += LLVMConstIntGetSExtValue(LLVMGetOperand(value, 1));
    value = LLVMGetOperand(value, 0);
  }
  return value;
}

static void read_address(LLVMValueRef address, byte_load *out) {
  while (LLVMIsAGetElementPtrInst(address)) {
    LLVMTypeRef type = LLVMGetGEPSourceElementType(address);
    if (LLVMGetNumIndices(address) != 1 || LLVMGetTypeKind(type) != LLVMIntegerTypeKind) break;
    if (LLVMGetIntTypeWidth(type) != 8 || out->term_count == MOST_TERMS) break;
    LLVMValueRef index = LLVMGetOperand(address, 1);
    if (LLVMGetIntTypeWidth(LLVMTypeOf(index)) != 64) break;
    if (LLVMIsAConstantInt(index))
      out->offset += LLVMConstIntGetSExtValue(index);
    else
      out->terms[out->term_count++] = without_constants(index, &out->offset);
    address = LLVMGetOperand(address, 0);
  }
  out->base = address;
}

static bool same_place(const byte_load *a, const byte_load *b) {
  if (a->base != b->base || a->term_count != b->term_count || a->run != b->run) return false;
  for (int i = 0; i < a->term_count; i++)
    if (a->terms[i] != b->terms[i]) return false;
  return true;
}

/* ---- the loads of a block ---- */

static bool is_byte_load(LLVMValueRef i) {
  if (!LLVMIsALoadInst(i) || !is_plain_access(i)) return false;
  LLVMTypeRef type = LLVMTypeOf(i);
  return LLVMGetTypeKind(type) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(type) == 8;
}

static int read_loads(LLVMBasicBlockRef block, byte_load *list) {
  int count = 0, run = 0;
  for (LLVMValueRef i = LLVMGetFirstInstruction(block); i && count < MOST_LOADS; i = LLVMGetNextInstruction(i)) {
    if (is_byte_load(i)) {
      byte_load found = {.load = i, .run = run};
      read_address(LLVMGetOperand(i, 0), &found);
      list[count++] = found;
    } else if (LLVMIsALoadInst(i) ? !is_plain_access(i) : !is_pure(i)) {
      run++;
    }
  }
  return count;
}

/* The loads of four neighbouring bytes, from the one at `first` on; false: not all are loaded. */
static bool find_group(byte_load *list, int count, int first, byte_load *group[BYTES]) {
  for (int byte = 0; byte < BYTES; byte++) {
    group[byte] = NULL;
    for (int n = 0; n < count && !group[byte]; n++)
      if (!list[n].merged && same_place(&list[first], &list[n]) && list[n].offset == list[first].offset + byte)
        group[byte] = &list[n];
    if (!group[byte]) return false;
  }
  return true;
}

/* Whether another byte before it is loaded, so that groups begin with the lowest. */
static bool has_predecessor(const byte_load *list, int count, int at) {
  for (int n = 0; n < count; n++)
    if (!list[n].merged && same_place(&list[at], &list[n]) && list[n].offset == list[at].offset - 1) return true;
  return false;
}

static bool pays(const shapes *s, const byte_load *load) {
  shape a = shape_of(s, LLVMGetOperand(load->load, 0));
  memory_kind kind = memory_of(LLVMGetOperand(load->load, 0));
  if (kind == MEMORY_LOCAL) return false;
  if (a.kind == SHAPE_VARYING) return true;
  return (a.kind == SHAPE_AFFINE || a.kind == SHAPE_VECTOR_AFFINE) && llabs(a.stride) >= BYTES;
}

/* ---- rewriting ---- */

static void merge(program *p, LLVMBuilderRef b, byte_load *group[BYTES]) {
  byte_load *earliest = group[0];
  for (int byte = 1; byte < BYTES; byte++)
    if (group[byte] < earliest) earliest = group[byte]; /* the list is in the order of the block */
  LLVMPositionBuilderBefore(b, earliest->load);
  LLVMValueRef distance = LLVMConstInt(p->i64, (uint64_t)(group[0]->offset - earliest->offset), 1);
  LLVMValueRef address = LLVMBuildGEP2(b, p->i8, LLVMGetOperand(earliest->load, 0), &distance, 1, "");
  LLVMValueRef word = LLVMBuildLoad2(b, p->i32, address, "bytes");
  LLVMSetAlignment(word, 1);
  for (int byte = 0; byte < BYTES; byte++) {
    LLVMValueRef shift = LLVMConstInt(p->i32, (uint64_t)(8 * byte), 0);
    LLVMValueRef own = LLVMBuildTrunc(b, byte ? LLVMBuildLShr(b, word, shift, "") : word, p->i8, "");
    LLVMReplaceAllUsesWith(group[byte]->load, own);
    group[byte]->merged = true;
  }
}

static void merge_in_block(program *p, const kernel *k, LLVMBuilderRef b, const shapes *s, byte_load *list, int count) {
  byte_load *group[BYTES];
  bool again = true;
  while (again) {
    again = false;
    for (int n = 0; n < count; n++) {
      if (list[n].merged || has_predecessor(list, count, n) || !find_group(list, count, n, group)) continue;
      if (!pays(s, &list[n])) continue;
      report_decision(p, k, list[n].load, "is loaded with the three bytes after it, by one load of 32 bits");
      merge(p, b, group);
      again = true;
    }
  }
  for (int n = 0; n < count; n++)
    if (!list[n].merged && !has_predecessor(list, count, n) && find_group(list, count, n, group))
      report_decision(p, k, list[n].load,
                      "is loaded apart from the three bytes after it: lanes' bytes are the same, or neighbours");
  for (int n = 0; n < count; n++)
    if (list[n].merged) LLVMInstructionEraseFromParent(list[n].load);
}

static bool has_group(LLVMBasicBlockRef block, byte_load *list, int *count) {
  byte_load *group[BYTES];
  *count = read_loads(block, list);
  for (int n = 0; n < *count && *count >= BYTES; n++)
    if (find_group(list, *count, n, group)) return true;
  return false;
}

static void merge_in(program *p, const kernel *k, LLVMBuilderRef b, byte_load *list) {
  LLVMValueRef function = k->body;
  graph g;
  const char *why;
  int count;
  if (!graph_build(p, function, false, &g, &why)) return;
  flow f = graph_flow(&g);
  order o = order_of(&f);
  int lanes = p->options->width > 1 ? p->options->width : 8;
  cut c = {CUT_ROWS, lanes, 1, 1};
  if (p->options->launch_kernel) c = cut_block(p->block, lanes, 1);
  shapes s = shapes_at_best(&g, &o, c);
  for (LLVMBasicBlockRef block = LLVMGetFirstBasicBlock(function); block; block = LLVMGetNextBasicBlock(block))
    if (has_group(block, list, &count)) merge_in_block(p, k, b, &s, list, count);
  shapes_free(&s);
  order_free(&o);
  graph_free(&g);
}

void merge_loads(program *p) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  byte_load *list = mw_alloc(MOST_LOADS * sizeof *list);
  int count;
  for (size_t i = 0; i < p->kernel_count; i++) {
    LLVMValueRef function = p->kernels[i].body;
    bool found = false;
    for (LLVMBasicBlockRef at = LLVMGetFirstBasicBlock(function); at && !found; at = LLVMGetNextBasicBlock(at))
      found = has_group(at, list, &count);
    if (found) merge_in(p, &p->kernels[i], b, list);
  }
  free(list);
  LLVMDisposeBuilder(b);
}
