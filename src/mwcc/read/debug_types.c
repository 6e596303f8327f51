/* C types from debug information: the types of kernels' parameters and of a module's variables, with field names.
 *
 * Names, offsets and qualifiers are in the debug information only. LLVM-C gives a node's tag, name, size and offset;
 * its other operands are those of the metadata node, at the positions below. */
#include "mwcc/mwcc.h"
#include "read.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Operand positions of DIDerivedType, DICompositeType and DISubrange. */
enum {
  OPERAND_SCOPE = 1,
  OPERAND_NAME = 2,
  OPERAND_BASE_TYPE = TYPE_OPERANDS,
  OPERAND_ELEMENTS = TYPE_OPERANDS + 1,
  OPERAND_IDENTIFIER = TYPE_OPERANDS + 4,
  OPERAND_COUNT = 0
};

enum {
  TAG_ARRAY = 0x01,
  TAG_CLASS = 0x02,
  TAG_ENUMERATION = 0x04,
  TAG_MEMBER = 0x0d,
  TAG_POINTER = 0x0f,
  TAG_REFERENCE = 0x10,
  TAG_STRUCT = 0x13,
  TAG_FUNCTION = 0x15,
  TAG_TYPEDEF = 0x16,
  TAG_UNION = 0x17,
  TAG_INHERITANCE = 0x1c,
  TAG_SUBRANGE = 0x21,
  TAG_BASE = 0x24,
  TAG_CONST = 0x26,
  TAG_VOLATILE = 0x35,
  TAG_RESTRICT = 0x37,
  TAG_RVALUE_REFERENCE = 0x42,
  TAG_UNSPECIFIED = 0x3b
};

/* Each node has one ctype, so that recursive structs (a list's node) terminate. */
static struct known {
  LLVMMetadataRef node;
  ctype *type;
} *known;
static size_t known_count;

static void remember(LLVMMetadataRef node, ctype *type) {
  known = mw_realloc(known, (known_count + 1) * sizeof *known);
  known[known_count++] = (struct known){node, type};
}

LLVMMetadataRef metadata_operand(program *p, LLVMMetadataRef node, unsigned index) {
  LLVMValueRef value = LLVMMetadataAsValue(p->context, node);
  unsigned count = LLVMGetMDNodeNumOperands(value);
  if (index >= count) return NULL;
  LLVMValueRef *operands = mw_alloc(count * sizeof *operands);
  LLVMGetMDNodeOperands(value, operands);
  LLVMMetadataRef result = operands[index] ? LLVMValueAsMetadata(operands[index]) : NULL;
  free(operands);
  return result;
}

static unsigned operand_count(program *p, LLVMMetadataRef node) {
  return node ? LLVMGetMDNodeNumOperands(LLVMMetadataAsValue(p->context, node)) : 0;
}

const char *metadata_text(program *p, LLVMMetadataRef node) {
  unsigned length = 0;
  const char *text = node ? LLVMGetMDString(LLVMMetadataAsValue(p->context, node), &length) : NULL;
  return text ? mw_format("%.*s", (int)length, text) : "";
}

char *scope_prefix(program *p, LLVMMetadataRef scope) {
  if (!scope) return mw_strdup("");
  const char *name;
  switch (LLVMGetMetadataKind(scope)) {
  case LLVMDINamespaceMetadataKind: name = metadata_text(p, metadata_operand(p, scope, OPERAND_NAME)); break;
  case LLVMDICompositeTypeMetadataKind: name = metadata_text(p, metadata_operand(p, scope, OPERAND_NAME)); break;
  default: return mw_strdup("");
  }
  char *outer = scope_prefix(p, metadata_operand(p, scope, OPERAND_SCOPE));
  char *prefix = *name ? mw_format("%s%s::", outer, name) : mw_strdup(outer); /* "" names an anonymous namespace */
  free(outer);
  return prefix;
}

static char *node_name(LLVMMetadataRef node) {
  size_t length = 0;
  const char *name = LLVMDITypeGetName(node, &length);
  return name && length ? mw_format("%.*s", (int)length, name) : NULL;
}

/* The name with its namespaces and classes. */
static const char *qualified(program *p, LLVMMetadataRef node, const char *name) {
  char *prefix = scope_prefix(p, metadata_operand(p, node, OPERAND_SCOPE));
  return mw_format("%s%s", prefix, name);
}

/* `typedef struct { … } name`: the struct has no name of its own except in its C++ linkage name: _ZTS4name, or
   _ZTSN5space4nameE in a namespace. */
static char *tag_name(program *p, LLVMMetadataRef node) {
  static const char prefix[] = "_ZTS";
  char *name = node_name(node), *end;
  LLVMMetadataRef identifier = name ? NULL : metadata_operand(p, node, OPERAND_IDENTIFIER);
  unsigned length = 0;
  const char *linked = identifier ? LLVMGetMDString(LLVMMetadataAsValue(p->context, identifier), &length) : NULL;
  if (!linked || !starts_with(linked, prefix)) return name;
  linked += sizeof prefix - 1;
  bool nested = *linked == 'N';
  for (linked += nested; isdigit((unsigned char)*linked); linked += length) {
    length = (unsigned)strtoul(linked, &end, 10);
    linked = end;
    free(name);
    name = mw_format("%.*s", (int)length, linked);
  }
  if (strcmp(linked, nested ? "E" : "") == 0) return name;
  free(name);
  return NULL; /* in a function or a template, or unnamed */
}

static ctype *new_type(mw_type_kind kind, size_t size, const char *name) {
  ctype *type = mw_alloc(sizeof *type);
  type->type.kind = kind;
  type->type.size = size;
  type->type.align = size ? size : 1;
  type->type.name = name ? name : "";
  return type;
}

static ctype *void_type(void) {
  static ctype *type;
  if (!type) type = new_type(MW_TYPE_VOID, 0, "void");
  return type;
}

/* A base type is identified by its name, since LLVM-C does not give its DW_ATE encoding. */
static ctype *base_type(LLVMMetadataRef node) {
  char *name = node_name(node);
  size_t size = LLVMDITypeGetSizeInBits(node) / 8;
  mw_type_kind kind = MW_TYPE_INT;
  if (!name) name = mw_strdup("int");
  if (strcmp(name, "bool") == 0)
    kind = MW_TYPE_BOOL;
  else if (strcmp(name, "float") == 0 || strcmp(name, "double") == 0 || strstr(name, "Float16") ||
           strstr(name, "__fp16"))
    kind = MW_TYPE_FLOAT;
  else if (starts_with(name, "unsigned") || strcmp(name, "char8_t") == 0 || strcmp(name, "char16_t") == 0 ||
           strcmp(name, "char32_t") == 0)
    kind = MW_TYPE_UINT;
  return new_type(kind, size, name);
}

/* "float *" with another "*", or "const": within the brackets of a pointer to a function, else at the end. */
static char *with_sign(const char *name, const char *sign) {
  size_t length = strlen(name);
  const char *brackets = length && name[length - 1] == ')' ? strstr(name, "(*") : NULL;
  size_t at = brackets ? (size_t)(strchr(brackets, ')') - name) : length;
  bool tight = at > 0 && name[at - 1] == '*';
  return mw_format("%.*s%s%s%s", (int)at, name, tight ? "" : " ", sign, name + at);
}

/* The function type that a chain of typedefs names, or NULL. */
static LLVMMetadataRef function_of(program *p, LLVMMetadataRef node) {
  while (node && LLVMGetDINodeTag(node) == TAG_TYPEDEF) node = metadata_operand(p, node, OPERAND_BASE_TYPE);
  return node && LLVMGetDINodeTag(node) == TAG_FUNCTION ? node : NULL;
}

/* A pointer to a function: a pointer to bytes without a type, with the name of the pointer to the function. */
static ctype *function_pointer_type(program *p, LLVMMetadataRef node, LLVMMetadataRef function, const char *sign) {
  ctype *type = new_type(MW_TYPE_POINTER, 8, NULL);
  remember(node, type);
  type->element = void_type();
  LLVMMetadataRef types = metadata_operand(p, function, OPERAND_BASE_TYPE); /* the result's, then the parameters' */
  unsigned count = operand_count(p, types);
  LLVMMetadataRef result = count ? metadata_operand(p, types, 0) : NULL;
  mw_text name = {0};
  mw_text_addf(&name, "%s (%s)(", result ? ctype_of(p, result)->type.name : "void", sign);
  for (unsigned i = 1; i < count; i++) {
    LLVMMetadataRef parameter = metadata_operand(p, types, i);
    mw_text_addf(&name, "%s%s", i > 1 ? ", " : "", parameter ? ctype_of(p, parameter)->type.name : "...");
  }
  mw_text_add(&name, ")", 1);
  type->type.name = name.data;
  return type;
}

static ctype *pointer_type(program *p, LLVMMetadataRef node, const char *sign) {
  LLVMMetadataRef function = function_of(p, metadata_operand(p, node, OPERAND_BASE_TYPE));
  if (function) return function_pointer_type(p, node, function, sign);
  ctype *type = new_type(MW_TYPE_POINTER, 8, NULL);
  remember(node, type);
  LLVMMetadataRef base = metadata_operand(p, node, OPERAND_BASE_TYPE);
  type->element = base ? ctype_of(p, base) : void_type();
  type->type.name = with_sign(type->element->type.name, sign);
  return type;
}

static ctype *const_type(program *p, LLVMMetadataRef node) {
  LLVMMetadataRef base = metadata_operand(p, node, OPERAND_BASE_TYPE);
  ctype *plain = base ? ctype_of(p, base) : void_type();
  ctype *type = mw_alloc(sizeof *type);
  *type = *plain;
  type->type.is_const = 1;
  type->type.name = plain->type.kind == MW_TYPE_POINTER ? with_sign(plain->type.name, "const")
                                                        : mw_format("const %s", plain->type.name);
  remember(node, type);
  return type;
}

/* An element type and a DISubrange for each dimension become nested arrays, outermost first. */
static ctype *array_type(program *p, LLVMMetadataRef node) {
  ctype *element = ctype_of(p, metadata_operand(p, node, OPERAND_BASE_TYPE));
  LLVMMetadataRef ranges = metadata_operand(p, node, OPERAND_ELEMENTS);
  mw_text suffix = {0};
  ctype *type = element;
  for (unsigned i = operand_count(p, ranges); i-- > 0;) {
    LLVMMetadataRef count_node = metadata_operand(p, metadata_operand(p, ranges, i), OPERAND_COUNT);
    size_t count = 0;
    if (count_node) {
      LLVMValueRef value = LLVMMetadataAsValue(p->context, count_node);
      if (LLVMIsAConstantInt(value))
        count = LLVMConstIntGetZExtValue(value);
      else if (LLVMGetNumOperands(value) == 1 && LLVMIsAConstantInt(LLVMGetOperand(value, 0)))
        count = LLVMConstIntGetZExtValue(LLVMGetOperand(value, 0));
    }
    ctype *outer = new_type(MW_TYPE_ARRAY, type->type.size * count, NULL);
    outer->type.align = element->type.align;
    outer->type.count = count;
    outer->element = type;
    char *old = mw_strdup(suffix.data ? suffix.data : "");
    mw_text_free(&suffix);
    mw_text_addf(&suffix, "[%zu]%s", count, old);
    outer->type.name = mw_format("%s%s", element->type.name, suffix.data);
    type = outer;
  }
  remember(node, type);
  return type;
}

/* CUDA's vector types are structs named float4 and so on, with members x y z w of one scalar type. */
static bool is_vector(const ctype *type) {
  const char *name = type->type.name;
  size_t length = strlen(name), count = type->type.count;
  if (count < 1 || count > 4 || length < 2 || name[length - 1] != (char)('0' + count)) return false;
  for (size_t i = 0; i < count; i++) {
    const cfield *field = &type->fields[i];
    if (field->name[0] != "xyzw"[i] || field->name[1] || field->type->type.kind > MW_TYPE_FLOAT) return false;
  }
  static const char *const bases[] = {"char",  "uchar",    "short",     "ushort", "int",    "uint",   "long",
                                      "ulong", "longlong", "ulonglong", "float",  "double", "__half", "__nv_bfloat16"};
  for (size_t i = 0; i < MW_COUNT(bases); i++)
    if (strlen(bases[i]) == length - 1 && starts_with(name, bases[i])) return true;
  return false;
}

static ctype *struct_type(program *p, LLVMMetadataRef node) {
  ctype *type = new_type(MW_TYPE_STRUCT, LLVMDITypeGetSizeInBits(node) / 8, NULL);
  char *name = tag_name(p, node);
  type->type.name = name ? qualified(p, node, name) : "(unnamed)";
  type->type.align = 1;
  remember(node, type);
  LLVMMetadataRef elements = metadata_operand(p, node, OPERAND_ELEMENTS);
  unsigned count = operand_count(p, elements);
  type->fields = mw_alloc((count ? count : 1) * sizeof *type->fields);
  for (unsigned i = 0; i < count; i++) {
    LLVMMetadataRef member = metadata_operand(p, elements, i);
    unsigned tag = LLVMGetDINodeTag(member);
    if (tag != TAG_MEMBER && tag != TAG_INHERITANCE) continue;
    if (LLVMDITypeGetFlags(member) & LLVMDIFlagStaticMember) continue;
    cfield *field = &type->fields[type->type.count++];
    char *field_name = tag == TAG_MEMBER ? node_name(member) : NULL;
    field->name = field_name ? field_name : "";
    field->type = ctype_of(p, metadata_operand(p, member, OPERAND_BASE_TYPE));
    field->offset = LLVMDITypeGetOffsetInBits(member) / 8;
    size_t align = field->type->type.align, own = LLVMDITypeGetAlignInBits(member) / 8; /* alignas of a member */
    if (own > align) align = own;
    if (align > type->type.align) type->type.align = align;
  }
  size_t stated = LLVMDITypeGetAlignInBits(node) / 8;
  if (stated > type->type.align) type->type.align = stated;
  if (strcmp(type->type.name, "__half") == 0) {
    type->type.kind = MW_TYPE_FLOAT;
    type->type.name = "half";
    type->type.count = 0;
  } else if (strcmp(type->type.name, "__nv_bfloat16") == 0) {
    type->type.kind = MW_TYPE_BFLOAT;
    type->type.name = "bfloat16";
    type->type.count = 0;
  } else if (is_vector(type)) {
    type->type.kind = MW_TYPE_VECTOR;
    type->element = type->fields[0].type;
    static const char prefix[] = "__nv_"; /* __nv_bfloat162, __half2 */
    if (starts_with(type->type.name, prefix))
      type->type.name += sizeof prefix - 1;
    else if (starts_with(type->type.name, "__"))
      type->type.name += 2;
  }
  return type;
}

/* An enumeration is its underlying integer with the enumeration's name. */
static ctype *enumeration_type(program *p, LLVMMetadataRef node) {
  LLVMMetadataRef base = metadata_operand(p, node, OPERAND_BASE_TYPE);
  char *name = tag_name(p, node);
  ctype *type = new_type(base ? ctype_of(p, base)->type.kind : MW_TYPE_UINT, LLVMDITypeGetSizeInBits(node) / 8,
                         name ? qualified(p, node, name) : NULL);
  remember(node, type);
  return type;
}

/* CUDA's handles keep their names: to C they are numbers, and only the name says what they stand for. */
static ctype *typedef_type(program *p, LLVMMetadataRef node) {
  static const char *const handles[] = {"cudaTextureObject_t", "cudaSurfaceObject_t", "CUtexObject", "CUsurfObject",
                                        "cudaGraphConditionalHandle"};
  LLVMMetadataRef base = metadata_operand(p, node, OPERAND_BASE_TYPE);
  ctype *plain = base ? ctype_of(p, base) : void_type();
  char *name = node_name(node);
  for (size_t i = 0; name && i < MW_COUNT(handles); i++) {
    if (strcmp(name, handles[i]) != 0 || plain->type.kind != MW_TYPE_UINT || plain->type.size != 8) continue;
    free(name);
    return new_type(MW_TYPE_UINT, 8, handles[i]);
  }
  free(name);
  return plain;
}

static ctype *read_type(program *p, LLVMMetadataRef node) {
  switch (LLVMGetDINodeTag(node)) {
  case TAG_BASE: return base_type(node);
  case TAG_POINTER: return pointer_type(p, node, "*");
  case TAG_REFERENCE: return pointer_type(p, node, "&");
  case TAG_RVALUE_REFERENCE: return pointer_type(p, node, "&&");
  case TAG_CONST: return const_type(p, node);
  case TAG_ARRAY: return array_type(p, node);
  case TAG_STRUCT:
  case TAG_CLASS:
  case TAG_UNION: return struct_type(p, node);
  case TAG_ENUMERATION: return enumeration_type(p, node);
  case TAG_TYPEDEF: return typedef_type(p, node);
  case TAG_VOLATILE:
  case TAG_RESTRICT: {
    LLVMMetadataRef base = metadata_operand(p, node, OPERAND_BASE_TYPE);
    return base ? ctype_of(p, base) : void_type();
  }
  default: return void_type(); /* function types, and others that no parameter can have by value */
  }
}

ctype *ctype_of(program *p, LLVMMetadataRef node) {
  if (!node) return void_type();
  for (size_t i = 0; i < known_count; i++)
    if (known[i].node == node) return known[i].type;
  ctype *type = read_type(p, node);
  for (size_t i = 0; i < known_count; i++)
    if (known[i].node == node) return type;
  remember(node, type);
  return type;
}
