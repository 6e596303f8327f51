/* What every part stands on: memory, reference counts, the error slot, strings, files, child processes.
 * Nothing here knows of devices. The compiler process (src/mwcc) shares this file and the image format with the runtime. */
#ifndef MW_BASE_H
#define MW_BASE_H

#include "moonwarp.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/select.h> /* sigset_t */

/* ---- memory: these do not return NULL; out of host memory ends the process with a sentence. For what the library keeps
   books with, some bytes or KiB at a time ---- */
void *mw_alloc(size_t bytes);                                                   /* zeroed */
void *mw_realloc(void *old, size_t bytes);                                      /* growth is not zeroed */
char *mw_strdup(const char *text);                                              /* NULL stays NULL */
char *mw_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* yours: free */
/* For what a script, a kernel or a file says the size of. Zeroed; where there is none NULL, with MW_MEMORY_ALLOCATION and
   "no memory for `what`" in the error slot. */
void *mw_try_alloc(size_t bytes, const char *what) __attribute__((warn_unused_result));

#define MW_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* What the rest of a function that is called very often stands apart from, so that the way taken is a straight one. */
#define mw_likely(condition) __builtin_expect(!!(condition), 1)

/* ---- reference counts, shared between threads ---- */
typedef atomic_int mw_refs;
static inline void mw_refs_init(mw_refs *refs) { atomic_init(refs, 1); }
static inline void mw_refs_take(mw_refs *refs) { atomic_fetch_add_explicit(refs, 1, memory_order_relaxed); }
/* True for the caller that let go of the last one and must destroy the object. */
static inline bool mw_refs_drop(mw_refs *refs) { return atomic_fetch_sub_explicit(refs, 1, memory_order_acq_rel) == 1; }

/* ---- the error slot ---- */
/* Fill the calling thread's slot and return `code`. The kind follows from the code unless mw_error_kind changes it.
   Written where the facts are known: `return fail(MW_INVALID_VALUE, "write of %zu bytes at …", …)`. */
int fail(int code, const char *format, ...) __attribute__((cold, format(printf, 2, 3)));
int vfail(int code, const char *format, va_list args) __attribute__((cold));
/* Add facts to the failure just reported; each copies its strings. */
void mw_error_kind(const char *kind);
void mw_error_place(const char *file, int line, int column);
void mw_error_kernel(const char *kernel, const unsigned *block, const unsigned *thread); /* any may be NULL */
void mw_error_log(const char *log);
/* Carry a failure from one thread to another (a worker's to the thread that synchronises). */
mw_error *mw_error_copy(const mw_error *error); /* yours: mw_error_free */
void mw_error_free(mw_error *error);
int mw_error_raise(const mw_error *error); /* into this thread's slot; returns its code */

/* ---- growing byte strings ---- */
typedef struct mw_text {
  char *data; /* NUL-terminated once anything was added */
  size_t length, capacity;
} mw_text;
/* Room for `length` more bytes, so that adding them cannot fail; false as mw_try_alloc. What is added without is to be small. */
bool mw_text_reserve(mw_text *text, size_t length, const char *what) __attribute__((warn_unused_result));
void mw_text_add(mw_text *text, const void *data, size_t length);
void mw_text_addf(mw_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mw_text_free(mw_text *text);

/* ---- hashing (not cryptographic): 128 bits, about 3 bytes a nanosecond ---- */
typedef struct mw_hash {
  uint64_t low, high;
} mw_hash;
mw_hash mw_hash_start(void);
/* Each piece goes in with its length, so that "ab","c" differs from "a","bc". */
void mw_hash_add(mw_hash *hash, const void *data, size_t length);
void mw_hash_add_text(mw_hash *hash, const char *text); /* NULL counts as "" */
void mw_hash_hex(const mw_hash *hash, char out[33]);

/* ---- files ---- */
/* Read a whole file, a pipe to its end. MW_FILE_NOT_FOUND, MW_OPERATING_SYSTEM, MW_MEMORY_ALLOCATION. */
int mw_file_read(const char *path, mw_text *out);
/* The same of a regular file alone, for names that others choose: pipes and devices may never end. */
int mw_file_read_regular(const char *path, mw_text *out);
/* Around whatever writes to files: where `ulimit -f` is in the way it fails with EFBIG, and no signal ends the host. The end
   keeps errno. */
typedef struct mw_writing {
  sigset_t before;
  bool was_pending;
} mw_writing;
mw_writing mw_writing_begin(void);
void mw_writing_end(const mw_writing *writing);
/* Write all or nothing: a temporary name beside `path`, then rename. */
int mw_file_write(const char *path, const void *data, size_t length);
int mw_directory_make(const char *path);          /* with its parents */
bool mw_directory_make_private(const char *path); /* the same for nobody but the user; reports no error */
/* A fresh private folder under $TMPDIR; yours: free, and mw_directory_remove. The first one of a process takes those away
   that killed processes of the user's left there, hours after. */
int mw_directory_temporary(char **out);
void mw_directory_remove(const char *path); /* one level: its files and itself */
/* Whether nobody but the user and root can have put there what is there: a file, or a folder and what lies in it under names
   that are only theirs to take. Asked anew each time: what is true of a name now may not be later. */
bool mw_file_is_private(const char *path);
bool mw_directory_is_private(const char *path);
/* Where to keep what can be made again: $MOONWARP_CACHE, or moonwarp/ in the user's cache folder; it need not exist yet.
   NULL where nothing is to be kept (MOONWARP_CACHE=off), or others could write there. Yours: free. */
char *mw_directory_cache(void);

/* ---- child processes ---- */
typedef struct mw_child_limits {
  double seconds;        /* wall clock; 0: none */
  size_t memory;         /* bytes of address space, or what the host itself may have where that is less; 0: none */
  const char *directory; /* to run in; NULL: the host's own */
} mw_child_limits;
typedef struct mw_child_result {
  int status;     /* exit status, or -1 where it did not exit by itself */
  int signal;     /* that ended it, or 0 */
  size_t memory;  /* bytes of address space that it might have; 0: no limit */
  bool inherited; /* that limit is the host's own, `ulimit -v` */
  bool timed_out; /* killed, with its whole process group, for the wall clock limit */
  mw_text output; /* standard output */
  mw_text errors; /* standard error */
} mw_child_result;
/* Run argv[0] (a path, or looked up in PATH) and wait; input (may be NULL) goes to its standard input. Descriptors of the
   host are not inherited, signals have their defaults. Fails with MW_FILE_NOT_FOUND where there is no such program. */
int mw_child_run(const char *const *argv, const mw_text *input, const mw_child_limits *limits, mw_child_result *out);
/* The same in two steps, for a caller that has other work meanwhile. Whatever begins is finished by the same thread, which
   frees the child; the limit of time counts from the beginning. Until it is waited for, a child that writes more than a
   pipe holds (64 KiB) stands still. */
typedef struct mw_child mw_child;
int mw_child_begin(const char *const *argv, const mw_text *input, const mw_child_limits *limits, mw_child **out);
int mw_child_finish(mw_child *child, mw_child_result *out);
void mw_child_result_free(mw_child_result *result);

#endif
