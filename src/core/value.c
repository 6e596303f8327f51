/* Values that do not fit their type: the sentences that say so. Bindings convert the values of their language, and have
 * what they cannot convert refused here, so that every language reads the same words. Each sentence begins with `what`,
 * the place that the value was for ("parameter 2 'view'.rows"), and says what would fit. */
#include "base/base.h"

#include <string.h>

static const char *place(const char *what) { return what ? what : "the value"; }
static const char *plural(size_t count) { return count == 1 ? "" : "s"; }

/* ---- structs ---- */

const mw_field *mw_type_field(const mw_type *type, const char *name) {
  for (size_t i = 0; i < type->count && type->kind == MW_TYPE_STRUCT; i++) {
    const mw_field *field = &type->fields[i];
    if (*name && strcmp(field->name, name) == 0) return field;
    const mw_field *inner = *field->name ? NULL : mw_type_field(field->type, name);
    if (inner) return inner;
  }
  return NULL;
}

static void add_fields(mw_text *list, const mw_type *type) {
  for (size_t i = 0; i < type->count && type->kind == MW_TYPE_STRUCT; i++) {
    const mw_field *field = &type->fields[i];
    if (*field->name)
      mw_text_addf(list, "%s%s", list->length ? ", " : "", field->name);
    else
      add_fields(list, field->type);
  }
}

/* "x, y, weight". The text is the caller's. */
static mw_text fields_of(const mw_type *type) {
  mw_text list = {0};
  add_fields(&list, type);
  mw_text_add(&list, "", 0);
  return list;
}

static int refuse_struct(const mw_type *type, const char *got, const char *what) {
  if (type->count == 0 && type->size > 1)
    return fail(MW_INVALID_VALUE, "%s wants %s, whose fields are not known: give its %zu bytes as a string", what,
                type->name, type->size);
  mw_text fields = fields_of(type);
  fail(MW_INVALID_VALUE, "%s wants %s, as a table with the field%s %s, got %s", what, type->name, plural(type->count),
       fields.data, got);
  mw_text_free(&fields);
  return MW_INVALID_VALUE;
}

/* ---- the value as a whole ---- */

int mw_value_refuse(const mw_type *type, const char *got, const char *what) {
  what = place(what);
  switch (type->kind) {
  case MW_TYPE_STRUCT: return refuse_struct(type, got, what);
  case MW_TYPE_VECTOR:
    if (mw_type_is_complex(type))
      return fail(MW_INVALID_VALUE, "%s wants %s, as a number, {re, im} or mw.complex(re, im), got %s", what,
                  type->name, got);
    return fail(MW_INVALID_VALUE, "%s wants %s, as a table of %zu number%s, got %s", what, type->name, type->count,
                plural(type->count), got);
  case MW_TYPE_ARRAY:
    return fail(MW_INVALID_VALUE, "%s wants %s, as a sequence of %zu, got %s", what, type->name, type->count, got);
  case MW_TYPE_POINTER:
    return fail(MW_INVALID_VALUE, "%s wants %s, got %s: give it an array of %s, or nil for the null pointer", what,
                type->name, got, mw_type_dtype(type->element));
  default: {
    bool boolean = strcmp(got, "true") == 0 || strcmp(got, "false") == 0;
    return fail(MW_INVALID_VALUE, "%s wants %s, got %s%s", what, type->name, got, boolean ? "; write 1 or 0" : "");
  }
  }
}

int mw_value_refuse_length(const mw_type *type, int is_string, size_t length, const char *what) {
  what = place(what);
  if (type->kind == MW_TYPE_STRUCT)
    return fail(MW_INVALID_VALUE, "%s wants %s, which has %zu bytes, got a string of %zu", what, type->name, type->size,
                length);
  if (is_string) return fail(MW_INVALID_VALUE, "%s wants %s, got a string of %zu bytes", what, type->name, length);
  return fail(MW_INVALID_VALUE, "%s wants %s, got a sequence of %zu", what, type->name, length);
}

/* ---- its parts ---- */

int mw_value_refuse_key(const mw_type *type, const char *name, const char *what) {
  what = place(what);
  if (type->kind == MW_TYPE_VECTOR)
    return name ? fail(MW_INVALID_VALUE, "%s wants %s, which has no component '%s'", what, type->name, name)
                : fail(MW_INVALID_VALUE, "%s wants %s, a table of %zu number%s; this one holds more", what, type->name,
                       type->count, plural(type->count));
  mw_text fields = fields_of(type);
  if (name)
    fail(MW_INVALID_VALUE, "%s has no field '%s'; %s has %s", what, name, type->name, fields.data);
  else
    fail(MW_INVALID_VALUE, "%s wants the fields of %s by name: %s", what, type->name, fields.data);
  mw_text_free(&fields);
  return MW_INVALID_VALUE;
}

int mw_value_missing(const mw_type *type, const char *name, const char *what) {
  what = place(what);
  if (type->kind == MW_TYPE_VECTOR)
    return fail(MW_INVALID_VALUE, "%s.%s is missing: %s has %zu components", what, name, type->name, type->count);
  const mw_type *field = mw_type_field(type, name)->type;
  mw_text fields = fields_of(type);
  fail(MW_INVALID_VALUE, "%s lacks the field '%s' (%s)%s; %s has %s", what, name, field->name,
       field->kind == MW_TYPE_POINTER ? ", which may be mw.null" : "", type->name, fields.data);
  mw_text_free(&fields);
  return MW_INVALID_VALUE;
}
