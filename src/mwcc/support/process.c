/* Helpers that need no LLVM: lists of strings, the end of the process, timings, output. */
#include "mwcc/mwcc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

_Noreturn void die(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("mwcc: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  quit(2);
}

/* A file and a folder to remove when the process ends, or NULL. */
static const char *leftover, *leftover_folder;

void remove_at_end(const char *file, const char *folder) {
  leftover = file;
  leftover_folder = folder;
}

void quit(int status) {
  if (leftover) unlink(leftover);
  if (leftover_folder) rmdir(leftover_folder);
  fflush(NULL);
  _exit(status);
}

double time_now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (double)time.tv_sec * 1e3 + (double)time.tv_nsec * 1e-6;
}

void stage_done(program *p, const char *name) {
  double now = time_now();
  if (p->options->timings && name) fprintf(stderr, "%-10s %7.2f ms\n", name, now - p->stage_start);
  p->stage_start = now;
}

void strings_add(strings *list, const char *item) {
  list->items = mw_realloc(list->items, (list->count + 2) * sizeof *list->items);
  list->items[list->count++] = item;
  list->items[list->count] = NULL;
}

bool starts_with(const char *text, const char *prefix) { return strncmp(text, prefix, strlen(prefix)) == 0; }

void write_output(const char *path, const void *data, size_t length) {
  if (strcmp(path, "-") == 0) {
    if (fwrite(data, 1, length, stdout) != length || fflush(stdout)) die("writing to standard output failed");
  } else if (mw_file_write(path, data, length) != MW_SUCCESS) {
    die("%s", mw_error_last()->message);
  }
}
