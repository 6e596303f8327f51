/* The layout of shared tiles: two-dimensional arrays whose rows lanes own are stored by columns (data layout
 * transformation).
 *
 *   __shared__ float a[16][17];  … a[x][k] …   ->   element [i][j] is where [j][i] of an array [17][16] would be
 *
 * If thread x walks along row x, lanes are a row apart, and each access is a gather or scatter; by columns it is contiguous.
 * GPUs have banks for that, and programs pad their rows; vectors need neighbours.
 *
 * Proof. Each element has one new place, in as many bytes. All uses of the array are plain loads and stores of whole
 * elements at [i][j] with two indices, so all are rewritten, and nothing else knows where elements are: no address
 * escapes. The column of each access is in its row, by the ranges of values (without assumptions about parameters) where
 * the access is; then i and j follow from the address, and another access of the same element has the same. An access
 * with a row outside of the array is an error in the program before and after. Accesses are known to be aligned for
 * their element alone.
 *
 * It pays if accesses by rows of their own outweigh those along rows, which become strided: loops count eight times a
 * level. */
#include "mwcc/analysis/simt.h"
#include "mwcc/prepare/addresses/addresses.h"
#include "mwcc/read/read.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"

#include <stdlib.h>

enum { MOST_PLACES = 512, IN_LOOP = 8, DEEPEST = 3, GAIN = 2 };

/* An address in the array. */
typedef struct tile_place {
  LLVMValueRef address, i, j;
} tile_place;

typedef struct tile {
  const program *p;
  const graph *g;
  const order *o;
  const shapes *shapes;
  ranges ranges;
  LLVMTypeRef type, row, element;
  uint64_t rows, columns, bytes;
  tile_place places[MOST_PLACES];
  int count;
  long owned, along; /* how often lanes access rows of their own, and neighbours */
} tile;

static bool read_type(tile *t, LLVMValueRef array) {
  t->type = LLVMGlobalGetValueType(array);
  if (LLVMGetTypeKind(t->type) != LLVMArrayTypeKind) return false;
  t->row = LLVMGetElementType(t->type);
  if (LLVMGetTypeKind(t->row) != LLVMArrayTypeKind) return false;
  t->element = LLVMGetElementType(t->row);
  LLVMTypeKind kind = LLVMGetTypeKind(t->element);
  t->rows = LLVMGetArrayLength2(t->type), t->columns = LLVMGetArrayLength2(t->row);
  t->bytes = LLVMABISizeOfType(t->p->layout, t->element);
  bool number = kind == LLVMIntegerTypeKind || kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind;
  return number && t->rows > 1 && t->columns > 1;
}

/* ---- uses ---- */

static void count_access(tile *t, LLVMValueRef address, int at) {
  long times = 1;
  int depth = t->o->innermost[at] < 0 ? 0 : t->o->loops[t->o->innermost[at]].depth;
  for (int d = 0; d < depth && d < DEEPEST; d++) times *= IN_LOOP;
  shape s = shape_of(t->shapes, address);
  if (s.kind != SHAPE_AFFINE && s.kind != SHAPE_VECTOR_AFFINE) return;
  if (llabs(s.stride) == (int64_t)(t->bytes * t->columns))
    t->owned += times;
  else if (llabs(s.stride) == (int64_t)t->bytes)
    t->along += times;
}

static bool is_in_row(const tile *t, LLVMValueRef column, int at) {
  range r = range_at(&t->ranges, column, at);
  if (LLVMIsAConstantInt(column)) r.low = r.high = LLVMConstIntGetSExtValue(column);
  return r.low <= r.high && r.low >= 0 && (uint64_t)r.high < t->columns;
}

static bool is_element_access(const tile *t, LLVMValueRef user, LLVMValueRef address) {
  bool load = LLVMIsALoadInst(user) != NULL;
  if ((!load && !LLVMIsAStoreInst(user)) || !is_plain_access(user)) return false;
  LLVMTypeRef type = LLVMTypeOf(load ? user : LLVMGetOperand(user, 0));
  return LLVMGetOperand(user, load ? 0 : 1) == address && type == t->element;
}

/* Whether all uses of the address are accesses of whole elements, in a column of the row. */
static bool are_accesses(tile *t, LLVMValueRef address, LLVMValueRef column) {
  for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    if (!is_element_access(t, user, address)) return false;
    int at = graph_number(t->g, user) < 0 ? -1 : graph_node_of(t->g, user);
    if (at < 0 || !is_in_row(t, column, at)) return false;
    count_access(t, address, at);
  }
  return true;
}

/* [0][i][j] of the array, or [i][j] of its rows; without j it is the row's first element. */
static bool add_place(tile *t, LLVMValueRef gep) {
  unsigned count = LLVMGetNumIndices(gep);
  LLVMTypeRef source = LLVMGetGEPSourceElementType(gep), index = t->p->i64;
  LLVMValueRef first = LLVMGetOperand(gep, 1);
  bool whole = source == t->type && LLVMIsAConstantInt(first) && LLVMConstIntGetSExtValue(first) == 0;
  unsigned at = whole ? 2 : 1;
  if ((!whole && source != t->row) || count < at || count > at + 1 || t->count == MOST_PLACES) return false;
  bool column = count == at + 1;
  tile_place found = {gep, LLVMGetOperand(gep, at), column ? LLVMGetOperand(gep, at + 1) : LLVMConstNull(index)};
  if (LLVMTypeOf(found.i) != index || LLVMTypeOf(found.j) != index) return false;
  t->places[t->count++] = found;
  return are_accesses(t, gep, found.j);
}

/* Whether all uses of the variable, or of its generic address, are known. */
static bool read_uses(tile *t, LLVMValueRef array, bool generic) {
  for (LLVMUseRef use = LLVMGetFirstUse(array); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef user = LLVMGetUser(use);
    bool casts = LLVMIsAConstantExpr(user) && LLVMGetConstOpcode(user) == LLVMAddrSpaceCast;
    bool first = LLVMIsALoadInst(user) || LLVMIsAStoreInst(user); /* its place does not change */
    bool known = first   ? is_element_access(t, user, array)
                 : casts ? !generic && read_uses(t, user, true)
                         : LLVMIsAGetElementPtrInst(user) && add_place(t, user);
    if (!known) return false;
  }
  return true;
}

/* ---- rewriting ---- */

/* A row may begin at an aligned address, where a column does not. */
static void align_accesses(LLVMValueRef address, unsigned align) {
  for (LLVMUseRef use = LLVMGetFirstUse(address); use; use = LLVMGetNextUse(use)) {
    LLVMValueRef access = LLVMGetUser(use);
    if (LLVMGetAlignment(access) > align) LLVMSetAlignment(access, align);
  }
}

static void transpose(program *p, const tile *t) {
  LLVMBuilderRef b = LLVMCreateBuilderInContext(p->context);
  LLVMTypeRef column = LLVMArrayType2(t->element, t->rows);
  for (int n = 0; n < t->count; n++) {
    const tile_place *x = &t->places[n];
    LLVMValueRef indices[] = {x->j, x->i};
    LLVMPositionBuilderBefore(b, x->address);
    LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(x->address));
    LLVMValueRef made = LLVMBuildInBoundsGEP2(b, column, LLVMGetOperand(x->address, 0), indices, 2, "");
    align_accesses(x->address, (unsigned)t->bytes);
    LLVMReplaceAllUsesWith(x->address, made);
    LLVMInstructionEraseFromParent(x->address);
  }
  LLVMDisposeBuilder(b);
}

static void lay_out(program *p, const kernel *k, const graph *g, LLVMValueRef array) {
  flow f = graph_flow(g);
  order o = order_of(&f);
  shapes s = shapes_at_best(g, &o, cut_block(p->block, register_lanes(p), 1));
  tile *t = mw_alloc(sizeof *t);
  *t = (tile){.p = p, .g = g, .o = &o, .shapes = &s, .ranges = ranges_of(g, &o, 0)};
  if (read_type(t, array) && read_uses(t, array, false) && t->owned > GAIN * t->along) {
    report_decision(p, k, t->places[0].address, "is in an array in shared memory that is stored by columns");
    transpose(p, t);
  }
  free(t);
  shapes_free(&s);
  order_free(&o);
}

void lay_out_tiles(program *p) {
  const options *all = p->options;
  if (!all->launch_kernel || all->checks || all->observe || all->width == 1 || p->kernel_count != 1) return;
  kernel *k = &p->kernels[0];
  for (LLVMValueRef v = LLVMGetFirstGlobal(p->module); v; v = LLVMGetNextGlobal(v)) {
    graph g;
    const char *why;
    if (memory_of(v) != MEMORY_SHARED || LLVMIsDeclaration(v)) continue;
    LLVMTypeRef type = LLVMGlobalGetValueType(v);
    if (LLVMGetTypeKind(type) != LLVMArrayTypeKind || LLVMGetTypeKind(LLVMGetElementType(type)) != LLVMArrayTypeKind)
      continue;
    if (!graph_build(p, k->body, false, &g, &why)) return;
    lay_out(p, k, &g, v);
    graph_free(&g);
  }
}
