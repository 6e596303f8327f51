/* Launches in device code, which clang refuses there, as calls that it compiles:
 *
 *   child<T><<<grid, block>>>(p, n);   ->   __mw_launch<__typeof__(&child<T>), &child<T>>(grid, block)(p, n);
 *
 * A template without arguments is instantiated for the types of the launch's arguments: clang cannot deduce them from
 * the address alone. Lines stay as they are, so that messages name the right ones. Launches in host code stay, too:
 * clang reports them. */
#include "mwcc/mwcc.h"
#include "front.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_blank(char c) { return isspace((unsigned char)c) != 0; }

/* The position of the bracket that opens what closes at `at`, or `none`. */
static size_t open_of(const char *text, size_t at, char open, char close, size_t none) {
  int depth = 0;
  for (size_t i = at + 1; i-- > 0;) {
    if (text[i] == ';' || text[i] == '{') break;
    depth += (text[i] == close) - (text[i] == open);
    if (depth == 0) return i;
  }
  return none;
}

/* The start of the expression before `end` that names a kernel: child, ns::child<T, 2>, (child). */
static size_t callee_start(const char *text, size_t end, bool *has_arguments) {
  size_t at = end;
  while (at > 0 && is_blank(text[at - 1])) at--;
  *has_arguments = at > 0 && text[at - 1] == '>';
  if (*has_arguments) at = open_of(text, at - 1, '<', '>', end);
  if (at > 0 && text[at - 1] == ')') return open_of(text, at - 1, '(', ')', end);
  while (at > 0 && is_blank(text[at - 1])) at--;
  for (;;) {
    while (at > 0 && is_word(text[at - 1])) at--;
    if (at >= 2 && text[at - 1] == ':' && text[at - 2] == ':')
      at -= 2;
    else
      break;
    if (at > 0 && text[at - 1] == '>') at = open_of(text, at - 1, '<', '>', at); /* a class template's member */
  }
  return at;
}

/* The position of `mark` outside of brackets and literals, from `at` on, or `length`. */
static size_t find_outside(const char *text, size_t length, size_t at, const char *mark) {
  int depth = 0;
  size_t size = strlen(mark);
  while (at < length) {
    if (depth == 0 && length - at >= size && memcmp(text + at, mark, size) == 0) return at;
    if (strchr("([{", text[at])) depth++;
    if (strchr(")]}", text[at]) && depth-- == 0) return length;
    at = skip_token(text, length, at);
  }
  return length;
}

static bool word_before(const char *text, size_t end, const char *word) {
  size_t length = strlen(word);
  while (end > 0 && is_blank(text[end - 1])) end--;
  return end >= length && memcmp(text + end - length, word, length) == 0 &&
         (end == length || !is_word(text[end - length - 1]));
}

/* Whether `name` is declared in the text as a kernel template: template <…> [attributes] __global__ … name(. */
static bool is_template(const char *text, const char *name, size_t size) {
  for (const char *at = text; (at = strstr(at, "__global__")); at++) {
    size_t end = (size_t)(at - text);
    while (word_before(text, end, "static") || word_before(text, end, "inline")) {
      while (is_blank(text[end - 1])) end--;
      while (is_word(text[end - 1])) end--;
    }
    while (end > 0 && is_blank(text[end - 1])) end--;
    if (end == 0 || text[end - 1] != '>') continue;
    const char *bracket = strchr(at, '(');
    while (bracket && bracket > at && is_blank(bracket[-1])) bracket--;
    if (!bracket || (size_t)(bracket - at) <= size || memcmp(bracket - size, name, size) != 0) continue;
    if (!is_word(bracket[-(ptrdiff_t)size - 1])) return true;
  }
  return false;
}

/* The type of a kernel that takes the arguments from `at` to the bracket at `end`. */
static void add_type_of_arguments(mw_text *out, const char *text, size_t at, size_t end) {
  const char *separator = "";
  mw_text_addf(out, "void (*)(");
  while (at < end) {
    size_t comma = find_outside(text, end, at, ",");
    mw_text_addf(out, "%s__decay(__typeof__(%.*s))", separator, (int)(comma - at), text + at);
    separator = ", ";
    at = comma + 1;
  }
  mw_text_addf(out, ")");
}

/* Rewrite the launch whose <<< is at `at`. Returns the position after its >>>, or 0: it is no launch. `from` is where
   the text that has not been added yet begins. */
static size_t rewrite_launch(mw_text *out, const char *text, size_t length, size_t from, size_t at) {
  bool has_arguments;
  size_t name = callee_start(text, at, &has_arguments), end = find_outside(text, length, at + 3, ">>>");
  if (name >= at || name < from || end == length) return 0;
  size_t bracket = end + 3, size = at - name;
  while (bracket < length && is_blank(text[bracket])) bracket++;
  while (size > 0 && is_blank(text[name + size - 1])) size--;
  size_t close = bracket < length && text[bracket] == '(' ? find_outside(text, length, bracket + 1, ")") : length;
  bool deduced = !has_arguments && close < length && is_template(text, text + name, size);
  mw_text_add(out, text + from, name - from);
  mw_text_addf(out, "__mw_launch<");
  if (deduced)
    add_type_of_arguments(out, text, bracket + 1, close);
  else
    mw_text_addf(out, "__typeof__(&%.*s)", (int)size, text + name);
  mw_text_addf(out, ", &%.*s>(", (int)size, text + name);
  mw_text_add(out, text + at + 3, end - at - 3);
  mw_text_addf(out, ")");
  return end + 3;
}

/* ---- device code ---- */

enum { NESTING = 256 };

/* The state of the scan: for each open brace, whether it is in a device function. */
typedef struct place {
  bool in_device[NESTING];
  int depth;
  bool keyword;   /* one of CUDA's keywords was seen since the last ; { or } */
  bool directive; /* in a line that begins with #, which may become anything */
  strings macros; /* names that stand for such keywords */
} place;

static bool is_keyword(const place *p, const char *word, size_t length) {
  static const char *const words[] = {"__device__", "__global__"};
  for (size_t i = 0; i < MW_COUNT(words); i++)
    if (strlen(words[i]) == length && memcmp(words[i], word, length) == 0) return true;
  for (size_t i = 0; i < p->macros.count; i++)
    if (strlen(p->macros.items[i]) == length && memcmp(p->macros.items[i], word, length) == 0) return true;
  return false;
}

/* `#define NAME … __device__ …` at `at`: NAME is a keyword from here on. */
static void note_macro(place *p, const char *text, size_t at, size_t length) {
  size_t end = at;
  while (end < length && text[end] != '\n') end++;
  char *line = mw_format("%.*s", (int)(end - at), text + at), *define = strstr(line, "define");
  if (define && (strstr(line, "__device__") || strstr(line, "__global__"))) {
    char *name = define + strlen("define") + strspn(define + strlen("define"), " \t");
    size_t size = 0;
    while (is_word(name[size])) size++;
    strings_add(&p->macros, mw_format("%.*s", (int)size, name));
  }
  free(line);
}

static bool in_device_code(const place *p) { return p->directive || (p->depth > 0 && p->in_device[p->depth - 1]); }

/* Step over the word or token at `at`. */
static size_t step(place *p, const char *text, size_t length, size_t at) {
  size_t end = at;
  while (end < length && is_word(text[end])) end++;
  if (end > at) {
    if (is_keyword(p, text + at, end - at)) p->keyword = true;
    return end;
  }
  char c = text[at];
  if (c == '#' && !p->directive) {
    p->directive = true;
    note_macro(p, text, at, length);
  }
  if (c == '\n' && (at == 0 || text[at - 1] != '\\')) p->directive = false;
  if (!p->directive && c == '{' && p->depth < NESTING) {
    bool outer = p->depth > 0 && p->in_device[p->depth - 1];
    p->in_device[p->depth++] = outer || p->keyword;
  }
  if (!p->directive && c == '}' && p->depth > 0) p->depth--;
  if (c == ';' || c == '{' || c == '}') p->keyword = false;
  return skip_token(text, length, at);
}

void rewrite_launches(mw_text *out, const char *text, size_t length) {
  size_t start = 0, at = 0;
  place p = {.depth = 0};
  while (at < length) {
    bool found = length - at > 3 && memcmp(text + at, "<<<", 3) == 0 && in_device_code(&p);
    size_t after = found ? rewrite_launch(out, text, length, start, at) : 0;
    if (after)
      start = at = after;
    else
      at = found ? at + 3 : step(&p, text, length, at);
  }
  mw_text_add(out, text + start, length - start);
}

/* ---- messages ---- */

/* A rewritten launch in a line: its parts, as offsets. */
typedef struct launch_text {
  size_t start, name, name_end, sizes, sizes_end; /* __mw_launch<…, &NAME>(SIZES) */
} launch_text;

static bool find_launch(const char *line, size_t length, launch_text *out) {
  const char *end = line + length, *start = memmem(line, length, "__mw_launch<", strlen("__mw_launch<"));
  const char *name = start ? memmem(start, (size_t)(end - start), ", &", strlen(", &")) : NULL;
  const char *sizes = name ? memmem(name, (size_t)(end - name), ">(", strlen(">(")) : NULL;
  if (!sizes) return false;
  out->start = (size_t)(start - line);
  out->name = (size_t)(name - line) + strlen(", &");
  out->name_end = (size_t)(sizes - line);
  out->sizes = out->name_end + strlen(">(");
  out->sizes_end = find_outside(line, length, out->sizes, ")");
  return out->sizes_end < length;
}

/* Add the line with its first launch as in the source. Then *below, the line of carets under it, is moved likewise. */
static void add_restored(mw_text *out, const char *line, size_t length, const launch_text *l, const char *below,
                         size_t below_length, mw_text *carets) {
  size_t name = l->name_end - l->name, start = out->length;
  mw_text_add(out, line, l->start);
  mw_text_add(out, line + l->name, name);
  mw_text_addf(out, "<<<");
  mw_text_add(out, line + l->sizes, l->sizes_end - l->sizes);
  mw_text_addf(out, ">>>");
  mw_text_add(out, line + l->sizes_end + 1, length - l->sizes_end - 1);
  size_t width = out->length - start; /* of the restored line */
  char *moved = mw_alloc(width + 2);
  memset(moved, ' ', width + 1);
  for (size_t i = 0; i < below_length; i++) {
    size_t to = i < l->start ? i : i < l->sizes ? l->start : i - l->sizes + l->start + name + 3;
    if (i > l->sizes_end) to += 2;
    if (to <= width && below[i] != ' ' && moved[to] != '^') moved[to] = below[i];
  }
  while (width > 0 && moved[width - 1] == ' ') width--;
  mw_text_add(carets, moved, width);
  free(moved);
}

static bool is_carets(const char *line, size_t length) {
  return memchr(line, '^', length) && strspn(line, " ^~") >= length;
}

void restore_launches(mw_text *log) {
  mw_text out = {0};
  if (!log->data || !strstr(log->data, "__mw_launch<")) return;
  for (const char *line = log->data; *line;) {
    size_t length = strcspn(line, "\n");
    const char *next = line + length + (line[length] == '\n');
    size_t below = strcspn(next, "\n");
    launch_text l;
    const char *type = strstr(line, "no matching function for call to object of type '__mw_launch<");
    if (type && type < line + length) {
      mw_text_add(&out, line, (size_t)(type - line));
      mw_text_addf(&out, "the arguments of this launch do not suit the kernel\n");
    } else if (find_launch(line, length, &l) && is_carets(next, below)) {
      mw_text carets = {0};
      add_restored(&out, line, length, &l, next, below, &carets);
      mw_text_addf(&out, "\n%s\n", carets.data);
      mw_text_free(&carets);
      next += below + (next[below] == '\n');
    } else {
      mw_text_add(&out, line, (size_t)(next - line));
    }
    line = next;
  }
  mw_text_free(log);
  *log = out;
}
