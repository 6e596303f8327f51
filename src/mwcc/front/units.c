/* See units.h. */
#include "units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char mark[] = "#pragma moonwarp source";

static bool is_bitcode(const char *path) {
  char start[2] = {0};
  FILE *file = fopen(path, "rb");
  size_t length = file ? fread(start, 1, sizeof start, file) : 0;
  if (file) fclose(file);
  return length == sizeof start && start[0] == 'B' && start[1] == 'C';
}

/* The number and the name after the mark. */
static void read_mark(const char *at, unit *out) {
  const char *open, *end = at + strcspn(at, "\n");
  int line = atoi(at);
  if (line > 0) out->line = line;
  open = memchr(at, '"', (size_t)(end - at));
  const char *close = open ? memchr(open + 1, '"', (size_t)(end - open - 1)) : NULL;
  if (close) out->name = mw_format("%.*s", (int)(close - open - 1), open + 1);
}

static const char *find_mark(const char *text) {
  for (const char *at = text; (at = strstr(at, mark)); at++)
    if (at == text || at[-1] == '\n') return at;
  return NULL;
}

static int count_lines(const char *from, const char *to) {
  int count = 0;
  while (from < to) count += *from++ == '\n';
  return count;
}

bool unit_next(const char **cursor, int *line, unit *out) {
  const char *at = *cursor;
  if (!at) return false;
  *out = (unit){.line = *line};
  if (strncmp(at, mark, strlen(mark)) == 0) {
    out->line++;
    read_mark(at + strlen(mark), out);
    at += strcspn(at, "\n");
    at += *at == '\n';
  }
  const char *next = find_mark(at);
  out->text = at;
  out->length = next ? (size_t)(next - at) : strlen(at);
  *line += count_lines(*cursor, at + out->length);
  *cursor = next;
  return true;
}

static void add_file(program *p, const char *path) {
  mw_text file = {0};
  if (mw_file_read(path, &file) != MW_SUCCESS) die("%s", mw_error_last()->message);
  mw_text_add(&p->source, file.data, file.length);
  mw_text_free(&file);
}

void units_read(program *p) {
  const options *o = p->options;
  add_file(p, o->input);
  for (size_t i = 0; i < o->sources.count; i++) {
    mw_text_addf(&p->source, "\n%s 1 \"%s\"\n", mark, o->sources.items[i]);
    add_file(p, o->sources.items[i]);
  }
}

bool units_take(options *o) {
  size_t count = 0;
  for (size_t i = 0; i < o->objects.count; i++) count += is_bitcode(o->objects.items[i]);
  if (count == 0) return false;
  if (count < o->objects.count || o->input)
    die("give only what -c wrote, or only sources, or only objects that --emit=obj wrote");
  o->sources = o->objects;
  o->objects = (strings){0};
  return true;
}

void units_load(program *p) {
  const options *o = p->options;
  if (!o->sources.count || !is_bitcode(o->sources.items[0])) return;
  p->units = mw_alloc(o->sources.count * sizeof *p->units);
  p->unit_count = o->sources.count;
  for (size_t i = 0; i < o->sources.count; i++) {
    p->units[i] = (mw_text){0};
    if (mw_file_read(o->sources.items[i], &p->units[i]) != MW_SUCCESS) die("%s", mw_error_last()->message);
  }
}
