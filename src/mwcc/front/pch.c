/* Precompiled device headers. Every compilation includes these headers, and for a small kernel parsing them takes clang
 * longer than everything else.
 *
 * There is one precompiled header (PCH) for each set of options that matters to it. The build makes the one for default
 * options and puts it next to the headers. Others, and that one where it is out of date, are made by the first
 * compilation that needs them and kept in the user's cache folder. The file is
 *
 *   clang's data | the list of files that it was made from | trailer
 *
 * clang reads no further than the end of its own data. The rest shows, before clang is started, that the PCH is
 * complete (checksum), was made by this clang with these options (key), and from headers that have not changed (list).
 *
 * Failures are not reported: without a PCH, clang parses the headers. */
#include "mwcc/mwcc.h"
#include "front.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define MAGIC         "MWOPCH2"
#define PREFIX        "device-"
#define ENDING        ".pch"
#define KEY_DIGITS    32
#define NAME_SIZE     (sizeof PREFIX ENDING + KEY_DIGITS)
#define MOST_PCHS     16  /* PCHs in the cache folder: enough for each -std, with and without fast math */
#define STALE_SECONDS 600 /* a temporary file this old was left by a process that was killed */

typedef struct pch_trailer {
  mw_hash key, sum;                /* hashes of the clang command, and of everything before the trailer */
  uint64_t data_bytes, list_bytes; /* no data: this clang cannot read its own PCH, so do not use one */
  char magic[8];
} pch_trailer;

static bool same_hash(mw_hash a, mw_hash b) { return a.low == b.low && a.high == b.high; }

/* Four sums side by side, for megabytes that are read before clang can start: mw_hash_add on its own takes a
   millisecond. Each step is a bijection of the sum, so no changed word stays unnoticed. */
static mw_hash hash_bytes(const char *data, size_t length) {
  enum { LANES = 4 };
  uint64_t sums[LANES] = {1, 2, 3, 4}, word;
  size_t at = 0;
  for (; at + sizeof sums <= length; at += sizeof sums)
    for (size_t i = 0; i < LANES; i++) {
      memcpy(&word, data + at + i * sizeof word, sizeof word);
      sums[i] = (sums[i] ^ word) * 0x9E3779B97F4A7C15u;
      sums[i] ^= sums[i] >> 32;
    }
  mw_hash hash = mw_hash_start();
  mw_hash_add(&hash, sums, sizeof sums);
  mw_hash_add(&hash, data + at, length - at);
  return hash;
}

/* ---- the key ---- */

/* The size and time of clang's program are part of the key: an update of clang changes them. */
static mw_hash make_key(const strings *command, const char *header) {
  mw_hash key = mw_hash_start();
  mw_text clang = {0};
  depend_add(&clang, command->items[0]);
  mw_hash_add(&key, MAGIC MW_VERSION, sizeof MAGIC MW_VERSION);
  mw_hash_add_text(&key, clang.data);
  for (size_t i = 0; i < command->count; i++) mw_hash_add_text(&key, command->items[i]);
  mw_hash_add_text(&key, header);
  mw_text_free(&clang);
  return key;
}

/* ---- one file ---- */

/* Mapped rather than read, which would copy several megabytes. */
static bool map_file(const char *path, const char **data, size_t *length) {
  struct stat facts;
  int file = open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  bool mapped = fstat(file, &facts) == 0 && facts.st_size > (off_t)sizeof(pch_trailer);
  if (mapped) {
    *length = (size_t)facts.st_size;
    *data = mmap(NULL, *length, PROT_READ, MAP_PRIVATE | MAP_POPULATE, file, 0);
    mapped = *data != MAP_FAILED;
  }
  close(file);
  return mapped;
}

static bool is_intact(const char *data, size_t body, mw_hash key, const pch_trailer *t) {
  return memcmp(t->magic, MAGIC, sizeof MAGIC) == 0 && same_hash(t->key, key) && t->data_bytes <= body &&
         t->list_bytes == body - t->data_bytes && same_hash(t->sum, hash_bytes(data, body));
}

/* Whether the file is valid. *empty: it records that no PCH can be used. */
static bool is_valid(const char *path, mw_hash key, bool *empty) {
  const char *data;
  size_t length;
  pch_trailer trailer;
  mw_text list = {0};
  *empty = false;
  if (!map_file(path, &data, &length)) return false;
  size_t body = length - sizeof trailer;
  memcpy(&trailer, data + body, sizeof trailer);
  bool sound = is_intact(data, body, key, &trailer);
  if (sound) {
    mw_text_add(&list, data + trailer.data_bytes, trailer.list_bytes);
    *empty = trailer.data_bytes == 0;
    sound = depend_unchanged(list.data);
  }
  munmap((void *)(uintptr_t)data, length);
  mw_text_free(&list);
  return sound;
}

static bool store(const char *path, mw_hash key, mw_text *data, const mw_text *list) {
  pch_trailer trailer = {.key = key, .data_bytes = data->length, .list_bytes = list->length, .magic = MAGIC};
  mw_text_add(data, list->data, list->length);
  trailer.sum = hash_bytes(data->data, data->length);
  mw_text_add(data, &trailer, sizeof trailer);
  return mw_file_write(path, data->data, data->length) == MW_SUCCESS;
}

/* ---- making one ---- */

typedef struct making {
  mw_text data, files; /* clang's output, and the list of its inputs */
  mw_text complaint;   /* clang's message if it failed */
} making;

/* clang runs in the root folder: a PCH contains the working folder, and its bytes should not depend on it. */
static bool run_clang(making *m, const strings *command, const char *header, const char *folder) {
  char *rule = mw_format("%s/files", folder);
  strings args = {0};
  for (size_t i = 0; i < command->count; i++) strings_add(&args, command->items[i]);
  const char *own[] = {"-emit-pch", "-include", header, "-sys-header-deps", "-MT", "x", "-dependency-file", rule,
                       "-o",        "-",        "-"};
  for (size_t i = 0; i < MW_COUNT(own); i++) strings_add(&args, own[i]);
  mw_child_result result = {0};
  if (mw_child_run(args.items, NULL, &(mw_child_limits){.directory = "/"}, &result) != MW_SUCCESS) return false;
  depend_read(&m->files, rule, NULL);
  m->data = result.output;
  m->complaint = result.errors;
  mw_text_add(&m->data, "\0\0\0\0\0\0\0", 8); /* where clang's bitstream reader stops */
  return result.status == 0 && m->files.length;
}

static bool make(making *m, const strings *command, const char *header, mw_hash key, const char *path) {
  char *folder;
  if (mw_directory_temporary(&folder) != MW_SUCCESS) return false; /* clang writes the list of files to a file */
  bool made = run_clang(m, command, header, folder);
  mw_directory_remove(folder);
  free(folder);
  return made && store(path, key, &m->data, &m->files);
}

/* ---- the cache folder ---- */

/* The rest of a PCH's name after the key and the ending: "" for a PCH, more for a temporary file; NULL for other
   files. */
static const char *ending_of(const char *name) {
  size_t start = strlen(PREFIX);
  if (!starts_with(name, PREFIX) || strspn(name + start, "0123456789abcdef") != KEY_DIGITS) return NULL;
  const char *ending = name + start + KEY_DIGITS;
  return starts_with(ending, ENDING) ? ending + strlen(ENDING) : NULL;
}

typedef struct sibling {
  time_t made;
  char name[NAME_SIZE];
} sibling;

static int newest_first(const void *left, const void *right) {
  const sibling *a = left, *b = right;
  return (a->made < b->made) - (a->made > b->made);
}

/* Delete all PCHs but the newest, and temporary files of processes that were killed. Otherwise, PCHs of a clang that
   was updated or of headers that were moved would stay forever. */
static void delete_old(const char *path) {
  DIR *folder = opendir(path);
  sibling *list = NULL;
  size_t count = 0;
  struct stat facts;
  for (struct dirent *item; folder && (item = readdir(folder));) {
    const char *rest = ending_of(item->d_name);
    if (!rest || fstatat(dirfd(folder), item->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (*rest) {
      if (facts.st_mtime < time(NULL) - STALE_SECONDS) unlinkat(dirfd(folder), item->d_name, 0);
      continue;
    }
    list = mw_realloc(list, (count + 1) * sizeof *list);
    list[count].made = facts.st_mtime;
    memcpy(list[count++].name, item->d_name, NAME_SIZE);
  }
  if (count > MOST_PCHS) qsort(list, count, sizeof *list, newest_first);
  for (size_t i = MOST_PCHS; i < count; i++) unlinkat(dirfd(folder), list[i].name, 0);
  if (folder) closedir(folder);
  free(list);
}

/* A relative MOONWARP_CACHE is ignored: mwcc may run in a temporary folder, which the name is not relative to. */
static char *cache_folder(void) {
  const char *wish = getenv("MOONWARP_CACHE");
  return wish && *wish && *wish != '/' ? NULL : mw_directory_cache();
}

/* Find the PCH in the cache folder, or make it. On failure, path stays NULL. */
static void find_cached(pch *p, const strings *command, const char *header) {
  char hex[33], *folder = cache_folder();
  bool empty;
  if (!folder) return;
  mw_hash_hex(&p->key, hex);
  char *path = mw_format("%s/" PREFIX "%s" ENDING, folder, hex);
  if (mw_directory_is_private(folder) && mw_file_is_private(path) && is_valid(path, p->key, &empty)) {
    if (!empty) p->path = path;
  } else if (mw_directory_make_private(folder) && mw_directory_is_private(folder) && access(folder, W_OK) == 0) {
    making m = {0};
    p->is_new = make(&m, command, header, p->key, path);
    p->files = m.files;
    if (p->is_new) p->path = path, delete_old(folder);
  }
  p->is_cached = p->path != NULL;
}

/* ---- for the front end ---- */

pch pch_find(const strings *command, const char *device, const char *header) {
  pch p = {.key = make_key(command, header)};
  char *ready = mw_format("%s" ENDING, device);
  bool empty;
  if (device[0] != '/') return p; /* a PCH contains absolute names */
  if (is_valid(ready, p.key, &empty))
    p.path = empty ? NULL : ready;
  else
    find_cached(&p, command, header);
  return p;
}

void pch_reject(const pch *p) {
  mw_text none = {0};
  if (!p->is_cached) return;
  if (p->is_new)
    store(p->path, p->key, &none, &p->files);
  else
    unlink(p->path); /* the next compilation makes a new one */
}

void pch_make(const strings *command, const char *header, const char *path) {
  making m = {0};
  if (make(&m, command, header, make_key(command, header), path)) return;
  die("the precompiled header '%s' cannot be made: %s", path,
      m.complaint.length ? m.complaint.data : mw_error_last()->message);
}
