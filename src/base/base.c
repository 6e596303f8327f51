/* Memory allocation, growing byte strings, and the hash for cache keys and checksums of images. */
#include "base.h"

#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

/* Host memory is exhausted: callers could not recover, and such recovery code would never be tested. */
static void *or_die(void *memory, size_t bytes) {
  if (memory) return memory;
  fprintf(stderr, "moonwarp: the host is out of memory (%zu bytes were wanted)\n", bytes);
  abort();
}

static int fail_memory(const char *what, size_t bytes) {
  return fail(MW_MEMORY_ALLOCATION, "the host has no memory for %s: %zu bytes were requested", what, bytes);
}

void *mw_try_alloc(size_t bytes, const char *what) {
  void *memory = calloc(1, bytes ? bytes : 1);
  if (!memory) fail_memory(what, bytes);
  return memory;
}

void *mw_alloc(size_t bytes) { return or_die(calloc(1, bytes ? bytes : 1), bytes); }

void *mw_realloc(void *old, size_t bytes) { return or_die(realloc(old, bytes ? bytes : 1), bytes); }

char *mw_strdup(const char *text) { return text ? or_die(strdup(text), strlen(text) + 1) : NULL; }

static char *vformat(const char *format, va_list args) {
  char *text = NULL;
  return vasprintf(&text, format, args) < 0 ? or_die(NULL, 0) : text;
}

char *mw_format(const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *text = vformat(format, args);
  va_end(args);
  return text;
}

/* ---- growing byte strings ---- */

/* Reserve `length` more bytes and the terminating NUL. */
static bool reserve(mw_text *text, size_t length) {
  if (length >= SIZE_MAX - text->length) return false;
  size_t need = text->length + length + 1;
  if (need <= text->capacity) return true;
  size_t capacity = text->capacity > SIZE_MAX / 2 ? need : text->capacity * 2;
  if (capacity < 64) capacity = 64;
  if (capacity < need) capacity = need;
  char *data = realloc(text->data, capacity);
  if (!data) return false;
  text->data = data;
  text->capacity = capacity;
  return true;
}

bool mw_text_reserve(mw_text *text, size_t length, const char *what) {
  if (reserve(text, length)) return true;
  fail_memory(what, length);
  return false;
}

void mw_text_add(mw_text *text, const void *data, size_t length) {
  if (!reserve(text, length)) or_die(NULL, length);
  if (length) memcpy(text->data + text->length, data, length);
  text->length += length;
  text->data[text->length] = '\0';
}

void mw_text_addf(mw_text *text, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char *piece = vformat(format, args);
  va_end(args);
  mw_text_add(text, piece, strlen(piece));
  free(piece);
}

void mw_text_free(mw_text *text) {
  free(text->data);
  *text = (mw_text){0};
}

/* ---- the machine ---- */
int mw_processors(void) {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

/* ---- hashing ---- */

/* Multiply and fold, a word at a time. Every step is invertible, so that two inputs that differ in one word never
   collide; and the product spreads that difference over the high half, where later words cannot cancel it. */
__extension__ typedef unsigned __int128 wide;

/* L'Ecuyer's multiplier for congruential generators modulo 2^128 (Mathematics of Computation 68, 1999). */
#define MULTIPLIER ((wide)0x2360ed051fc65da4 << 64 | 0x4385df649fccf645)

static inline mw_hash mix(mw_hash hash, uint64_t word) {
  wide product = ((wide)hash.high << 64 | (hash.low ^ word)) * MULTIPLIER;
  uint64_t high = (uint64_t)(product >> 64);
  return (mw_hash){.low = (uint64_t)product ^ high, .high = high};
}

mw_hash mw_hash_start(void) { return (mw_hash){.low = 0x62b821756295c58d, .high = 0x6c62272e07bb0142}; }

void mw_hash_add(mw_hash *hash, const void *data, size_t length) {
  const unsigned char *bytes = data;
  size_t words = length / sizeof(uint64_t), rest = length % sizeof(uint64_t);
  uint64_t word;
  mw_hash state = *hash; /* in registers: for the compiler, `data` might alias *hash */
  for (size_t i = 0; i < words; i++, bytes += sizeof word) {
    memcpy(&word, bytes, sizeof word);
    state = mix(state, word);
  }
  word = 0;
  if (rest) memcpy(&word, bytes, rest);
  *hash = mix(mix(state, word), length);
}

void mw_hash_add_text(mw_hash *hash, const char *text) { mw_hash_add(hash, text, text ? strlen(text) : 0); }

void mw_hash_hex(const mw_hash *hash, char out[33]) {
  snprintf(out, 33, "%016llx%016llx", (unsigned long long)hash->high, (unsigned long long)hash->low);
}

void mw_hash_shipped_name(const char *text, size_t length, char out[33]) {
  mw_hash hash = mw_hash_start();
  mw_hash_add_text(&hash, "shipped with moonwarp " MW_VERSION);
  mw_hash_add(&hash, text, length);
  mw_hash_hex(&hash, out);
}
