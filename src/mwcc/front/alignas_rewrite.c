/* Makes clang accept alignas after CUDA's keywords, as nvcc does:
 *
 *   __shared__ alignas(16) float tile[64];   ->   alignas(16) __shared__ float tile[64];
 *
 * For clang, __shared__ is a GNU attribute, which C++ attributes may not follow. So alignas is moved to the start of
 * the declaration in the source text. The text keeps its length and its lines, so that line numbers in messages
 * hold. */
#include "mwcc/mwcc.h"
#include "front.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* The position after the bracket that closes the one at `at`, or 0. */
static size_t skip_brackets(const char *text, size_t length, size_t at) {
  int depth = 0;
  while (at < length) {
    if (text[at] == '(') depth++;
    if (text[at] == ')' && --depth == 0) return at + 1;
    at = skip_token(text, length, at);
  }
  return 0;
}

static bool word_is(const char *text, size_t from, size_t to, const char *word) {
  return to - from == strlen(word) && memcmp(text + from, word, to - from) == 0;
}

/* Specifiers that a declaration may begin with. *keyword: it is one of CUDA's. */
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

/* Exchange the text from `start` to `middle` with that from `middle` to `end`. */
static void exchange(char *text, size_t start, size_t middle, size_t end) {
  char *first = mw_alloc(middle - start);
  memcpy(first, text + start, middle - start);
  memmove(text + start, text + middle, end - middle);
  memcpy(text + start + (end - middle), first, middle - start);
  free(first);
}

void move_alignas(char *text, size_t length) {
  size_t start = 0, at = 0;
  bool open = false, keyword = false; /* at `at`, a declaration has only specifiers so far; one of them is CUDA's */
  while (at < length) {
    size_t from = at;
    if (!is_word(text[at]) || isdigit((unsigned char)text[at])) {
      at = is_word(text[at]) ? at + 1 : skip_token(text, length, at);
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
    end += isspace((unsigned char)text[end]) != 0; /* move the blank along, so that words stay separated */
    exchange(text, start, from, end);
    start += end - from, at = end, open = true;
  }
}
