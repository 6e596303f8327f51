/* The files that a source includes from its -I folders. NVRTC does not report them, so #include lines are followed
 * here, whatever conditions enclose them: a superfluous file costs a compilation when it changes, nothing else. */
#include "compiler.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { FILES_MOST = 1000 };

typedef struct search {
  const mw_source *source;
  cuda_list found; /* paths */
} search;

static bool known(const search *s, const char *path) {
  for (size_t i = 0; i < s->found.count; i++)
    if (strcmp(s->found.items[i], path) == 0) return true;
  return false;
}

static void look_for(search *s, const char *beside, const char *name);

/* Every #include "name" and #include <name> in the text of a file in the folder `beside`. */
static void follow(search *s, const char *beside, const char *text) {
  for (const char *at = text; (at = strstr(at, "include")); at++) {
    const char *before = at;
    while (before > text && (before[-1] == ' ' || before[-1] == '\t')) before--;
    if (before == text || before[-1] != '#') continue;
    const char *start = at + strlen("include");
    start += strspn(start, " \t");
    if (*start != '"' && *start != '<') continue;
    size_t length = strcspn(start + 1, "\">\n");
    char *name = mw_format("%.*s", (int)length, start + 1);
    look_for(s, beside, name);
    free(name);
  }
}

static bool try_file(search *s, const char *folder, const char *name) {
  char *path = mw_format("%s/%s", folder, name);
  struct stat status;
  mw_text text = {0};
  bool there = stat(path, &status) == 0 && S_ISREG(status.st_mode);
  if (there && !known(s, path) && s->found.count < FILES_MOST) {
    cuda_list_add(&s->found, mw_strdup(path));
    if (mw_file_read(path, &text) == MW_SUCCESS) {
      char *slash = strrchr(path, '/');
      char *own = mw_format("%.*s", (int)(slash - path), path);
      follow(s, own, text.data ? text.data : "");
      free(own);
    } else {
      mw_error_clear();
    }
  }
  mw_text_free(&text);
  free(path);
  return there;
}

static void look_for(search *s, const char *beside, const char *name) {
  if (beside && try_file(s, beside, name)) return;
  for (size_t i = 0; i < s->source->option_count; i++) {
    const char *option = s->source->options[i];
    if (strncmp(option, "-I", 2) != 0) continue;
    bool separate = !option[2] && i + 1 < s->source->option_count;
    if (try_file(s, separate ? s->source->options[i + 1] : option + 2, name)) return;
  }
}

void cuda_depends(const mw_source *source, mw_text *out) {
  search s = {.source = source};
  follow(&s, NULL, source->text);
  for (size_t i = 0; i < source->header_count; i++) follow(&s, NULL, source->headers[i].text);
  for (size_t i = 0; i < s.found.count; i++) {
    struct stat status;
    if (stat(s.found.items[i], &status) != 0) continue;
    mw_text_addf(out, "%lld %lld %s\n", (long long)status.st_size,
                 (long long)status.st_mtim.tv_sec * 1000000000 + status.st_mtim.tv_nsec, s.found.items[i]);
  }
  cuda_list_free(&s.found);
}

bool cuda_depends_hold(const char *list) {
  for (const char *line = list; line && *line; line += strcspn(line, "\n"), line += *line == '\n') {
    char *rest, *name;
    long long size = strtoll(line, &rest, 10), time = strtoll(rest, &name, 10);
    struct stat now;
    char *path = mw_format("%.*s", (int)strcspn(name, "\n") - 1, name + 1);
    bool same = *name == ' ' && stat(path, &now) == 0 && now.st_size == size &&
                (long long)now.st_mtim.tv_sec * 1000000000 + now.st_mtim.tv_nsec == time;
    free(path);
    if (!same) return false;
  }
  return true;
}
