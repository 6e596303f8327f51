/* The built-in types, and compatibility of types. */
#include "base/base.h"

#include <string.h>

/* ---- the scalars ---- */

/* X(short name, as C spells it, kind, bytes). On 64-bit Linux long has 8 bytes; char is signed on every device. */
#define SCALARS(X)                                                                                                     \
  X(bool, "bool", BOOL, 1)                                                                                             \
  X(half, "half", FLOAT, 2)                                                                                            \
  X(bfloat16, "bfloat16", BFLOAT, 2)                                                                                   \
  VECTOR_SCALARS(X)

/* The types for which CUDA has vector types. */
#define VECTOR_SCALARS(X)                                                                                              \
  X(char, "char", INT, 1)                                                                                              \
  X(uchar, "unsigned char", UINT, 1)                                                                                   \
  X(short, "short", INT, 2)                                                                                            \
  X(ushort, "unsigned short", UINT, 2)                                                                                 \
  X(int, "int", INT, 4)                                                                                                \
  X(uint, "unsigned int", UINT, 4)                                                                                     \
  X(long, "long", INT, 8)                                                                                              \
  X(ulong, "unsigned long", UINT, 8)                                                                                   \
  X(longlong, "long long", INT, 8)                                                                                     \
  X(ulonglong, "unsigned long long", UINT, 8)                                                                          \
  X(float, "float", FLOAT, 4)                                                                                          \
  X(double, "double", FLOAT, 8)

enum {
#define INDEX(id, spelling, kind_, bytes) index_##id,
  SCALARS(INDEX)
#undef INDEX
};

static const mw_type scalars[] = {
#define SCALAR(id, spelling, kind_, bytes) {.kind = MW_TYPE_##kind_, .size = bytes, .align = bytes, .name = spelling},
    SCALARS(SCALAR)
#undef SCALAR
};

/* int64_t is long on Linux, but for kernels only long long has 64 bits on every platform. */
typedef struct scalar_name {
  const char *name;
  int scalar;
} scalar_name;

/* clang-format off */
static const scalar_name names[] = {
    {"float", index_float},     {"double", index_double},      {"half", index_half},        {"bool", index_bool},
    {"int", index_int},         {"uint", index_uint},          {"char", index_char},        {"uchar", index_uchar},
    {"short", index_short},     {"ushort", index_ushort},      {"long", index_long},        {"ulong", index_ulong},
    {"longlong", index_longlong}, {"ulonglong", index_ulonglong}, {"schar", index_char},    {"size_t", index_ulong},
    {"int8", index_char},       {"uint8", index_uchar},        {"int8_t", index_char},      {"uint8_t", index_uchar},
    {"int16", index_short},     {"uint16", index_ushort},      {"int16_t", index_short},    {"uint16_t", index_ushort},
    {"int32", index_int},       {"uint32", index_uint},        {"int32_t", index_int},      {"uint32_t", index_uint},
    {"int64", index_longlong},  {"uint64", index_ulonglong},   {"int64_t", index_longlong}, {"uint64_t", index_ulonglong},
    {"float16", index_half},    {"float32", index_float},      {"float64", index_double},   {"__half", index_half},
    {"bfloat16", index_bfloat16}, {"__nv_bfloat16", index_bfloat16}, {"nv_bfloat16", index_bfloat16},
    {"_Bool", index_bool},      {"cudaTextureObject_t", index_ulonglong}, {"cudaSurfaceObject_t", index_ulonglong},
    {"CUtexObject", index_ulonglong}, {"CUsurfObject", index_ulonglong}, {"cudaGraphConditionalHandle", index_ulonglong},
};
/* clang-format on */

/* ---- the vectors ---- */

/* CUDA's vector_types.h: with 2 components aligned as a whole, with 4 too but never beyond 16 bytes, else as the
   scalar. */
#define VECTOR_ALIGN(n, bytes) ((n) == 2 ? 2 * (bytes) : (n) == 4 ? ((bytes) == 8 ? 16 : 4 * (bytes)) : (bytes))
#define VECTOR(id, n, bytes)                                                                                           \
  {.kind = MW_TYPE_VECTOR,                                                                                             \
   .size = (n) * (bytes),                                                                                              \
   .align = VECTOR_ALIGN(n, bytes),                                                                                    \
   .name = #id #n,                                                                                                     \
   .element = &scalars[index_##id],                                                                                    \
   .count = (n)}

/* vectors[scalar - index_char][components - 1] */
static const mw_type vectors[][4] = {
#define ROW(id, spelling, kind_, bytes)                                                                                \
  {VECTOR(id, 1, bytes), VECTOR(id, 2, bytes), VECTOR(id, 3, bytes), VECTOR(id, 4, bytes)},
    VECTOR_SCALARS(ROW)
#undef ROW
};

/* half4 is not a type of CUDA C, but texels may have four halves. */
static const mw_type half2 = VECTOR(half, 2, 2), half4 = VECTOR(half, 4, 2), bfloat162 = VECTOR(bfloat16, 2, 2);

/* Complex numbers are float2 and double2 to kernels, and numbers to the host. */
#define COMPLEX(id, bytes, name_)                                                                                      \
  {.kind = MW_TYPE_VECTOR,                                                                                             \
   .size = 2 * (bytes),                                                                                                \
   .align = 2 * (bytes),                                                                                               \
   .name = name_,                                                                                                      \
   .element = &scalars[index_##id],                                                                                    \
   .count = 2}

static const mw_type complexes[] = {COMPLEX(float, 4, "complex64"), COMPLEX(double, 8, "complex128")};

int mw_type_is_complex(const mw_type *type) { return type >= complexes && type < complexes + MW_COUNT(complexes); }

/* ---- by name ---- */

static int find_scalar(const char *name, size_t length) {
  for (size_t i = 0; i < MW_COUNT(names); i++) {
    if (strncmp(names[i].name, name, length) == 0 && !names[i].name[length]) return names[i].scalar;
  }
  return -1;
}

/* C's integer types by their words, which may be in any order: "long unsigned int". */
static int find_words(const char *name) {
  static const char *const words[] = {"signed", "unsigned", "char", "short", "int", "long"};
  enum { SIGNED, UNSIGNED, CHAR, SHORT, INT, LONG };
  int seen[MW_COUNT(words)] = {0};
  for (name += strspn(name, " "); *name; name += strspn(name, " ")) {
    size_t length = strcspn(name, " "), i = 0;
    while (i < MW_COUNT(words) && (strncmp(words[i], name, length) != 0 || words[i][length])) i++;
    if (i == MW_COUNT(words) || ++seen[i] > (i == LONG ? 2 : 1)) return -1;
    name += length;
  }
  int sizes = seen[CHAR] + seen[SHORT] + (seen[LONG] > 0), u = seen[UNSIGNED];
  if (seen[SIGNED] + u > 1 || sizes > 1 || (seen[CHAR] && seen[INT])) return -1;
  if (seen[CHAR]) return u ? index_uchar : index_char;
  if (seen[SHORT]) return u ? index_ushort : index_short;
  if (seen[LONG] == 1) return u ? index_ulong : index_long;
  if (seen[LONG] == 2) return u ? index_ulonglong : index_longlong;
  return seen[INT] + seen[SIGNED] + u ? (u ? index_uint : index_int) : -1;
}

/* complex64, complex128, and cuComplex.h's other names of vectors. */
static const struct {
  const char *name;
  const mw_type *type;
} complex_names[] = {{"complex64", &complexes[0]},
                     {"complex128", &complexes[1]},
                     {"cuComplex", &vectors[index_float - index_char][1]},
                     {"cuFloatComplex", &vectors[index_float - index_char][1]},
                     {"cuDoubleComplex", &vectors[index_double - index_char][1]}};

const mw_type *mw_dtype(const char *name) {
  size_t length = name ? strlen(name) : 0;
  if (length == 0) return NULL;
  int scalar = find_scalar(name, length);
  if (scalar >= 0) return &scalars[scalar];
  for (size_t i = 0; i < MW_COUNT(complex_names); i++)
    if (strcmp(complex_names[i].name, name) == 0) return complex_names[i].type;
  char last = name[length - 1];
  if (last >= '1' && last <= '4') {
    scalar = find_scalar(name, length - 1);
    if (scalar == index_half) return last == '2' ? &half2 : last == '4' ? &half4 : NULL;
    if (scalar == index_bfloat16) return last == '2' ? &bfloat162 : NULL;
    return scalar >= index_char ? &vectors[scalar - index_char][last - '1'] : NULL;
  }
  scalar = find_words(name);
  return scalar >= 0 ? &scalars[scalar] : NULL;
}

/* Types carry C's spelling, "unsigned char"; a dtype is one word. */
const char *mw_type_dtype(const mw_type *type) {
  static const int of_two_words[] = {index_uchar, index_ushort,   index_uint,
                                     index_ulong, index_longlong, index_ulonglong};
  static const char *const words[] = {"uchar", "ushort", "uint", "ulong", "longlong", "ulonglong"};
  const char *name = strncmp(type->name, "const ", 6) == 0 ? type->name + 6 : type->name;
  for (size_t i = 0; i < MW_COUNT(words) && (type->kind == MW_TYPE_INT || type->kind == MW_TYPE_UINT); i++)
    if (strcmp(scalars[of_two_words[i]].name, name) == 0) return words[i];
  return name;
}

int mw_type_code(const mw_type *type) {
  enum {
    FIRST_VECTOR = MW_COUNT(scalars) + 1,
    FIRST_SHORT = FIRST_VECTOR + MW_COUNT(vectors) * 4,
    FIRST_COMPLEX = FIRST_SHORT + 3
  };
  if (type >= scalars && type < scalars + MW_COUNT(scalars)) return (int)(type - scalars) + 1;
  if (type >= vectors[0] && type < vectors[0] + MW_COUNT(vectors) * 4) return (int)(type - vectors[0]) + FIRST_VECTOR;
  if (mw_type_is_complex(type)) return (int)(type - complexes) + FIRST_COMPLEX;
  return type == &half2 ? FIRST_SHORT : type == &half4 ? FIRST_SHORT + 1 : type == &bfloat162 ? FIRST_SHORT + 2 : 0;
}

/* ---- compatibility ---- */

static bool same(const mw_type *a, const mw_type *b);

static bool same_fields(const mw_type *a, const mw_type *b) {
  for (size_t i = 0; i < a->count; i++) {
    const mw_field *x = &a->fields[i], *y = &b->fields[i];
    if (x->offset != y->offset || strcmp(x->name, y->name) != 0 || !same(x->type, y->type)) return false;
  }
  return true;
}

/* All pointers are compatible: comparing their targets might not terminate, and the kernel is responsible for them. */
static bool same(const mw_type *a, const mw_type *b) {
  if (a == b) return true;
  if (a->kind != b->kind || a->size != b->size) return false;
  switch (a->kind) {
  case MW_TYPE_STRUCT: return a->count == b->count && same_fields(a, b);
  case MW_TYPE_VECTOR:
  case MW_TYPE_ARRAY: return a->count == b->count && same(a->element, b->element);
  default: return true;
  }
}

/* Addresses are stored in arrays of 8-byte unsigned integers, since there is no pointer dtype. */
int mw_type_accepts(const mw_type *wanted, const mw_type *stored) {
  bool bytes = (wanted->kind == MW_TYPE_INT || wanted->kind == MW_TYPE_UINT) && wanted->size == 1;
  bool address = wanted->kind == MW_TYPE_POINTER && stored->kind == MW_TYPE_UINT && stored->size == wanted->size;
  return wanted->kind == MW_TYPE_VOID || bytes || address || same(wanted, stored);
}
