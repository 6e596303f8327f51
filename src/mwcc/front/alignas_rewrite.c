/* `__shared__ alignas(16) float tile[64];` as CUDA's compilers take it. To clang the keyword is an attribute of the older
 * kind, behind which C++'s own may not stand. So alignas goes to the front of such a declaration, in the source's text
 * before clang sees it: no character is added or lost, and lines stay. */
#include "mwcc/mwcc.h"
#include "front.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

/* Behind a comment, a literal or a single character. */
static size_t skip(const char *text, size_t length, size_t at) {
  char first = text[at], second = at + 1 < length ? text[at + 1] : 0;
  if (first == '/' && second == '/') {
    while (at < length && text[at] != '\n') at++;
    return at;
  }
  if (first == '/' && second == '*') {
    for (at += 2; at + 1 < length && !(text[at] == '*' && text[at + 1] == '/');) at++;
    return at + 2;
  }
  if (first == '\'' && at > 0 && is_word(text[at - 1])) return at + 1; /* 1'000 */
  if (first != '"' && first != '\'') return at + 1;
  for (at++; at < length && text[at] != first && text[at] != '\n'; at++)
    if (text[at] == '\\') at++;
  return at + 1;
}

/* Behind the bracket that closes the one at `at`; 0 where there is none. */
static size_t skip_brackets(const char *text, size_t length, size_t at) {
  int depth = 0;
  while (at < length) {
    if (text[at] == '(') depth++;
    if (text[at] == ')' && --depth == 0) return at + 1;
    at = skip(text, length, at);
  }
  return 0;
}

static bool word_is(const char *text, size_t from, size_t to, const char *word) {
  return to - from == strlen(word) && memcmp(text + from, word, to - from) == 0;
}

/* CUDA's own, and others that a declaration may begin with. */
static bool is_specifier(const char *text, size_t from, size_t to, bool *keyword) {
  static const char *const words[] = {"__shared__", "__constant__", "__device__", "__managed__", "extern",
                                      "static",     "inline",       "const",      "constexpr",   "volatile"};
  enum { KEYWORDS = 4 };
  for (size_t i = 0; i < MW_COUNT(words); i++) {
    if (!word_is(text, from, to, words[i])) continue;
    *keyword = *keyword || i < KEYWORDS;
    return true;
  }
  return false;
}

/* The part from `middle` to `end` comes before the part from `start` to `middle`. */
static void exchange(char *text, size_t start, size_t middle, size_t end) {
  char *first = mw_alloc(middle - start);
  memcpy(first, text + start, middle - start);
  memmove(text + start, text + middle, end - middle);
  memcpy(text + start + (end - middle), first, middle - start);
  free(first);
}

void order_specifiers(char *text, size_t length) {
  size_t start = 0, at = 0;
  bool open = false, keyword = false; /* words of one declaration so far, one of them a keyword of CUDA's */
  while (at < length) {
    size_t from = at;
    if (!is_word(text[at]) || isdigit((unsigned char)text[at])) {
      at = is_word(text[at]) ? at + 1 : skip(text, length, at);
      bool blank = isspace((unsigned char)text[from]) || (text[from] == '/' && at > from + 1);
      if (!blank) open = keyword = false;
      continue;
    }
    while (at < length && is_word(text[at])) at++;
    if (!open) start = from;
    open = is_specifier(text, from, at, &keyword);
    if (open || !keyword || !word_is(text, from, at, "alignas")) {
      keyword = keyword && open;
      continue;
    }
    size_t bracket = at;
    while (bracket < length && isspace((unsigned char)text[bracket])) bracket++;
    size_t end = bracket < length && text[bracket] == '(' ? skip_brackets(text, length, bracket) : 0;
    bool has_lines = end && memchr(text + start, '\n', end - start);
    if (!end || has_lines || end == length) continue;
    end += isspace((unsigned char)text[end]) != 0; /* so that words stay apart on both sides */
    exchange(text, start, from, end);
    start += end - from, at = end, open = true;
  }
}
