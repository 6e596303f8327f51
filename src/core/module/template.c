/* Templates in source texts: finding the parameters of a kernel template, for messages about its arguments.
 *
 * The text is scanned without preprocessing: templates from macros are not found, and their messages lack this advice.
 */
#include "core/compile/source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static bool is_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static const char *skip_blanks(const char *text) { return text + strspn(text, " \t\r\n"); }

static bool is_word_at(const char *text, const char *at, const char *word) {
  size_t length = strlen(word);
  return strncmp(at, word, length) == 0 && !is_word(at[length]) && (at == text || !is_word(at[-1]));
}

/* The position after the '>' that matches the '<' at `open`, or NULL. */
static const char *close_angle(const char *open) {
  int angles = 0, rounds = 0;
  for (const char *at = open; *at && *at != ';' && *at != '{'; at++) {
    rounds += (*at == '(') - (*at == ')');
    if (rounds) continue;
    angles += (*at == '<') - (*at == '>');
    if (angles == 0) return at + 1;
  }
  return NULL;
}

/* Whether the declaration at `at` declares a kernel of that name. */
static bool declares(const char *text, const char *at, const char *name) {
  bool kernel = false;
  for (; *at && *at != ';' && *at != '{'; at++) {
    kernel |= is_word_at(text, at, "__global__");
    if (is_word_at(text, at, name)) return kernel && *skip_blanks(at + strlen(name)) == '(';
  }
  return false;
}

static char *find_in(const char *text, const char *name) {
  for (const char *at = text; (at = strstr(at, "template")); at++) {
    const char *open = skip_blanks(at + strlen("template"));
    const char *end = is_word_at(text, at, "template") && *open == '<' ? close_angle(open) : NULL;
    const char *first = end ? skip_blanks(open + 1) : NULL;
    if (end && first < end - 1 && declares(text, end, name)) return mw_format("%.*s", (int)(end - 1 - first), first);
  }
  return NULL;
}

char *mw_source_template(const mw_source *source, const char *name) {
  char *found = source->text ? find_in(source->text, name) : NULL;
  for (size_t i = 0; i < source->header_count && !found; i++) found = find_in(source->headers[i].text, name);
  return found;
}

static const char *last_word(const char *text) {
  const char *last = text;
  for (const char *at = text; *at; at++)
    if (is_word(*at) && (at == text || !is_word(at[-1]))) last = at;
  return last;
}

/* An example argument for the parameter `text`: its default, a type, a boolean, a number; for a template its name. */
static void add_argument(mw_text *out, const char *text, size_t length) {
  char *parameter = mw_format("%.*s", (int)length, text);
  const char *given = strchr(parameter, '='), *first = skip_blanks(parameter);
  if (given)
    mw_text_addf(out, "%s", skip_blanks(given + 1));
  else if (is_word_at(first, first, "typename") || is_word_at(first, first, "class"))
    mw_text_addf(out, "float");
  else if (is_word_at(first, first, "template"))
    mw_text_addf(out, "%s", last_word(first));
  else
    mw_text_addf(out, is_word_at(first, first, "bool") ? "true" : "4");
  free(parameter);
}

char *mw_source_template_example(const char *name, const char *parameters) {
  mw_text out = {0};
  int depth = 0;
  mw_text_addf(&out, "%s<", name);
  for (const char *start = parameters, *at = start;; at++) {
    depth += (*at == '<' || *at == '(') - (*at == '>' || *at == ')');
    if (*at && (*at != ',' || depth)) continue;
    add_argument(&out, start, (size_t)(at - start));
    if (!*at) break;
    mw_text_addf(&out, ",");
    start = at + 1;
  }
  mw_text_addf(&out, ">");
  return out.data;
}
