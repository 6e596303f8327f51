/* Which parts of the device headers a source can do without.
 *
 * Parsing all that CUDA C has built in costs clang as much time again as a small kernel. The headers are therefore cut
 * into parts (moonwarp/parts.def), and a part is left out when no identifier of the source, comments and all, is among
 * the names that need it. Names in places that this file does not see count as mentioned. */
#include "parts.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* words: separated by blanks; one that ends in '*' is a prefix */
typedef struct part {
  const char *define, *words;
} part;

static const part parts[] = {
#define PART(name, words) {"-DMOONWARP_WITHOUT_" #name, words},
#include "../device/moonwarp/parts.def"
#undef PART
};

static bool starts_word(char c) { return isalpha((unsigned char)c) || c == '_'; }
static bool continues_word(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool among(const char *words, const char *name, size_t length) {
  while (*words) {
    size_t word = strcspn(words, " ");
    bool is_prefix = words[word - 1] == '*';
    size_t compared = is_prefix ? word - 1 : word;
    if (*words == *name && (is_prefix ? length >= compared : length == compared) && memcmp(words, name, compared) == 0)
      return true;
    words += word;
    while (*words == ' ') words++;
  }
  return false;
}

static void mark_mentioned(const char *text, size_t length, bool *needed) {
  for (size_t i = 0; i < length;) {
    if (!starts_word(text[i])) {
      i++;
      continue;
    }
    size_t end = i + 1;
    while (end < length && continues_word(text[end])) end++;
    for (size_t k = 0; k < MW_COUNT(parts); k++)
      if (!needed[k]) needed[k] = among(parts[k].words, text + i, end - i);
    i = end;
  }
}

/* Whether the #include at `line` can only mean a file of ours or of the system: <name> with no folder of the user's to
   look in, or a name that our folder has. Those include the parts that they need. */
static bool includes_known_file(const options *o, const char *line, const char *end, const char *device) {
  const char *open = memchr(line, '<', (size_t)(end - line)), *quote = memchr(line, '"', (size_t)(end - line));
  const char *name = quote ? quote + 1 : open ? open + 1 : NULL;
  if (!name) return false;
  const char *close = memchr(name, quote ? '"' : '>', (size_t)(end - name));
  if (!close) return false;
  bool has_folders = o->headers != NULL;
  for (size_t i = 0; i < o->front.count; i++) has_folders |= strncmp(o->front.items[i], "-D", 2) != 0;
  if (!quote && !has_folders) return true;
  char path[4096];
  snprintf(path, sizeof path, "%s/%.*s", device, (int)(close - name), name);
  return access(path, R_OK) == 0;
}

/* Everything that is compiled must stand in the source itself. */
static bool is_self_contained(const options *o, const mw_text *source, const char *device) {
  const char *text = source->data, *end = text + source->length;
  for (const char *hash = text; (hash = memchr(hash, '#', (size_t)(end - hash)));) {
    if (++hash < end && *hash == '#') return false;
    while (hash < end && (*hash == ' ' || *hash == '\t')) hash++;
    const char *line_end = memchr(hash, '\n', (size_t)(end - hash));
    if (!line_end) line_end = end;
    bool includes = (size_t)(line_end - hash) >= 7 && memcmp(hash, "include", 7) == 0;
    if (includes && !includes_known_file(o, hash, line_end, device)) return false;
  }
  return true;
}

size_t leave_out_parts(const options *o, const mw_text *source, const char *device, strings *arguments) {
  bool needed[MW_COUNT(parts)] = {false};
  size_t left_out = 0;
  if (!source->length || !is_self_contained(o, source, device)) return 0;
  mark_mentioned(source->data, source->length, needed);
  for (size_t i = 0; i < o->front.count; i++) mark_mentioned(o->front.items[i], strlen(o->front.items[i]), needed);
  for (size_t k = 0; k < MW_COUNT(parts); k++) {
    if (needed[k]) continue;
    strings_add(arguments, parts[k].define);
    left_out++;
  }
  return left_out;
}
