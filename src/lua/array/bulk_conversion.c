/* Whole arrays to and from Lua: nested tables, byte strings, other arrays.
 *
 * Numbers pass through a block on the C stack, so that no resource is held if an error is raised halfway, and the core
 * is called once for each block, not for each number. */
#include "lua/binding.h"

#include <math.h>
#include <stdint.h>

#define BLOCK 32768 /* bytes: more than MW_ELEMENT_BYTES; of elements that do not divide it, as many as fit */

typedef struct block {
  lua_State *L;
  mwl_state *state;
  mwl_array *array;
  size_t first;            /* the array's element that stands first in the block */
  size_t count, used;      /* elements in the block: all (reading), written or read so far */
  size_t capacity;         /* elements that fit */
  size_t at[MWL_MAX_RANK]; /* 1-based indices of the row in work, for messages */
  _Alignas(32) unsigned char bytes[BLOCK];
} block;

static void block_init(block *b, lua_State *L, mwl_state *state, mwl_array *array) {
  b->L = L;
  b->state = state;
  b->array = array;
  b->first = b->count = b->used = 0;
  b->capacity = BLOCK / array->dtype->size;
}

/* ---- tables to arrays ---- */

static void flush(block *b) {
  if (!b->used) return;
  mwl_must(b->L, b->state, mw_array_write(b->array->handle, b->first, b->used, b->bytes));
  b->first += b->used;
  b->used = 0;
}

/* "element [2][5]" */
static void name_element(const block *b, int depth, char *out, size_t size) {
  size_t length = (size_t)snprintf(out, size, depth ? "element " : "the table");
  for (int d = 0; d < depth && length < size; d++)
    length += (size_t)snprintf(out + length, size - length, "[%zu]", b->at[d]);
}

/* The value on top of the stack needs the slow path: it is a vector, or a mistake. */
static void pack_slowly(block *b, void *out) {
  char what[128];
  name_element(b, b->array->rank, what, sizeof what);
  const mwl_place place = {NULL, what, 0};
  const mwl_keeper no_keeper = {0};
  if (!mwl_pack(b->L, b->state, lua_gettop(b->L), b->array->dtype, out, &place, &no_keeper))
    mwl_usage_top(b->L, b->state, NULL);
}

/* Elements of the table at `table` from `done` (0-based) on, as many as the block has room for; how many these were. */
static size_t pack_run(block *b, int table, size_t done, size_t length) {
  lua_State *L = b->L;
  const mw_type *type = b->array->dtype;
  size_t run = length - done, room = b->capacity - b->used, i;
  size_t *at = &b->at[b->array->rank - 1];
  if (run > room) run = room;
  unsigned char *out = b->bytes + b->used * type->size;
  if (type->kind == MW_TYPE_FLOAT && type->size == 4) {
    for (i = 0; i < run; i++, out += 4) {
      lua_rawgeti(L, table, (int)(done + i + 1));
      double number = lua_tonumber(L, -1);
      float value = (float)number;
      memcpy(out, &value, 4);
      if (lua_type(L, -1) != LUA_TNUMBER || (isinf(value) && !isinf(number))) *at = done + i + 1, pack_slowly(b, out);
      lua_pop(L, 1);
    }
  } else if (type->kind == MW_TYPE_FLOAT && type->size == 8) {
    for (i = 0; i < run; i++, out += 8) {
      lua_rawgeti(L, table, (int)(done + i + 1));
      if (lua_type(L, -1) != LUA_TNUMBER) *at = done + i + 1, pack_slowly(b, out);
      double value = lua_tonumber(L, -1);
      memcpy(out, &value, 8);
      lua_pop(L, 1);
    }
  } else if (type->kind == MW_TYPE_INT && type->size == 4) {
    for (i = 0; i < run; i++, out += 4) {
      int64_t number;
      lua_rawgeti(L, table, (int)(done + i + 1));
      bool fits = mwl_whole(L, -1, &number) && number >= INT32_MIN && number <= INT32_MAX;
      int32_t value = fits ? (int32_t)number : 0;
      memcpy(out, &value, 4);
      if (!fits) *at = done + i + 1, pack_slowly(b, out);
      lua_pop(L, 1);
    }
  } else {
    for (i = 0; i < run; i++, out += type->size) {
      lua_rawgeti(L, table, (int)(done + i + 1));
      if (!mwl_pack_number(L, -1, type, out)) *at = done + i + 1, pack_slowly(b, out);
      lua_pop(L, 1);
    }
  }
  b->used += run;
  return run;
}

static void write_table(block *b, int table, int depth) {
  lua_State *L = b->L;
  const mwl_array *array = b->array;
  size_t length = array->shape[depth];
  char what[128];
  if (lua_type(L, table) != LUA_TTABLE || lua_rawlen(L, table) != length) {
    name_element(b, depth, what, sizeof what);
    mwl_refusal(L, b->state, "table", "snv", what, (double)length, table);
  }
  if (depth == array->rank - 1) {
    for (size_t done = 0; done < length;) {
      done += pack_run(b, table, done, length);
      if (b->used == b->capacity) flush(b);
    }
    return;
  }
  for (size_t i = 0; i < length; i++) {
    b->at[depth] = i + 1;
    lua_rawgeti(L, table, (int)i + 1);
    write_table(b, lua_gettop(L), depth + 1);
    lua_pop(L, 1);
  }
}

static void assign_table(lua_State *L, mwl_state *state, mwl_array *array, int index) {
  luaL_checkstack(L, MWL_MAX_RANK + 8, "a table nested too deeply");
  block b;
  block_init(&b, L, state, array);
  write_table(&b, lua_absindex(L, index), 0);
  flush(&b);
}

static int refuse_source(lua_State *L, mwl_state *state, const mwl_array *array, int index) {
  return mwl_refusal(L, state, "source", "vnns", index, (double)mw_array_bytes(array->handle),
                     (double)mw_array_count(array->handle), mw_type_dtype(array->dtype));
}

void mwl_array_assign(lua_State *L, mwl_state *state, mwl_array *array, int index) {
  int is = lua_type(L, index);
  if (is == LUA_TTABLE || is == LUA_TSTRING) mwl_drain(L, state, array->device);
  if (is == LUA_TTABLE && !mw_array_is_contiguous(array->handle)) {
    mwl_array *packed = mwl_array_packed(L, state, array); /* written as a whole, then copied to where it belongs */
    assign_table(L, state, packed, index);
    mwl_must(L, state, mw_array_copy(array->handle, packed->handle));
    lua_pop(L, 1);
  } else if (is == LUA_TTABLE) {
    assign_table(L, state, array, index);
  } else if (is == LUA_TSTRING) {
    size_t length;
    const char *bytes = lua_tolstring(L, index, &length);
    if (length != mw_array_bytes(array->handle)) refuse_source(L, state, array, index);
    mwl_must(L, state, mw_array_write(array->handle, 0, mw_array_count(array->handle), bytes));
  } else if (mwl_test(L, state, index, MWL_ARRAY)) {
    mwl_must(L, state, mw_array_copy(array->handle, mwl_check_array(L, state, index, "the source")->handle));
  } else {
    refuse_source(L, state, array, index);
  }
}

/* array_assign(array, table | array | string) */
static int array_assign(lua_State *L) {
  mwl_state *state = mwl_of(L);
  lua_settop(L, 2);
  mwl_array_assign(L, state, mwl_check_array(L, state, 1, "copy_from"), 2);
  return 0;
}

/* The shape of the nested table at `index`: as deep as its first elements go, less the level that a vector
   is; structs are tables without a first element. */
static int infer_shape(lua_State *L, mwl_state *state, int index, const mw_type *dtype, size_t *shape) {
  int rank = 0, top = lua_gettop(L);
  bool is_struct = dtype->kind == MW_TYPE_STRUCT;
  lua_pushvalue(L, index);
  while (lua_type(L, -1) == LUA_TTABLE && (rank == 0 || !is_struct || lua_rawlen(L, -1) > 0)) {
    if (rank > MWL_MAX_RANK) mwl_refusal(L, state, "depth", "n", (double)MWL_MAX_RANK);
    shape[rank++] = lua_rawlen(L, -1);
    lua_rawgeti(L, -1, 1);
    luaL_checkstack(L, 8, "a table nested too deeply");
  }
  lua_settop(L, top);
  if (dtype->kind == MW_TYPE_VECTOR && rank > 1) rank--;
  if (rank > MWL_MAX_RANK) mwl_refusal(L, state, "depth", "n", (double)MWL_MAX_RANK);
  return rank;
}

/* array_from(table, dtype) -> array */
static int array_from(lua_State *L) {
  mwl_state *state = mwl_of(L);
  size_t shape[MWL_MAX_RANK + 1];
  mw_module *module;
  const mw_type *dtype = mwl_check_dtype(L, state, 2, "float", &module);
  lua_settop(L, 2);
  luaL_checktype(L, 1, LUA_TTABLE);
  int rank = infer_shape(L, state, 1, dtype, shape);
  mwl_array *array = mwl_array_push(L, state, mwl_current(L, state));
  mwl_array_fill_new(L, state, array, dtype, module, rank, shape);
  assign_table(L, state, array, 1);
  return 1;
}

/* ---- arrays to tables and strings ---- */

static const unsigned char *next_bytes(block *b) {
  if (b->used == b->count) {
    size_t left = mw_array_count(b->array->handle) - b->first - b->count;
    b->first += b->count;
    b->count = left < b->capacity ? left : b->capacity;
    b->used = 0;
    mwl_must(b->L, b->state, mw_array_read(b->array->handle, b->first, b->count, b->bytes));
  }
  return b->bytes + b->used++ * b->array->dtype->size;
}

static void push_table(block *b, int depth) {
  lua_State *L = b->L;
  const mw_type *type = b->array->dtype;
  size_t length = b->array->shape[depth];
  lua_createtable(L, length < INT32_MAX ? (int)length : INT32_MAX, 0);
  if (depth < b->array->rank - 1) {
    for (size_t i = 1; i <= length; i++) {
      push_table(b, depth + 1);
      lua_rawseti(L, -2, (int)i);
    }
  } else if (type->kind == MW_TYPE_FLOAT && type->size == 4) {
    for (size_t i = 1; i <= length; i++) {
      float value;
      memcpy(&value, next_bytes(b), 4);
      lua_pushnumber(L, (lua_Number)value);
      lua_rawseti(L, -2, (int)i);
    }
  } else if (type->kind == MW_TYPE_FLOAT && type->size == 8) {
    for (size_t i = 1; i <= length; i++) {
      double value;
      memcpy(&value, next_bytes(b), 8);
      lua_pushnumber(L, value);
      lua_rawseti(L, -2, (int)i);
    }
  } else if (type->kind == MW_TYPE_INT && type->size == 4) {
    for (size_t i = 1; i <= length; i++) {
      int32_t value;
      memcpy(&value, next_bytes(b), 4);
      mwl_pushinteger(L, value);
      lua_rawseti(L, -2, (int)i);
    }
  } else {
    for (size_t i = 1; i <= length; i++) {
      mwl_push(L, type, next_bytes(b));
      lua_rawseti(L, -2, (int)i);
    }
  }
}

static int array_totable(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_array_packed(L, state, mwl_check_array(L, state, 1, "totable"));
  mwl_must(L, state, mw_array_check_rows(array->handle, "totable"));
  mwl_settle(L, state, array->device);
  luaL_checkstack(L, 2 * MWL_MAX_RANK + 8, "totable");
  block b;
  block_init(&b, L, state, array);
  push_table(&b, 0);
  return 1;
}

/* a:bytes(): from the array's own memory where the host reaches it, which saves a copy. */
static int array_bytes(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *array = mwl_array_packed(L, state, mwl_check_array(L, state, 1, "bytes"));
  mwl_settle(L, state, array->device);
  mw_buffer *buffer = mw_array_buffer(array->handle);
  size_t bytes = mw_array_bytes(array->handle);
  mwl_must(L, state, mw_device_synchronize(array->device->handle));
  const char *host = mw_buffer_host(buffer);
  if (host) {
    lua_pushlstring(L, host + mw_array_offset(array->handle), bytes);
    return 1;
  }
  void *memory = mwl_plain(L, bytes ? bytes : 1);
  mwl_must(L, state, mw_array_read(array->handle, 0, mw_array_count(array->handle), memory));
  lua_pushlstring(L, memory, bytes);
  return 1;
}

/* ---- arrays to arrays of another type ---- */

static bool is_integer(const mw_type *type) {
  return type->kind == MW_TYPE_INT || type->kind == MW_TYPE_UINT || type->kind == MW_TYPE_BOOL;
}

static int convert_number(const mw_type *from, const void *source, const mw_type *to, void *target, const char *what) {
  if (is_integer(from) && is_integer(to)) return mw_value_from_int64(to, mw_value_to_int64(from, source), target, what);
  return mw_value_from_double(to, mw_value_to_double(from, source), target, what);
}

/* array_convert(target, source): element by element, as if read and written as numbers. */
static int array_convert(lua_State *L) {
  mwl_state *state = mwl_of(L);
  mwl_array *target = mwl_check_array(L, state, 1, "the target");
  mwl_array *source = mwl_array_packed(L, state, mwl_check_array(L, state, 2, "the source"));
  const mw_type *from = source->dtype, *to = target->dtype;
  size_t width = from->kind == MW_TYPE_VECTOR ? from->count : 1;
  bool structs = from->kind == MW_TYPE_STRUCT || to->kind == MW_TYPE_STRUCT;
  if (structs || (to->kind == MW_TYPE_VECTOR ? to->count : 1) != width)
    return mwl_refusal(L, state, "conversion", "ssb", mw_type_dtype(from), mw_type_dtype(to), !structs);
  if (from->kind == MW_TYPE_VECTOR) from = from->element, to = to->element;
  mwl_settle(L, state, source->device);
  block in;
  block_init(&in, L, state, source);
  block out;
  block_init(&out, L, state, target);
  for (size_t i = 0, count = mw_array_count(target->handle); i < count; i++) {
    const unsigned char *element = next_bytes(&in);
    unsigned char *place = out.bytes + out.used * target->dtype->size;
    for (size_t c = 0; c < width; c++) {
      if (convert_number(from, element + c * from->size, to, place + c * to->size, "an element")) {
        char what[40];
        snprintf(what, sizeof what, "element [%zu]", i + 1);
        convert_number(from, element + c * from->size, to, place + c * to->size, what);
        return mwl_raise(L, state);
      }
    }
    if (++out.used == out.capacity) flush(&out);
  }
  flush(&out);
  return 0;
}

void mwl_open_bulk(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {
      {"array_from", array_from}, {"array_assign", array_assign}, {"array_convert", array_convert}, {NULL, NULL}};
  static const luaL_Reg methods[] = {{"totable", array_totable}, {"bytes", array_bytes}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  lua_getfield(L, -1, "classes");
  lua_getfield(L, -1, "array");
  mwl_functions(L, methods, state);
  lua_pop(L, 2);
}
