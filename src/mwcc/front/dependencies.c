/* Lists of the files that something was made from, by which changes are detected: one line for each file, "size
 * mtime_ns path". Images contain such a list for the compile cache (mwo.h), and precompiled headers contain one
 * (pch.c). */
#include "mwcc/mwcc.h"
#include "front.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static long long nanoseconds(const struct stat *facts) {
  return (long long)facts->st_mtim.tv_sec * 1000000000 + facts->st_mtim.tv_nsec;
}

void depend_add(mw_text *list, const char *path) {
  struct stat facts;
  char real[PATH_MAX];
  if (stat(path, &facts) != 0) return;
  mw_text_addf(list, "%lld %lld %s\n", (long long)facts.st_size, nanoseconds(&facts),
               realpath(path, real) ? real : path);
}

/* The next name of a make rule, with make's escapes undone; "" at the end. */
static mw_text next_name(const char **cursor) {
  const char *at = *cursor;
  mw_text name = {0};
  mw_text_add(&name, "", 0);
  while (*at == ' ' || *at == '\n' || (*at == '\\' && at[1] == '\n')) at++;
  while (*at && *at != ' ' && *at != '\n') {
    if (*at == '\\' && (at[1] == ' ' || at[1] == '#' || at[1] == '\\')) at++;
    if (*at == '$' && at[1] == '$') at++;
    mw_text_add(&name, at++, 1);
  }
  *cursor = at;
  return name;
}

void depend_read(mw_text *list, const char *rule, const char *except) {
  mw_text file = {0};
  if (mw_file_read(rule, &file) != MW_SUCCESS) return;
  unlink(rule);
  const char *cursor = strchr(file.data, ':');
  if (cursor) cursor++;
  while (cursor && *cursor) {
    mw_text name = next_name(&cursor);
    bool is_input = strcmp(name.data, "-") == 0, is_known = except && starts_with(name.data, except);
    if (name.length && !is_input && !is_known) depend_add(list, name.data);
    mw_text_free(&name);
  }
  mw_text_free(&file);
}

static bool is_unchanged(const char *line) {
  char *rest, *path;
  struct stat facts;
  long long size = strtoll(line, &rest, 10), time = strtoll(rest, &path, 10);
  return *path == ' ' && stat(path + 1, &facts) == 0 && facts.st_size == size && nanoseconds(&facts) == time;
}

bool depend_unchanged(char *list) {
  for (char *end; *list; list = end + 1) {
    end = strchr(list, '\n');
    if (!end) return false;
    *end = 0;
    bool same = is_unchanged(list);
    *end = '\n';
    if (!same) return false;
  }
  return true;
}
