/* The source as text, before clang reads it: words, and comments and literals, which are skipped as a whole. */
#include "front.h"

#include <ctype.h>

bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

size_t skip_token(const char *text, size_t length, size_t at) {
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
