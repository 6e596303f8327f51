/* Transposed access: lane l of vector u accesses element u of row l, and rows lie a constant distance apart. So a
 * block of several rows accesses the columns of a tile in shared memory: `tile[threadIdx.x][threadIdx.y]`.
 *
 * A lane's elements in all vectors are contiguous, so they are one short vector. The lanes' short vectors are
 * transposed in registers into the long vectors of the gang, or the reverse. A gather for each vector would load
 * every element by itself.
 *
 * Only for gangs whose lanes are all active, as in interleaved.c: then every element of every row is some lane's. */
#include "memory.h"

enum { FEWEST_LANES = 4 };

/* ---- rows as vectors: number r of them holds rows r, r + vectors, r + 2 * vectors, … ---- */

/* Elements first .. first + count - 1 of two concatenated vectors. */
static LLVMValueRef slice(widener *w, LLVMValueRef a, LLVMValueRef b, int first, int count) {
  LLVMValueRef items[MOST_LANES];
  for (int i = 0; i < count; i++) items[i] = constant_i32(w->p, (unsigned)(first + i));
  return LLVMBuildShuffleVector(w->b, a, b, LLVMConstVector(items, (unsigned)count), "");
}

static LLVMValueRef row_pointer(widener *w, const place *at, LLVMValueRef base, int row) {
  LLVMValueRef distance = constant_i64(w->p, (uint64_t)(row * shape_of(w->shapes, at->address).stride));
  return row ? LLVMBuildGEP2(w->b, w->p->i8, base, &distance, 1, "") : base;
}

static LLVMValueRef load_group(widener *w, const place *at, LLVMTypeRef type, LLVMValueRef base, int first) {
  LLVMValueRef rows[MOST_LANES];
  int count = w->width / w->vectors;
  for (int i = 0; i < count; i++) {
    LLVMTypeRef row = LLVMVectorType(type, (unsigned)w->vectors);
    rows[i] = LLVMBuildLoad2(w->b, row, row_pointer(w, at, base, first + i * w->vectors), "");
    LLVMSetAlignment(rows[i], at->align);
  }
  for (int length = w->vectors; count > 1; count /= 2, length *= 2)
    for (int i = 0; i < count; i += 2) rows[i / 2] = slice(w, rows[i], rows[i + 1], 0, 2 * length);
  return rows[0];
}

static void store_group(widener *w, const place *at, LLVMValueRef group, LLVMValueRef base, int first) {
  for (int i = 0; i < w->width / w->vectors; i++) {
    LLVMValueRef row = w->vectors == w->width ? group : slice(w, group, group, i * w->vectors, w->vectors);
    LLVMValueRef made = LLVMBuildStore(w->b, row, row_pointer(w, at, base, first + i * w->vectors));
    LLVMSetAlignment(made, at->align);
  }
}

/* ---- transposing: each square of vectors x vectors elements, at the same places in all vectors ---- */

/* Element i is element pick(i) of a (below width) or b. */
static LLVMValueRef picked(widener *w, LLVMValueRef a, LLVMValueRef b, const int *pick) {
  LLVMValueRef items[MOST_LANES];
  for (int i = 0; i < w->width; i++) items[i] = constant_i32(w->p, (unsigned)pick[i]);
  return LLVMBuildShuffleVector(w->b, a, b, LLVMConstVector(items, (unsigned)w->width), "");
}

/* Of each pair of neighbouring pieces of `size` elements, the first of a and of b (`second` 0), or the second (1). */
static LLVMValueRef halves(widener *w, LLVMValueRef a, LLVMValueRef b, int size, int second) {
  int pick[MOST_LANES];
  for (int i = 0; i < w->width; i++) {
    int from = (i & ~size) + second * size;
    pick[i] = i & size ? w->width + from : from;
  }
  return picked(w, a, b, pick);
}

/* Of each four elements, two of a and two of b alternately: the first two (`second` 0) or the last. */
static LLVMValueRef mixed(widener *w, LLVMValueRef a, LLVMValueRef b, int second) {
  int pick[MOST_LANES];
  for (int i = 0; i < w->width; i++) {
    int from = (i & ~3) + 2 * second + (i & 3) / 2;
    pick[i] = i & 1 ? w->width + from : from;
  }
  return picked(w, a, b, pick);
}

/* Squares of four, within 16 bytes, where shuffles are cheapest. */
static void transpose_four(widener *w, LLVMValueRef *v) {
  LLVMValueRef low = mixed(w, v[0], v[1], 0), high = mixed(w, v[0], v[1], 1);
  LLVMValueRef low2 = mixed(w, v[2], v[3], 0), high2 = mixed(w, v[2], v[3], 1);
  v[0] = halves(w, low, low2, 2, 0), v[1] = halves(w, low, low2, 2, 1);
  v[2] = halves(w, high, high2, 2, 0), v[3] = halves(w, high, high2, 2, 1);
}

/* Exchange across the diagonal: elements or squares of four, then pieces twice as large, … */
static void transpose(widener *w, vectors *v) {
  int size = 1;
  if (w->vectors >= 4) {
    for (int u = 0; u < w->vectors; u += 4) transpose_four(w, v->of + u);
    size = 4;
  }
  for (; size < w->vectors; size *= 2)
    for (int u = 0; u < w->vectors; u++) {
      if (u & size) continue;
      LLVMValueRef a = v->of[u], b = v->of[u + size];
      v->of[u] = halves(w, a, b, size, 0);
      v->of[u + size] = halves(w, a, b, size, 1);
    }
}

/* ---- gangs ---- */

vectors load_rows(widener *w, const place *at, LLVMTypeRef type, mask m) {
  LLVMTypeRef wide = vector_type(w, type);
  vectors result = {0};
  value_form(w, at->address); /* needed on both paths */
  vectors slots = m.all ? result : new_slots(w, wide, w->vectors);
  choice c = choose_every(w, m);
  LLVMValueRef base = vector_pointer(w, at, 0);
  for (int u = 0; u < w->vectors; u++) result.of[u] = load_group(w, at, type, base, u);
  transpose(w, &result);
  if (m.all) return result;
  store_slots(w, result, slots, w->vectors);
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) result.of[u] = gather(w, at, wide, m, u);
  store_slots(w, result, slots, w->vectors);
  end_choice(w, &c);
  return load_slots(w, wide, slots, w->vectors);
}

void store_rows(widener *w, const place *at, vectors lanes, mask m) {
  vectors turned = lanes;
  value_form(w, at->address); /* needed on both paths */
  choice c = choose_every(w, m);
  LLVMValueRef base = vector_pointer(w, at, 0);
  transpose(w, &turned);
  for (int u = 0; u < w->vectors; u++) store_group(w, at, turned.of[u], base, u);
  if (m.all) return;
  else_some(w, &c);
  for (int u = 0; u < w->vectors; u++) scatter(w, at, lanes.of[u], m, u);
  end_choice(w, &c);
}
