/* The error slot: one for each thread, filled where a failure's facts are known and read where it is reported.
 *
 * A slot owns its strings. They live until the next failure on the thread, so every function here copies its arguments
 * before it frees old strings: a caller may pass a string of the slot itself. */
#include "base.h"
#include "device/moonwarp/error_list.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- codes ---- */

#define AGREES(code, number, name, text, kind)                                                                         \
  _Static_assert(code == number, "error_list.h and mw_result disagree about " #code);
MW_ERROR_LIST(AGREES)

typedef struct code_facts {
  const char *name, *text, *kind;
} code_facts;

/* A switch with no default, so that the compiler warns of a code in mw_result that the list lacks. */
static code_facts facts_of(int code) {
#define FACTS(id, number, name, text, kind)                                                                            \
  case id: return (code_facts){name, text, kind};
  switch ((mw_result)code) { MW_ERROR_LIST(FACTS) }
#undef FACTS
  return facts_of(MW_UNKNOWN);
}

const char *mw_result_name(int code) { return facts_of(code).name; }
const char *mw_result_text(int code) { return facts_of(code).text; }

/* ---- errors as values ---- */

static void set_string(const char **place, const char *value) {
  char *copy = mw_strdup(value);
  free((char *)*place);
  *place = copy;
}

/* `name` and `kind` are copied as well: an error may outlive the library in a host that unloads it. */
static void free_strings(mw_error *error) {
  set_string(&error->name, NULL);
  set_string(&error->kind, NULL);
  set_string(&error->message, NULL);
  set_string(&error->file, NULL);
  set_string(&error->kernel, NULL);
  set_string(&error->log, NULL);
}

mw_error *mw_error_copy(const mw_error *error) {
  if (!error) return NULL;
  mw_error *copy = mw_alloc(sizeof *copy);
  *copy = *error;
  copy->name = mw_strdup(error->name);
  copy->kind = mw_strdup(error->kind);
  copy->message = mw_strdup(error->message);
  copy->file = mw_strdup(error->file);
  copy->kernel = mw_strdup(error->kernel);
  copy->log = mw_strdup(error->log);
  return copy;
}

void mw_error_free(mw_error *error) {
  if (!error) return;
  free_strings(error);
  free(error);
}

/* ---- the slot ---- */

/* NULL until the thread's first failure. mw_error_clear hides it and frees nothing: strings live until the next
   failure. The key exists only to free the slot when the thread ends; the thread-local pointer is what is read. */
static _Thread_local mw_error *slot;
static _Thread_local bool hidden;
static pthread_key_t slot_key;
static pthread_once_t slot_once = PTHREAD_ONCE_INIT;
static bool slot_has_key;

static void forget_slot(void *error) {
  slot = NULL;
  mw_error_free(error);
}

static void make_key(void) { slot_has_key = pthread_key_create(&slot_key, forget_slot) == 0; }

/* When a host unloads the library, threads that live on must not call forget_slot at their end. */
__attribute__((destructor)) static void drop_key(void) {
  if (slot_has_key) pthread_key_delete(slot_key);
  slot_has_key = false;
  forget_slot(slot);
}

/* Replaces the slot's error, and frees the previous one. */
static void put_slot(mw_error *error) {
  pthread_once(&slot_once, make_key);
  mw_error *old = slot;
  slot = error;
  hidden = false;
  if (slot_has_key) pthread_setspecific(slot_key, error);
  mw_error_free(old);
}

/* The error that can be read and extended; NULL after mw_error_clear. */
static mw_error *visible(void) { return hidden ? NULL : slot; }

const mw_error *mw_error_last(void) { return visible(); }
void mw_error_clear(void) { hidden = true; }

/* ---- reporting ---- */

int vfail(int code, const char *format, va_list args) {
  code_facts facts = facts_of(code);
  mw_error *error = mw_alloc(sizeof *error);
  char *message = NULL;
  if (vasprintf(&message, format, args) < 0) message = mw_strdup(format);
  *error = (mw_error){.code = code, .message = message};
  error->name = mw_strdup(facts.name);
  error->kind = mw_strdup(facts.kind);
  put_slot(error);
  return code;
}

int fail(int code, const char *format, ...) {
  va_list args;
  va_start(args, format);
  vfail(code, format, args);
  va_end(args);
  return code;
}

void mw_error_kind(const char *kind) {
  if (visible()) set_string(&slot->kind, kind);
}

void mw_error_place(const char *file, int line, int column) {
  if (!visible()) return;
  set_string(&slot->file, file);
  slot->line = line;
  slot->column = column;
}

void mw_error_kernel(const char *kernel, const unsigned *block, const unsigned *thread) {
  if (!visible()) return;
  set_string(&slot->kernel, kernel);
  slot->has_block = block != NULL;
  slot->has_thread = thread != NULL;
  for (int i = 0; i < 3; i++) {
    slot->block[i] = block ? block[i] : 0;
    slot->thread[i] = thread ? thread[i] : 0;
  }
}

void mw_error_log(const char *log) {
  if (visible()) set_string(&slot->log, log);
}

int mw_error_raise(const mw_error *error) {
  if (!error) return MW_SUCCESS;
  int code = error->code;
  put_slot(mw_error_copy(error));
  return code;
}
