/* Parsing linkage names: recursive descent with the table of substitutions that names refer to. See demangle.h. */
#include "demangle.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- reading ---- */

#define DEEPEST 64 /* nested types: a limit, because names may be from files */

/* A name or a type that was read. */
typedef struct node {
  const char *text;    /* NULL: not read */
  const mw_type *type; /* NULL: a name that is not a type */
} node;

typedef struct reader {
  cuda_types *types;
  const char *at;
  node *known; /* substitutions, in order */
  size_t known_count;
  node *args; /* of the template whose name was read last */
  size_t arg_count;
  int depth;
  bool wrong;
} reader;

static const node nothing;

static node wrong(reader *r) {
  r->wrong = true;
  return nothing;
}

static bool take(reader *r, char c) {
  if (*r->at != c) return false;
  r->at++;
  return true;
}

static node text_node(reader *r, const char *format, const char *a, const char *b) {
  char *text = mw_format(format, a, b);
  node made = {cuda_types_text(r->types, text, strlen(text)), NULL};
  free(text);
  return made;
}

static node remember(reader *r, node n) {
  r->known = mw_realloc(r->known, (r->known_count + 1) * sizeof *r->known);
  return r->known[r->known_count++] = n;
}

static node type_node(reader *r, mw_type type) {
  mw_type *made = cuda_types_alloc(r->types, sizeof *made);
  *made = type;
  return (node){type.name, made};
}

/* S_, S0_, …, S9_, SA_, …: digits in base 36. T_, T0_, … alike, in base 10. */
static size_t read_sequence(reader *r) {
  size_t number = 0;
  if (take(r, '_')) return 0;
  for (; isdigit((unsigned char)*r->at) || isupper((unsigned char)*r->at); r->at++)
    number = number * 36 + (size_t)(isdigit((unsigned char)*r->at) ? *r->at - '0' : *r->at - 'A' + 10);
  if (!take(r, '_')) r->wrong = true;
  return number + 1;
}

static size_t read_number(reader *r) {
  size_t number = 0;
  for (; isdigit((unsigned char)*r->at) && number < 1u << 24; r->at++) number = number * 10 + (size_t)(*r->at - '0');
  return number;
}

static node read_type(reader *r);
static node read_name(reader *r, bool is_type);

/* ---- classes ---- */

static const mw_type *known_class(reader *r, const char *name) {
  for (size_t i = 0; i < r->types->struct_count; i++)
    if (strcmp(r->types->structs[i]->name, name) == 0) return r->types->structs[i];
  if (strcmp(name, "__half") == 0) return mw_dtype("half");
  if (strcmp(name, "__half2") == 0) return mw_dtype("half2");
  if (strcmp(name, "__nv_bfloat16") == 0) return mw_dtype("bfloat16");
  const mw_type *type = isdigit((unsigned char)name[strlen(name) - 1]) ? mw_dtype(name) : NULL;
  return type && type->kind == MW_TYPE_VECTOR ? type : NULL;
}

static node class_node(reader *r, const char *name) {
  const mw_type *known = known_class(r, name);
  if (known) return (node){name, known};
  return type_node(r, (mw_type){.kind = MW_TYPE_STRUCT, .align = 1, .name = name});
}

/* ---- names ---- */

static node read_source_name(reader *r) {
  size_t length = read_number(r);
  if (length == 0 || strnlen(r->at, length) < length) return wrong(r);
  const char *text = r->at;
  r->at += length;
  if (strstr(text, "_GLOBAL__N_") == text) return (node){"(anonymous namespace)", NULL};
  return (node){cuda_types_text(r->types, text, length), NULL};
}

/* L <type> <value> E: a number, or an enumerator by its number. */
static node read_literal(reader *r) {
  if (*r->at == '_') return wrong(r); /* the name of a function or variable */
  char kind = *r->at;
  node type = read_type(r);
  if (r->wrong || !type.text) return wrong(r);
  bool negative = take(r, 'n');
  size_t length = strcspn(r->at, "E");
  char *digits = cuda_types_text(r->types, r->at, length);
  r->at += length;
  if (!take(r, 'E')) return wrong(r);
  if (kind == 'b') return (node){digits[0] == '1' ? "true" : "false", NULL};
  node value = text_node(r, "%s%s", negative ? "-" : "", digits);
  if (strcmp(type.text, "cudaTextureReadMode") == 0)
    return (node){digits[0] == '1' ? "cudaReadModeNormalizedFloat" : "cudaReadModeElementType", NULL};
  if (isdigit((unsigned char)kind) || kind == 'N') return text_node(r, "(%s)%s", type.text, value.text);
  static const char *const suffixed[] = {"j", "u", "l", "l", "m", "ul", "x", "ll", "y", "ull"};
  for (size_t i = 0; i < MW_COUNT(suffixed); i += 2)
    if (kind == suffixed[i][0]) return text_node(r, "%s%s", value.text, suffixed[i + 1]);
  return value;
}

static node read_argument(reader *r) {
  if (take(r, 'L')) return read_literal(r);
  if (*r->at == 'X') return wrong(r);
  return read_type(r);
}

/* I … E, a pack's J … E as its members. */
static node read_arguments(reader *r) {
  mw_text text = {0};
  node *args = NULL;
  size_t count = 0;
  int packs = 0;
  mw_text_add(&text, "<", 1);
  while (!r->wrong && *r->at && (*r->at != 'E' || packs > 0)) {
    if (take(r, 'J'))
      packs++;
    else if (take(r, 'E'))
      packs--;
    else {
      node arg = read_argument(r);
      mw_text_addf(&text, "%s%s", count ? ", " : "", arg.text ? arg.text : "");
      args = mw_realloc(args, (count + 1) * sizeof *args);
      args[count++] = arg;
    }
  }
  if (!take(r, 'E')) r->wrong = true;
  mw_text_add(&text, ">", 1);
  node made = {cuda_types_text(r->types, text.data, text.length), NULL};
  mw_text_free(&text);
  free(r->args);
  r->args = args;
  r->arg_count = count;
  return made;
}

static node read_substitution(reader *r) {
  if (take(r, 't')) {
    node name = read_source_name(r);
    return r->wrong ? nothing : text_node(r, "std::%s%s", name.text, "");
  }
  size_t i = read_sequence(r);
  return i < r->known_count ? r->known[i] : wrong(r);
}

/* N [qualifiers] prefix… E. Every prefix is a candidate for substitution, and so is the whole if it is a type. */
static node read_nested(reader *r, bool is_type) {
  node whole = nothing;
  while (take(r, 'K') || take(r, 'V') || take(r, 'r')) continue;
  while (!r->wrong && *r->at && *r->at != 'E') {
    bool substituted = false, last;
    if (*r->at == 'S') {
      r->at++;
      whole = read_substitution(r);
      substituted = true;
    } else if (take(r, 'I')) {
      node args = read_arguments(r);
      if (!whole.text || r->wrong) return wrong(r);
      whole = text_node(r, "%s%s", whole.text, args.text);
    } else if (isdigit((unsigned char)*r->at)) {
      node name = read_source_name(r);
      if (r->wrong) return nothing;
      whole = whole.text ? text_node(r, "%s::%s", whole.text, name.text) : name;
    } else {
      return wrong(r);
    }
    last = *r->at == 'E';
    if (last && is_type && !substituted) whole = class_node(r, whole.text);
    if (!substituted && (!last || is_type)) remember(r, whole);
  }
  return take(r, 'E') && whole.text ? whole : wrong(r);
}

static node read_name(reader *r, bool is_type) {
  node name;
  bool substituted = false;
  if (take(r, 'N')) return read_nested(r, is_type);
  if (*r->at == 'S') {
    r->at++;
    substituted = *r->at != 't';
    name = read_substitution(r);
  } else {
    take(r, 'L'); /* of internal linkage */
    name = read_source_name(r);
  }
  if (r->wrong) return nothing;
  bool is_template = *r->at == 'I';
  if (is_type && !is_template && !substituted) return remember(r, class_node(r, name.text));
  if (!is_template) return name;
  if (!substituted) remember(r, name);
  r->at++;
  node args = read_arguments(r);
  if (r->wrong) return nothing;
  name = text_node(r, "%s%s", name.text, args.text);
  return is_type ? remember(r, class_node(r, name.text)) : name;
}

/* ---- types ---- */

static const mw_type void_type = {.kind = MW_TYPE_VOID, .align = 1, .name = "void"};

static node add_const(reader *r, node n) {
  mw_type type = n.type ? *n.type : void_type;
  if (type.is_const) return n;
  type.is_const = 1;
  size_t length = strlen(n.text);
  type.name = n.text[length - 1] == '*' ? text_node(r, "%sconst%s", n.text, "").text
                                        : text_node(r, "const %s%s", n.text, "").text;
  return type_node(r, type);
}

static node read_pointer(reader *r, const char *sign) {
  node to = read_type(r);
  if (r->wrong || !to.text) return wrong(r);
  const char *last = to.text + strlen(to.text) - 1,
             *gap = strchr(to.text, '(') && *last == ')' ? strchr(to.text, '(') : NULL;
  mw_type type = {.kind = MW_TYPE_POINTER, .size = 8, .align = 8, .element = to.type ? to.type : &void_type};
  if (gap) { /* a function: "void (int)" */
    char *head = cuda_types_text(r->types, to.text, (size_t)(gap - to.text));
    node start = text_node(r, "%s(%s)", head, sign);
    type.name = text_node(r, "%s%s", start.text, gap).text;
  } else {
    type.name = text_node(r, *last == '*' || *last == '&' ? "%s%s" : "%s %s", to.text, sign).text;
  }
  return remember(r, type_node(r, type));
}

static node read_array(reader *r) {
  size_t count = read_number(r);
  if (!take(r, '_')) return wrong(r);
  node element = read_type(r);
  if (r->wrong || !element.type) return wrong(r);
  char *extent = mw_format("[%zu]", count);
  /* "float[3]" of "float[4]" is "float[3][4]" */
  const char *bracket = strchr(element.text, '[');
  size_t head = bracket ? (size_t)(bracket - element.text) : strlen(element.text);
  char *start = cuda_types_text(r->types, element.text, head);
  node first = text_node(r, "%s%s", start, extent);
  free(extent);
  mw_type type = {.kind = MW_TYPE_ARRAY,
                  .size = count * element.type->size,
                  .align = element.type->align,
                  .name = text_node(r, "%s%s", first.text, bracket ? bracket : "").text,
                  .element = element.type,
                  .count = count};
  return remember(r, type_node(r, type));
}

/* F <result> <parameters> E */
static node read_function(reader *r, cuda_signature *out) {
  mw_text text = {0};
  size_t count = 0;
  const mw_type **params = NULL;
  take(r, 'Y');
  node result = read_type(r);
  mw_text_addf(&text, "%s (", result.text ? result.text : "");
  while (!r->wrong && *r->at && *r->at != 'E') {
    node param = read_type(r);
    if (r->wrong) break;
    if (param.type == &void_type && *r->at == 'E') break;
    mw_text_addf(&text, "%s%s", count ? ", " : "", param.text);
    params = mw_realloc(params, (count + 1) * sizeof *params);
    params[count++] = param.type;
  }
  if (!take(r, 'E')) r->wrong = true;
  mw_text_add(&text, ")", 1);
  node made = {cuda_types_text(r->types, text.data, text.length), NULL};
  mw_text_free(&text);
  if (out) {
    out->params = cuda_types_alloc(r->types, (count + 1) * sizeof *params);
    if (count) memcpy(out->params, params, count * sizeof *params);
    out->param_count = count;
  }
  free(params);
  if (r->wrong) return nothing;
  mw_type type = {.kind = MW_TYPE_VOID, .align = 1, .name = made.text};
  return remember(r, type_node(r, type));
}

static node read_qualified(reader *r) {
  bool constant = false;
  for (; *r->at == 'K' || *r->at == 'V' || *r->at == 'r'; r->at++) constant |= *r->at == 'K';
  node type = read_type(r);
  if (r->wrong || !type.text) return wrong(r);
  return remember(r, constant ? add_const(r, type) : type);
}

static node read_template_parameter(reader *r) {
  size_t i = read_sequence(r);
  if (i >= r->arg_count) return wrong(r);
  return remember(r, r->args[i]);
}

static node read_type_inside(reader *r) {
  const char *scalar = cuda_types_builtin(*r->at);
  if (scalar) {
    r->at++;
    const mw_type *type = mw_dtype(scalar);
    return (node){type->name, type};
  }
  switch (*r->at) {
  case 'v': r->at++; return (node){"void", &void_type};
  case 'K':
  case 'V':
  case 'r': return read_qualified(r);
  case 'P': r->at++; return read_pointer(r, "*");
  case 'R': r->at++; return read_pointer(r, "&");
  case 'O': r->at++; return read_pointer(r, "&&");
  case 'A': r->at++; return read_array(r);
  case 'F': r->at++; return read_function(r, NULL);
  case 'T': r->at++; return read_template_parameter(r);
  default: break;
  }
  if (*r->at == 'S' && r->at[1] != 't') {
    const char *start = r->at++;
    node known = read_substitution(r);
    if (*r->at != 'I') {
      if (!r->wrong && !known.type) known = class_node(r, known.text);
      return known;
    }
    r->at = start;
  }
  if (isdigit((unsigned char)*r->at) || *r->at == 'N' || *r->at == 'S') return read_name(r, true);
  return wrong(r);
}

static node read_type(reader *r) {
  if (r->wrong || ++r->depth > DEEPEST) return wrong(r);
  node type = read_type_inside(r);
  r->depth--;
  return type;
}

/* ---- the whole ---- */

static void finish(reader *r) {
  free(r->known);
  free(r->args);
}

bool cuda_demangle(cuda_types *types, const char *linkage, cuda_signature *out) {
  *out = (cuda_signature){.name = cuda_types_text(types, linkage, strlen(linkage))};
  if (strncmp(linkage, "_Z", 2) != 0) return true;
  reader r = {.types = types, .at = linkage + 2};
  node name = read_name(&r, false);
  if (!r.wrong) {
    /* A template's name is followed by its result. */
    bool is_template = r.args && name.text[strlen(name.text) - 1] == '>';
    const mw_type **params = NULL;
    size_t count = 0;
    bool function = *r.at != '\0';
    if (is_template && function) read_type(&r);
    while (!r.wrong && *r.at) {
      node param = read_type(&r);
      if (r.wrong || param.type == &void_type) break;
      params = mw_realloc(params, (count + 1) * sizeof *params);
      params[count++] = param.type;
    }
    if (!r.wrong) {
      out->name = name.text;
      out->param_count = count;
      if (function) {
        out->params = cuda_types_alloc(types, (count + 1) * sizeof *params);
        if (count) memcpy(out->params, params, count * sizeof *params);
      }
    }
    free(params);
  }
  finish(&r);
  return !r.wrong;
}

/* A type among a template's arguments: the template's name is the first candidate for substitution. */
static reader within_template(cuda_types *types, const char *mangled) {
  reader r = {.types = types, .at = mangled};
  remember(&r, (node){"template", NULL});
  return r;
}

const mw_type *cuda_demangle_type(cuda_types *types, const char *mangled) {
  reader r = within_template(types, mangled);
  node type = read_type(&r);
  finish(&r);
  return r.wrong ? NULL : type.type;
}

bool cuda_demangle_function(cuda_types *types, const char *mangled, cuda_signature *out) {
  reader r = within_template(types, mangled);
  if (take(&r, 'F'))
    read_function(&r, out);
  else
    r.wrong = true;
  finish(&r);
  return !r.wrong;
}

static long literal_of(const char *text) {
  const char *digits = strrchr(text, ')');
  return strtol(digits ? digits + 1 : text, NULL, 10);
}

const mw_reference *cuda_demangle_reference(cuda_types *types, const char *mangled) {
  bool texture = strncmp(mangled, "7textureI", 9) == 0, surface = strncmp(mangled, "7surfaceI", 9) == 0;
  if (!texture && !surface) return NULL;
  reader r = within_template(types, mangled + 9);
  read_arguments(&r);
  mw_reference *out = NULL;
  if (!r.wrong && r.arg_count >= 2 && r.args[0].text) {
    out = cuda_types_alloc(types, sizeof *out);
    out->kind = texture ? MW_REFERENCE_TEXTURE : MW_REFERENCE_SURFACE;
    out->element = r.args[0].type ? r.args[0].type : &void_type;
    out->dimensions = (int)literal_of(r.args[1].text);
    bool normalized = r.arg_count > 2 && strcmp(r.args[2].text, "cudaReadModeNormalizedFloat") == 0;
    out->read = surface ? MW_READ_AUTO : normalized ? MW_READ_NORMALIZED : MW_READ_ELEMENT;
  }
  finish(&r);
  return out;
}
