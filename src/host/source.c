/* Modules from files and memory: compiled by mwcc, which their first bytes show, or CUDA C text. */
#include "host.h"
#include "mwo.h"

#include <elf.h>
#include <errno.h>
#include <unistd.h>

static bool is_object(const void *data, size_t size) { return size >= SELFMAG && memcmp(data, ELFMAG, SELFMAG) == 0; }

/* ---- text ---- */

/* The words of `options`, which is changed; *list is yours. */
static size_t split(char *options, const char ***list) {
  size_t count = 0;
  *list = NULL;
  for (char *rest = NULL, *word = strtok_r(options, " \t\n", &rest); word; word = strtok_r(NULL, " \t\n", &rest)) {
    *list = realloc(*list, (count + 1) * sizeof **list);
    if (!*list) abort();
    (*list)[count++] = word;
  }
  return count;
}

int host_module_from_text(host_context *context, const char *text, const char *file, const char *options,
                          mw_module **out) {
  char *copy = strdup(options ? options : "");
  const char **list;
  if (!copy) abort();
  mw_source source = {.text = text, .length = strlen(text), .file = file};
  source.option_count = split(copy, &list);
  source.options = list;
  int code = mw_module_compile(context->device, &source, out);
  free(list);
  free(copy);
  return code;
}

/* ---- files ---- */

/* A whole file followed by a 0; yours. */
static char *read_file(const char *path, size_t *size) {
  FILE *file = fopen(path, "rbe");
  char *data = NULL;
  *size = 0;
  for (size_t room = 0, got = 1; file && got > 0; *size += got) {
    if (*size + 1 >= room) data = realloc(data, (room = room ? 2 * room : 65536));
    if (!data) abort();
    got = fread(data + *size, 1, room - *size - 1, file);
  }
  bool bad = !file || ferror(file);
  if (file) fclose(file);
  if (bad) {
    free(data);
    return NULL;
  }
  data[*size] = 0;
  return data;
}

int host_module_from_file(host_context *context, const char *path, const char *options, mw_module **out) {
  size_t size;
  char *data = path ? read_file(path, &size) : NULL;
  if (!data)
    return host_fail(MW_FILE_NOT_FOUND, "cannot read '%s': %s", path ? path : "(null)",
                     path ? strerror(errno) : "no name");
  int code = is_object(data, size) ? mw_module_load(context->device, path, out)
                                   : host_module_from_text(context, data, path, options, out);
  free(data);
  return code;
}

/* ---- memory ---- */

/* The length of a compiled module's image: the ELF file, by its header, and the trailer after it. 0: not an image. */
static size_t image_size(const void *image) {
  Elf64_Ehdr header;
  mw_trailer trailer;
  memcpy(&header, image, sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_DYN || header.e_ehsize != sizeof header ||
      header.e_shentsize != sizeof(Elf64_Shdr))
    return 0;
  size_t length = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize;
  memcpy(&trailer, (const char *)image + length, sizeof trailer);
  return trailer.length == length && memcmp(trailer.magic, MW_MWO_MAGIC, sizeof trailer.magic) == 0
             ? length + sizeof trailer
             : 0;
}

/* The dynamic loader needs a file. */
static int load_image(host_context *context, const void *image, size_t size, mw_module **out) {
  const char *folder = getenv("TMPDIR");
  char path[4096];
  snprintf(path, sizeof path, "%s/moonwarp-XXXXXX", folder && *folder ? folder : "/tmp");
  int descriptor = mkstemp(path);
  FILE *file = descriptor >= 0 ? fdopen(descriptor, "wb") : NULL;
  bool written = file && fwrite(image, 1, size, file) == size;
  if (file)
    written = fclose(file) == 0 && written;
  else if (descriptor >= 0)
    close(descriptor);
  int code = written ? mw_module_load(context->device, path, out)
                     : host_fail(MW_OPERATING_SYSTEM, "cannot write '%s': %s", path, strerror(errno));
  if (descriptor >= 0) unlink(path);
  return code;
}

int host_module_from_memory(host_context *context, const void *image, mw_module **out) {
  if (!image) return host_fail(MW_INVALID_VALUE, "there is no image of a module");
  /* strncmp stops at the 0 of a shorter text. */
  if (strncmp(image, ELFMAG, SELFMAG) != 0) return host_module_from_text(context, image, NULL, NULL, out);
  size_t size = image_size(image);
  return size ? load_image(context, image, size, out)
              : host_fail(MW_INVALID_KERNEL_IMAGE, "this is not a module that mwcc compiled, or not the whole of it");
}
