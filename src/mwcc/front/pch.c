/* The device headers, precompiled: every compilation begins with them, and for a small kernel parsing them takes clang
 * longer than all the rest.
 *
 * There is one precompiled header (PCH) for each set of options that matters to it. The usual one was made by the build
 * and stands beside the headers; others, or that one where it does not fit, are made by the first compilation that wants
 * them and kept in the user's cache folder. Behind clang's own data, which clang reads only to its end, stand the list of
 * files that the PCH was made from and a trailer. So it is known, before clang is started, that the PCH is whole (the
 * checksum), made by this clang with these options (the key), and from the headers as they are (the list).
 *
 * Nothing here is an error for the user: without a PCH, clang parses the headers. */
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

#define MAGIC         "MWOPCH1"
#define PREFIX        "device-"
#define ENDING        ".pch"
#define KEY_DIGITS    32
#define NAME_SIZE     (sizeof PREFIX ENDING + KEY_DIGITS)
#define KEPT          16 /* the newest, in the cache folder: one for each -std that a user has, with fast math or without */
#define STALE_SECONDS 600 /* no temporary file is written that long */

typedef struct pch_trailer {
  mw_hash key, sum;                /* of what it depends on besides files; of all before the trailer */
  uint64_t data_bytes, list_bytes; /* no data: clang refuses what it makes itself, so let it parse */
  char magic[8];
} pch_trailer;

static bool same_hash(mw_hash a, mw_hash b) { return a.low == b.low && a.high == b.high; }

static mw_hash hash_bytes(const void *data, size_t length) {
  mw_hash hash = mw_hash_start();
  mw_hash_add(&hash, data, length);
  return hash;
}

/* ---- the key ---- */

/* An update of clang changes its program's size or time. */
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

/* Mapped and not read: a megabyte, of which only the checksum wants all. */
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

static bool is_whole(const char *data, size_t body, mw_hash key, const pch_trailer *t) {
  return memcmp(t->magic, MAGIC, sizeof MAGIC) == 0 && same_hash(t->key, key) && t->data_bytes <= body &&
         t->list_bytes == body - t->data_bytes && same_hash(t->sum, hash_bytes(data, body));
}

/* Whether the file can be used; *empty: it says that none can. */
static bool is_sound(const char *path, mw_hash key, bool *empty) {
  const char *data;
  size_t length;
  pch_trailer trailer;
  mw_text list = {0};
  *empty = false;
  if (!map_file(path, &data, &length)) return false;
  size_t body = length - sizeof trailer;
  memcpy(&trailer, data + body, sizeof trailer);
  bool sound = is_whole(data, body, key, &trailer);
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
  mw_text data, files; /* what clang made, and of what */
  mw_text complaint;   /* why nothing came of it */
} making;

/* clang runs in the root folder: a PCH remembers where it was made, and the same one is to come out anywhere. */
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
  mw_text_add(&m->data, "\0\0\0\0\0\0\0", 8); /* to clang's reader of bit streams, an end */
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

/* What stands behind the key in a name of ours; NULL in another. */
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

/* All but the newest go, and what killed processes left half written. Those that nobody wants any more, since clang was
   updated or moonwarp moved, have no other end. */
static void make_room(const char *path) {
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
  if (count > KEPT) qsort(list, count, sizeof *list, newest_first);
  for (size_t i = KEPT; i < count; i++) unlinkat(dirfd(folder), list[i].name, 0);
  if (folder) closedir(folder);
  free(list);
}

/* mwcc may run in a folder that is only there for this compilation: a relative name is meant for another. */
static char *cache_folder(void) {
  const char *wish = getenv("MOONWARP_CACHE");
  return wish && *wish && *wish != '/' ? NULL : mw_directory_cache();
}

/* The file in the cache folder, made if it is not there; path stays NULL where that does not work. */
static void find_cached(pch *p, const strings *command, const char *header) {
  char hex[33], *folder = cache_folder();
  bool empty;
  if (!folder) return;
  mw_hash_hex(&p->key, hex);
  char *path = mw_format("%s/" PREFIX "%s" ENDING, folder, hex);
  if (mw_directory_is_private(folder) && mw_file_is_private(path) && is_sound(path, p->key, &empty)) {
    if (!empty) p->path = path;
  } else if (mw_directory_make_private(folder) && mw_directory_is_private(folder) && access(folder, W_OK) == 0) {
    making m = {0};
    p->is_new = make(&m, command, header, p->key, path);
    p->files = m.files;
    if (p->is_new) p->path = path, make_room(folder);
  }
  p->is_cached = p->path != NULL;
}

/* ---- for the front end ---- */

pch pch_find(const strings *command, const char *device, const char *header) {
  pch p = {.key = make_key(command, header)};
  char *ready = mw_format("%s" ENDING, device);
  bool empty;
  if (device[0] != '/') return p; /* in there are absolute names */
  if (is_sound(ready, p.key, &empty))
    p.path = empty ? NULL : ready;
  else
    find_cached(&p, command, header);
  return p;
}

void pch_refused(const pch *p) {
  mw_text none = {0};
  if (!p->is_cached) return;
  if (p->is_new)
    store(p->path, p->key, &none, &p->files);
  else
    unlink(p->path); /* the next one is made anew */
}

void pch_make(const strings *command, const char *header, const char *path) {
  making m = {0};
  if (make(&m, command, header, make_key(command, header), path)) return;
  die("the precompiled header '%s' cannot be made: %s", path,
      m.complaint.length ? m.complaint.data : mw_error_last()->message);
}
