/* Records at places of the lanes' own: structs in an array (`body[8 * i + 3]`), at looked-up indices, behind pointers, and
 * short rows. A gather for each member would load every element by itself.
 *
 * Members of a record that lie within 16 bytes are one chunk. Each lane's chunk is loaded by itself, and the lanes' chunks
 * are transposed in registers into a vector for each member; stored chunks are transposed back. A chunk of four floats
 * costs four lanes four loads and four shuffles, where gathers cost sixteen loads.
 *
 * Why the result is the same (divergence/record_access.c has the conditions):
 *   - All accesses of a chunk are in one node, so the same lanes make all of them.
 *   - A loaded chunk begins and ends with bytes that the lane reads anyway, or is aligned: it touches no other page. Chunks
 *     of inactive lanes are loaded from the stack.
 *   - A stored chunk has exactly the bytes that the lane stores. Where lanes may be inactive, chunks are stored if none is,
 *     a run-time test, and members are scattered otherwise.
 *   - No access in between can tell that loads are done at the first member, and stores at the last. */
#include "memory.h"
#include "mwcc/divergence/access_pattern.h"
#include "mwcc/support/predicates.h"
#include "mwcc/widen/values/transpose.h"

enum { WORD = 4, LONG = 8 };

static bool is_load(LLVMValueRef i) { return LLVMIsALoadInst(i) != NULL; }

static LLVMTypeRef type_of(LLVMValueRef access) {
  return LLVMTypeOf(is_load(access) ? access : LLVMGetOperand(access, 0));
}

static place place_of(LLVMValueRef access) {
  return (place){LLVMGetOperand(access, is_load(access) ? 0 : 1), 0, LLVMGetAlignment(access), false, access, 0};
}

static int columns_of(const record *r) { return (int)(RECORD_CHUNK / r->bytes); }

static LLVMTypeRef bits_of(widener *w, const record *r) { return r->bytes == WORD ? w->p->i32 : w->p->i64; }

static int64_t offset_of(const record *r, LLVMValueRef access) {
  int i = 0;
  while (r->members[i] != access) i++;
  return r->offsets[i];
}

/* The alignment of all addresses that lie a multiple of a member's size from that of the access. */
static unsigned align_of(const record *r, LLVMValueRef access) {
  unsigned align = LLVMGetAlignment(access);
  return align < r->bytes ? align : (unsigned)r->bytes;
}

/* ---- lanes' addresses ---- */

/* Of vector u, plus a distance. Lanes that are not active, which may have any address, get one of `spare`. */
static void find_places(widener *w, LLVMValueRef access, int64_t distance, mask m, LLVMValueRef spare, int u,
                        LLVMValueRef *places) {
  place at = place_of(access);
  LLVMValueRef pointers = NULL;
  if (spare) pointers = LLVMBuildSelect(w->b, mask_vector(w, m, u), lane_pointers(w, &at, u), splat(w, spare), "");
  bool even = !spare && !is_varying(w, at.address);
  LLVMValueRef first = even ? vector_pointer(w, &at, u) : NULL;
  int64_t stride = even ? shape_of(w->shapes, at.address).stride : 0;
  for (int l = 0; l < w->width; l++) {
    if (spare)
      places[l] = LLVMBuildExtractElement(w->b, pointers, constant_i32(w->p, (unsigned)l), "");
    else
      places[l] = even ? moved(w, first, (uint64_t)(l * stride)) : pointer_of_lane(w, &at, u, l);
    places[l] = moved(w, places[l], (uint64_t)distance);
  }
}

/* ---- one lane's chunk, as a vector of a register's columns ---- */

static LLVMValueRef picked(widener *w, LLVMValueRef a, LLVMValueRef b, const int *pick, int count) {
  LLVMValueRef items[RECORD_CHUNK / WORD];
  for (int i = 0; i < count; i++)
    items[i] = pick[i] < 0 ? LLVMGetPoison(w->p->i32) : constant_i32(w->p, (unsigned)pick[i]);
  return LLVMBuildShuffleVector(w->b, a, b ? b : LLVMGetPoison(LLVMTypeOf(a)), LLVMConstVector(items, (unsigned)count),
                                "");
}

static LLVMValueRef load_part(widener *w, LLVMTypeRef type, LLVMValueRef from, int64_t distance, unsigned align) {
  LLVMValueRef part = LLVMBuildLoad2(w->b, type, moved(w, from, (uint64_t)distance), "");
  LLVMSetAlignment(part, align);
  return part;
}

/* Of 16 bytes, of 8, or of 12: 8 and 4. */
static LLVMValueRef load_chunk(widener *w, LLVMTypeRef bits, int bytes, LLVMValueRef from, unsigned align) {
  static const int low[] = {0, 1, -1, -1};
  if (bytes == RECORD_CHUNK)
    return load_part(w, LLVMVectorType(bits, 8 * RECORD_CHUNK / LLVMGetIntTypeWidth(bits)), from, 0, align);
  LLVMValueRef pair = load_part(w, LLVMVectorType(bits, 2), from, 0, align);
  if (bytes == LONG) return picked(w, pair, NULL, low, 4);
  LLVMValueRef last = load_part(w, bits, from, LONG, align);
  return LLVMBuildInsertElement(w->b, picked(w, pair, NULL, low, 4), last, constant_i32(w->p, 2), "");
}

static void store_part(widener *w, LLVMValueRef part, LLVMValueRef to, int64_t distance, unsigned align) {
  LLVMSetAlignment(LLVMBuildStore(w->b, part, moved(w, to, (uint64_t)distance)), align);
}

static void store_chunk(widener *w, LLVMValueRef chunk, int bytes, LLVMValueRef to, unsigned align) {
  static const int low[] = {0, 1};
  if (bytes == RECORD_CHUNK) {
    store_part(w, chunk, to, 0, align);
    return;
  }
  LLVMTypeRef type = LLVMGetElementType(LLVMTypeOf(chunk));
  if ((unsigned)bytes * 8 == LLVMGetIntTypeWidth(type)) {
    store_part(w, LLVMBuildExtractElement(w->b, chunk, constant_i32(w->p, 0), ""), to, 0, align);
    return;
  }
  store_part(w, picked(w, chunk, NULL, low, 2), to, 0, align);
  if (bytes > LONG) store_part(w, LLVMBuildExtractElement(w->b, chunk, constant_i32(w->p, 2), ""), to, LONG, align);
}

/* ---- all lanes' ---- */

/* The bytes that members differ by, as memory on the stack that stands for inactive lanes' records; or NULL. */
static LLVMValueRef spare_of(widener *w, const record *r, mask m, int64_t own) {
  int64_t low = own, high = own;
  if (m.all) return NULL;
  for (int i = 0; i < r->chunk_count; i++) {
    if (r->chunks[i].start < low) low = r->chunks[i].start;
    if (r->chunks[i].start + r->chunks[i].bytes > high) high = r->chunks[i].start + r->chunks[i].bytes;
  }
  LLVMValueRef memory = LLVMBuildAlloca(w->entry, LLVMArrayType2(w->p->i8, (uint64_t)(high - low)), "");
  LLVMSetAlignment(memory, RECORD_CHUNK);
  return moved(w, memory, (uint64_t)(own - low));
}

static LLVMValueRef as_member(widener *w, LLVMValueRef bits, LLVMTypeRef type) {
  bool pointer = LLVMGetTypeKind(type) == LLVMPointerTypeKind;
  return pointer ? LLVMBuildIntToPtr(w->b, bits, vector_type(w, type), "")
                 : LLVMBuildBitCast(w->b, bits, vector_type(w, type), "");
}

static LLVMValueRef as_bits(widener *w, LLVMValueRef member, LLVMTypeRef bits) {
  bool pointer = LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(member))) == LLVMPointerTypeKind;
  return pointer ? LLVMBuildPtrToInt(w->b, member, vector_type(w, bits), "")
                 : LLVMBuildBitCast(w->b, member, vector_type(w, bits), "");
}

/* Whether no member of the chunk comes before the access in the code; or none after it. */
static bool is_end_of_chunk(const record *r, LLVMValueRef access, int chunk, bool last) {
  LLVMValueRef end = NULL;
  for (int i = 0; i < r->count && (last || !end); i++)
    if (chunk_with(r, r->offsets[i]) == chunk) end = r->members[i];
  return end == access;
}

bool load_of_record(widener *w, LLVMValueRef load, mask m) {
  record r;
  int chunk;
  if (!is_of_record(w->shapes, load, &r, &chunk)) return false;
  if (!is_end_of_chunk(&r, load, chunk, false)) return true; /* done with the first one */
  int64_t own = offset_of(&r, load), start = r.chunks[chunk].start;
  int columns = columns_of(&r), bytes = r.chunks[chunk].bytes;
  LLVMValueRef spare = spare_of(w, &r, m, own), places[MOST_LANES], chunks[MOST_LANES];
  LLVMValueRef tiles[MOST_VECTORS][RECORD_CHUNK / WORD];
  for (int u = 0; u < w->vectors; u++) {
    find_places(w, load, start - own, m, spare, u, places);
    for (int l = 0; l < w->width; l++) chunks[l] = load_chunk(w, bits_of(w, &r), bytes, places[l], align_of(&r, load));
    columns_of_chunks(w->p, w->b, w->width, columns, chunks, tiles[u]);
  }
  for (int i = 0; i < r.count; i++) {
    vectors lanes = {0};
    if (chunk_with(&r, r.offsets[i]) != chunk) continue;
    for (int u = 0; u < w->vectors; u++)
      lanes.of[u] = as_member(w, tiles[u][(r.offsets[i] - start) / r.bytes], type_of(r.members[i]));
    set_value(w, r.members[i], lanes);
  }
  return true;
}

/* The member of a chunk that is stored to a column, or NULL. */
static LLVMValueRef stored_in(const record *r, int chunk, int column) {
  for (int i = 0; i < r->count; i++)
    if (r->offsets[i] == r->chunks[chunk].start + column * r->bytes) return r->members[i];
  return NULL;
}

bool store_to_record(widener *w, LLVMValueRef store, mask m) {
  record r;
  int chunk;
  if (!is_of_record(w->shapes, store, &r, &chunk)) return false;
  if (!is_end_of_chunk(&r, store, chunk, true)) return true; /* done with the last one */
  int64_t own = offset_of(&r, store), start = r.chunks[chunk].start;
  int columns = columns_of(&r), stored = (int)(r.chunks[chunk].bytes / r.bytes);
  LLVMValueRef tile[RECORD_CHUNK / WORD], places[MOST_LANES], chunks[MOST_LANES];
  vectors values[RECORD_CHUNK / WORD];
  place at = place_of(store);
  for (int c = 0; c < stored; c++) values[c] = value_vectors(w, LLVMGetOperand(stored_in(&r, chunk, c), 0));
  value_form(w, at.address); /* needed on both paths */
  need_pointers(w, &at);
  choice every = choose_every(w, m);
  for (int u = 0; u < w->vectors; u++) {
    for (int c = 0; c < columns; c++)
      tile[c] =
          c < stored ? as_bits(w, values[c].of[u], bits_of(w, &r)) : LLVMGetPoison(vector_type(w, bits_of(w, &r)));
    chunks_of_columns(w->p, w->b, w->width, columns, tile, chunks);
    find_places(w, store, start - own, m, NULL, u, places);
    for (int l = 0; l < w->width; l++) store_chunk(w, chunks[l], r.chunks[chunk].bytes, places[l], align_of(&r, store));
  }
  if (m.all) return true;
  else_some(w, &every);
  at.align = align_of(&r, store);
  for (int c = 0; c < stored; c++) {
    at.offset = (uint64_t)(start + c * r.bytes - own);
    for (int u = 0; u < w->vectors; u++) scatter(w, &at, values[c].of[u], m, u);
  }
  end_choice(w, &every);
  return true;
}
