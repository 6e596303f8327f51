/* How a run of mwcc ended, told to the person who wrote the source.
 *
 * Exit 0 is success, exit 1 a source that is wrong (clang's diagnostics on standard error), exit 2 mwcc's own trouble;
 * anything else is a crash or one of the limits. */
#include "compiler_run.h"
#include "origin.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- diagnostics ---- */

typedef struct diagnostic {
  char *file; /* or NULL where it has no position */
  int line, column;
  char *message;
} diagnostic;

static char *copy_range(const char *start, const char *end) { return mw_format("%.*s", (int)(end - start), start); }

/* What follows ':' and a number at `text`; NULL if there is none. */
static const char *colon_number(const char *text, int *number) {
  if (*text != ':' || !isdigit((unsigned char)text[1])) return NULL;
  *number = atoi(text + 1);
  return text + 1 + strspn(text + 1, "0123456789");
}

/* "file:12:5: ": what follows it, and its parts; NULL if the line does not begin so. File names may have colons. */
static const char *position(const char *line, const char *end, diagnostic *out) {
  for (const char *at = line; (at = memchr(at, ':', (size_t)(end - at))); at++) {
    out->column = 0;
    const char *rest = colon_number(at, &out->line);
    if (!rest) continue;
    const char *behind = colon_number(rest, &out->column);
    if (behind) rest = behind;
    if (rest + 1 >= end || rest[0] != ':' || rest[1] != ' ') continue;
    out->file = copy_range(line, at);
    return rest + 2;
  }
  return NULL;
}

/* Behind "error: " or "fatal error: "; NULL if `text` does not begin so. */
static const char *error_text(const char *text) {
  static const char *const words[] = {"error: ", "fatal error: "};
  for (size_t i = 0; i < MW_COUNT(words); i++) {
    if (strncmp(text, words[i], strlen(words[i])) == 0) return text + strlen(words[i]);
  }
  return NULL;
}

static bool parse_line(const char *line, const char *end, diagnostic *out) {
  const char *text = position(line, end, out);
  const char *message = error_text(text ? text : line);
  if (message) out->message = copy_range(message, end);
  if (!message) free(out->file);
  return message != NULL;
}

static diagnostic first_error(const char *log) {
  for (const char *line = log; *line;) {
    const char *end = line + strcspn(line, "\n");
    diagnostic found = {0};
    if (parse_line(line, end, &found)) return found;
    line = end + (*end == '\n');
  }
  size_t start = strspn(log, " \n");
  return (diagnostic){.message = copy_range(log + start, log + start + strcspn(log + start, "\n"))};
}

static int fail_source(const char *log) {
  diagnostic error = first_error(log);
  fail(MW_INVALID_SOURCE, "%s", *error.message ? error.message : "the compiler refused the source without a word");
  if (error.file) mw_error_place(error.file, error.line, error.column);
  mw_error_log(log);
  free(error.file);
  free(error.message);
  return MW_INVALID_SOURCE;
}

/* ---- crashes and limits ---- */

/* What LLVM, the C++ library, the linker and the dynamic linker say when memory ends. */
static bool ran_out_of_memory(const char *log) {
  static const char *const words[] = {"out of memory", "bad_alloc", "Cannot allocate memory", "memory exhausted",
                                      "failed to map segment"};
  for (size_t i = 0; i < MW_COUNT(words); i++) {
    if (strstr(log, words[i])) return true;
  }
  return false;
}

static int fail_memory(const mw_child_limits *limits) {
  return fail(MW_MEMORY_ALLOCATION,
              "the compiler needed more memory than the %zu MiB it is allowed. Does the source unroll or instantiate "
              "without an end? "
              "Otherwise raise the limit: mw.limit(\"compile_memory\", bytes)",
              limits->memory >> 20);
}

static int fail_time(const mw_child_limits *limits) {
  return fail(MW_LAUNCH_TIMEOUT,
              "the compiler was stopped after the %g s it is allowed. Does the source unroll or instantiate "
              "without an end? "
              "Otherwise raise the limit: mw.limit(\"compile_time\", seconds)",
              limits->seconds);
}

static int fail_crash(const char *path, int signal) {
  if (signal == SIGKILL)
    return fail(MW_UNKNOWN,
                "the compiler (%s) was killed from outside, as Linux does when the machine's memory ends: compile "
                "again with less "
                "running, or split the source",
                path);
  return fail(MW_UNKNOWN,
              "the compiler (%s) crashed on this source (signal %d, %s). That is a defect of the compiler, whatever "
              "the source: "
              "please report it together with the source. Compiling with \"-O0\" may get around it",
              path, signal, strsignal(signal));
}

static int fail_status(const char *path, int status, const char *log) {
  if (strncmp(log, "mwcc: ", 6) == 0) log += 6;
  size_t length = strcspn(log, "\n");
  if (!length) return fail(MW_UNKNOWN, "the compiler (%s) failed without a word (exit status %d)", path, status);
  return fail(MW_UNKNOWN, "the compiler failed: %.*s", (int)length, log);
}

/* The signal that ended mwcc, or clang below it, of which mwcc tells in a sentence; 0 if none did. */
static int signal_of(const mw_child_result *result, const char *log) {
  static const char told[] = "(signal ";
  const char *found = strstr(log, told);
  if (result->signal || result->status != 2 || !found || found > strchrnul(log, '\n')) return result->signal;
  return atoi(found + strlen(told));
}

static int fail_other(const char *path, const mw_child_limits *limits, const mw_child_result *result) {
  const char *log = result->errors.data ? result->errors.data : "";
  int signal = signal_of(result, log);
  int code = result->timed_out                          ? fail_time(limits)
             : limits->memory && ran_out_of_memory(log) ? fail_memory(limits)
             : signal                                   ? fail_crash(path, signal)
                                                        : fail_status(path, result->status, log);
  mw_error_kind("compile");
  if (*log) mw_error_log(log);
  return code;
}

int compiler_outcome(const char *path, const mw_child_limits *limits, const mw_child_result *result) {
  if (!result->timed_out && !result->signal && result->status == 0) return MW_SUCCESS;
  if (result->timed_out || result->signal || result->status != 1) return fail_other(path, limits, result);
  mw_text log = {0};
  origin_clean_log(result->errors.data ? result->errors.data : "", &log);
  int code = fail_source(log.data);
  mw_text_free(&log);
  return code;
}
