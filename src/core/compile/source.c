/* Source texts: copies, hashes, words. Positions are in diagnostic.c. */
#include "source.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* NULL stays NULL, which is not a failure. */
static bool copy_text(const char *text, size_t length, const char **out) {
  char *copy = text ? mw_try_alloc(length + 1, "a source text") : NULL;
  if (copy) memcpy(copy, text, length);
  *out = copy;
  return copy || !text;
}

/* Option i. The folder of an -I is made absolute, so that it does not change with the host's working directory, and so
   that equal cache keys mean equal folders. */
static char *copy_option(const mw_source *source, size_t i) {
  const char *option = source->options[i], *before = i > 0 ? source->options[i - 1] : NULL;
  bool separate = before && strcmp(before, "-I") == 0;
  bool joined = !separate && option && strncmp(option, "-I", 2) == 0 && option[2];
  const char *folder = separate ? option : joined ? option + 2 : NULL;
  char *here = folder && folder[0] != '/' ? getcwd(NULL, 0) : NULL;
  char *copy = here ? mw_format("%s%s/%s", joined ? "-I" : "", here, folder) : mw_strdup(option);
  free(here);
  return copy;
}

mw_source *mw_source_copy(const mw_source *source) {
  mw_source *copy = mw_alloc(sizeof *copy);
  const char *text = source->text ? source->text : "";
  copy->length = source->length ? source->length : strlen(text);
  bool copied = copy_text(text, copy->length, &copy->text);
  copy->file = mw_strdup(source->file);
  copy->line = source->line;
  const char **options = mw_alloc((source->option_count + 1) * sizeof *options);
  for (size_t i = 0; i < source->option_count; i++) options[i] = copy_option(source, i);
  copy->options = options;
  copy->option_count = source->option_count;
  mw_header *headers = mw_alloc((source->header_count + 1) * sizeof *headers);
  for (size_t i = 0; i < source->header_count; i++) {
    const char *of = source->headers[i].text;
    headers[i].name = mw_strdup(source->headers[i].name);
    copied = copied && copy_text(of, of ? strlen(of) : 0, &headers[i].text);
  }
  copy->headers = headers;
  copy->header_count = source->header_count;
  if (copied) return copy;
  mw_source_free(copy);
  return NULL;
}

int mw_source_text_read(const char *path, char **text, size_t *length) {
  mw_text file;
  int code = mw_file_read_regular(path, &file);
  if (code != MW_SUCCESS) return code;
  *text = file.data;
  *length = file.length;
  return MW_SUCCESS;
}

void mw_source_text_release(char *text) { free(text); }

mw_source *mw_source_parse(const char *text, const char *options) {
  mw_source *source = mw_alloc(sizeof *source);
  source->length = strlen(text);
  bool copied = copy_text(text, source->length, &source->text);
  const char **list = NULL;
  for (const char *line = options; *line && copied;) {
    size_t length = strcspn(line, "\n");
    if (length > 0) {
      list = mw_realloc(list, (source->option_count + 1) * sizeof *list);
      copied = copy_text(line, length, &list[source->option_count++]);
    }
    line += length + (line[length] == '\n');
  }
  source->options = list;
  if (copied) return source;
  mw_source_free(source);
  return NULL;
}

void mw_source_free(mw_source *source) {
  if (!source) return;
  for (size_t i = 0; i < source->option_count; i++) free((char *)source->options[i]);
  for (size_t i = 0; i < source->header_count; i++) {
    free((char *)source->headers[i].name);
    free((char *)source->headers[i].text);
  }
  free((char **)source->options);
  free((mw_header *)source->headers);
  free((char *)source->text);
  free((char *)source->file);
  free(source);
}

void mw_source_add_hash(const mw_source *source, mw_hash *hash) {
  uint64_t counts[] = {source->length, source->option_count, source->header_count};
  mw_hash_add(hash, counts, sizeof counts);
  mw_hash_add(hash, source->text, source->length);
  for (size_t i = 0; i < source->option_count; i++) mw_hash_add_text(hash, source->options[i]);
  for (size_t i = 0; i < source->header_count; i++) {
    mw_hash_add_text(hash, source->headers[i].name);
    mw_hash_add_text(hash, source->headers[i].text);
  }
}

static bool is_word_character(char c) { return isalnum((unsigned char)c) || c == '_'; }

static bool has_word(const char *text, const char *word) {
  size_t length = strlen(word);
  for (const char *at = text; (at = strstr(at, word)); at += length)
    if ((at == text || !is_word_character(at[-1])) && !is_word_character(at[length])) return true;
  return false;
}

bool mw_source_has_word(const mw_source *source, const char *word) {
  if (!*word) return false;
  if (has_word(source->text, word)) return true;
  for (size_t i = 0; i < source->header_count; i++)
    if (has_word(source->headers[i].text, word)) return true;
  return false;
}
