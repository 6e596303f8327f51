/* Names: see cxx_name.h. Names are normalised to one of the spellings that C++ allows, so that equal names are equal
 * strings. */
#include "cxx_name.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$'; }

/* ---- one spelling ---- */

static const char *const integer_words[] = {"unsigned", "signed", "long", "short", "int", "char"};
enum { UNSIGNED, SIGNED, LONG, SHORT, INT, CHAR, WORDS };

static int integer_word(const char *word, size_t length) {
  for (int i = 0; i < WORDS; i++)
    if (strlen(integer_words[i]) == length && memcmp(integer_words[i], word, length) == 0) return i;
  return -1;
}

/* The words of one integer type, in any order, as compilers write it: "long unsigned int" is "unsigned long". */
static void add_integer_type(mw_text *out, const int *words) {
  const char *sign = words[UNSIGNED] ? "unsigned " : words[SIGNED] && words[CHAR] ? "signed " : "";
  const char *name = words[CHAR]        ? "char"
                     : words[SHORT]     ? "short"
                     : words[LONG] >= 2 ? "long long"
                     : words[LONG]      ? "long"
                                        : "int";
  mw_text_addf(out, "%s%s", sign, name);
}

static void add_space_between_words(mw_text *out, char next) {
  if (out->length > 0 && is_word(out->data[out->length - 1]) && is_word(next)) mw_text_add(out, " ", 1);
}

/* Normalise text[0..length): spaces only between words, integer types in one spelling. */
static char *spell(const char *text, size_t length) {
  mw_text out = {0};
  mw_text_add(&out, "", 0);
  for (const char *at = text, *end = text + length; at < end;) {
    if (isspace((unsigned char)*at)) {
      at++;
      continue;
    }
    add_space_between_words(&out, *at);
    if (!is_word(*at)) {
      mw_text_add(&out, at++, 1);
      continue;
    }
    int words[WORDS] = {0};
    bool integer = false;
    const char *word = at;
    for (;;) { /* consecutive words of an integer type */
      size_t word_length = 0;
      while (word + word_length < end && is_word(word[word_length])) word_length++;
      int kind = word_length ? integer_word(word, word_length) : -1;
      if (kind < 0) {
        if (!integer) mw_text_add(&out, word, word_length), at = word + word_length;
        break;
      }
      words[kind]++;
      integer = true;
      at = word + word_length;
      for (word = at; word < end && isspace((unsigned char)*word);) word++;
    }
    if (integer) add_integer_type(&out, words);
  }
  return out.data;
}

/* ---- taking apart ---- */

/* The '(' that matches the ')' at the end of text[0..length), outside of template arguments; else `length`. */
static size_t find_params(const char *text, size_t length) {
  if (length == 0 || text[length - 1] != ')') return length;
  int depth = 0;
  for (size_t i = length; i-- > 0;) {
    if (text[i] == ')') depth++;
    if (text[i] == '(' && --depth == 0) return i > 0 ? i : length;
  }
  return length;
}

void mw_name_parse(const char *text, mw_name *out) {
  size_t length = strlen(text);
  while (length > 0 && isspace((unsigned char)text[length - 1])) length--;
  while (length > 0 && isspace((unsigned char)*text)) text++, length--;
  if (length > 2 && text[0] == ':' && text[1] == ':') text += 2, length -= 2;
  size_t params = find_params(text, length);
  out->path = spell(text, params);
  out->params = params < length ? spell(text + params + 1, length - params - 2) : NULL;
}

void mw_name_free(mw_name *name) {
  free(name->path);
  free(name->params);
}

/* The start of the path's last name: after the last "::" outside of template arguments. */
static const char *last_name(const char *path) {
  int depth = 0;
  const char *last = path;
  for (const char *at = path; *at; at++) {
    if (*at == '<' || *at == '(') depth++;
    if (*at == '>' || *at == ')') depth--;
    if (depth == 0 && at[0] == ':' && at[1] == ':') last = at + 2;
  }
  return last;
}

bool mw_name_is_instance(const char *path) {
  size_t length = strlen(path);
  return length > 0 && path[length - 1] == '>' && strchr(last_name(path), '<');
}

char *mw_name_base(const char *path) {
  const char *last = last_name(path);
  return mw_format("%.*s", (int)strcspn(last, "<"), last);
}

/* ---- matching ---- */

int mw_name_match(const char *wanted, const char *have) {
  if (strcmp(wanted, have) == 0) return 2;
  size_t length = strlen(wanted), whole = strlen(have);
  if (length == 0 || whole < length + 2 || strcmp(have + whole - length, wanted) != 0) return 0;
  /* The omitted part must be namespaces: it ends in "::", outside of template arguments. */
  const char *rest = have + whole - length;
  if (rest[-1] != ':' || rest[-2] != ':') return 0;
  int depth = 0;
  for (const char *at = have; at < rest; at++) depth += (*at == '<') - (*at == '>');
  return depth == 0;
}

static bool same_type(const mw_type *a, const mw_type *b) {
  return a->kind == b->kind && a->size == b->size &&
         (a->kind != MW_TYPE_VECTOR || (a->count == b->count && same_type(a->element, b->element)));
}

/* text[0..length) without words that do not change the type. */
static char *without_qualifiers(const char *text, size_t length) {
  static const char *const qualifiers[] = {"const", "volatile", "__restrict__", "__restrict", "restrict", "struct"};
  mw_text out = {0};
  mw_text_add(&out, "", 0);
  for (size_t i = 0; i < length;) {
    size_t word = 0;
    while (i + word < length && is_word(text[i + word])) word++;
    bool skip = false;
    for (size_t q = 0; q < MW_COUNT(qualifiers); q++)
      skip |= strlen(qualifiers[q]) == word && memcmp(qualifiers[q], text + i, word) == 0;
    if (word == 0) word = 1;
    if (!skip) mw_text_add(&out, text + i, word);
    i += word;
  }
  char *spelled = spell(out.data, out.length);
  mw_text_free(&out);
  return spelled;
}

static bool names_type(const char *text, size_t length, const mw_type *type) {
  char *plain = without_qualifiers(text, length);
  size_t end = strlen(plain);
  while (end > 0 && (plain[end - 1] == '*' || plain[end - 1] == '&')) {
    plain[--end] = '\0';
    if (type->kind != MW_TYPE_POINTER || !type->element) {
      free(plain);
      return false;
    }
    type = type->element;
  }
  const mw_type *known = mw_dtype(plain);
  bool same = known && same_type(known, type);
  if (!same) {
    char *name = without_qualifiers(type->name, strlen(type->name));
    same = mw_name_match(plain, name) > 0;
    free(name);
  }
  free(plain);
  return same;
}

/* The length of the first type of a list: up to a comma outside of all brackets. */
static size_t first_type(const char *text) {
  int depth = 0;
  size_t i = 0;
  for (; text[i] && (depth > 0 || text[i] != ','); i++)
    depth += (text[i] == '<' || text[i] == '(') - (text[i] == '>' || text[i] == ')');
  return i;
}

int mw_name_match_params(const char *params, const mw_kernel_info *kernel) {
  int match = 2;
  size_t count = 0;
  if (strcmp(params, "void") == 0) params = "";
  while (*params) {
    size_t length = first_type(params);
    if (count == kernel->param_count || length == 0) return 0;
    const mw_type *type = kernel->params[count++].type;
    char *name = spell(type->name, strlen(type->name));
    bool literal = strlen(name) == length && memcmp(name, params, length) == 0;
    free(name);
    if (!literal) {
      if (!names_type(params, length, type)) return 0;
      match = 1;
    }
    params += length + (params[length] == ',');
  }
  return count == kernel->param_count ? match : 0;
}

/* ---- likeness ---- */

size_t mw_name_distance(const char *a, const char *b) {
  size_t rows = strlen(a), columns = strlen(b);
  if (rows > 200 || columns > 200) return SIZE_MAX;
  size_t row[201];
  for (size_t j = 0; j <= columns; j++) row[j] = j;
  for (size_t i = 1; i <= rows; i++) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= columns; j++) {
      size_t change = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
      diagonal = row[j];
      size_t best = change < row[j] + 1 ? change : row[j] + 1;
      row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
    }
  }
  return row[columns];
}

size_t mw_name_reach(const char *name) {
  size_t length = strlen(name), reach = length / 3 + 2;
  return reach < length ? reach : length; /* replacing the whole name does not count as similar */
}
