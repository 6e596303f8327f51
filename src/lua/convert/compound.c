/* Values made of others: structs and unions by field name, arrays as sequences, and pointers to arrays on the device.
 *
 * Tables are read without metamethods: an argument's conversion never runs other code. */
#include "value.h"

/* ---- structs ---- */

/* The field of that name, also inside anonymous members (whose fields belong to the struct around them). */
static const mw_field *find_field(const mw_type *type, const char *name) {
  for (size_t i = 0; i < type->count; i++) {
    const mw_field *field = &type->fields[i];
    if (strcmp(field->name, name) == 0 && name[0]) return field;
    if (!field->name[0] && field->type->kind == MW_TYPE_STRUCT && find_field(field->type, name)) return field;
  }
  return NULL;
}

static void list_fields(const mw_type *type, char *out, size_t size) {
  for (size_t i = 0; i < type->count; i++) {
    size_t used = strlen(out);
    if (used + 8 >= size) return;
    const mw_field *field = &type->fields[i];
    if (field->name[0])
      snprintf(out + used, size - used, "%s%s", used ? ", " : "", field->name);
    else if (field->type->kind == MW_TYPE_STRUCT)
      list_fields(field->type, out, size);
  }
}

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
  char list[256] = "";
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
      list_fields(type, list, sizeof list);
      return mwl_refuse(L, place, " lacks the field '%s' (%s)%s; %s has %s", field->name, field->type->name,
                        field->type->kind == MW_TYPE_POINTER ? ", which may be mw.null" : "", type->name, list);
    }
    if (!mwl_pack(L, state, lua_gettop(L), field->type, out + field->offset, &here, keeper)) return false;
    lua_pop(L, 1);
  }
  return true;
}

/* No fields, and more than the byte that a struct with none has: where NVRTC compiles without mwcc, not all are known. */
static bool hides_fields(const mw_type *type) { return type->count == 0 && type->size > 1; }

/* A struct as its bytes, padding too. */
static bool pack_string(lua_State *L, int index, const mw_type *type, unsigned char *out, const mwl_place *place) {
  size_t length;
  const char *bytes = lua_tolstring(L, index, &length);
  if (length != type->size)
    return mwl_refuse(L, place, " wants %s, which has %zu bytes, got a string of %zu", type->name, type->size, length);
  memcpy(out, bytes, length);
  return true;
}

bool mwl_pack_struct(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                     const mwl_place *place, const mwl_keeper *keeper) {
  char text[256] = "";
  if (lua_type(L, index) == LUA_TSTRING) return pack_string(L, index, type, out, place);
  if (hides_fields(type))
    return mwl_refuse(L, place, " wants %s, whose fields are not known: give its %zu bytes as a string", type->name,
                      type->size);
  if (lua_type(L, index) != LUA_TTABLE) {
    list_fields(type, text, sizeof text);
    char got[64];
    return mwl_refuse(L, place, " wants %s, as a table with the field%s %s, got %s", type->name,
                      type->count == 1 ? "" : "s", text, mwl_describe(L, state, index, got, sizeof got));
  }
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    bool named = lua_type(L, -1) == LUA_TSTRING;
    if (named && find_field(type, lua_tostring(L, -1))) continue;
    list_fields(type, text, sizeof text);
    if (!named) return mwl_refuse(L, place, " wants the fields of %s by name: %s", type->name, text);
    return mwl_refuse(L, place, " has no field '%s'; %s has %s", lua_tostring(L, -1), type->name, text);
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
  char got[64];
  const mw_type *element = type->element;
  if (lua_type(L, index) == LUA_TSTRING && is_char(element)) {
    size_t length;
    const char *text = lua_tolstring(L, index, &length);
    if (length > type->count) return mwl_refuse(L, place, " wants %s, got a string of %zu bytes", type->name, length);
    memset(out, 0, type->size);
    memcpy(out, text, length);
    return true;
  }
  mwl_array *source = mwl_test(L, state, index, MWL_ARRAY);
  if (source && source->handle) {
    if (!mw_type_accepts(element, source->dtype) || mw_array_bytes(source->handle) != type->size)
      return mwl_refuse(L, place, " wants %s, got an array of %zu %s", type->name, mw_array_count(source->handle),
                        mwl_dtype_name(source->dtype));
    if (mw_array_read(source->handle, 0, mw_array_count(source->handle), out) == MW_SUCCESS) return true;
    lua_pushstring(L, mw_error_last()->message);
    return false;
  }
  if (lua_type(L, index) != LUA_TTABLE)
    return mwl_refuse(L, place, " wants %s, as a sequence of %zu, got %s", type->name, type->count,
                      mwl_describe(L, state, index, got, sizeof got));
  if (lua_rawlen(L, index) != type->count)
    return mwl_refuse(L, place, " wants %s, got a sequence of %zu", type->name, (size_t)lua_rawlen(L, index));
  for (size_t i = 0; i < type->count; i++) {
    mwl_place here = {place, NULL, i + 1};
    lua_rawgeti(L, index, (int)i + 1);
    if (!mwl_pack(L, state, lua_gettop(L), element, out + i * element->size, &here, keeper)) return false;
    lua_pop(L, 1);
  }
  return true;
}

/* ---- pointers ---- */

/* The dtype to make an array with: "float" for const float *. */
static const char *element_name(const mw_type *pointer) {
  const char *name = pointer->element->name;
  return strncmp(name, "const ", 6) == 0 ? name + 6 : name;
}

bool mwl_pack_pointer(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
                      const mwl_keeper *keeper) {
  char got[64];
  uint64_t address = 0;
  int is = lua_type(L, index);
  mwl_array *array = mwl_test_memory(L, state, index);
  mwl_symbol *symbol = array ? NULL : mwl_test(L, state, index, MWL_SYMBOL);
  if (array) {
    if (!array->handle || mw_buffer_is_freed(mw_array_buffer(array->handle)))
      return mwl_refuse(L, place, " is an array that was freed");
    if (!mw_type_accepts(type->element, array->dtype))
      return mwl_refuse(L, place, " wants %s, got an array of %s: make it with the dtype \"%s\", or see a:as(dtype)",
                        type->name, mwl_dtype_name(array->dtype), element_name(type));
    if (keeper->device && array->device != keeper->device)
      return mwl_refuse(L, place, " is an array of another device (%s)", mw_device_name(array->device->handle));
    if (!mw_array_is_contiguous(array->handle))
      return mwl_refuse(L, place, " is a strided view, and a kernel walks memory in order: give it a:contiguous()");
    address = mw_buffer_address(mw_array_buffer(array->handle)) + mw_array_offset(array->handle);
    if (keeper->launch && mw_launch_keep(keeper->launch, array->handle)) {
      lua_pushstring(L, mw_error_last()->message);
      return false;
    }
    if (keeper->anchors) {
      lua_pushvalue(L, index);
      lua_rawseti(L, keeper->anchors, (int)lua_rawlen(L, keeper->anchors) + 1);
    }
  } else if (symbol && symbol->handle) {
    address = mw_symbol_address(symbol->handle);
  } else if (is == LUA_TLIGHTUSERDATA) {
    address = (uint64_t)(uintptr_t)lua_touserdata(L, index);
  } else if (is != LUA_TNIL && is != LUA_TNONE) {
    return mwl_refuse(L, place, " wants %s, got %s: give it an array of %s, or nil for the null pointer", type->name,
                      mwl_describe(L, state, index, got, sizeof got), element_name(type));
  }
  memcpy(out, &address, type->size < 8 ? type->size : 8);
  return true;
}
