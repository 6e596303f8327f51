/* Scanning source text: tokens, their scopes, and the few forms that matter. See source_scan.h. */
#include "source_scan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- tokens ---- */

typedef struct token {
  const char *at;
  size_t length; /* 0: the end */
  int line;
} token;

typedef struct scanner {
  const char *at, *end;
  int line;
  scanned *out;
  bool is_header;
} scanner;

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static void step(scanner *s) {
  if (*s->at == '\n') s->line++;
  s->at++;
}

static void skip_line(scanner *s) {
  for (; s->at < s->end && *s->at != '\n'; step(s))
    if (*s->at == '\\' && s->at + 1 < s->end) step(s);
}

static void skip_quoted(scanner *s, char quote) {
  for (step(s); s->at < s->end && *s->at != quote && *s->at != '\n'; step(s))
    if (*s->at == '\\' && s->at + 1 < s->end) step(s);
  if (s->at < s->end) step(s);
}

static void skip_comment(scanner *s) {
  for (s->at += 2; s->at < s->end; step(s))
    if (s->at[0] == '*' && s->at + 1 < s->end && s->at[1] == '/') {
      s->at += 2;
      return;
    }
}

/* A word, a number, "::", or one character. */
static token next(scanner *s) {
  while (s->at < s->end) {
    char c = *s->at, d = s->at + 1 < s->end ? s->at[1] : '\0';
    if (isspace((unsigned char)c))
      step(s);
    else if (c == '#' || (c == '/' && d == '/'))
      skip_line(s);
    else if (c == '/' && d == '*')
      skip_comment(s);
    else if (c == '"' || c == '\'') {
      token quoted = {s->at, 1, s->line};
      skip_quoted(s, c);
      return quoted;
    } else {
      token found = {s->at, 1, s->line};
      if (is_word(c))
        while (s->at + found.length < s->end && is_word(s->at[found.length])) found.length++;
      else if (c == ':' && d == ':')
        found.length = 2;
      s->at += found.length;
      return found;
    }
  }
  return (token){s->end, 0, s->line};
}

static bool is(token t, const char *text) { return t.length == strlen(text) && memcmp(t.at, text, t.length) == 0; }
static bool is_name(token t) { return t.length && (isalpha((unsigned char)*t.at) || *t.at == '_'); }

/* Skips past the bracket that closes the one just read. */
static void skip_group(scanner *s, const char *open, const char *close) {
  for (int depth = 1; depth > 0;) {
    token t = next(s);
    if (t.length == 0) return;
    depth += is(t, open) - is(t, close);
  }
}

static char *copy(token t) { return mw_format("%.*s", (int)t.length, t.at); }

static void add_name(char ***list, size_t *count, char *name) {
  *list = mw_realloc(*list, (*count + 1) * sizeof **list);
  (*list)[(*count)++] = name;
}

/* ---- kernels: after __global__ ---- */

/* Parameter names up to the closing parenthesis: the last name of each, or of its part in parentheses, as in
   int (*rows)[3] and float (*f)(float x). */
static void scan_params(scanner *s, scanned_kernel *kernel) {
  token name = {NULL, 0, 0};
  int depth = 1;
  bool fixed = false, any = false, opened = false, inner = false;
  while (depth > 0) {
    token t = next(s);
    if (t.length == 0) break;
    depth += is(t, "(") || is(t, "[") || is(t, "{") || is(t, "<");
    depth -= is(t, ")") || is(t, "]") || is(t, "}") || is(t, ">");
    if (depth == 0 || (depth == 1 && is(t, ","))) {
      if (any) add_name(&kernel->params, &kernel->param_count, name.length ? copy(name) : mw_strdup(""));
      name.length = 0;
      any = fixed = opened = inner = false;
      continue;
    }
    any = true;
    inner |= opened && !fixed && (is(t, "*") || is(t, "&"));
    opened = depth == 2 && is(t, "(");
    fixed |= is(t, "=") || is(t, "[") || (inner && depth == 1);
    if (depth == (inner ? 2 : 1) && !fixed && is_name(t)) name = t;
  }
}

static void scan_kernel(scanner *s, const char *scope) {
  token name = {NULL, 0, 0};
  for (token t = next(s); t.length && !is(t, ";") && !is(t, "{"); t = next(s)) {
    bool attribute =
        name.length && (is(name, "__launch_bounds__") || is(name, "__attribute__") || is(name, "__maxnreg__"));
    if (is(t, "(") && attribute) {
      skip_group(s, "(", ")");
      name.length = 0;
    } else if (is(t, "(")) {
      break;
    } else if (is_name(t)) {
      name = t;
    }
  }
  if (name.length == 0) return;
  scanned *out = s->out;
  out->kernels = mw_realloc(out->kernels, (out->kernel_count + 1) * sizeof *out->kernels);
  scanned_kernel *kernel = &out->kernels[out->kernel_count++];
  *kernel = (scanned_kernel){.name = copy(name), .scope = mw_strdup(scope), .line = s->is_header ? 0 : name.line};
  scan_params(s, kernel);
}

/* ---- structs: after the opening brace ---- */

static void scan_members(scanner *s, scanned_struct *found, bool is_public);

static void drop_fields(scanned_struct *found, size_t count) {
  while (found->field_count > count) free(found->fields[--found->field_count]);
}

/* Parses the body of a struct or union without a tag. True if its member has no name either: then its fields belong
   to the outer struct. Otherwise its fields are dropped, and the scanner stands after the closing brace. */
static bool scan_unnamed(scanner *s, scanned_struct *found, bool wanted) {
  size_t before = found->field_count;
  scan_members(s, found, wanted);
  scanner after = *s;
  if (is(next(s), ";")) return true;
  *s = after;
  drop_fields(found, before);
  return false;
}

/* One member up to its semicolon; the first token is given. Functions, types and non-public members are skipped. */
static void scan_member(scanner *s, token t, scanned_struct *found, bool wanted) {
  token name = {NULL, 0, 0};
  bool fixed = false, function = false;
  int angle = 0;
  bool unnamed = is(t, "struct") || is(t, "union"); /* until the declarator is seen */
  for (token first = t; t.length && !is(t, ";"); t = next(s)) {
    if (is(t, "typedef") || is(t, "using") || is(t, "static") || is(t, "friend") || is(t, "operator") ||
        is(t, "template") || is(t, "enum") || is(t, "struct") || is(t, "union") || is(t, "class"))
      wanted = wanted && !is(t, "typedef") && !is(t, "using") && !is(t, "static") && !is(t, "friend") &&
               !is(t, "operator") && !is(t, "template");
    if (is(t, "(")) {
      bool aligned = name.length && (is(name, "__align__") || is(name, "alignas"));
      function = function || !aligned;
      skip_group(s, "(", ")");
      continue;
    }
    if (is(t, "{") && unnamed) {
      if (scan_unnamed(s, found, wanted)) return;
      unnamed = false;
      continue;
    }
    unnamed = unnamed && t.at == first.at;
    if (is(t, "{")) {
      skip_group(s, "{", "}");
      if (function) return; /* a body, without a semicolon */
      fixed = true;
      continue;
    }
    angle += is(t, "<") - is(t, ">");
    if (is(t, "=") || is(t, "[") || is(t, ":")) fixed = true;
    if (angle > 0) continue;
    if (is(t, ",")) {
      if (wanted && !function && name.length) add_name(&found->fields, &found->field_count, copy(name));
      name.length = 0;
      fixed = false;
    } else if (!fixed && is_name(t)) {
      name = t;
    }
  }
  if (wanted && !function && name.length) add_name(&found->fields, &found->field_count, copy(name));
}

static void free_struct(scanned_struct *found) {
  drop_fields(found, 0);
  free(found->fields);
  free(found->name);
}

/* From the opening brace to the closing one. */
static void scan_members(scanner *s, scanned_struct *found, bool is_public) {
  bool shown = is_public;
  for (token t = next(s); t.length && !is(t, "}"); t = next(s)) {
    if (is(t, "public") || is(t, "private") || is(t, "protected")) {
      shown = is(t, "public");
      next(s);
    } else if (!is(t, ";")) {
      scan_member(s, t, found, shown);
    }
  }
}

static void scan_struct(scanner *s, const char *scope, token tag, bool is_typedef, bool is_template, bool is_public) {
  scanned_struct found = {0};
  scan_members(s, &found, is_public);
  if (is_typedef) {
    token t = next(s);
    if (is_name(t) && !tag.length) tag = t;
  }
  if (!tag.length || is_template) {
    free_struct(&found);
    return;
  }
  found.name = mw_format("%s%.*s", scope, (int)tag.length, tag.at);
  scanned *out = s->out;
  out->structs = mw_realloc(out->structs, (out->struct_count + 1) * sizeof *out->structs);
  out->structs[out->struct_count++] = found;
}

/* After "struct": up to its brace, or nothing if this is not a definition. */
static void begin_struct(scanner *s, const char *scope, bool is_typedef, bool is_template, bool is_public) {
  token tag = {NULL, 0, 0};
  bool bases = false;
  for (;;) {
    scanner before = *s;
    token t = next(s);
    if (is(t, "{")) {
      scan_struct(s, scope, tag, is_typedef, is_template, is_public);
      return;
    }
    if (is(t, "(") && tag.length && (is(tag, "__align__") || is(tag, "alignas") || is(tag, "__attribute__"))) {
      skip_group(s, "(", ")");
      tag.length = 0;
    } else if (t.length == 0 || is(t, ";") || is(t, "(") || is(t, "*") || is(t, "&") || is(t, "=") || is(t, ">") ||
               is(t, ",")) {
      *s = before;
      return;
    } else if (is(t, ":")) {
      bases = true;
    } else if (!bases && is_name(t) && !is(t, "final")) {
      tag = t;
    }
  }
}

/* ---- scopes ---- */

static void scan_scope(scanner *s, const char *scope, int depth) {
  bool is_typedef = false, is_template = false, external = false;
  for (token t = next(s); t.length && !is(t, "}"); t = next(s)) {
    if (is(t, "namespace")) {
      mw_text inner = {0};
      mw_text_addf(&inner, "%s", scope);
      token name = next(s);
      for (; name.length && !is(name, "{") && !is(name, ";") && !is(name, "="); name = next(s))
        if (is_name(name) && !is(name, "inline")) mw_text_addf(&inner, "%.*s::", (int)name.length, name.at);
      if (is(name, "{") && depth < 32) scan_scope(s, inner.data, depth + 1);
      mw_text_free(&inner);
    } else if (is(t, "__global__")) {
      scan_kernel(s, scope);
    } else if (is(t, "enum")) {
      token word = next(s);
      while (word.length && !is(word, "{") && !is(word, ";")) word = next(s);
      if (is(word, "{")) skip_group(s, "{", "}");
    } else if (is(t, "struct") || is(t, "union") || is(t, "class")) {
      begin_struct(s, scope, is_typedef, is_template, !is(t, "class"));
    } else if (is(t, "<") && is_template) {
      skip_group(s, "<", ">");
    } else if (is(t, "(")) {
      skip_group(s, "(", ")");
    } else if (is(t, "{")) {
      if (external && depth < 32)
        scan_scope(s, scope, depth + 1);
      else
        skip_group(s, "{", "}");
    }
    external = (is(t, "\"") || *t.at == '"') ? external : is(t, "extern");
    is_typedef = is(t, "typedef") || (is_typedef && !is(t, ";"));
    is_template = is(t, "template") || (is_template && !is(t, ";") && !is(t, "{") && !is(t, "}") && !is(t, "struct") &&
                                        !is(t, "class") && !is(t, "union") && !is(t, "__global__"));
  }
}

void cuda_scan(const char *text, size_t length, bool is_header, scanned *out) {
  scanner s = {.at = text, .end = text + length, .line = 1, .out = out, .is_header = is_header};
  while (s.at < s.end) scan_scope(&s, "", 0);
}

void cuda_scanned_free(scanned *found) {
  for (size_t i = 0; i < found->kernel_count; i++) {
    for (size_t k = 0; k < found->kernels[i].param_count; k++) free(found->kernels[i].params[k]);
    free(found->kernels[i].params);
    free(found->kernels[i].name);
    free(found->kernels[i].scope);
  }
  for (size_t i = 0; i < found->struct_count; i++) free_struct(&found->structs[i]);
  free(found->kernels);
  free(found->structs);
  *found = (scanned){0};
}
