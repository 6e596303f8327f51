/* A module's types by name: the structs that its kernels and variables use, as dtypes for arrays. */
#include "module.h"
#include "cxx_name.h"

#include <stdlib.h>
#include <string.h>

#define LISTED 24 /* names in a message */

/* The state of a search: the best match so far; complete types are preferred to declared ones. */
typedef struct search {
  mw_name wanted;
  const mw_type *best, *other; /* other: a different type that matches equally well */
  int rank;
  const char *listed[LISTED];
  size_t listed_count;
} search;

static const char *own_name(const mw_type *type) {
  static const char qualifier[] = "const ";
  bool is_const = strncmp(type->name, qualifier, strlen(qualifier)) == 0;
  return type->name + (is_const ? strlen(qualifier) : 0);
}

static void list(search *s, const char *name) {
  for (size_t i = 0; i < s->listed_count; i++)
    if (strcmp(s->listed[i], name) == 0) return;
  if (s->listed_count < LISTED) s->listed[s->listed_count++] = name;
}

static void consider(search *s, const mw_type *type) {
  mw_name have;
  mw_name_parse(own_name(type), &have);
  int match = mw_name_match(s->wanted.path, have.path);
  mw_name_free(&have);
  list(s, own_name(type));
  if (match == 0 || match < s->rank) return;
  if (match > s->rank) s->best = s->other = NULL;
  s->rank = match;
  if (!s->best || (s->best->size == 0 && strcmp(own_name(s->best), own_name(type)) == 0))
    s->best = type;
  else if (strcmp(own_name(s->best), own_name(type)) != 0)
    s->other = type;
}

/* The structs in a type, without those that a field points to: a list's node has a pointer to its own type. */
static void look_into(search *s, const mw_type *type) {
  while (type && (type->kind == MW_TYPE_POINTER || type->kind == MW_TYPE_ARRAY)) type = type->element;
  if (!type || type->kind != MW_TYPE_STRUCT) return;
  consider(s, type);
  for (size_t i = 0; i < type->count; i++)
    if (type->fields[i].type->kind != MW_TYPE_POINTER) look_into(s, type->fields[i].type);
}

static void look_through(search *s, const mw_module *module) {
  for (size_t k = 0; k < module->kernel_count; k++) {
    const mw_kernel_info *info = module->kernels[k].info;
    for (size_t i = 0; i < info->param_count; i++) look_into(s, info->params[i].type);
  }
  for (size_t i = 0; i < module->symbol_count; i++) look_into(s, module->symbols[i].type);
}

static int fail_not_found(const search *s, const char *name) {
  mw_text names = {0};
  for (size_t i = 0; i < s->listed_count; i++) mw_text_addf(&names, "%s%s", i ? ", " : "", s->listed[i]);
  int code = fail(MW_SYMBOL_NOT_FOUND, "no kernel or variable of this module uses a struct '%s'%s%s", name,
                  names.length ? "; there are " : "", names.length ? names.data : "");
  mw_text_free(&names);
  return code;
}

static int check_size(const mw_type *type) {
  if (type->size == 0)
    return fail(MW_INVALID_VALUE,
                "%s has no known size: the source declares it and nothing more (a template is made whole by a use of "
                "its members, or by sizeof), or NVRTC compiled it without mwcc, which knows such types",
                own_name(type));
  if (type->size > MW_ELEMENT_BYTES)
    return fail(MW_INVALID_VALUE, "%s has %zu bytes; elements of an array have %d at most", own_name(type), type->size,
                MW_ELEMENT_BYTES);
  return MW_SUCCESS;
}

int mw_module_type(mw_module *module, const char *name, const mw_type **out) {
  search s = {.rank = 0};
  int code;
  mw_name_parse(name, &s.wanted);
  pthread_mutex_lock(&module->lock);
  look_through(&s, module);
  const mw_type *found = s.best ? s.best : mw_dtype(name);
  if (s.other)
    code = fail(MW_SYMBOL_NOT_FOUND, "'%s' is ambiguous; say which one is meant: %s, %s", name, own_name(s.best),
                own_name(s.other));
  else
    code = found ? check_size(found) : fail_not_found(&s, name);
  pthread_mutex_unlock(&module->lock);
  mw_name_free(&s.wanted);
  if (code == MW_SUCCESS) *out = found;
  return code;
}
