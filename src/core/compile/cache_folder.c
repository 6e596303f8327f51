/* The cache's folder. Entries are files named by their key; their modification time is the time of their last use. The
 * folder also contains temporary files of copies in progress, which remain if a process is killed, and the meter: a
 * file whose *length* is the number of blocks stored since the folder was last scanned. Appending to the meter is
 * atomic and takes a few microseconds, so that all processes know when to scan the folder, and need not do so at each
 * store.
 *
 * The user may have pointed the cache at a folder with other files: only names that the cache makes are touched. */
#include "cache_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define METER         "moonwarp.size"
#define BLOCK         ((size_t)4096) /* the meter's unit, and the allocation unit of most file systems */
#define PRECOMPILED   "device-"
#define KEY_DIGITS    32
#define STALE_SECONDS 600 /* a copy of a module never takes this long */

void mw_cache_folder_name(const mw_hash *key, char out[MW_CACHE_NAME_SIZE]) {
  mw_hash_hex(key, out);
  memcpy(out + KEY_DIGITS, ".mwo", 5);
}

static bool starts_as_entry(const char *name) {
  return strspn(name, "0123456789abcdef") == KEY_DIGITS && strncmp(name + KEY_DIGITS, ".mwo", 4) == 0;
}

static bool is_entry(const char *name) { return starts_as_entry(name) && !name[MW_CACHE_NAME_SIZE - 1]; }

static bool is_temporary(const char *name) { return starts_as_entry(name) && name[MW_CACHE_NAME_SIZE - 1] == '.'; }

/* mwcc's precompiled headers (src/mwcc/front/pch.c), whose number it limits itself: "device-", a key, ".pch". */
static bool is_precompiled(const char *name) {
  const char *key = name + strlen(PRECOMPILED);
  return strncmp(name, PRECOMPILED, strlen(PRECOMPILED)) == 0 && strspn(key, "0123456789abcdef") == KEY_DIGITS &&
         strncmp(key + KEY_DIGITS, ".pch", 4) == 0;
}

static size_t blocks_of(size_t bytes) { return (bytes + BLOCK - 1) / BLOCK; }

/* ---- looking ---- */

typedef struct entry {
  char name[MW_CACHE_NAME_SIZE];
  size_t blocks;
  struct timespec used;
} entry;

typedef struct listing {
  entry *entries;
  size_t count, capacity, blocks;
} listing;

static void add_entry(listing *list, const char *name, const struct stat *facts) {
  if (list->count == list->capacity) {
    list->capacity = list->capacity ? list->capacity * 2 : 64;
    list->entries = mw_realloc(list->entries, list->capacity * sizeof *list->entries);
  }
  entry *new_entry = &list->entries[list->count++];
  *new_entry = (entry){.blocks = blocks_of((size_t)facts->st_size), .used = facts->st_mtim};
  memcpy(new_entry->name, name, MW_CACHE_NAME_SIZE);
  list->blocks += new_entry->blocks;
}

/* Scan the folder, and remove temporary files of killed processes. Yours: free the entries. */
static listing scan(DIR *folder) {
  listing list = {0};
  time_t stale = time(NULL) - STALE_SECONDS;
  for (struct dirent *item; (item = readdir(folder));) {
    struct stat facts;
    bool temporary = is_temporary(item->d_name);
    if (!temporary && !is_entry(item->d_name)) continue;
    if (fstatat(dirfd(folder), item->d_name, &facts, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(facts.st_mode)) continue;
    if (!temporary)
      add_entry(&list, item->d_name, &facts);
    else if (facts.st_mtim.tv_sec < stale)
      unlinkat(dirfd(folder), item->d_name, 0);
  }
  return list;
}

mw_cache_usage mw_cache_folder_usage(const char *folder) {
  DIR *stream = opendir(folder);
  if (!stream) return (mw_cache_usage){0};
  listing list = scan(stream);
  closedir(stream);
  free(list.entries);
  return (mw_cache_usage){.bytes = list.blocks * BLOCK, .entries = list.count};
}

/* ---- making room ---- */

static int by_use(const void *left, const void *right) {
  const entry *a = left, *b = right;
  if (a->used.tv_sec != b->used.tv_sec) return a->used.tv_sec < b->used.tv_sec ? -1 : 1;
  if (a->used.tv_nsec != b->used.tv_nsec) return a->used.tv_nsec < b->used.tv_nsec ? -1 : 1;
  return strcmp(a->name, b->name);
}

/* Evict down to `target` blocks if there are more than `most`, but not `keep` (may be NULL). Returns the blocks
   left. */
static size_t remove_oldest(DIR *folder, size_t most, size_t target, const char *keep) {
  listing list = scan(folder);
  if (list.blocks > most) {
    qsort(list.entries, list.count, sizeof *list.entries, by_use);
    for (size_t i = 0; i < list.count && list.blocks > target; i++) {
      const entry *oldest = &list.entries[i];
      if (keep && strcmp(oldest->name, keep) == 0) continue;
      if (unlinkat(dirfd(folder), oldest->name, 0) == 0 || errno == ENOENT) list.blocks -= oldest->blocks;
    }
  }
  free(list.entries);
  return list.blocks;
}

/* Only one process at a time scans, and then resets the meter; the others do not wait for it. */
static void make_room(const char *folder, int meter, size_t most, size_t target, const char *keep) {
  if (flock(meter, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return;
  DIR *stream = opendir(folder);
  if (stream) {
    size_t left = remove_oldest(stream, most, target, keep);
    closedir(stream);
    bool reset = ftruncate(meter, (off_t)left) == 0;
    (void)reset; /* if this fails, the next store scans again */
  }
  flock(meter, LOCK_UN);
}

/* *fresh: the folder has not been scanned yet. */
static int open_meter(const char *folder, bool *fresh) {
  char *path = mw_format("%s/" METER, folder);
  const int how =
      O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK; /* opening a pipe would wait for a reader */
  int meter = open(path, how);
  struct stat facts;
  *fresh = meter < 0;
  if (*fresh) meter = open(path, how | O_CREAT, 0600);
  free(path);
  if (meter < 0 || (fstat(meter, &facts) == 0 && S_ISREG(facts.st_mode))) return meter;
  close(meter);
  return -1;
}

static void append_blocks(int meter, size_t blocks) {
  static const char zeros[BLOCK];
  mw_writing writing = mw_writing_begin();
  for (ssize_t put = 1; blocks && put > 0; blocks -= put > 0 ? (size_t)put : 0)
    put = write(meter, zeros, blocks < sizeof zeros ? blocks : sizeof zeros);
  mw_writing_end(&writing);
}

void mw_cache_folder_grown(const char *folder, const char *name, size_t bytes, size_t limit) {
  bool fresh;
  struct stat facts;
  int meter = open_meter(folder, &fresh);
  if (meter < 0) return;
  append_blocks(meter, blocks_of(bytes));
  size_t most = limit / BLOCK;
  bool full = fstat(meter, &facts) == 0 && (size_t)facts.st_size > most;
  if (fresh || full) make_room(folder, meter, most, most - most / 5, name); /* by a fifth, so that eviction is rare */
  close(meter);
}

void mw_cache_folder_shrink(const char *folder, size_t limit) {
  bool fresh;
  int meter = open_meter(folder, &fresh);
  if (meter < 0) return;
  make_room(folder, meter, limit / BLOCK, limit / BLOCK, NULL);
  close(meter);
}

int mw_cache_folder_clear(const char *folder) {
  DIR *stream = opendir(folder);
  if (!stream) return errno == ENOENT ? 0 : errno;
  int error = 0;
  for (struct dirent *item; (item = readdir(stream));) {
    const char *name = item->d_name;
    if (!starts_as_entry(name) && !is_precompiled(name) && strcmp(name, METER) != 0) continue;
    if (unlinkat(dirfd(stream), item->d_name, 0) != 0 && errno != ENOENT && !error) error = errno;
  }
  closedir(stream);
  return error;
}
