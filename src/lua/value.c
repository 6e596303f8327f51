/* Lua values as CUDA C values and back, by type: numbers, vectors, structs, arrays and pointers.
 *
 * What Lua writes              the type                 what Lua reads
 * a number                     integer, floating        a number (5.3+: integers for integers)
 * true, false                  bool                     true, false
 * {1, 2} or {x = 1, y = 2}     vector                   {1, 2} that answers to .x and .y too
 * {width = 3, …}               struct, union            a table by field name
 * {1, 2, 3}, {{…}, {…}}        array                    a sequence
 * an array, a symbol, nil      pointer                  light userdata (an address), nil at the top for null
 *
 * 64-bit unsigned values above 2^63 are Lua's integers with the same bits, as string.pack has it. */
#include "binding.h"

#include <math.h>

/* ---- names of places ---- */

static size_t place_text(const mwl_place *place, char *out, size_t size) {
  size_t length = place->parent ? place_text(place->parent, out, size) : 0;
  if (length >= size) return length;
  int added;
  if (place->index)
    added = snprintf(out + length, size - length, "[%zu]", place->index);
  else
    added = snprintf(out + length, size - length, "%s%s", place->parent ? "." : "", place->name);
  return length + (added > 0 ? (size_t)added : 0);
}

/* Push "<place> <format…>" and return false, for `return refuse(…)`. */
static bool refuse(lua_State *L, const mwl_place *place, const char *format, ...) __attribute__((format(printf, 3, 4)));

static bool refuse(lua_State *L, const mwl_place *place, const char *format, ...) {
  char text[1024];
  size_t length = place_text(place, text, sizeof text / 2);
  if (length >= sizeof text / 2) length = sizeof text / 2 - 1;
  va_list args;
  va_start(args, format);
  vsnprintf(text + length, sizeof text - length, format, args);
  va_end(args);
  lua_pushstring(L, text);
  return false;
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
  if (type->kind == MW_TYPE_BOOL && is == LUA_TBOOLEAN) {
    *(unsigned char *)out = (unsigned char)lua_toboolean(L, index);
    return true;
  }
  if (is != LUA_TNUMBER) return false;
  switch (type->kind) {
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

/* Why mwl_pack_number said no. */
static bool refuse_number(lua_State *L, mwl_state *state, int index, const mw_type *type, const mwl_place *place) {
  char what[512], got[64];
  if (lua_type(L, index) != LUA_TNUMBER) {
    const char *hint = lua_type(L, index) == LUA_TBOOLEAN ? "; write 1 or 0" : "";
    return refuse(L, place, " wants %s, got %s%s", type->name, mwl_describe(L, state, index, got, sizeof got), hint);
  }
  place_text(place, what, sizeof what);
  int64_t whole;
  _Alignas(16) char sink[16];
  int code = mwl_isinteger(L, index) && mwl_whole(L, index, &whole)
                 ? mw_value_from_int64(type, whole, sink, what)
                 : mw_value_from_double(type, lua_tonumber(L, index), sink, what);
  if (code && mw_error_last()) {
    lua_pushstring(L, mw_error_last()->message);
    return false;
  }
  return refuse(L, place, " wants %s, which %s does not fit", type->name,
                mwl_describe(L, state, index, got, sizeof got));
}

void mwl_push_number(lua_State *L, const mw_type *type, const void *bytes) {
  switch (type->kind) {
  case MW_TYPE_BOOL: lua_pushboolean(L, *(const unsigned char *)bytes != 0); break;
  case MW_TYPE_FLOAT:
    if (type->size == 4) {
      float value;
      memcpy(&value, bytes, 4);
      lua_pushnumber(L, (lua_Number)value);
    } else {
      lua_pushnumber(L, mw_value_to_double(type, bytes));
    }
    break;
  default: mwl_pushinteger(L, mw_value_to_int64(type, bytes)); break;
  }
}

/* ---- vectors ---- */

static const char component_names[4][2] = {"x", "y", "z", "w"};
static const char vector_key; /* in the registry: the metatable of vector values */

static int component(const char *name) {
  for (int i = 0; i < 4; i++)
    if (strcmp(name, component_names[i]) == 0) return i + 1;
  return 0;
}

/* Push component i (1-based) of the table at `index`: by place, else by name. */
static void get_component(lua_State *L, int index, int i) {
  lua_rawgeti(L, index, i);
  if (!lua_isnil(L, -1) || i > 4) return;
  lua_pop(L, 1);
  lua_pushstring(L, component_names[i - 1]);
  lua_rawget(L, index);
}

static bool pack_vector(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                        const mwl_place *place) {
  char got[64];
  int count = (int)type->count;
  if (lua_type(L, index) != LUA_TTABLE)
    return refuse(L, place, " wants %s, as a table of %d number%s, got %s", type->name, count, count == 1 ? "" : "s",
                  mwl_describe(L, state, index, got, sizeof got));
  /* Every key must be a component's: a fifth number or a misspelt name would otherwise pass unseen. */
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    int64_t i = 0;
    if (lua_type(L, -1) == LUA_TSTRING)
      i = component(lua_tostring(L, -1));
    else if (!mwl_whole(L, -1, &i))
      i = 0;
    if (i >= 1 && i <= count) continue;
    if (lua_type(L, -1) == LUA_TSTRING)
      return refuse(L, place, " wants %s, which has no component '%s'", type->name, lua_tostring(L, -1));
    return refuse(L, place, " wants %s, a table of %d number%s; this one holds more", type->name, count,
                  count == 1 ? "" : "s");
  }
  for (int i = 1; i <= count; i++) {
    get_component(L, index, i);
    mwl_place here = {place, i <= 4 ? component_names[i - 1] : NULL, i <= 4 ? 0 : (size_t)i};
    if (lua_isnil(L, -1)) return refuse(L, &here, " is missing: %s has %d components", type->name, count);
    if (!mwl_pack_number(L, -1, type->element, out)) return refuse_number(L, state, -1, type->element, &here);
    lua_pop(L, 1);
    out += type->element->size;
  }
  return true;
}

static void push_vector(lua_State *L, const mw_type *type, const unsigned char *bytes) {
  lua_createtable(L, (int)type->count, 0);
  for (size_t i = 0; i < type->count; i++) {
    mwl_push_number(L, type->element, bytes + i * type->element->size);
    lua_rawseti(L, -2, (int)i + 1);
  }
  lua_rawgetp(L, LUA_REGISTRYINDEX, &vector_key);
  lua_setmetatable(L, -2);
}

static int vector_index(lua_State *L) {
  int i = lua_type(L, 2) == LUA_TSTRING ? component(lua_tostring(L, 2)) : 0;
  if (!i) return 0;
  lua_rawgeti(L, 1, i);
  return 1;
}

static int vector_newindex(lua_State *L) {
  int i = lua_type(L, 2) == LUA_TSTRING ? component(lua_tostring(L, 2)) : 0;
  if (i && (size_t)i <= lua_rawlen(L, 1))
    lua_rawseti(L, 1, i);
  else
    lua_rawset(L, 1);
  return 0;
}

static int vector_tostring(lua_State *L) {
  int count = (int)lua_rawlen(L, 1);
  lua_pushliteral(L, "(");
  for (int i = 1; i <= count; i++) {
    lua_rawgeti(L, 1, i);
    if (lua_type(L, -1) == LUA_TBOOLEAN) {
      lua_pushstring(L, lua_toboolean(L, -1) ? "true" : "false");
      lua_remove(L, -2);
    }
    lua_pushstring(L, i < count ? ", " : ")");
    lua_concat(L, 3);
  }
  return 1;
}

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
      return refuse(L, place, " lacks the field '%s' (%s)%s; %s has %s", field->name, field->type->name,
                    field->type->kind == MW_TYPE_POINTER ? ", which may be mw.null" : "", type->name, list);
    }
    if (!mwl_pack(L, state, lua_gettop(L), field->type, out + field->offset, &here, keeper)) return false;
    lua_pop(L, 1);
  }
  return true;
}

static bool pack_struct(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                        const mwl_place *place, const mwl_keeper *keeper) {
  char text[256] = "";
  if (lua_type(L, index) != LUA_TTABLE) {
    list_fields(type, text, sizeof text);
    char got[64];
    return refuse(L, place, " wants %s, as a table with the field%s %s, got %s", type->name,
                  type->count == 1 ? "" : "s", text, mwl_describe(L, state, index, got, sizeof got));
  }
  lua_pushnil(L);
  while (lua_next(L, index)) {
    lua_pop(L, 1);
    bool named = lua_type(L, -1) == LUA_TSTRING;
    if (named && find_field(type, lua_tostring(L, -1))) continue;
    list_fields(type, text, sizeof text);
    if (!named) return refuse(L, place, " wants the fields of %s by name: %s", type->name, text);
    return refuse(L, place, " has no field '%s'; %s has %s", lua_tostring(L, -1), type->name, text);
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

/* ---- arrays ---- */

static bool is_char(const mw_type *type) {
  return type->size == 1 && (type->kind == MW_TYPE_INT || type->kind == MW_TYPE_UINT);
}

static bool pack_array(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                       const mwl_place *place, const mwl_keeper *keeper) {
  char got[64];
  const mw_type *element = type->element;
  if (lua_type(L, index) == LUA_TSTRING && is_char(element)) {
    size_t length;
    const char *text = lua_tolstring(L, index, &length);
    if (length > type->count) return refuse(L, place, " wants %s, got a string of %zu bytes", type->name, length);
    memset(out, 0, type->size);
    memcpy(out, text, length);
    return true;
  }
  mwl_array *source = mwl_test(L, state, index, MWL_ARRAY);
  if (source && source->handle) {
    if (!mw_type_accepts(element, source->dtype) || mw_array_bytes(source->handle) != type->size)
      return refuse(L, place, " wants %s, got an array of %zu %s", type->name, mw_array_count(source->handle),
                    mwl_dtype_name(source->dtype));
    if (mw_array_read(source->handle, 0, mw_array_count(source->handle), out) == MW_SUCCESS) return true;
    lua_pushstring(L, mw_error_last()->message);
    return false;
  }
  if (lua_type(L, index) != LUA_TTABLE)
    return refuse(L, place, " wants %s, as a sequence of %zu, got %s", type->name, type->count,
                  mwl_describe(L, state, index, got, sizeof got));
  if (lua_rawlen(L, index) != type->count)
    return refuse(L, place, " wants %s, got a sequence of %zu", type->name, (size_t)lua_rawlen(L, index));
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

static bool pack_pointer(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out,
                         const mwl_place *place, const mwl_keeper *keeper) {
  char got[64];
  uint64_t address = 0;
  int is = lua_type(L, index);
  mwl_array *array = mwl_test(L, state, index, MWL_ARRAY);
  mwl_symbol *symbol = array ? NULL : mwl_test(L, state, index, MWL_SYMBOL);
  if (array) {
    if (!array->handle || mw_buffer_is_freed(mw_array_buffer(array->handle)))
      return refuse(L, place, " is an array that was freed");
    if (!mw_type_accepts(type->element, array->dtype))
      return refuse(L, place, " wants %s, got an array of %s: make it with the dtype \"%s\", or see a:as(dtype)",
                    type->name, mwl_dtype_name(array->dtype), element_name(type));
    if (keeper->device && array->device != keeper->device)
      return refuse(L, place, " is an array of another device (%s)", mw_device_name(array->device->handle));
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
    return refuse(L, place, " wants %s, got %s: give it an array of %s, or nil for the null pointer", type->name,
                  mwl_describe(L, state, index, got, sizeof got), element_name(type));
  }
  memcpy(out, &address, type->size < 8 ? type->size : 8);
  return true;
}

/* ---- all ---- */

bool mwl_pack(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
              const mwl_keeper *keeper) {
  luaL_checkstack(L, 8, "a value nested too deeply");
  switch (type->kind) {
  case MW_TYPE_VECTOR: return pack_vector(L, state, index, type, out, place);
  case MW_TYPE_STRUCT: return pack_struct(L, state, index, type, out, place, keeper);
  case MW_TYPE_ARRAY: return pack_array(L, state, index, type, out, place, keeper);
  case MW_TYPE_POINTER: return pack_pointer(L, state, index, type, out, place, keeper);
  default:
    if (mwl_pack_number(L, index, type, out)) return true;
    return refuse_number(L, state, index, type, place);
  }
}

void mwl_push(lua_State *L, const mw_type *type, const void *bytes) {
  const unsigned char *at = bytes;
  luaL_checkstack(L, 8, "a value nested too deeply");
  switch (type->kind) {
  case MW_TYPE_VECTOR: push_vector(L, type, at); break;
  case MW_TYPE_STRUCT:
    lua_createtable(L, 0, (int)type->count);
    push_fields(L, type, at);
    break;
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

/* A built-in type's name as a dtype: types carry C's spelling, "unsigned char". */
const char *mwl_dtype_name(const mw_type *type) {
  static const char *const names[] = {"uchar", "ushort", "uint", "ulong", "longlong", "ulonglong"};
  if (type->kind == MW_TYPE_INT || type->kind == MW_TYPE_UINT)
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
      if (strcmp(mw_dtype(names[i])->name, type->name) == 0) return names[i];
  return type->name;
}

const mw_type *mwl_check_dtype(lua_State *L, mwl_state *state, int index, const char *fallback) {
  const char *name = fallback;
  if (!fallback || !lua_isnoneornil(L, index)) {
    char got[64];
    if (lua_type(L, index) != LUA_TSTRING)
      mwl_usage(L, state, "a dtype is a name such as \"float\" or \"uchar4\", got %s",
                mwl_describe(L, state, index, got, sizeof got));
    name = lua_tostring(L, index);
  }
  const mw_type *type = mw_dtype(name);
  if (!type)
    mwl_usage(L, state,
              "there is no dtype \"%s\"; dtypes have CUDA's names: bool, char, uchar, short, ushort, int, uint, "
              "longlong, ulonglong, half, float, double, and with 1 to 4 behind it the vector types",
              name);
  return type;
}

/* dtype_size(name) -> bytes, components (0 for a scalar), the name as dtypes spell it. */
static int dtype_size(lua_State *L) {
  const mw_type *type = mwl_check_dtype(L, mwl_of(L), 1, NULL);
  lua_pushinteger(L, (lua_Integer)type->size);
  lua_pushinteger(L, type->kind == MW_TYPE_VECTOR ? (lua_Integer)type->count : 0);
  lua_pushstring(L, mwl_dtype_name(type));
  return 3;
}

void mwl_open_value(lua_State *L, mwl_state *state) {
  static const luaL_Reg functions[] = {{"dtype_size", dtype_size}, {NULL, NULL}};
  static const luaL_Reg vector[] = {
      {"__index", vector_index}, {"__newindex", vector_newindex}, {"__tostring", vector_tostring}, {NULL, NULL}};
  mwl_functions(L, functions, state);
  lua_pushlightuserdata(L, NULL);
  lua_setfield(L, -2, "null");
  lua_newtable(L);
  mwl_functions(L, vector, state);
  lua_pushvalue(L, -1);
  lua_rawsetp(L, LUA_REGISTRYINDEX, &vector_key);
  lua_setfield(L, -2, "vector");
}
