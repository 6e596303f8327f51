/* How a run of mwcc ended, as a message for the source's author. */
#include "run_mwcc.h"
#include "base/log.h"
#include "source_map.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>

/* ---- a source that is wrong ---- */

static int fail_source(const char *log) {
  mw_log_entry entry;
  for (const char *at = log; mw_log_next(&at, &entry);) {
    if (entry.kind != MW_LOG_ERROR) continue;
    char *file = mw_format("%.*s", (int)entry.file_length, entry.file_length ? entry.file : "");
    fail(MW_INVALID_SOURCE, "%.*s", (int)entry.message_length, entry.message);
    if (*file) mw_error_place(file, entry.line, entry.column);
    mw_error_log(log);
    free(file);
    return MW_INVALID_SOURCE;
  }
  const char *start = log + strspn(log, " \n");
  int length = (int)strcspn(start, "\n");
  fail(MW_INVALID_SOURCE, "%.*s", length ? length : 80,
       length ? start : "the compiler refused the source without a message");
  mw_error_log(log);
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

static int fail_memory(const mw_child_result *result) {
  if (result->inherited)
    return fail(MW_MEMORY_ALLOCATION,
                "the compiler needed more memory than the %zu MiB of addresses that this process and its children may "
                "have (`ulimit -v`). Does the source unroll or instantiate without an end? Otherwise raise that limit",
                result->memory >> 20);
  return fail(MW_MEMORY_ALLOCATION,
              "the compiler needed more memory than the %zu MiB it is allowed. Does the source unroll or instantiate "
              "without an end? "
              "Otherwise raise the limit: mw.limit(\"compile_memory\", bytes)",
              result->memory >> 20);
}

static int fail_time(const mw_child_limits *limits) {
  return fail(MW_LAUNCH_TIMEOUT,
              "the compiler was stopped after the %g s it is allowed. Does the source unroll or instantiate "
              "without an end? "
              "Otherwise raise the limit: mw.limit(\"compile_time\", seconds)",
              limits->seconds);
}

/* A limit of the process, which its children inherit. */
static int fail_ulimit(const char *what, char option) {
  return fail(MW_OPERATING_SYSTEM,
              "the compiler was ended by the system, because it %s than this process and its children may (`ulimit "
              "-%c`): raise that limit",
              what, option);
}

/* Whether the source has one of clang's pragmas that crash the compiler on purpose. */
static bool requests_crash(const char *source) {
  mw_text text = {0};
  bool found = false;
  if (mw_file_read(source, &text) != MW_SUCCESS) return false;
  for (const char *at = text.data; !found && (at = strstr(at, "__debug")); at++) {
    const char *line = at;
    while (line > text.data && line[-1] != '\n') line--;
    found = memmem(line, (size_t)(at - line), "clang", strlen("clang")) != NULL;
  }
  mw_text_free(&text);
  return found;
}

static int fail_crash(const char *path, int signal, const char *source) {
  if (signal == SIGXFSZ) return fail_ulimit("wrote a larger file", 'f');
  if (signal == SIGXCPU) return fail_ulimit("took more time", 't');
  if (requests_crash(source))
    return fail(MW_INVALID_SOURCE,
                "the compiler crashed (signal %d, %s), as `#pragma clang __debug` in the source requests", signal,
                strsignal(signal));
  if (signal == SIGKILL)
    return fail(MW_UNKNOWN,
                "the compiler (%s) was killed from outside, as Linux does when memory runs out: compile "
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
  if (!length) return fail(MW_UNKNOWN, "the compiler (%s) failed without a message (exit status %d)", path, status);
  return fail(MW_UNKNOWN, "the compiler failed: %.*s", (int)length, log);
}

/* The signal that ended mwcc, or clang in it (then mwcc reports it in a message); 0 if none did. */
static int signal_of(const mw_child_result *result, const char *log) {
  static const char marker[] = "(signal ";
  const char *found = strstr(log, marker);
  if (result->signal || result->status != 2 || !found || found > strchrnul(log, '\n')) return result->signal;
  return atoi(found + strlen(marker));
}

static int fail_other(const char *path, const char *source, const mw_child_limits *limits,
                      const mw_child_result *result) {
  const char *log = result->errors.data ? result->errors.data : "";
  int signal = signal_of(result, log);
  int code = result->timed_out                          ? fail_time(limits)
             : result->memory && ran_out_of_memory(log) ? fail_memory(result)
             : signal                                   ? fail_crash(path, signal, source)
                                                        : fail_status(path, result->status, log);
  mw_error_kind("compile");
  if (*log) mw_error_log(log);
  return code;
}

int compiler_outcome(const char *path, const char *source, const mw_child_limits *limits,
                     const mw_child_result *result) {
  if (!result->timed_out && !result->signal && result->status == 0) return MW_SUCCESS;
  if (result->timed_out || result->signal || result->status != 1) return fail_other(path, source, limits, result);
  mw_text log = {0};
  origin_clean_log(result->errors.data ? result->errors.data : "", &log);
  int code = fail_source(log.data);
  mw_text_free(&log);
  return code;
}
