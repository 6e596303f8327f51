/* Compile options: NVRTC's names, checked here so that a wrong option fails early, with a message of moonwarp's own. */
#include "cpu/options.h"

#include <stdlib.h>
#include <string.h>

static const char known[] =
    "-DNAME[=VALUE], -UNAME, -IFOLDER, -std=c++11|14|17|20, -O0 to -O3, -G, -use_fast_math, "
    "-lineinfo, -nostdinc++, -arch=NAME, --capability=N.N, --maxrregcount=N, --check-memory, --checks, "
    "--mcpu=NAME, --width=N and --without=PASS";

static int fail_unknown(const char *option) {
  const char *hint = "; mwcc --help describes them";
  if (strcmp(option, "-c") == 0 || strncmp(option, "-o", 2) == 0) hint = "; moonwarp chooses the module's path";
  return fail(MW_INVALID_VALUE, "unknown compile option '%s': there are %s%s", option, known, hint);
}

/* The text after `name` at the start of the option, with one or two dashes; NULL if it is another option. */
static const char *value_after(const char *option, const char *name) {
  if (option[0] == '-' && option[1] == '-') option++;
  size_t length = strlen(name);
  return strncmp(option, name, length) == 0 ? option + length : NULL;
}

static bool is(const char *option, const char *name) {
  const char *rest = value_after(option, name);
  return rest && !*rest;
}

static bool is_number(const char *text) { return *text && text[strspn(text, "0123456789")] == '\0'; }

static bool is_processor(const char *text) {
  return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._+")] == '\0';
}

static bool is_pass(const char *text) { return *text && text[strspn(text, "abcdefghijklmnopqrstuvwxyz-")] == '\0'; }

static bool is_power_up_to(unsigned long number, unsigned long most) {
  return number >= 1 && number <= most && !(number & (number - 1));
}

/* LANES or LANESxVECTORS, both powers of two. */
static bool is_width(const char *text) {
  char *end;
  if (*text < '0' || *text > '9') return false;
  unsigned long lanes = strtoul(text, &end, 10), vectors = 1;
  if (*end == 'x' && is_number(end + 1)) vectors = strtoul(end + 1, &end, 10);
  return !*end && is_power_up_to(lanes, 64) && is_power_up_to(vectors, 32);
}

/* A complete option, in mwcc's spelling; NULL if it is not one. */
static const char *plain_option(const char *option) {
  static const char *const names[] = {
      "-G", "-O0", "-O1", "-O2", "-O3", "-use_fast_math", "-lineinfo", "-nostdinc++", "--check-memory", "--checks"};
  for (size_t i = 0; i < MW_COUNT(names); i++) {
    if (is(option, names[i] + (names[i][1] == '-'))) return names[i];
  }
  return NULL;
}

/* -D, -U or -I with its value: here, or the next option. */
static int add_valued(compiler_args *args, const char *const *options, size_t count, size_t *i) {
  const char *option = options[*i], *value = option + 2;
  if (!*value) {
    if (*i + 1 >= count || !options[*i + 1])
      return fail(MW_INVALID_VALUE, "compile option '%s' wants a value: write \"%s%s\"", option, option,
                  option[1] == 'I' ? "folder" : "NAME");
    value = options[++*i];
  }
  char *joined = mw_format("-%c%s", option[1], value);
  compiler_args_add(args, joined);
  free(joined);
  return MW_SUCCESS;
}

static int add_option(compiler_args *args, const char *const *options, size_t count, size_t *i) {
  const char *option = options[*i], *value;
  if (!option) return fail(MW_INVALID_VALUE, "compile option %zu is missing (a null pointer)", *i + 1);
  if (strchr(option, '\n')) return fail(MW_INVALID_VALUE, "compile option '%s' has a line break in it", option);
  if (option[0] == '-' && option[1] && strchr("DUI", option[1])) return add_valued(args, options, count, i);
  if ((value = value_after(option, "-std="))) {
    char *standard = mw_format("-std=%s", value);
    compiler_args_add(args, standard);
    free(standard);
  } else if ((value = value_after(option, "-maxrregcount="))) {
    if (!is_number(value)) return fail(MW_INVALID_VALUE, "compile option '%s' wants a number of registers", option);
    char *registers = mw_format("--maxrregcount=%s", value);
    compiler_args_add(args, registers);
    free(registers);
  } else if (value_after(option, "-rdc=") || value_after(option, "-relocatable-device-code=") || is(option, "-dc")) {
    /* a module is one source here, whose functions are all at hand */
  } else if ((value = value_after(option, "-mcpu="))) {
    if (!is_processor(value))
      return fail(
          MW_INVALID_VALUE,
          "compile option '%s' wants a processor's name as clang knows it: \"--mcpu=x86-64-v3\" is any with AVX2",
          option);
    char *processor = mw_format("--mcpu=%s", value);
    compiler_args_add(args, processor);
    free(processor);
  } else if ((value = value_after(option, "-width="))) {
    if (!is_width(value))
      return fail(MW_INVALID_VALUE, "compile option '%s' wants 1, 2, 4, ... 64 lanes, or lanes x vectors like 16x4",
                  option);
    char *width = mw_format("--width=%s", value);
    compiler_args_add(args, width);
    free(width);
  } else if ((value = value_after(option, "-without="))) {
    if (!is_pass(value))
      return fail(MW_INVALID_VALUE, "compile option '%s' wants the name of a pass: mwcc --passes lists them", option);
    char *without = mw_format("--without=%s", value);
    compiler_args_add(args, without);
    free(without);
  } else if ((value = value_after(option, "-capability="))) {
    mw_capability found;
    int code = mw_capability_find(value, &found);
    if (code != MW_SUCCESS) return code;
    char *capability = mw_format("--capability=%s", value);
    compiler_args_add(args, capability);
    free(capability);
  } else if (value_after(option, "-arch=") || value_after(option, "-gpu-architecture=")) {
    /* names a GPU: ignored, since the CPU device compiles for this machine's processor */
  } else if ((value = plain_option(option))) {
    compiler_args_add(args, value);
  } else {
    return fail_unknown(option);
  }
  return MW_SUCCESS;
}

int compiler_args_add_options(compiler_args *args, const char *const *options, size_t count) {
  for (size_t i = 0; i < count; i++) {
    int code = add_option(args, options, count, &i);
    if (code != MW_SUCCESS) return code;
  }
  return MW_SUCCESS;
}
