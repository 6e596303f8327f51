/* Compiled files: writing and reading. See image.h. */
#include "image.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char magic[] = "MWCUDA2\n";
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
  const size_t tail = strlen("end ") + 32 + MW_CACHE_KEY_SIZE;
  if (file->length < strlen(magic) + tail) return false;
  const char *end = file->data + file->length - tail, *at = file->data + strlen(magic);
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

int cuda_image_read(const char *path, cuda_image *out) {
  mw_text file = {0};
  int code = mw_file_read_regular(path, &file);
  if (code != MW_SUCCESS) return code;
  if (file.length >= strlen(magic) && memcmp(file.data, magic, strlen(magic)) == 0) {
    if (!parse(&file, out)) code = fail_damaged(path);
  } else if (file.length > 64 && memcmp(file.data, "\177ELF", 4) == 0 && (unsigned char)file.data[18] == 190) {
    mw_text_add(&out->parts[IMAGE_CUBIN], file.data, file.length); /* e_machine 190: CUDA */
  } else if (file.data && strstr(file.data, ".version") && strstr(file.data, ".target")) {
    mw_text_add(&out->parts[IMAGE_PTX], file.data, file.length);
  } else {
    code = fail(MW_INVALID_KERNEL_IMAGE,
                "%s is not a module for a GPU: neither one that m:save wrote on a GPU, nor a cubin or PTX%s", path,
                file.length > 4 && memcmp(file.data, "\177ELF", 4) == 0 ? ". It may be one for the CPU device" : "");
  }
  mw_text_free(&file);
  if (code != MW_SUCCESS) cuda_image_free(out);
  return code;
}
