/* Values made of others: structs and unions by field name, arrays as sequences, and pointers to arrays on the device.
 *
 * Tables are read without metamethods: an argument's conversion never runs other code. */
#include "value.h"

/* ---- structs ---- */

static bool is_given(lua_State *L, int index, const mw_field *field) {
  if (!field->name[0]) {
    if (field->type->kind != MW_TYPE_STRUCT) return false;
    for (size_t i = 0; i < field->type->count; i++)
      if (is_given(L, index, &field->type->fields[i])) return true;
    return false;
  }
  lua_pushstring(L, field->name);
  lua_rawget(L, index);
  bool given = !lua_isnil(L, -1);
  lua_pop(L, 1);
  return given;
}

/* Whether another field that shares memory with this one was given: then it is a union's, and need not be. */
static bool is_covered(lua_State *L, int index, const mw_type *type, const mw_field *field) {
  for (size_t i = 0; i < type->count; i++) {
    const mw_field *other = &type->fields[i];
    bool overlap = other != field && other->offset < field->offset + field->type->size &&
                   field->offset < other->offset + other->type->size;
    if (overlap && is_given(L, index, other)) return true;
  }
  return false;
}

static bool pack_fields(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                        const mwl_place *place, const mwl_keeper *keeper) {
  for (size_t i = 0; i < type->count; i++) {
    const mw_field *field = &type->fields[i];
    if (!is_given(L, index, field) && is_covered(L, index, type, field)) continue;
    if (!field->name[0]) {
      if (field->type->kind == MW_TYPE_STRUCT &&
          !pack_fields(L, state, index, field->type, out + field->offset, place, keeper))
        return false;
      continue;
    }
    lua_pushstring(L, field->name);
    lua_rawget(L, index);
    mwl_place here = {place, field->name, 0};
    if (lua_isnil(L, -1)) {
      char what[MWL_PLACE];
      mw_value_missing(type, field->name, mwl_place_text(place, what));
      return mwl_refused(L);
    }
    if (!mwl_pack(L, state, lua_gettop(L), field->type, out + field->offset, &here, keeper)) return false;
    lua_pop(L, 1);
  }
  return true;
}

/* No fields, and more than the byte that a struct with none has: where NVRTC compiles without mwcc, not all are known. */
static bool hides_fields(const mw_type *type) { return type->count == 0 && type->size > 1; }

/* A string is the bytes of a struct, padding too. */
static bool pack_string(lua_State *L, int index, const mw_type *type, unsigned char *out, const mwl_place *place) {
  char what[MWL_PLACE];
  size_t length;
  const char *bytes = lua_tolstring(L, index, &length);
  if (length != type->size) {
    mw_value_refuse_length(type, true, length, mwl_place_text(place, what));
    return mwl_refused(L);
  }
  memcpy(out, bytes, length);
  return true;
}

bool mwl_pack_struct(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                     const mwl_place *place, const mwl_keeper *keeper) {
  char what[MWL_PLACE];
  if (lua_type(L, index) == LUA_TSTRING) return pack_string(L, index, type, out, place);
  if (hides_fields(type) || lua_type(L, index) != LUA_TTABLE) return mwl_refuse(L, state, index, type, place);
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    const char *name = lua_type(L, -1) == LUA_TSTRING ? lua_tostring(L, -1) : NULL;
    if (name && mw_type_field(type, name)) continue;
    mw_value_refuse_key(type, name, mwl_place_text(place, what));
    return mwl_refused(L);
  }
  memset(out, 0, type->size);
  return pack_fields(L, state, index, type, out, place, keeper);
}

static void push_fields(lua_State *L, const mw_type *type, const unsigned char *bytes) {
  for (size_t i = 0; i < type->count; i++) {
    const mw_field *field = &type->fields[i];
    if (!field->name[0]) {
      if (field->type->kind == MW_TYPE_STRUCT) push_fields(L, field->type, bytes + field->offset);
      continue;
    }
    lua_pushstring(L, field->name);
    mwl_push(L, field->type, bytes + field->offset);
    lua_rawset(L, -3);
  }
}

void mwl_push_struct(lua_State *L, const mw_type *type, const unsigned char *bytes) {
  if (hides_fields(type)) {
    lua_pushlstring(L, (const char *)bytes, type->size);
    return;
  }
  lua_createtable(L, 0, (int)type->count);
  push_fields(L, type, bytes);
}

/* ---- arrays ---- */

static bool is_char(const mw_type *type) {
  return type->size == 1 && (type->kind == MW_TYPE_INT || type->kind == MW_TYPE_UINT);
}

bool mwl_pack_array(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                    const mwl_place *place, const mwl_keeper *keeper) {
  char what[MWL_PLACE];
  const mw_type *element = type->element;
  bool is_string = lua_type(L, index) == LUA_TSTRING && is_char(element);
  mwl_array *source = mwl_test(L, state, index, MWL_ARRAY);
  if (source && source->handle)
    return mw_array_as_elements(source->handle, type, mwl_place_text(place, what), out) ? mwl_refused(L) : true;
  if (!is_string && lua_type(L, index) != LUA_TTABLE) return mwl_refuse(L, state, index, type, place);
  size_t length = lua_rawlen(L, index);
  if (is_string ? length > type->count : length != type->count) {
    mw_value_refuse_length(type, is_string, length, mwl_place_text(place, what));
    return mwl_refused(L);
  }
  if (is_string) {
    memset(out, 0, type->size);
    memcpy(out, lua_tostring(L, index), length);
    return true;
  }
  for (size_t i = 0; i < type->count; i++) {
    mwl_place here = {place, NULL, i + 1};
    lua_rawgeti(L, index, (int)i + 1);
    if (!mwl_pack(L, state, lua_gettop(L), element, out + i * element->size, &here, keeper)) return false;
    lua_pop(L, 1);
  }
  return true;
}

/* ---- pointers ---- */

static bool array_address(lua_State *L, int index, mwl_array *array, const mw_type *type, const mwl_place *place,
                          const mwl_keeper *keeper, uint64_t *address) {
  const mw_device *device = keeper->device ? keeper->device->handle : NULL;
  if (mw_array_as_pointer(array->handle, type, device, NULL, address)) {
    char what[MWL_PLACE]; /* written only after a failure: the second call fails in the same way, with the place */
    mw_array_as_pointer(array->handle, type, device, mwl_place_text(place, what), address);
    return mwl_refused(L);
  }
  if (keeper->launch && mw_launch_keep(keeper->launch, array->handle)) return mwl_refused(L);
  if (keeper->anchors) {
    lua_pushvalue(L, index);
    lua_rawseti(L, keeper->anchors, (int)lua_rawlen(L, keeper->anchors) + 1);
  }
  return true;
}

bool mwl_pack_pointer(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
                      const mwl_keeper *keeper) {
  uint64_t address = 0;
  int is = lua_type(L, index);
  mwl_array *array = mwl_test_memory(L, state, index);
  mwl_symbol *symbol = array ? NULL : mwl_test(L, state, index, MWL_SYMBOL);
  if (array && array->handle) {
    if (!array_address(L, index, array, type, place, keeper, &address)) return false;
  } else if (symbol && symbol->handle) {
    address = mw_symbol_address(symbol->handle);
  } else if (is == LUA_TLIGHTUSERDATA) {
    address = (uint64_t)(uintptr_t)lua_touserdata(L, index);
  } else if (is != LUA_TNIL && is != LUA_TNONE) {
    return mwl_refuse(L, state, index, type, place);
  }
  memcpy(out, &address, type->size < 8 ? type->size : 8);
  return true;
}
