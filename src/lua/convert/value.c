/* Lua values as CUDA C values and back, by type: numbers, vectors, structs, arrays and pointers.
 *
 * What Lua writes              the type                 what Lua reads
 * a number                     integer, floating        a number (5.3+: integers for integers)
 * true, false                  bool                     true, false
 * {1, 2} or {x = 1, y = 2}     vector                   {1, 2} that answers to .x and .y too
 * a number, {1, 2}             complex64, complex128   {1, 2} that answers to .re and .im, and computes
 * {width = 3, …}               struct, union            a table by field name
 * {1, 2, 3}, {{…}, {…}}        array                    a sequence
 * a texture, a surface         cudaTextureObject_t, …   a number (its handle)
 * an array, a symbol, nil      pointer                  light userdata (an address), nil at the top for null
 *
 * 64-bit unsigned values above 2^63 are Lua's integers with the same bits, as string.pack has it. LuaJIT, whose numbers
 * are doubles, has int64_t and uint64_t for what is beyond 2^53 (int64.c). */
#include "value.h"

#include <math.h>

/* ---- names of places ---- */

static size_t add_place(const mwl_place *place, char *out, size_t length) {
  if (place->parent) length = add_place(place->parent, out, length);
  if (length >= MWL_PLACE) return length;
  int added;
  if (place->index)
    added = snprintf(out + length, MWL_PLACE - length, "[%zu]", place->index);
  else
    added = snprintf(out + length, MWL_PLACE - length, "%s%s", place->parent ? "." : "", place->name);
  return length + (added > 0 ? (size_t)added : 0);
}

const char *mwl_place_text(const mwl_place *place, char *out) {
  add_place(place, out, 0);
  return out;
}

bool mwl_refused(lua_State *L) {
  const mw_error *error = mw_error_last();
  lua_pushstring(L, error ? error->message : "");
  return false;
}

bool mwl_refuse(lua_State *L, mwl_state *state, int index, const mw_type *type, const mwl_place *place) {
  char what[MWL_PLACE], got[64];
  mw_value_refuse(type, mwl_describe(L, state, index, got, sizeof got), mwl_place_text(place, what));
  return mwl_refused(L);
}

/* ---- numbers ---- */

static bool pack_integer(const mw_type *type, int64_t value, void *out) {
  int bits = (int)type->size * 8;
  if (type->kind == MW_TYPE_INT) {
    if (bits < 64 && (value < -(INT64_C(1) << (bits - 1)) || value >= INT64_C(1) << (bits - 1))) return false;
  } else if (bits < 64 && (value < 0 || value >= INT64_C(1) << bits)) {
    return false;
  }
  memcpy(out, &value, type->size); /* little-endian, as every machine here is */
  return true;
}

bool mwl_pack_number(lua_State *L, int index, const mw_type *type, void *out) {
  int64_t whole;
  int is = lua_type(L, index);
  bool is_unsigned;
  if (mwl_test_int64(L, index, &whole, &is_unsigned)) {
    if (type->kind == MW_TYPE_INT || type->kind == MW_TYPE_UINT) {
      bool beyond = is_unsigned && whole < 0; /* the bits are a number above INT64_MAX */
      return beyond ? type->kind == MW_TYPE_UINT && type->size == 8 && (memcpy(out, &whole, 8), true)
                    : pack_integer(type, whole, out);
    }
    double nearest = is_unsigned ? (double)(uint64_t)whole : (double)whole;
    return mw_value_from_double(type, nearest, out, "") == MW_SUCCESS;
  }
  if (type->kind == MW_TYPE_BOOL && is == LUA_TBOOLEAN) {
    *(unsigned char *)out = (unsigned char)lua_toboolean(L, index);
    return true;
  }
  if (is != LUA_TNUMBER) return false;
  switch (type->kind) {
  case MW_TYPE_BFLOAT:
  case MW_TYPE_FLOAT:
    if (type->size == 4) {
      double number = lua_tonumber(L, index);
      float value = (float)number;
      memcpy(out, &value, 4);
      return !isinf(value) || isinf(number);
    }
    if (type->size == 8) {
      double value = lua_tonumber(L, index);
      memcpy(out, &value, 8);
      return true;
    }
    return mw_value_from_double(type, lua_tonumber(L, index), out, "") == MW_SUCCESS;
  case MW_TYPE_INT:
  case MW_TYPE_UINT:
    if (mwl_whole(L, index, &whole)) return pack_integer(type, whole, out);
    return mw_value_from_double(type, lua_tonumber(L, index), out, "") == MW_SUCCESS;
  case MW_TYPE_BOOL: return mw_value_from_double(type, lua_tonumber(L, index), out, "") == MW_SUCCESS;
  default: return false;
  }
}

bool mwl_refuse_number(lua_State *L, mwl_state *state, int index, const mw_type *type, const mwl_place *place) {
  int64_t whole;
  bool is_unsigned = false, is_int64 = mwl_test_int64(L, index, &whole, &is_unsigned);
  if (lua_type(L, index) != LUA_TNUMBER && !is_int64) return mwl_refuse(L, state, index, type, place);
  char what[MWL_PLACE];
  _Alignas(16) char sink[16];
  mwl_place_text(place, what);
  bool exact = is_int64 ? !(is_unsigned && whole < 0) : mwl_isinteger(L, index) && mwl_whole(L, index, &whole);
  int code = exact
                 ? mw_value_from_int64(type, whole, sink, what)
                 : mw_value_from_double(type, is_int64 ? (double)(uint64_t)whole : lua_tonumber(L, index), sink, what);
  return code ? mwl_refused(L) : mwl_refuse(L, state, index, type, place);
}

void mwl_push_number(lua_State *L, const mw_type *type, const void *bytes) {
  switch (type->kind) {
  case MW_TYPE_BOOL: lua_pushboolean(L, *(const unsigned char *)bytes != 0); break;
  case MW_TYPE_BFLOAT:
  case MW_TYPE_FLOAT:
    if (type->size == 4) {
      float value;
      memcpy(&value, bytes, 4);
      lua_pushnumber(L, (lua_Number)value);
    } else {
      lua_pushnumber(L, mw_value_to_double(type, bytes));
    }
    break;
  default: mwl_push_int64(L, mw_value_to_int64(type, bytes), type->kind == MW_TYPE_UINT && type->size == 8); break;
  }
}

/* ---- all ---- */

bool mwl_pack(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
              const mwl_keeper *keeper) {
  luaL_checkstack(L, 8, "a value nested too deeply");
  switch (type->kind) {
  case MW_TYPE_VECTOR: return mwl_pack_vector(L, state, index, type, out, place);
  case MW_TYPE_STRUCT: return mwl_pack_struct(L, state, index, type, out, place, keeper);
  case MW_TYPE_ARRAY: return mwl_pack_array(L, state, index, type, out, place, keeper);
  case MW_TYPE_POINTER: return mwl_pack_pointer(L, state, index, type, out, place, keeper);
  case MW_TYPE_UINT:
    if (type->size == 8 && lua_type(L, index) == LUA_TUSERDATA)
      return mwl_pack_texture(L, state, index, type, out, place, keeper);
    /* fall through */
  default:
    if (mwl_pack_number(L, index, type, out)) return true;
    return mwl_refuse_number(L, state, index, type, place);
  }
}

void mwl_push(lua_State *L, const mw_type *type, const void *bytes) {
  const unsigned char *at = bytes;
  luaL_checkstack(L, 8, "a value nested too deeply");
  switch (type->kind) {
  case MW_TYPE_VECTOR: mwl_push_vector(L, type, at); break;
  case MW_TYPE_STRUCT: mwl_push_struct(L, type, at); break;
  case MW_TYPE_ARRAY:
    lua_createtable(L, (int)type->count, 0);
    for (size_t i = 0; i < type->count; i++) {
      mwl_push(L, type->element, at + i * type->element->size);
      lua_rawseti(L, -2, (int)i + 1);
    }
    break;
  case MW_TYPE_POINTER: {
    uint64_t address = 0;
    memcpy(&address, bytes, type->size < 8 ? type->size : 8);
    lua_pushlightuserdata(L, (void *)(uintptr_t)address);
    break;
  }
  default: mwl_push_number(L, type, bytes); break;
  }
}

void mwl_open_value(lua_State *L, mwl_state *state) {
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  mwl_open_vector(L, state);
}
