/* Compile options: NVRTC's names, which mwcc shares, checked here so that a wrong one is reported at once and in our
 * wording. */
#include "compiler.h"
#include "cuda/cuda.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void cuda_list_add(cuda_list *list, char *text) {
  list->items = mw_realloc(list->items, (list->count + 2) * sizeof *list->items);
  list->items[list->count++] = text;
  list->items[list->count] = NULL;
}

void cuda_list_free(cuda_list *list) {
  for (size_t i = 0; i < list->count; i++) free(list->items[i]);
  free(list->items);
  *list = (cuda_list){0};
}

static const char known[] = "-DNAME[=VALUE], -UNAME, -IFOLDER, -std=c++11|14|17|20, -O0 to -O3, -G, -use_fast_math, "
                            "-lineinfo, -arch=NAME, --check-memory and --maxrregcount=N";

/* The text after `name` if the option begins with it, after one dash or two; NULL if it is another option. */
static const char *value_after(const char *option, const char *name) {
  if (option[0] == '-' && option[1] == '-') option++;
  size_t length = strlen(name);
  return strncmp(option, name, length) == 0 ? option + length : NULL;
}

static bool is_number(const char *text) { return *text && text[strspn(text, "0123456789")] == '\0'; }

/* "sm_80", "compute_90a": the number, or 0. */
static int arch_number(const char *name) {
  const char *digits = strncmp(name, "sm_", 3) == 0 ? name + 3 : strncmp(name, "compute_", 8) == 0 ? name + 8 : "";
  return atoi(digits);
}

static int add_option(const cuda_device *device, const mw_source *source, size_t *i, cuda_list *out, int *arch) {
  const char *option = source->options[*i], *value;
  if (!option) return fail(MW_INVALID_VALUE, "compile option %zu is missing (a null pointer)", *i + 1);
  if (strchr(option, '\n')) return fail(MW_INVALID_VALUE, "compile option '%s' has a line break in it", option);
  if (option[0] == '-' && option[1] && strchr("DUI", option[1])) {
    value = option + 2;
    if (!*value && (*i + 1 >= source->option_count || !source->options[*i + 1]))
      return fail(MW_INVALID_VALUE, "compile option '%s' wants a value: write \"%s%s\"", option, option,
                  option[1] == 'I' ? "folder" : "NAME");
    if (!*value) value = source->options[++*i];
    cuda_list_add(out, mw_format("-%c%s", option[1], value));
  } else if ((value = value_after(option, "-std="))) {
    cuda_list_add(out, mw_format("-std=%s", value));
  } else if ((value = value_after(option, "-maxrregcount="))) {
    if (!is_number(value)) return fail(MW_INVALID_VALUE, "compile option '%s' wants a number of registers", option);
    cuda_list_add(out, mw_format("--maxrregcount=%s", value));
  } else if ((value = value_after(option, "-arch=")) || (value = value_after(option, "-gpu-architecture="))) {
    *arch = arch_number(value);
    if (*arch == 0)
      return fail(MW_INVALID_VALUE, "compile option '%s' wants a GPU's architecture, such as sm_%d%d", option,
                  device->major, device->minor);
  } else if (value_after(option, "-G") && strlen(option) <= 3) {
    cuda_list_add(out, mw_strdup("-G"));
  } else if (value_after(option, "-use_fast_math")) {
    cuda_list_add(out, mw_strdup("-use_fast_math"));
  } else if (value_after(option, "-rdc=") || value_after(option, "-relocatable-device-code=") ||
             value_after(option, "-dc")) {
    /* a module is one source file, so nothing is linked */
  } else if (strcmp(option, "--checks") == 0) {
    cuda_list_add(out, mw_strdup(option)); /* of a checked run; only mwcc supports it, too */
  } else if (value_after(option, "-check-memory")) {
    cuda_list_add(out, mw_strdup("--check-memory")); /* only mwcc supports it */
  } else if (value_after(option, "-lineinfo")) {
    cuda_list_add(out, mw_strdup("-lineinfo"));
  } else if ((value = value_after(option, "-O")) && strlen(value) == 1 && *value >= '0' && *value <= '3') {
    cuda_list_add(out, mw_format("-O%s", value));
  } else if (value_after(option, "-mcpu=") || value_after(option, "-width=")) {
    /* these two concern the CPU device */
  } else {
    return fail(MW_INVALID_VALUE, "unknown compile option '%s': there are %s", option, known);
  }
  return MW_SUCCESS;
}

/* The device's own architecture, or the newest one before it that NVRTC supports, whose PTX the driver then
   compiles. */
static char *own_arch(const cuda_device *device, int wanted) {
  int count = 0, best = 0, own = device->major * 10 + device->minor;
  int target = wanted ? wanted : own;
  if (nvrtc.nvrtcGetNumSupportedArchs(&count) != 0 || count < 1) return mw_format("sm_%d", target);
  int *archs = mw_alloc((size_t)count * sizeof *archs);
  if (nvrtc.nvrtcGetSupportedArchs(archs) == 0)
    for (int i = 0; i < count; i++)
      if (archs[i] <= target && archs[i] > best) best = archs[i];
  free(archs);
  return mw_format(best == own ? "sm_%d" : "compute_%d", best ? best : target);
}

int cuda_options_read(const cuda_device *device, const mw_source *source, cuda_list *out, int *arch) {
  for (size_t i = 0; i < source->option_count; i++) {
    int code = add_option(device, source, &i, out, arch);
    if (code != MW_SUCCESS) return code;
  }
  return MW_SUCCESS;
}

/* NVRTC always optimises; only the level of ptxas can be chosen. */
static void spell_level(char **option) {
  if (strncmp(*option, "-O", 2) != 0) return;
  char *spelled = mw_format("--ptxas-options=%s", *option);
  free(*option);
  *option = spelled;
}

/* A toolkit's folder has CCCL in one of its own since CUDA 13, where nvcc looks too. */
void cuda_options_complete(const mw_source *source, cuda_list *out) {
  for (size_t i = 0; i < source->option_count; i++) {
    const char *option = source->options[i];
    cuda_list_add(out, option ? mw_strdup(option) : NULL);
    if (!option || strncmp(option, "-I", 2) != 0) continue;
    if (!option[2] && i + 1 < source->option_count && source->options[i + 1])
      cuda_list_add(out, mw_strdup(option = source->options[++i]));
    else
      option += 2;
    char *cccl = mw_format("%s/cccl/cuda/std/version", option);
    if (access(cccl, R_OK) == 0) cuda_list_add(out, mw_format("-I%s/cccl", option));
    free(cccl);
  }
}

int cuda_options(const cuda_device *device, const mw_source *source, cuda_list *out) {
  int arch = 0, code = cuda_options_read(device, source, out, &arch);
  if (code != MW_SUCCESS) return code;
  for (size_t i = 0; i < out->count; i++) spell_level(&out->items[i]);
  char *name = own_arch(device, arch);
  cuda_list_add(out, mw_format("--gpu-architecture=%s", name));
  free(name);
  cuda_list_add(out, mw_strdup("-default-device"));
  cuda_list_add(out, mw_strdup("--device-int128"));
#ifdef __x86_64__ /* nvcc has the host's macros, and headers ask for them */
  cuda_list_add(out, mw_strdup("-D__x86_64__=1"));
#elif defined __aarch64__
  cuda_list_add(out, mw_strdup("-D__aarch64__=1"));
#endif
  if (cuda_has_header(source, "cuda/std/cstdint")) cuda_list_add(out, mw_strdup("-D__MW_CCCL__=1"));
  /* CUDA 13 warns "double4 is deprecated" in cuRAND's functions too, without a place, so that no pragma suppresses
     it. */
  cuda_list_add(out, mw_strdup("-diag-suppress=1444"));
  cuda_list_add(out, mw_strdup("--pre-include=moonwarp/prelude.h"));
  return MW_SUCCESS;
}
