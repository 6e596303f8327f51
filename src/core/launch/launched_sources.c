/* The CUDA C that a thread runs: between mw_sources_begin and mw_sources_end the texts of launched kernels' modules are
 * noted, each once. Modules that were loaded from a file without their text are not among them. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

typedef struct notes {
  bool on;
  mw_text text;
  uint64_t *seen; /* hashes of the texts */
  size_t count;
} notes;

static _Thread_local notes own;

static uint64_t hash_of(const char *text, size_t length) {
  uint64_t hash = 14695981039346656037u; /* FNV-1a */
  for (size_t i = 0; i < length; i++) hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;
  return hash;
}

void mw_sources_note(const mw_launch *launch) {
  const mw_source *source = launch->kernel->module->source;
  if (!own.on || !source) return;
  uint64_t hash = hash_of(source->text, source->length);
  for (size_t i = 0; i < own.count; i++)
    if (own.seen[i] == hash) return;
  own.seen = mw_realloc(own.seen, (own.count + 1) * sizeof *own.seen);
  own.seen[own.count++] = hash;
  mw_text_addf(&own.text, "%s%.*s", own.count > 1 ? "\n" : "", (int)source->length, source->text);
}

void mw_sources_begin(void) {
  if (own.on) mw_text_release(mw_sources_end());
  own.on = true;
  atomic_fetch_add(&mw_launches_noted, 1);
}

char *mw_sources_end(void) {
  char *text = own.text.data ? own.text.data : mw_strdup("");
  if (own.on) atomic_fetch_sub(&mw_launches_noted, 1);
  free(own.seen);
  own = (notes){0};
  return text;
}
