// An NVRTC that compiles nothing: what it answers stands in the source, in comments that begin with one of these words:
// PTX, and the text of it; NAME expression = lowered name; LOG, and the text of it; ERROR, where compiling fails;
// ERRORS OF A WHOLE, where only relocatable code can be compiled; NO expression, where that instance cannot be made.
//
// With FAKE_NVRTC "mwcc=1" mwcc compiles in its place: the PTX is mwcc's, without the facts behind it.
//
// FAKE_NVRTC_LOG is a file for the calls; FAKE_NVRTC "version=12 archs=80" is what it says of itself.
#include "cuda/entry_points.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct nvrtcProgram_st {
  char *text, *log, *names[64], *ptx;
  char instances[4096]; /* words of a command line */
};

#define PUBLIC(name, version, params) nvrtcResult name params;
MW_NVRTC(PUBLIC)
#undef PUBLIC

static void note(const char *what, const char *detail) {
  const char *path = getenv("FAKE_NVRTC_LOG");
  FILE *file = path ? fopen(path, "a") : NULL;
  if (!file) return;
  fprintf(file, "%s %s\n", what, detail);
  fclose(file);
}

static int setting(const char *name, int otherwise) {
  const char *text = getenv("FAKE_NVRTC"), *at = text ? strstr(text, name) : NULL;
  return at ? atoi(at + strlen(name) + 1) : otherwise;
}

/* The text after "/" "*NAME " up to the end of the comment, owned by the caller; or NULL. */
static char *comment(const char *text, const char *name) {
  char start[600];
  snprintf(start, sizeof start, "/*%s", name);
  const char *at = strstr(text, start);
  if (!at) return NULL;
  at += strlen(start);
  at += *at == ' ' || *at == '\n';
  const char *end = strstr(at, "*/");
  return end ? strndup(at, (size_t)(end - at)) : NULL;
}

nvrtcResult nvrtcVersion(int *major, int *minor) {
  *major = setting("version", 13);
  *minor = 0;
  return 0;
}

nvrtcResult nvrtcGetNumSupportedArchs(int *count) {
  *count = 1;
  return 0;
}

nvrtcResult nvrtcGetSupportedArchs(int *archs) {
  *archs = setting("archs", 90);
  return 0;
}

nvrtcResult nvrtcCreateProgram(nvrtcProgram *program, const char *text, const char *name, int headers,
                               const char *const *texts, const char *const *names) {
  (void)texts;
  note("source", name);
  for (int i = 0; i < headers; i++) note("header", names[i]);
  *program = calloc(1, sizeof **program);
  (*program)->text = strdup(text);
  return 0;
}

nvrtcResult nvrtcDestroyProgram(nvrtcProgram *program) {
  for (int i = 0; i < 64; i++) free((*program)->names[i]);
  free((*program)->text);
  free((*program)->ptx);
  free(*program);
  *program = NULL;
  return 0;
}

nvrtcResult nvrtcAddNameExpression(nvrtcProgram program, const char *expression) {
  size_t used = strlen(program->instances);
  note("name", expression);
  snprintf(program->instances + used, sizeof program->instances - used, " --instance '%s'", expression);
  return 0;
}

/* What a file holds; yours. */
static char *contents(const char *path) {
  FILE *file = fopen(path, "rb");
  char *text = calloc(1, 1 << 24);
  if (file) {
    if (fread(text, 1, (1 << 24) - 1, file) == 0) text[0] = '\0';
    fclose(file);
  }
  return text;
}

static nvrtcResult compile_by_mwcc(nvrtcProgram program, int count, const char *const *options) {
  char path[] = "/tmp/fake_nvrtc_XXXXXX", command[16384], result[sizeof path + 8];
  int file = mkstemp(path), used;
  size_t length = strlen(program->text);
  if (file < 0 || write(file, program->text, length) != (ssize_t)length) return NVRTC_OUT_OF_MEMORY;
  close(file);
  snprintf(result, sizeof result, "%s.ptx", path);
  used = snprintf(command, sizeof command, "'%s/bin/mwcc' --target=nvptx --arch=sm_90", getenv("MOONWARP_HOME"));
  for (int i = 0; i < count; i++)
    if (options[i][0] == '-' && strchr("DUIs", options[i][1]))
      used += snprintf(command + used, sizeof command - (size_t)used, " '%s'", options[i]);
  snprintf(command + used, sizeof command - (size_t)used, "%s %s -o %s 2>/dev/null", program->instances, path, result);
  int status = system(command);
  program->ptx = contents(result);
  char *facts = strstr(program->ptx, "\n//mw");
  if (facts) *facts = '\0';
  unlink(path);
  unlink(result);
  return status ? NVRTC_COMPILATION : 0;
}

nvrtcResult nvrtcCompileProgram(nvrtcProgram program, int count, const char *const *options) {
  for (int i = 0; i < count; i++) note("option", options[i]);
  if (setting("mwcc", 0)) return compile_by_mwcc(program, count, options);
  char *never = comment(program->text, "NO");
  bool asked = never && strstr(program->instances, never);
  free(never);
  if (asked) return NVRTC_COMPILATION;
  bool relocatable = false;
  for (int i = 0; i < count; i++) relocatable |= strcmp(options[i], "--relocatable-device-code=true") == 0;
  return strstr(program->text, relocatable ? "/*ERROR*/" : "/*ERROR") ? NVRTC_COMPILATION : 0;
}

nvrtcResult nvrtcGetLoweredName(nvrtcProgram program, const char *expression, const char **name) {
  char start[512];
  snprintf(start, sizeof start, "NAME %s =", expression);
  size_t i = 0;
  while (i < 63 && program->names[i]) i++;
  program->names[i] = comment(program->text, start);
  *name = program->names[i];
  return *name ? 0 : 1;
}

static nvrtcResult size_of(nvrtcProgram program, const char *part, size_t *size) {
  char *text = comment(program->text, part);
  *size = text ? strlen(text) + 1 : 1;
  free(text);
  return 0;
}

static nvrtcResult copy_part(nvrtcProgram program, const char *part, char *out) {
  char *text = comment(program->text, part);
  strcpy(out, text ? text : "");
  free(text);
  return 0;
}

nvrtcResult nvrtcGetProgramLogSize(nvrtcProgram program, size_t *size) { return size_of(program, "LOG", size); }
nvrtcResult nvrtcGetProgramLog(nvrtcProgram program, char *log) { return copy_part(program, "LOG", log); }
nvrtcResult nvrtcGetPTXSize(nvrtcProgram program, size_t *size) {
  if (!program->ptx) return size_of(program, "PTX", size);
  *size = strlen(program->ptx) + 1;
  return 0;
}
nvrtcResult nvrtcGetPTX(nvrtcProgram program, char *ptx) {
  if (!program->ptx) return copy_part(program, "PTX", ptx);
  strcpy(ptx, program->ptx);
  return 0;
}
nvrtcResult nvrtcGetCUBINSize(nvrtcProgram program, size_t *size) { return size_of(program, "CUBIN", size); }
nvrtcResult nvrtcGetCUBIN(nvrtcProgram program, char *cubin) { return copy_part(program, "CUBIN", cubin); }
