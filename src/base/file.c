/* Files and folders: reading and writing whole files, private temporary folders, the user's cache folder. */
#include "base.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <time.h>
#include <unistd.h>

static int fail_errno(const char *action, const char *path, int error) {
  bool missing = error == ENOENT || error == ENOTDIR;
  return fail(missing ? MW_FILE_NOT_FOUND : MW_OPERATING_SYSTEM, "cannot %s '%s': %s", action, path, strerror(error));
}

/* ---- reading ---- */

/* Reads to the end, whatever the file's size: in /proc sizes are 0, and a file may grow meanwhile. */
static int read_all(int descriptor, const char *path, mw_text *text) {
  char buffer[16384];
  for (;;) {
    ssize_t got = read(descriptor, buffer, sizeof buffer);
    if (got == 0) return MW_SUCCESS;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno("read", path, errno);
    if (!mw_text_reserve(text, (size_t)got, "what the file has")) return MW_MEMORY_ALLOCATION;
    mw_text_add(text, buffer, (size_t)got);
  }
}

static const char *kind_of(mode_t mode) {
  return S_ISDIR(mode) ? "a folder" : S_ISFIFO(mode) ? "a pipe" : S_ISSOCK(mode) ? "a socket" : "a device";
}

/* Where the system promises more memory than it has, reading more would end in the death of some process. */
static bool exceeds_memory(off_t bytes) {
  struct sysinfo facts;
  return sysinfo(&facts) == 0 && (uint64_t)bytes / facts.mem_unit > (uint64_t)facts.totalram + facts.totalswap;
}

/* Takes ownership of the descriptor. */
static int read_open(int descriptor, const char *path, bool regular, mw_text *out) {
  if (descriptor < 0) return fail_errno("read", path, errno);
  mw_text text = {0};
  struct stat facts;
  int code = fstat(descriptor, &facts) == 0 ? MW_SUCCESS : fail_errno("read", path, errno);
  bool is_regular = code == MW_SUCCESS && S_ISREG(facts.st_mode);
  if (code == MW_SUCCESS && regular && !is_regular)
    code = fail(MW_OPERATING_SYSTEM, "cannot read '%s': it is not a file but %s", path, kind_of(facts.st_mode));
  if (is_regular && exceeds_memory(facts.st_size)) code = MW_MEMORY_ALLOCATION;
  if (code == MW_SUCCESS && is_regular && !mw_text_reserve(&text, (size_t)facts.st_size, "what the file has"))
    code = MW_MEMORY_ALLOCATION;
  if (code == MW_SUCCESS) code = read_all(descriptor, path, &text);
  close(descriptor);
  if (code == MW_MEMORY_ALLOCATION) {
    size_t bytes = is_regular ? (size_t)facts.st_size : text.length;
    fail(code, "cannot read '%s': the host has no memory for its %zu bytes", path, bytes);
  }
  if (code != MW_SUCCESS) {
    mw_text_free(&text);
    return code;
  }
  mw_text_add(&text, "", 0);
  *out = text;
  return MW_SUCCESS;
}

int mw_file_read(const char *path, mw_text *out) {
  return read_open(open(path, O_RDONLY | O_CLOEXEC), path, false, out);
}

/* O_NONBLOCK: opening a pipe would wait for a writer. */
int mw_file_read_regular(const char *path, mw_text *out) {
  return read_open(open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK), path, true, out);
}

/* ---- writing ---- */

static sigset_t too_large(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGXFSZ);
  return set;
}

mw_writing mw_writing_begin(void) {
  mw_writing writing;
  sigset_t set = too_large(), pending;
  writing.was_pending = sigpending(&pending) == 0 && sigismember(&pending, SIGXFSZ) == 1;
  pthread_sigmask(SIG_BLOCK, &set, &writing.before);
  return writing;
}

/* The pending SIGXFSZ is directed at the thread that wrote. */
void mw_writing_end(const mw_writing *writing) {
  const struct timespec at_once = {0};
  int error = errno;
  sigset_t set = too_large();
  if (!writing->was_pending)
    while (sigtimedwait(&set, NULL, &at_once) < 0 && errno == EINTR) {}
  pthread_sigmask(SIG_SETMASK, &writing->before, NULL);
  errno = error;
}

static int write_all(int descriptor, const void *data, size_t length) {
  const char *rest = data;
  while (length) {
    ssize_t put = write(descriptor, rest, length);
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return errno;
    rest += put;
    length -= (size_t)put;
  }
  return 0;
}

/* close() reports what a network file system could not write earlier. */
static int write_and_close(int descriptor, const void *data, size_t length) {
  mw_writing writing = mw_writing_begin();
  int error = write_all(descriptor, data, length);
  mw_writing_end(&writing);
  if (close(descriptor) != 0 && !error) error = errno;
  return error;
}

/* For /dev/stdout or a pipe: there is nothing to replace, and a rename would replace the device itself. */
static int write_through(const char *path, const void *data, size_t length) {
  int descriptor = open(path, O_WRONLY | O_CLOEXEC);
  if (descriptor < 0) return errno;
  return write_and_close(descriptor, data, length);
}

static int write_replacing(const char *path, const void *data, size_t length) {
  static atomic_uint counter;
  char *name = NULL;
  int descriptor = -1, error = 0;
  do { /* another process with the same id may have left its temporary file here */
    free(name);
    name = mw_format("%s.%ld-%u.tmp", path, (long)getpid(), atomic_fetch_add(&counter, 1));
    descriptor = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
  } while (descriptor < 0 && errno == EEXIST);
  if (descriptor < 0) {
    error = errno;
  } else {
    error = write_and_close(descriptor, data, length);
    if (!error && rename(name, path) != 0) error = errno;
    if (error) unlink(name);
  }
  free(name);
  return error;
}

int mw_file_write(const char *path, const void *data, size_t length) {
  struct stat facts;
  bool exists = stat(path, &facts) == 0;
  char *target = exists ? realpath(path, NULL) : NULL; /* a link is followed to its target */
  int error = exists && S_ISDIR(facts.st_mode)    ? EISDIR
              : exists && !S_ISREG(facts.st_mode) ? write_through(path, data, length)
                                                  : write_replacing(target ? target : path, data, length);
  free(target);
  return error ? fail_errno("write", path, error) : MW_SUCCESS;
}

/* ---- folders ---- */

int mw_directory_make(const char *path) {
  if (mkdir(path, 0777) == 0) return MW_SUCCESS;
  int error = errno;
  struct stat facts;
  if (error == EEXIST && stat(path, &facts) == 0) error = S_ISDIR(facts.st_mode) ? 0 : ENOTDIR;
  const char *slash = strrchr(path, '/');
  if (error == ENOENT && slash && slash != path) {
    char *parent = mw_strdup(path);
    parent[slash - path] = '\0';
    int code = mw_directory_make(parent);
    free(parent);
    if (code) return code;
    error = mkdir(path, 0777) == 0 || errno == EEXIST ? 0 : errno;
  }
  return error ? fail_errno("make the folder", path, error) : MW_SUCCESS;
}

/* Leaves the error slot unchanged: without a cache folder its callers continue uncached. */
bool mw_directory_make_private(const char *path) {
  if (mkdir(path, 0700) == 0 || errno == EEXIST) return true;
  const char *slash = strrchr(path, '/');
  if (errno != ENOENT || !slash || slash == path) return false;
  char *parent = mw_strdup(path);
  parent[slash - path] = '\0';
  bool made = mw_directory_make_private(parent) && (mkdir(path, 0700) == 0 || errno == EEXIST);
  free(parent);
  return made;
}

#define TEMPORARY "moonwarp-"

/* Removes the folder `name` in `parent` and its contents down to that depth. Links are not followed. */
static void remove_below(int parent, const char *name, int depth) {
  int descriptor = openat(parent, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
  DIR *folder = descriptor < 0 ? NULL : fdopendir(descriptor);
  for (struct dirent *entry; folder && (entry = readdir(folder));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
    if (unlinkat(descriptor, entry->d_name, 0) != 0 && depth > 0) remove_below(descriptor, entry->d_name, depth - 1);
  }
  if (folder) closedir(folder);
  unlinkat(parent, name, AT_REMOVEDIR);
}

/* Whether a folder "moonwarp-<process>-XXXXXX" of the user belongs to a process that has ended. It must also be old:
   in a container process ids differ, so that an unknown id may belong to a live process. */
static bool is_abandoned(int parent, const char *name) {
  enum { OLD_SECONDS = 4 * 3600 };
  struct stat facts;
  char *rest;
  if (strncmp(name, TEMPORARY, strlen(TEMPORARY)) != 0) return false;
  long process = strtol(name + strlen(TEMPORARY), &rest, 10);
  if (process <= 0 || process > INT_MAX || *rest != '-' || strlen(rest) != strlen("-XXXXXX")) return false;
  return fstatat(parent, name, &facts, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(facts.st_mode) &&
         facts.st_uid == geteuid() && facts.st_mtim.tv_sec < time(NULL) - OLD_SECONDS && kill((pid_t)process, 0) != 0 &&
         errno == ESRCH;
}

static void remove_abandoned(const char *parent) {
  static atomic_flag done = ATOMIC_FLAG_INIT;
  DIR *folder = atomic_flag_test_and_set(&done) ? NULL : opendir(parent);
  if (!folder) return;
  for (struct dirent *entry; (entry = readdir(folder));)
    if (is_abandoned(dirfd(folder), entry->d_name)) remove_below(dirfd(folder), entry->d_name, 8);
  closedir(folder);
}

int mw_directory_temporary(char **out) {
  const char *parent = getenv("TMPDIR");
  if (!parent || !*parent) parent = "/tmp";
  remove_abandoned(parent);
  char *path = mw_format("%s/" TEMPORARY "%ld-XXXXXX", parent, (long)getpid());
  if (!mkdtemp(path)) {
    int error = errno;
    free(path);
    return fail(MW_OPERATING_SYSTEM, "cannot make a temporary folder in '%s' ($TMPDIR, or else /tmp): %s", parent,
                strerror(error));
  }
  *out = path;
  return MW_SUCCESS;
}

void mw_directory_remove(const char *path) {
  DIR *folder = opendir(path);
  if (folder) {
    for (struct dirent *entry; (entry = readdir(folder));) unlinkat(dirfd(folder), entry->d_name, 0);
    closedir(folder);
  }
  rmdir(path);
}

/* ---- the user's cache ---- */

/* The path as the user wrote it, made absolute so that it survives the host's chdir. */
static char *cache_from_user(const char *path) {
  if (strcmp(path, "off") == 0) return NULL;
  char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
  char *absolute = here ? mw_format("%s/%s", here, path) : mw_strdup(path);
  free(here);
  return absolute;
}

/* By the XDG base directory specification, which says that a relative $XDG_CACHE_HOME is ignored. */
static char *cache_from_system(void) {
  const char *caches = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
  if (caches && caches[0] == '/') return mw_format("%s/moonwarp", caches);
  return home && home[0] == '/' ? mw_format("%s/.cache/moonwarp", home) : NULL;
}

static bool is_ours(const struct stat *facts) { return facts->st_uid == geteuid() || facts->st_uid == 0; }

bool mw_file_is_private(const char *path) {
  struct stat facts;
  return lstat(path, &facts) == 0 && S_ISREG(facts.st_mode) && is_ours(&facts) &&
         !(facts.st_mode & (S_IWGRP | S_IWOTH));
}

/* In a sticky folder others may add files, but only touch their own; the folder's owner may touch all. */
bool mw_directory_is_private(const char *path) {
  struct stat facts;
  return stat(path, &facts) == 0 && S_ISDIR(facts.st_mode) && is_ours(&facts) &&
         (!(facts.st_mode & (S_IWGRP | S_IWOTH)) || facts.st_mode & S_ISVTX);
}

/* Cached files are executed: in a folder that we choose ourselves, others must not be able to create files. */
char *mw_directory_cache(void) {
  const char *wish = getenv("MOONWARP_CACHE");
  if (wish && *wish) return cache_from_user(wish);
  char *folder = cache_from_system();
  struct stat facts;
  if (folder &&
      (mw_directory_is_private(folder) || (stat(folder, &facts) != 0 && (errno == ENOENT || errno == ENOTDIR))))
    return folder;
  free(folder);
  return NULL;
}
