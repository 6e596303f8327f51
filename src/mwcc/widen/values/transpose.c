/* A tile of rows and columns, transposed in registers by perfect shuffles: rows r and r + n / 2 of n are interleaved,
 * element by element, into rows 2 * r and 2 * r + 1. When this has been done log2(n) times, rows are columns.
 *
 * Each lane's row is a chunk of 16 bytes. Chunks of as many rows as a chunk has elements form a square, and all squares
 * of a tile are transposed at once, side by side in registers, as the unpack instructions of AVX and AVX-512 do it: a
 * column costs log2(elements of a chunk) shuffles, and does not cross the halves of a register. */
#include "transpose.h"

static LLVMValueRef shuffled(program *p, LLVMBuilderRef b, LLVMValueRef left, LLVMValueRef right, const int *pick,
                             int count) {
  LLVMValueRef items[2 * MOST_LANES];
  for (int i = 0; i < count; i++) items[i] = constant_i32(p, (unsigned)pick[i]);
  return LLVMBuildShuffleVector(b, left, right, LLVMConstVector(items, (unsigned)count), "");
}

/* In each group of so many elements: the first (or second) halves of both vectors' groups, interleaved. */
static LLVMValueRef interleaved(program *p, LLVMBuilderRef b, LLVMValueRef left, LLVMValueRef right, int size,
                                int group, int second) {
  int pick[MOST_LANES];
  for (int i = 0; i < size; i++) {
    int start = i / group * group, within = i % group;
    pick[i] = start + second * group / 2 + within / 2 + (within & 1 ? size : 0);
  }
  return shuffled(p, b, left, right, pick, size);
}

static LLVMValueRef joined(program *p, LLVMBuilderRef b, LLVMValueRef *parts, int count, int size) {
  int pick[MOST_LANES];
  for (; count > 1; count /= 2, size *= 2) {
    for (int i = 0; i < 2 * size; i++) pick[i] = i;
    for (int i = 0; i < count / 2; i++) parts[i] = shuffled(p, b, parts[2 * i], parts[2 * i + 1], pick, 2 * size);
  }
  return parts[0];
}

/* `count` vectors of `size` elements each, in groups. */
static void transpose_groups(program *p, LLVMBuilderRef b, LLVMValueRef *v, int count, int size, int group) {
  LLVMValueRef next[MOST_LANES];
  for (int stages = count; stages > 1; stages /= 2) {
    for (int r = 0; r < count / 2; r++)
      for (int second = 0; second < 2; second++)
        next[2 * r + second] = interleaved(p, b, v[r], v[r + count / 2], size, group, second);
    for (int r = 0; r < count; r++) v[r] = next[r];
  }
}

void columns_of_chunks(program *p, LLVMBuilderRef b, int lanes, int columns, const LLVMValueRef *chunks,
                       LLVMValueRef *tile) {
  LLVMValueRef parts[MOST_LANES] = {0};
  int pick[MOST_LANES], squares = lanes > columns ? lanes / columns : 1, height = lanes / squares;
  /* vector r has row r of every square */
  for (int r = 0; r < height; r++) {
    for (int s = 0; s < squares; s++) parts[s] = chunks[s * height + r];
    tile[r] = joined(p, b, parts, squares, columns);
  }
  transpose_groups(p, b, tile, height, squares * columns, columns);
  if (height == columns) return;
  /* fewer lanes than elements in a chunk: each vector has several columns */
  LLVMValueRef whole[MOST_LANES];
  for (int r = 0; r < height; r++) whole[r] = tile[r];
  for (int c = 0; c < columns; c++) {
    for (int l = 0; l < lanes; l++) pick[l] = c * lanes % columns + l;
    tile[c] = shuffled(p, b, whole[c * lanes / columns], whole[c * lanes / columns], pick, lanes);
  }
}

void load_tile(program *p, LLVMBuilderRef b, LLVMTypeRef element, int lanes, int columns, unsigned align,
               const LLVMValueRef *rows, LLVMValueRef *tile) {
  LLVMValueRef chunks[MOST_LANES];
  for (int l = 0; l < lanes; l++) {
    chunks[l] = LLVMBuildLoad2(b, LLVMVectorType(element, (unsigned)columns), rows[l], "");
    LLVMSetAlignment(chunks[l], align);
  }
  columns_of_chunks(p, b, lanes, columns, chunks, tile);
}

/* Squares are transposed by the same shuffles in both directions. */
void chunks_of_columns(program *p, LLVMBuilderRef b, int lanes, int columns, const LLVMValueRef *tile,
                       LLVMValueRef *chunks) {
  LLVMValueRef v[MOST_LANES];
  int pick[MOST_LANES];
  for (int c = 0; c < columns; c++) v[c] = tile[c];
  transpose_groups(p, b, v, columns, lanes, columns);
  for (int l = 0; l < lanes; l++) {
    for (int c = 0; c < columns; c++) pick[c] = l / columns * columns + c;
    chunks[l] = shuffled(p, b, v[l % columns], v[l % columns], pick, columns);
  }
}
