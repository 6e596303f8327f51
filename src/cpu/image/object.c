/* Opening .mwo files: check the bytes, pass them to the dynamic linker, check the loaded tables.
 *
 * A checksum detects damage; the further checks keep a wrongly made file from crashing the process. They are not a
 * defence against attacks: a .mwo contains machine code and, like any library, must only be loaded if its author may
 * run programs here.
 *
 * Two properties of the dynamic linker determine how the file is opened. It maps the file, so that writing to the file
 * changes running code: only a read-only file (the compiler's output) is mapped directly, where debuggers and profilers
 * find it; any other is copied first. And it identifies libraries by name, although the name may refer to another file
 * by now: so each opening uses a spelling of the path that is new in this process. */
#include "object.h"
#include "cpu/processor.h"
#include "base/lock.h"

#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the file's bytes ---- */

typedef struct mapped_file {
  int descriptor;
  bool is_copy;
  struct stat status; /* of the file of `descriptor` */
  unsigned char *data;
  size_t size;
} mapped_file;

static void file_close(mapped_file *file) {
  if (file->data) munmap(file->data, file->size);
  if (file->descriptor >= 0) close(file->descriptor);
  *file = (mapped_file){.descriptor = -1};
}

static int fail_file(const char *path) {
  int code = errno == ENOENT || errno == ENOTDIR ? MW_FILE_NOT_FOUND : MW_OPERATING_SYSTEM;
  return fail(code, "cannot open the module '%s': %s", path, strerror(errno));
}

/* Replace the descriptor by one of a private copy. */
static bool copy_file(mapped_file *file) {
  int copy = memfd_create("mwo", MFD_CLOEXEC);
  off_t from = 0;
  ssize_t moved = copy < 0 ? -1 : 1;
  mw_writing writing = mw_writing_begin();
  while (moved > 0) moved = sendfile(copy, file->descriptor, &from, 1 << 30);
  mw_writing_end(&writing);
  if (moved < 0 || fstat(copy, &file->status) != 0) {
    int error = errno;
    if (copy >= 0) close(copy);
    errno = error;
    return false;
  }
  close(file->descriptor);
  file->descriptor = copy;
  file->is_copy = true;
  return true;
}

static bool map_file(mapped_file *file) {
  file->size = (size_t)file->status.st_size;
  if (!file->size) return true;
  void *data = mmap(NULL, file->size, PROT_READ, MAP_PRIVATE, file->descriptor, 0);
  if (data == MAP_FAILED) return false;
  file->data = data;
  return true;
}

static const char seal_magic[8] = MW_MWO_MAGIC;

/* Checked before memory of the file's size is allocated, since the file may be of any size. */
static bool ends_as_module(const mapped_file *file) {
  mw_trailer trailer;
  off_t end = file->status.st_size - (off_t)sizeof trailer;
  return end >= 0 && pread(file->descriptor, &trailer, sizeof trailer, end) == (ssize_t)sizeof trailer &&
         memcmp(trailer.magic, seal_magic, sizeof trailer.magic) == 0;
}

static int fail_foreign(const char *path, int descriptor) {
  char start[SELFMAG] = {0};
  bool object = pread(descriptor, start, SELFMAG, 0) == SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0;
  return fail(MW_INVALID_KERNEL_IMAGE,
              object ? "'%s' is not a complete moonwarp module: its trailer is missing, and it may have been truncated"
                     : "'%s' is not a moonwarp module, as `mwcc k.cu -o k.mwo` and module:save write them",
              path);
}

static int file_open(const char *path, mapped_file *file) {
  *file = (mapped_file){.descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  bool opened = file->descriptor >= 0 && fstat(file->descriptor, &file->status) == 0;
  if (opened && !S_ISREG(file->status.st_mode)) {
    mode_t mode = file->status.st_mode;
    const char *what = S_ISDIR(mode) ? "folder" : S_ISFIFO(mode) ? "pipe" : "device";
    file_close(file);
    return fail(MW_INVALID_KERNEL_IMAGE, "'%s' is not a moonwarp module but a %s", path, what);
  }
  if (opened && !ends_as_module(file)) {
    int wrong = fail_foreign(path, file->descriptor);
    file_close(file);
    return wrong;
  }
  const mode_t writable = S_IWUSR | S_IWGRP | S_IWOTH;
  if (opened && file->status.st_mode & writable) opened = copy_file(file);
  if (opened && map_file(file)) return MW_SUCCESS;
  int code = fail_file(path);
  file_close(file);
  return code;
}

/* ---- checks before any code runs ---- */

static bool seal_holds(const mapped_file *file, const mw_trailer *trailer) {
  if (trailer->length != file->size - sizeof *trailer) return false;
  mw_hash hash = mw_hash_start();
  mw_hash_add(&hash, file->data, file->size - sizeof *trailer);
  return hash.low == trailer->low && hash.high == trailer->high;
}

static int check_seal(const char *path, const mapped_file *file, mw_trailer *trailer) {
  if (file->size >= sizeof *trailer) { /* it may have been cut since ends_as_module */
    memcpy(trailer, file->data + file->size - sizeof *trailer, sizeof *trailer);
    if (memcmp(trailer->magic, seal_magic, sizeof trailer->magic) == 0 && seal_holds(file, trailer)) return MW_SUCCESS;
  }
  return fail(MW_INVALID_KERNEL_IMAGE,
              "the module '%s' is damaged: its checksum does not match its contents. Compile or copy it again", path);
}

/* A field of the mw_mwo at `table`. */
static const char *field_string(elf_bytes elf, uint64_t table, size_t offset) {
  return elf_string(elf, elf_pointer(elf, table + offset));
}

static int check_processor(const char *path, const char *triple, const char *features) {
  char missing[64];
  size_t length = strlen(processor_architecture);
  if (strncmp(triple, processor_architecture, length) != 0 || triple[length] != '-' || !strstr(triple, "linux"))
    return fail(MW_NO_KERNEL_IMAGE_FOR_DEVICE, "the module '%s' was compiled for %s, and this machine is %s-linux",
                path, triple, processor_architecture);
  if (processor_lacks(features, missing, sizeof missing))
    return fail(
        MW_NO_KERNEL_IMAGE_FOR_DEVICE,
        "the module '%s' was compiled for a processor with the feature '%s', which this one lacks. Compile it on this "
        "machine, or for every machine with `mwcc --mcpu=%s`",
        path, missing, strcmp(processor_architecture, "x86_64") == 0 ? "x86-64" : "generic");
  return MW_SUCCESS;
}

static int check_image(const char *path, elf_bytes elf, uint64_t *table) {
  bool foreign;
  const char *wrong = elf_check(elf, &foreign);
  if (foreign) return fail(MW_NO_KERNEL_IMAGE_FOR_DEVICE, "the module '%s' is for another machine: %s", path, wrong);
  if (wrong) return fail(MW_INVALID_KERNEL_IMAGE, "'%s' is not a moonwarp module: %s", path, wrong);
  uint32_t version = 0;
  *table = elf_symbol(elf, MW_MWO_SYMBOL, sizeof version);
  const void *found = *table ? elf_at(elf, *table, sizeof version) : NULL;
  if (!found)
    return fail(MW_INVALID_KERNEL_IMAGE, "'%s' is not a moonwarp module: it has no table '" MW_MWO_SYMBOL "'", path);
  memcpy(&version, found, sizeof version);
  if (version != MW_MWO_VERSION)
    return fail(MW_INVALID_KERNEL_IMAGE,
                "the module '%s' has format %u, and this moonwarp (" MW_VERSION ") reads format %d: compile it again",
                path, version, MW_MWO_VERSION);
  const char *triple = field_string(elf, *table, offsetof(mw_mwo, triple));
  const char *features = field_string(elf, *table, offsetof(mw_mwo, features));
  if (!elf_at(elf, *table, sizeof(mw_mwo)) || *table % _Alignof(mw_mwo) || !triple || !features)
    return fail(MW_INVALID_KERNEL_IMAGE, "'%s' is not a moonwarp module: its table is incomplete", path);
  return check_processor(path, triple, features);
}

static elf_bytes without_trailer(const mapped_file *file) {
  return (elf_bytes){file->data, file->size - sizeof(mw_trailer)};
}

/* Open and check; on success the caller closes the file. */
static int open_checked(const char *path, mapped_file *file, mw_trailer *trailer, uint64_t *table) {
  int code = file_open(path, file);
  if (code != MW_SUCCESS) return code;
  code = check_seal(path, file, trailer);
  if (code == MW_SUCCESS) code = check_image(path, without_trailer(file), table);
  if (code != MW_SUCCESS) file_close(file);
  return code;
}

bool object_dependencies(const char *path, mw_text *out) {
  mapped_file file;
  mw_trailer trailer;
  uint64_t table;
  if (open_checked(path, &file, &trailer, &table) != MW_SUCCESS) return false;
  const char *dependencies = field_string(without_trailer(&file), table, offsetof(mw_mwo, dependencies));
  if (dependencies) mw_text_add(out, dependencies, strlen(dependencies));
  file_close(&file);
  return dependencies != NULL;
}

/* ---- the dynamic linker ---- */

/* `folder`/`name` in a spelling that is new in this process: between them is a binary number whose ones are "./" and
   whose zeros are "/". Yours: free. */
static char *spell(const char *folder, size_t folder_length, const char *name) {
  static atomic_uint_fast64_t spellings;
  mw_text text = {0};
  mw_text_addf(&text, "%.*s/", (int)folder_length, folder);
  for (uint64_t n = atomic_fetch_add(&spellings, 1) + 1; n; n >>= 1) mw_text_addf(&text, n & 1 ? "./" : "/");
  mw_text_addf(&text, "%s", name);
  return text.data;
}

static void *open_library(char *spelled) {
  void *library = dlopen(spelled, RTLD_NOW | RTLD_LOCAL);
  free(spelled);
  return library;
}

/* Load the file at `path` itself, unless the name refers to another file by now. */
static void *open_in_place(const char *path, const mapped_file *file) {
  const char *slash = strrchr(path, '/');
  struct stat now;
  void *library =
      slash ? open_library(spell(path, (size_t)(slash - path), slash + 1)) : open_library(spell(".", 1, path));
  if (!library) return NULL;
  if (stat(path, &now) == 0 && now.st_dev == file->status.st_dev && now.st_ino == file->status.st_ino) return library;
  dlclose(library);
  return NULL;
}

static void *open_copy(const mapped_file *file) {
  static const char folder[] = "/proc/self/fd";
  char *name = mw_format("%d", file->descriptor);
  void *library = open_library(spell(folder, strlen(folder), name));
  free(name);
  return library;
}

/* Load the library. A read-only file may be replaced or evicted meanwhile, or be on a file system without execute
   permission: then a copy is loaded. */
static int link_object(const char *path, mapped_file *file, bool in_place, cpu_object *object) {
  if (!file->is_copy && in_place) object->library = open_in_place(path, file);
  if (!object->library) {
    if (!file->is_copy && !copy_file(file)) return fail_file(path);
    object->library = open_copy(file);
  }
  if (!object->library) {
    const char *reason = dlerror();
    return fail(MW_INVALID_KERNEL_IMAGE, "the module '%s' cannot be linked: %s", path,
                reason ? reason : "no reason is known");
  }
  object->device = file->status.st_dev;
  object->inode = file->status.st_ino;
  return MW_SUCCESS;
}

/* Find the library's address range; elf_check has checked the headers. */
static void find_range(cpu_object *object) {
  struct link_map *map = NULL;
  dlinfo(object->library, RTLD_DI_LINKMAP, &map);
  object->base = map ? map->l_addr : 0;
  object->first = UINTPTR_MAX;
  Elf64_Ehdr header;
  Elf64_Phdr segment;
  memcpy(&header, object->elf.data, sizeof header);
  for (unsigned i = 0; i < header.e_phnum; i++) {
    memcpy(&segment, object->elf.data + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD) continue;
    uintptr_t start = object->base + segment.p_vaddr, end = start + segment.p_memsz;
    if (start < object->first) object->first = start;
    if (end > object->last) object->last = end;
  }
}

/* ---- the open objects ---- */

static pthread_mutex_t lock = MW_LOCK_INITIALIZER;
static cpu_object *objects;

static void destroy(cpu_object *object) {
  if (object->library) dlclose(object->library);
  munmap((void *)object->elf.data, object->elf.size + sizeof object->trailer);
  free(object);
}

static cpu_object *find_equal(const mapped_file *file) {
  elf_bytes elf = without_trailer(file);
  for (cpu_object *o = objects; o; o = o->next) {
    if (o->elf.size == elf.size && memcmp(o->elf.data, elf.data, elf.size) == 0) return o;
  }
  return NULL;
}

/* The dynamic linker identifies files by inode: a file that has changed since it was opened must not be opened
   again. */
static bool is_open(const mapped_file *file) {
  for (cpu_object *o = objects; o; o = o->next) {
    if (o->device == file->status.st_dev && o->inode == file->status.st_ino) return true;
  }
  return false;
}

/* The object takes over the file's mapping. */
static int new_object(const char *path, mapped_file *file, const mw_trailer *trailer, uint64_t table,
                      cpu_object **out) {
  cpu_object *object = mw_alloc(sizeof *object);
  mw_refs_init(&object->refs);
  object->elf = without_trailer(file);
  object->trailer = *trailer;
  int code = link_object(path, file, !is_open(file), object);
  file->data = NULL;
  if (code == MW_SUCCESS) {
    find_range(object);
    object->image = (const mw_mwo *)(object->base + table);
    const char *wrong = object_inspect(object);
    if (wrong) code = fail(MW_INVALID_KERNEL_IMAGE, "the module '%s' was made wrong: %s", path, wrong);
  }
  if (code != MW_SUCCESS) {
    destroy(object);
    return code;
  }
  object->next = objects;
  objects = object;
  *out = object;
  return MW_SUCCESS;
}

int object_open(const char *path, cpu_object **out) {
  mapped_file file;
  mw_trailer trailer;
  uint64_t table;
  int code = open_checked(path, &file, &trailer, &table);
  if (code != MW_SUCCESS) return code;
  mw_lock(&lock);
  cpu_object *open = find_equal(&file);
  if (open) {
    mw_refs_take(&open->refs);
    *out = open;
  } else {
    code = new_object(path, &file, &trailer, table, out);
  }
  mw_unlock(&lock);
  file_close(&file);
  return code;
}

void object_close(cpu_object *object) {
  if (!object) return;
  mw_lock(&lock);
  bool last = mw_refs_drop(&object->refs);
  for (cpu_object **link = &objects; last && *link; link = &(*link)->next) {
    if (*link != object) continue;
    *link = object->next;
    break;
  }
  if (last) destroy(object);
  mw_unlock(&lock);
}
