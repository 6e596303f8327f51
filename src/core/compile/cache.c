/* The compile cache: finding, storing and removing entries; its location.
 *
 * An entry appears under its name atomically (a rename), and an open file survives its eviction, so readers need no
 * lock. The driver checks an entry's contents. Problems with the cache are not errors: the caller then compiles, and
 * uses the file where the compiler wrote it. */
#include "cache_folder.h"
#include "core/core.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define DEFAULT_LIMIT ((size_t)1 << 30)

static struct {
  pthread_once_t once;
  char *folder; /* NULL: no cache */
  atomic_size_t limit, hits, misses;
} cache = {.once = PTHREAD_ONCE_INIT, .limit = DEFAULT_LIMIT};

/* ---- where ---- */

static void locate(void) {
  cache.folder = mw_directory_cache();
  size_t length = cache.folder ? strlen(cache.folder) : 0;
  if (length + MW_CACHE_NAME_SIZE + 64 < sizeof((mw_cache_info){0}.path)) return;
  free(cache.folder);
  cache.folder = NULL;
}

static const char *folder(void) {
  pthread_once(&cache.once, locate);
  return cache.folder;
}

/* The path of an entry; false without a cache. */
static bool entry_path(const mw_hash *key, char name[MW_CACHE_NAME_SIZE], char *path, size_t size) {
  mw_cache_folder_name(key, name);
  return folder() && (size_t)snprintf(path, size, "%s/%s", folder(), name) < size;
}

/* ---- finding ---- */

/* Mark the entry as just used; false if there is none. The explicit time has nanoseconds, since the kernel's "now"
   (UTIME_NOW) has a resolution of milliseconds; but in a folder shared with others only UTIME_NOW may be allowed, or
   not even that. */
static bool touch(const char *path) {
  struct timespec times[2] = {{.tv_nsec = UTIME_OMIT}, {0}};
  clock_gettime(CLOCK_REALTIME, &times[1]);
  if (utimensat(AT_FDCWD, path, times, 0) == 0) return true;
  return errno != ENOENT && errno != ENOTDIR && (utimensat(AT_FDCWD, path, NULL, 0) == 0 || access(path, R_OK) == 0);
}

/* An entry's last bytes are its key: a file that was put under another one's name is none. */
static bool holds_key(const char *path, const mw_hash *key) {
  mw_hash found;
  struct stat facts;
  int file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
  bool holds = file >= 0 && fstat(file, &facts) == 0 &&
               pread(file, &found, sizeof found, facts.st_size - (off_t)sizeof found) == (ssize_t)sizeof found &&
               memcmp(&found, key, sizeof found) == 0;
  if (file >= 0) close(file);
  return holds;
}

/* The compiler's output is read-only, also for its owner; store() makes it so again. */
static bool write_key(const char *path, size_t size, const mw_hash *key) {
  int file = chmod(path, 0600) == 0 ? open(path, O_WRONLY | O_CLOEXEC) : -1;
  bool written = file >= 0 && pwrite(file, key, sizeof *key, (off_t)(size - sizeof *key)) == (ssize_t)sizeof *key;
  return (file < 0 || close(file) == 0) && written;
}

bool mw_cache_find(const mw_hash *key, char *path, size_t size) {
  char name[MW_CACHE_NAME_SIZE];
  /* The file becomes code that is run: check its owner each time. */
  bool found = entry_path(key, name, path, size) && mw_directory_is_private(folder()) && mw_file_is_private(path) &&
               holds_key(path, key) && touch(path);
  atomic_fetch_add_explicit(found ? &cache.hits : &cache.misses, 1, memory_order_relaxed);
  return found;
}

bool mw_cache_has(const mw_hash *key) {
  char name[MW_CACHE_NAME_SIZE], path[PATH_MAX];
  return entry_path(key, name, path, sizeof path) && access(path, R_OK) == 0;
}

/* An entry that was found but is not usable does not count as a hit. */
void mw_cache_remove(const mw_hash *key) {
  char name[MW_CACHE_NAME_SIZE], path[PATH_MAX];
  if (!entry_path(key, name, path, sizeof path)) return;
  unlink(path);
  size_t hits = atomic_load(&cache.hits);
  while (hits > 0 && !atomic_compare_exchange_weak(&cache.hits, &hits, hits - 1)) {}
  if (hits > 0) atomic_fetch_add(&cache.misses, 1);
}

/* ---- storing ---- */

static bool send_all(int target, int source) {
  ssize_t sent;
  mw_writing writing = mw_writing_begin();
  do sent = sendfile(target, source, NULL, (size_t)1 << 30);
  while (sent > 0 || (sent < 0 && errno == EINTR));
  mw_writing_end(&writing);
  return sent == 0;
}

/* Copy under a temporary name of the form that cache_folder.c recognises. */
static bool copy_into(const char *file, const char *path) {
  static atomic_uint counter;
  int source = open(file, O_RDONLY | O_CLOEXEC);
  if (source < 0) return false;
  char *temporary = mw_format("%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&counter, 1));
  unlink(temporary); /* of a killed process that had this process's id */
  int target = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400);
  bool copied = target >= 0 && send_all(target, source);
  if (target >= 0 && close(target) != 0) copied = false;
  copied = copied && touch(temporary) && rename(temporary, path) == 0;
  if (target >= 0 && !copied) unlink(temporary);
  if (copied) unlink(file);
  free(temporary);
  close(source);
  return copied;
}

/* Rename, or copy if the temporary folder is on another file system. */
static bool move_into(const char *file, const char *path) {
  return rename(file, path) == 0 || (errno == EXDEV && copy_into(file, path));
}

static bool store(const char *file, const char *path) {
  struct stat facts;
  if (chmod(file, 0400) != 0 || (stat(folder(), &facts) == 0 && !mw_directory_is_private(folder()))) return false;
  if (move_into(file, path)) return true;
  return errno == ENOENT && mw_directory_make_private(folder()) && move_into(file, path);
}

void mw_cache_store(const mw_hash *key, const char *file, char *path, size_t size) {
  char name[MW_CACHE_NAME_SIZE];
  struct stat facts;
  size_t limit = atomic_load(&cache.limit);
  bool fits = stat(file, &facts) == 0 && (size_t)facts.st_size <= limit && (size_t)facts.st_size >= sizeof *key;
  fits = fits && write_key(file, (size_t)facts.st_size, key);
  if (fits && entry_path(key, name, path, size) && touch(file) && store(file, path)) {
    mw_cache_folder_grown(folder(), name, (size_t)facts.st_size, limit);
  } else {
    snprintf(path, size, "%s", file);
  }
}

/* ---- the public side ---- */

int mw_cache_describe(mw_cache_info *out) {
  mw_cache_info info = {.limit = atomic_load(&cache.limit)};
  info.hits = atomic_load(&cache.hits);
  info.misses = atomic_load(&cache.misses);
  if (folder()) {
    mw_cache_usage usage = mw_cache_folder_usage(folder());
    snprintf(info.path, sizeof info.path, "%s", folder());
    info.bytes = usage.bytes;
    info.entries = usage.entries;
  }
  *out = info;
  return MW_SUCCESS;
}

int mw_cache_clear(void) {
  int error = folder() ? mw_cache_folder_clear(folder()) : 0;
  if (!error) return MW_SUCCESS;
  return fail(MW_OPERATING_SYSTEM, "cannot clear the compile cache '%s': %s", folder(), strerror(error));
}

int mw_cache_limit(size_t bytes) {
  atomic_store(&cache.limit, bytes);
  if (folder()) mw_cache_folder_shrink(folder(), bytes);
  return MW_SUCCESS;
}
