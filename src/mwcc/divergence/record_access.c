/* Members of records that lanes have at places of their own: see access_pattern.h and widen/memory/records.c.
 *
 * Loads of one group are done where the first of them is, and stores where the last is. So between the first and the
 * last of a group there are only
 *   - instructions that touch no memory, and for loads other loads;
 *   - accesses to other bytes of the records. A thread's own bytes are others by their distances; another thread that
 *     accessed them would race, as nothing in between synchronises. A load between stores may be the first of its
 *     group, and then none of that group reads what has been stored before it, since these stores are done later;
 *   - accesses to shared memory while the records are a parameter's, or the reverse; and to local or constant memory.
 * Anything else, as a store to what may be the same memory, ends a group, and the next one begins.
 *
 * The first or last member accesses a chunk for the others, so all of them must agree about it. Each finds its group
 * by what is known of its own address, which may differ: a chunk about which its members disagree is none. */
#include "access_pattern.h"
#include "mwcc/support/checked_access.h"
#include "mwcc/support/predicates.h"
#include "mwcc/target/target.h"
#include "mwcc/target/tuning.h"

#include <stdlib.h>

enum { WORD = 4, LONG = 8, FEWEST_LANES = 4, FEW_STEPS = 4 /* interleaved.c */ };

static bool is_load(LLVMValueRef i) { return LLVMIsALoadInst(i) != NULL; }

static LLVMValueRef address_of(LLVMValueRef access) { return LLVMGetOperand(access, is_load(access) ? 0 : 1); }

static LLVMTypeRef type_of(LLVMValueRef access) {
  return LLVMTypeOf(is_load(access) ? access : LLVMGetOperand(access, 0));
}

static int64_t bytes_of(const shapes *s, LLVMValueRef access) {
  return (int64_t)LLVMABISizeOfType(s->graph->program->layout, type_of(access));
}

/* An address as a root, perhaps another one in each lane, plus terms and a distance. */
static bool record_form(const shapes *s, LLVMValueRef address, form *f) {
  LLVMTargetDataRef layout = s->graph->program->layout;
  if (form_of(s, address, f)) return true;
  *f = (form){0};
  while (LLVMIsAGetElementPtrInst(address) && LLVMGetNumIndices(address) == 1 &&
         LLVMIsAConstantInt(LLVMGetOperand(address, 1))) {
    int64_t size = (int64_t)LLVMABISizeOfType(layout, LLVMGetGEPSourceElementType(address));
    f->distance += LLVMConstIntGetSExtValue(LLVMGetOperand(address, 1)) * size;
    address = LLVMGetOperand(address, 0);
  }
  f->root = address;
  return true;
}

static bool is_element(const shapes *s, LLVMValueRef access) {
  LLVMTypeRef type = type_of(access);
  LLVMTypeKind kind = LLVMGetTypeKind(type);
  bool number = kind == LLVMFloatTypeKind || kind == LLVMDoubleTypeKind || kind == LLVMPointerTypeKind;
  if (kind == LLVMIntegerTypeKind) number = LLVMGetIntTypeWidth(type) == 8 * (unsigned)bytes_of(s, access);
  return number && (bytes_of(s, access) == WORD || bytes_of(s, access) == LONG);
}

/* Whether lanes' places are neither vectors nor so near each other that whole vectors have them. */
static bool is_apart(const shapes *s, LLVMValueRef access) {
  LLVMValueRef address = address_of(access);
  shape a = shape_of(s, address);
  int64_t bytes = bytes_of(s, access);
  memory_kind kind = memory_of(address);
  if (kind == MEMORY_LOCAL || kind == MEMORY_CONSTANT || !is_plain_access(access)) return false;
  if (a.kind == SHAPE_VARYING) return true;
  if (a.kind != SHAPE_AFFINE && a.kind != SHAPE_VECTOR_AFFINE) return false;
  return llabs(a.stride) > FEW_STEPS * bytes && !reaches_rows(s, address, (uint64_t)bytes);
}

/* ---- the group of an access ---- */

typedef struct search {
  const shapes *s;
  record *r;
  LLVMValueRef access;
  bool loads, found;
  struct {
    int64_t from, to;
  } other[MOST_RECORD_MEMBERS]; /* bytes of the records that were accessed by other instructions of the group's time */
  int other_count;
} search;

static void begin_group(search *x) { x->r->count = x->other_count = 0; }

static bool overlaps(int64_t from, int64_t to, int64_t other_from, int64_t other_to) {
  return from < other_to && other_from < to;
}

/* Whether the bytes are of a member, or, with `others`, were accessed by another instruction. */
static bool is_taken(const search *x, int64_t from, int64_t to, bool others) {
  const record *r = x->r;
  for (int i = 0; !others && i < r->count; i++)
    if (overlaps(from, to, r->offsets[i], r->offsets[i] + r->bytes)) return true;
  for (int i = 0; others && i < x->other_count; i++)
    if (overlaps(from, to, x->other[i].from, x->other[i].to)) return true;
  return false;
}

/* Whether it is an access of the same kind to the same records. */
static bool is_like(const search *x, LLVMValueRef i, form *f) {
  if (is_load(i) != x->loads || (!is_load(i) && !LLVMIsAStoreInst(i))) return false;
  if (!is_plain_access(i) || !is_element(x->s, i) || bytes_of(x->s, i) != x->r->bytes) return false;
  return record_form(x->s, address_of(i), f) && same_but_distance(&x->r->form, f);
}

/* A member of the group that is being collected, or the first one of the next. */
static void add_member(search *x, LLVMValueRef i, int64_t offset) {
  record *r = x->r;
  int64_t end = offset + r->bytes;
  bool again = !x->loads && is_taken(x, offset, end, false);
  if (again || is_taken(x, offset, end, true) || r->count == MOST_RECORD_MEMBERS) begin_group(x);
  r->offsets[r->count] = offset;
  r->members[r->count++] = i;
  x->found = x->found || i == x->access;
}

/* Whether a thread's own variables, and constants, are other memory than the records. */
static bool is_private_beside(LLVMValueRef i, LLVMValueRef own) {
  memory_kind kind = memory_of(address_of(i));
  bool is_private = kind == MEMORY_LOCAL || (kind == MEMORY_CONSTANT && is_load(i));
  return is_private && (memory_of(own) == MEMORY_SHARED || LLVMIsAArgument(root_of(own)));
}

static bool find_group(const shapes *s, LLVMValueRef access, record *r);

/* Whether the load is the first of a group of its own, and so reads bytes that the stores before it write, early. A
   group that has begun before these stores reads none of them. */
static bool reads_taken_early(const search *x, LLVMValueRef load) {
  record own = {0};
  if (!is_element(x->s, load) || !find_group(x->s, load, &own) || own.members[0] != load) return false;
  for (int n = 0; n < own.count; n++)
    if (is_taken(x, own.offsets[n], own.offsets[n] + own.bytes, false)) return true;
  return false;
}

/* Whether another access leaves the group as it is. */
static bool may_pass(search *x, LLVMValueRef i) {
  LLVMValueRef own = address_of(x->access);
  form f;
  if (is_load(i) ? !is_plain_access(i) : !LLVMIsAStoreInst(i) || !is_plain_access(i)) return false;
  if (x->loads && is_load(i)) return true;
  if (is_private_beside(i, own)) return true;
  LLVMValueRef load = is_load(i) ? i : x->access, stored = is_load(i) ? own : address_of(i);
  if (is_load(i) != x->loads && reads_elsewhere(load, stored)) return true;
  if (!record_form(x->s, address_of(i), &f) || !same_but_distance(&x->r->form, &f)) return false;
  int64_t to = f.distance + bytes_of(x->s, i);
  if (!x->loads) return !is_taken(x, f.distance, to, false) && !(is_load(i) && reads_taken_early(x, i));
  if (x->other_count == MOST_RECORD_MEMBERS) return false;
  x->other[x->other_count].from = f.distance;
  x->other[x->other_count++].to = to;
  return true;
}

/* Loads are not done before the check of their own address. */
static bool is_free(const search *x, LLVMValueRef i) {
  if (x->loads && LLVMIsACallInst(i) && starts_with(callee_name(i), CHECK_ACCESS_FUNCTION)) return false;
  return touches_no_memory(i);
}

static bool find_group(const shapes *s, LLVMValueRef access, record *r) {
  enum { LONGEST = 2000 };
  search x = {.s = s, .r = r, .access = access, .loads = is_load(access)};
  form f;
  r->bytes = bytes_of(s, access);
  if (!record_form(s, address_of(access), &r->form)) return false;
  const node *home = &s->graph->nodes[graph_node_of(s->graph, access)];
  int looked_at = 0;
  begin_group(&x);
  for (LLVMValueRef i = home->first;; i = LLVMGetNextInstruction(i)) {
    if (++looked_at > LONGEST) return false;
    bool was_found = x.found;
    int before = r->count;
    if (is_like(&x, i, &f)) {
      if (was_found && (is_taken(&x, f.distance, f.distance + r->bytes, true) || r->count == MOST_RECORD_MEMBERS ||
                        (!x.loads && is_taken(&x, f.distance, f.distance + r->bytes, false))))
        return true;
      add_member(&x, i, f.distance);
    } else if (before && !is_free(&x, i) && !may_pass(&x, i)) {
      if (was_found) return true;
      begin_group(&x);
    }
    if (i == home->last) return x.found;
  }
}

/* ---- its chunks ---- */

static int compare_offsets(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int sorted_offsets(const record *r, int64_t *offsets) {
  int count = 0;
  for (int i = 0; i < r->count; i++) offsets[i] = r->offsets[i];
  qsort(offsets, (size_t)r->count, sizeof *offsets, compare_offsets);
  for (int i = 0; i < r->count; i++)
    if (!i || offsets[i] != offsets[count - 1]) offsets[count++] = offsets[i];
  return count;
}

static bool has_offset(const int64_t *offsets, int count, int64_t offset) {
  return bsearch(&offset, offsets, (size_t)count, sizeof *offsets, compare_offsets) != NULL;
}

static bool is_aligned(const record *r, int64_t offset) {
  for (int i = 0; i < r->count; i++)
    if (r->offsets[i] == offset && LLVMGetAlignment(r->members[i]) >= RECORD_CHUNK) return true;
  return false;
}

static void add_chunk(record *r, int64_t start, int bytes) {
  if (r->chunk_count == MOST_RECORD_CHUNKS) return;
  r->chunks[r->chunk_count].start = start;
  r->chunks[r->chunk_count++].bytes = bytes;
}

/* Whether two members are accessed together. Otherwise widen/memory/paired_gather.c does. */
static bool has_pairs(const shapes *s, LLVMValueRef access) {
  shape a = shape_of(s, address_of(access));
  return a.kind != SHAPE_VARYING && (!has_slow_gathers(s->graph->program) || llabs(a.stride) < TUNE_PAIRED_STRIDE);
}

/* Loaded chunks begin and end with members, which some lane reads anyway: so no byte is on a page of its own. Or they
   are aligned. Two may have members in common. With `pairs` 8 bytes are a chunk, too. */
static void cut_loads(record *r, const int64_t *offsets, int count, bool pairs) {
  for (int i = 0, next; i < count; i = next) {
    int last = i;
    while (last + 1 < count && offsets[last + 1] + r->bytes <= offsets[i] + RECORD_CHUNK) last++;
    int64_t end = offsets[last] + r->bytes;
    next = last + 1;
    bool even = (offsets[i] - offsets[0]) % r->bytes == 0;
    for (int n = i; n <= last; n++) even = even && (offsets[n] - offsets[i]) % r->bytes == 0;
    bool alone = last == i && !(r->chunk_count && has_offset(offsets, count, end - RECORD_CHUNK));
    if (alone || !even) {
      next = i + 1;
      continue;
    }
    if (end == offsets[i] + RECORD_CHUNK || is_aligned(r, offsets[i]))
      add_chunk(r, offsets[i], RECORD_CHUNK);
    else if (has_offset(offsets, count, end - RECORD_CHUNK))
      add_chunk(r, end - RECORD_CHUNK, RECORD_CHUNK);
    else if (last - i >= 2 || (pairs && end == offsets[i] + 2 * r->bytes))
      add_chunk(r, offsets[i], (int)(end - offsets[i]));
  }
}

/* Stored chunks have no gaps, and single members are stored by themselves only if nothing else is in chunks. */
static void cut_stores(record *r, const int64_t *offsets, int count, bool pairs) {
  for (int i = 0, next; i < count; i = next) {
    for (next = i + 1; next < count && offsets[next] == offsets[next - 1] + r->bytes &&
                       offsets[next] + r->bytes <= offsets[i] + RECORD_CHUNK;)
      next++;
    if (next > i + 1 || r->chunk_count) add_chunk(r, offsets[i], (int)((next - i) * r->bytes));
  }
  if (!pairs && r->chunk_count == 1 && r->chunks[0].bytes == 2 * WORD) r->chunk_count = 0;
}

int chunk_with(const record *r, int64_t offset) {
  for (int i = 0; i < r->chunk_count; i++) {
    int64_t within = offset - r->chunks[i].start;
    if (within >= 0 && within % r->bytes == 0 && within + r->bytes <= r->chunks[i].bytes) return i;
  }
  return -1;
}

/* The group of the access and its chunks, as seen from there. */
static bool find_record(const shapes *s, LLVMValueRef access, record *r, int *chunk) {
  enum { FEWEST = 2 };
  int64_t offsets[MOST_RECORD_MEMBERS];
  bool load = is_load(access);
  form own;
  r->count = r->chunk_count = 0;
  if (!is_element(s, access) || !is_apart(s, access) || (load && is_walked_row(s, access))) return false;
  if (!find_group(s, access, r) || r->count * r->bytes < FEWEST * WORD || !record_form(s, address_of(access), &own))
    return false;
  int count = sorted_offsets(r, offsets);
  if (load)
    cut_loads(r, offsets, count, has_pairs(s, access));
  else
    cut_stores(r, offsets, count, has_pairs(s, access));
  *chunk = chunk_with(r, own.distance);
  return *chunk >= 0;
}

static bool are_equal(const record *a, const record *b) {
  bool equal = a->count == b->count && a->chunk_count == b->chunk_count;
  for (int i = 0; i < a->count && equal; i++) equal = a->members[i] == b->members[i] && a->offsets[i] == b->offsets[i];
  for (int i = 0; i < a->chunk_count && equal; i++)
    equal = a->chunks[i].start == b->chunks[i].start && a->chunks[i].bytes == b->chunks[i].bytes;
  return equal;
}

/* All members of the chunk have to find the same group and the same chunks. */
bool is_of_record(const shapes *s, LLVMValueRef access, record *r, int *chunk) {
  bool load = is_load(access), powers = s->cut.lanes >= FEWEST_LANES && !(s->cut.lanes & (s->cut.lanes - 1));
  if (!has_pass(s->graph->program, PASS_RECORDS) || (!load && !LLVMIsAStoreInst(access)) || !powers) return false;
  if (!find_record(s, access, r, chunk)) return false;
  for (int i = 0; i < r->count; i++) {
    record other;
    int its_chunk;
    if (r->members[i] == access || chunk_with(r, r->offsets[i]) != *chunk) continue;
    if (!find_record(s, r->members[i], &other, &its_chunk) || its_chunk != *chunk || !are_equal(r, &other))
      return false;
  }
  return true;
}

bool is_member_of_record(const shapes *s, LLVMValueRef access) {
  record r;
  int chunk;
  return is_of_record(s, access, &r, &chunk);
}

bool has_records(const shapes *s) {
  const graph *g = s->graph;
  for (int i = 0; i < g->value_count; i++) {
    bool access = LLVMIsALoadInst(g->values[i]) || LLVMIsAStoreInst(g->values[i]);
    if (access && is_member_of_record(s, g->values[i])) return true;
  }
  return false;
}
