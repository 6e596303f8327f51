/* Parsing the declarations of PTX. See ptx.h. */
#include "ptx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '%' || c == '.'; }

/* The next word, or one other character; empty at the end. */
static const char *read_word(const char *at, const char **word, size_t *length) {
  for (;;) {
    at += strspn(at, " \t\r\n");
    if (at[0] != '/' || at[1] != '/') break;
    at += strcspn(at, "\n");
  }
  *word = at;
  while (is_word(*at)) at++;
  if (at == *word && *at) at++;
  *length = (size_t)(at - *word);
  return at;
}

static bool is(const char *word, size_t length, const char *text) {
  return strlen(text) == length && memcmp(word, text, length) == 0;
}

static size_t type_size(const char *word, size_t length) {
  static const char *const names[] = {".b8",  ".u8",  ".s8",  ".b16", ".u16", ".s16", ".f16", ".b32",
                                      ".u32", ".s32", ".f32", ".b64", ".u64", ".s64", ".f64", ".b128"};
  for (size_t i = 0; i < MW_COUNT(names); i++)
    if (is(word, length, names[i])) return i < 3 ? 1 : i < 7 ? 2 : i < 11 ? 4 : i < 15 ? 8 : 16;
  return 0;
}

/* "[.align N] .TYPE NAME[COUNT]" after a state space. *word receives the name. */
static const char *read_place(const char *at, const char **word, size_t *length, ptx_place *out) {
  size_t align = 0, element = 0;
  *out = (ptx_place){0};
  for (;;) {
    at = read_word(at, word, length);
    if (is(*word, *length, ".align")) {
      align = strtoul(at, (char **)&at, 10);
    } else if (**word == '.') {
      size_t size = type_size(*word, *length);
      if (size) element = size, out->kind = (*word)[1];
    } else {
      break;
    }
  }
  const char *name = *word;
  size_t name_length = *length, count = 1;
  const char *rest = at + strspn(at, " ");
  if (*rest == '[' || !out->kind) out->kind = '-';
  while (*rest == '[') {
    count *= strtoul(rest + 1, (char **)&rest, 10);
    if (*rest == ']') rest++;
  }
  *word = name;
  *length = name_length;
  out->size = element * count;
  out->align = align ? align : element ? element : 1;
  return rest;
}

static char *copy(const char *word, size_t length) { return mw_format("%.*s", (int)length, word); }

/* After ".entry": the name, parameters, directives and body. */
static const char *read_entry(const char *at, ptx_text *out) {
  const char *word;
  size_t length;
  at = read_word(at, &word, &length);
  out->entries = mw_realloc(out->entries, (out->entry_count + 1) * sizeof *out->entries);
  ptx_entry *entry = &out->entries[out->entry_count++];
  *entry = (ptx_entry){.linkage = copy(word, length)};
  for (at = read_word(at, &word, &length); length && !is(word, length, "{"); at = read_word(at, &word, &length)) {
    if (is(word, length, ".param")) {
      entry->params = mw_realloc(entry->params, (entry->param_count + 1) * sizeof *entry->params);
      const char *name;
      size_t name_length;
      /* ".param .u64 .ptr .global .align 1 x" also says what x points to */
      const char *end = at + strcspn(at, ",)");
      ptx_place *place = &entry->params[entry->param_count++];
      read_place(at, &name, &name_length, place);
      const char *pointer = strstr(at, ".ptr");
      if (pointer && pointer < end) place->align = 8, place->kind = 'p';
      at = end;
    } else if (is(word, length, ".maxntid") || is(word, length, ".reqntid")) {
      long threads = 1;
      do threads *= strtol(at + (*at == ','), (char **)&at, 10);
      while (*at == ',');
      entry->max_threads = (int)threads;
    }
  }
  entry->body = at;
  for (int depth = 1; depth > 0 && *at; at++) depth += (*at == '{') - (*at == '}');
  entry->body_length = (size_t)(at - entry->body);
  return at;
}

/* After ".global" or ".const", up to the semicolon. */
static const char *read_variable(const char *at, bool constant, bool external, ptx_text *out) {
  const char *word;
  size_t length;
  ptx_variable variable = {.constant = constant};
  at = read_place(at, &word, &length, &variable.place);
  bool hidden = length == 0 || *word == '$' || memmem(word, length, "$str", 4);
  if (!hidden && !external) {
    variable.linkage = copy(word, length);
    out->variables = mw_realloc(out->variables, (out->variable_count + 1) * sizeof *out->variables);
    out->variables[out->variable_count++] = variable;
  }
  return at + strcspn(at, ";");
}

void ptx_parse(const char *text, ptx_text *out) {
  const char *word;
  size_t length;
  bool external = false;
  *out = (ptx_text){0};
  for (const char *at = read_word(text, &word, &length); length; at = read_word(at, &word, &length)) {
    if (is(word, length, ".entry")) {
      at = read_entry(at, out);
    } else if (is(word, length, ".global") || is(word, length, ".const")) {
      at = read_variable(at, is(word, length, ".const"), external, out);
    } else if (is(word, length, ".func")) {
      if (!external) out->calls = true;
    } else if (is(word, length, "{")) {
      for (int depth = 1; depth > 0 && *at; at++) depth += (*at == '{') - (*at == '}');
    }
    external = is(word, length, ".extern") || (external && !is(word, length, ";"));
  }
}

void ptx_free(ptx_text *ptx) {
  for (size_t i = 0; i < ptx->entry_count; i++) {
    free(ptx->entries[i].linkage);
    free(ptx->entries[i].params);
  }
  for (size_t i = 0; i < ptx->variable_count; i++) free(ptx->variables[i].linkage);
  free(ptx->entries);
  free(ptx->variables);
  *ptx = (ptx_text){0};
}

bool ptx_mentions(const char *text, size_t length, const char *symbol) {
  size_t size = strlen(symbol);
  for (const char *at = text, *end = text + length; (at = memmem(at, (size_t)(end - at), symbol, size)); at += size)
    if (!is_word(at[-1]) && (at + size >= end || !is_word(at[size]))) return true;
  return false;
}
