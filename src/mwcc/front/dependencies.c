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

/* A folder's name, and the name without links. */
typedef struct folder {
  char name[PATH_MAX], real[PATH_MAX];
} folder;

/* Dozens of headers are in few folders, and realpath makes a system call for every part of a name. So each folder is
   looked up once, or a few times if a list alternates between more than four folders. */
enum { KNOWN = 4 };

typedef struct folders {
  folder known[KNOWN];
  int next;
} folders;

static const char *real_folder(folders *f, const char *path, size_t length) {
  for (int i = 0; i < KNOWN; i++)
    if (strncmp(f->known[i].name, path, length) == 0 && !f->known[i].name[length]) return f->known[i].real;
  folder *slot = &f->known[f->next];
  f->next = (f->next + 1) % KNOWN;
  memcpy(slot->name, path, length);
  slot->name[length] = 0;
  if (realpath(slot->name, slot->real)) return slot->real;
  slot->name[0] = 0;
  return NULL;
}

static void add_file(mw_text *list, const char *path, const char *name, const struct stat *facts) {
  mw_text_addf(list, "%lld %lld %s%s\n", (long long)facts->st_size, nanoseconds(facts), path, name);
}

/* A file that is not a link has its folder's name without links, and its own. */
static void add_from(mw_text *list, folders *f, const char *path) {
  struct stat facts;
  const char *slash = strrchr(path, '/'), *real = NULL;
  if (slash > path && slash - path < PATH_MAX && slash[1] && lstat(path, &facts) == 0 && S_ISREG(facts.st_mode))
    real = real_folder(f, path, (size_t)(slash - path));
  if (real)
    add_file(list, real, strcmp(real, "/") == 0 ? slash + 1 : slash, &facts);
  else
    depend_add(list, path);
}

void depend_add(mw_text *list, const char *path) {
  struct stat facts;
  char real[PATH_MAX];
  if (stat(path, &facts) != 0) return;
  add_file(list, realpath(path, real) ? real : path, "", &facts);
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
  folders seen = {0};
  if (mw_file_read(rule, &file) != MW_SUCCESS) return;
  unlink(rule);
  const char *cursor = strchr(file.data, ':');
  if (cursor) cursor++;
  while (cursor && *cursor) {
    mw_text name = next_name(&cursor);
    bool is_input = strcmp(name.data, "-") == 0, is_known = except && starts_with(name.data, except);
    if (name.length && !is_input && !is_known) add_from(list, &seen, name.data);
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
