/* Compiled files: writing and reading. See image.h. */
#include "image.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char magic[] = "MWCUDA2\n";
enum { TAIL = 4 + 32 + MW_CACHE_KEY_SIZE }; /* "end ", a hash, and the key in the cache */
static const char *const names[] = {"arch", "cubin", "ptx", "facts", "source", "options", "log", "depends"};

void cuda_image_free(cuda_image *image) {
  for (int i = 0; i < IMAGE_PARTS; i++) mw_text_free(&image->parts[i]);
}

static void hash_of(const void *data, size_t length, char out[33]) {
  mw_hash hash = mw_hash_start();
  mw_hash_add(&hash, data, length);
  mw_hash_hex(&hash, out);
}

int cuda_image_write(const cuda_image *image, const char *path) {
  mw_text file = {0};
  char hash[33];
  mw_text_add(&file, magic, strlen(magic));
  for (int i = 0; i < IMAGE_PARTS; i++) {
    if (!image->parts[i].data) continue;
    mw_text_addf(&file, "%s %zu\n", names[i], image->parts[i].length);
    mw_text_add(&file, image->parts[i].data, image->parts[i].length);
  }
  hash_of(file.data, file.length, hash);
  mw_text_addf(&file, "end %s", hash);
  mw_text_add(&file, (const char[MW_CACHE_KEY_SIZE]){0}, MW_CACHE_KEY_SIZE);
  int code = mw_file_write(path, file.data, file.length);
  mw_text_free(&file);
  return code;
}

static int fail_damaged(const char *path) {
  return fail(MW_INVALID_KERNEL_IMAGE, "%s is damaged: it is not as it was written. Compile it again", path);
}

static int part_named(const char *name, size_t length) {
  for (int i = 0; i < IMAGE_PARTS; i++)
    if (strlen(names[i]) == length && memcmp(names[i], name, length) == 0) return i;
  return -1;
}

static bool parse(const mw_text *file, cuda_image *out) {
  char hash[33];
  if (file->length < strlen(magic) + TAIL) return false;
  const char *end = file->data + file->length - TAIL, *at = file->data + strlen(magic);
  hash_of(file->data, (size_t)(end - file->data), hash);
  if (memcmp(end, "end ", 4) != 0 || memcmp(end + 4, hash, 32) != 0) return false;
  while (at < end) {
    const char *space = memchr(at, ' ', (size_t)(end - at));
    if (!space) return false;
    char *rest;
    unsigned long long length = strtoull(space + 1, &rest, 10);
    int part = part_named(at, (size_t)(space - at));
    if (part < 0 || *rest != '\n' || length > (size_t)(end - rest - 1)) return false;
    mw_text_add(&out->parts[part], rest + 1, (size_t)length);
    at = rest + 1 + length;
  }
  return true;
}

static int fail_foreign(const char *path, bool is_elf) {
  return fail(MW_INVALID_KERNEL_IMAGE,
              "%s is not a module for a GPU: neither one that m:save wrote on a GPU, nor a cubin or PTX%s", path,
              is_elf ? ". It may be one for the CPU device" : "");
}

static bool has_magic(const char *text, size_t length) {
  return length >= strlen(magic) && memcmp(text, magic, strlen(magic)) == 0;
}

static bool is_elf(const char *text, size_t length) { return length > 4 && memcmp(text, "\177ELF", 4) == 0; }

/* Whether the beginning and the end of a large file, which may be of any size, are a module's. Smaller files, and what is
   no file, are left to reading them. */
static int look_at_large(const char *path) {
  enum { LARGE = 64 << 20 };
  char head[4096], end[4] = "";
  struct stat facts;
  int code = MW_SUCCESS, descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0) return code;
  if (fstat(descriptor, &facts) == 0 && S_ISREG(facts.st_mode) && facts.st_size > LARGE) {
    ssize_t got = pread(descriptor, head, sizeof head, 0);
    size_t length = got > 0 ? (size_t)got : 0;
    bool has_end = pread(descriptor, end, sizeof end, facts.st_size - (off_t)TAIL) == (ssize_t)sizeof end &&
                   memcmp(end, "end ", sizeof end) == 0;
    if (has_magic(head, length))
      code = has_end ? MW_SUCCESS : fail_damaged(path);
    else if (!is_elf(head, length) && memchr(head, 0, length))
      code = fail_foreign(path, false);
  }
  close(descriptor);
  return code;
}

int cuda_image_read(const char *path, cuda_image *out) {
  mw_text file = {0};
  int code = look_at_large(path);
  if (code == MW_SUCCESS) code = mw_file_read_regular(path, &file);
  if (code != MW_SUCCESS) return code;
  if (has_magic(file.data, file.length)) {
    if (!parse(&file, out)) code = fail_damaged(path);
  } else if (file.length > 64 && is_elf(file.data, file.length) && (unsigned char)file.data[18] == 190) {
    mw_text_add(&out->parts[IMAGE_CUBIN], file.data, file.length); /* e_machine 190: CUDA */
  } else if (file.data && strstr(file.data, ".version") && strstr(file.data, ".target")) {
    mw_text_add(&out->parts[IMAGE_PTX], file.data, file.length);
  } else {
    code = fail_foreign(path, is_elf(file.data, file.length));
  }
  mw_text_free(&file);
  if (code != MW_SUCCESS) cuda_image_free(out);
  return code;
}
