/* Utilities for every part: memory, reference counts, the error slot, strings, files, child processes. They do not
 * depend on devices. The compiler process (src/mwcc) shares this file and the image format with the runtime. */
#ifndef MW_BASE_H
#define MW_BASE_H

#include "moonwarp.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/select.h> /* sigset_t */

/* ---- memory: for the library's own bookkeeping, in small pieces. These do not return NULL: when host memory is
   exhausted, the process ends with a message ---- */
void *mw_alloc(size_t bytes);                                                   /* zeroed */
void *mw_realloc(void *old, size_t bytes);                                      /* growth is not zeroed */
char *mw_strdup(const char *text);                                              /* NULL stays NULL */
char *mw_format(const char *format, ...) __attribute__((format(printf, 1, 2))); /* yours: free */
/* For memory whose size a script, a kernel or a file determines. Zeroed; NULL if there is none, with
   MW_MEMORY_ALLOCATION and "no memory for `what`" in the error slot. */
void *mw_try_alloc(size_t bytes, const char *what) __attribute__((warn_unused_result));

#define MW_COUNT(array) (sizeof(array) / sizeof((array)[0]))
/* For hot functions: the compiler moves the unlikely path out of line. */
#define mw_likely(condition) __builtin_expect(!!(condition), 1)

/* ---- reference counts, shared between threads ---- */
typedef atomic_int mw_refs;
static inline void mw_refs_init(mw_refs *refs) { atomic_init(refs, 1); }
static inline void mw_refs_take(mw_refs *refs) { atomic_fetch_add_explicit(refs, 1, memory_order_relaxed); }
/* True for the caller that released the last reference and must destroy the object. */
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
/* Reserve `length` more bytes, so that adding them cannot fail; false as mw_try_alloc. Small additions need no
   reservation. */
bool mw_text_reserve(mw_text *text, size_t length, const char *what) __attribute__((warn_unused_result));
void mw_text_add(mw_text *text, const void *data, size_t length);
void mw_text_addf(mw_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void mw_text_free(mw_text *text);

/* ---- the machine ---- */
int mw_processors(void); /* how many this process may use: its affinity, which mpirun and taskset set */

/* ---- hashing (not cryptographic): 128 bits, about 3 bytes a nanosecond ---- */
typedef struct mw_hash {
  uint64_t low, high;
} mw_hash;
mw_hash mw_hash_start(void);
/* The length of each piece is hashed with it, so that "ab","c" differs from "a","bc". */
void mw_hash_add(mw_hash *hash, const void *data, size_t length);
void mw_hash_add_text(mw_hash *hash, const char *text); /* NULL counts as "" */
void mw_hash_hex(const mw_hash *hash, char out[33]);
/* The file name, without an ending, of the shipped module that was compiled from a text without options. */
void mw_hash_shipped_name(const char *text, size_t length, char out[33]);

/* ---- files ---- */
/* Read a whole file, a pipe to its end. MW_FILE_NOT_FOUND, MW_OPERATING_SYSTEM, MW_MEMORY_ALLOCATION. */
int mw_file_read(const char *path, mw_text *out);
/* The same for regular files only, for names from outside: pipes and devices may never end. */
int mw_file_read_regular(const char *path, mw_text *out);
/* Around all writes to files: beyond `ulimit -f` a write fails with EFBIG, and SIGXFSZ does not end the host.
   mw_writing_end preserves errno. */
typedef struct mw_writing {
  sigset_t before;
  bool was_pending;
} mw_writing;
mw_writing mw_writing_begin(void);
void mw_writing_end(const mw_writing *writing);
/* Write atomically: to a temporary name beside `path`, then rename. */
int mw_file_write(const char *path, const void *data, size_t length);
int mw_directory_make(const char *path);          /* with its parents */
bool mw_directory_make_private(const char *path); /* the same, accessible to the user only; reports no error */
/* A new private folder under $TMPDIR; yours: free, and mw_directory_remove. The first one of a process also removes the
   folders that killed processes of the user left there hours ago. */
int mw_directory_temporary(char **out);
void mw_directory_remove(const char *path); /* one level: its files and itself */
/* Whether only the user and root can have written the file, or the folder and the files in it whose names only they can
   create. Checked again at each call, since the answer for a name may change. */
bool mw_file_is_private(const char *path);
bool mw_directory_is_private(const char *path);
/* The cache folder: $MOONWARP_CACHE, or moonwarp/ in the user's cache folder; it need not exist yet. NULL if caching is
   off (MOONWARP_CACHE=off), or if others could write there. Yours: free. */
char *mw_directory_cache(void);

/* ---- child processes ---- */
typedef struct mw_child_limits {
  double seconds;        /* wall clock; 0: none */
  size_t memory;         /* bytes of address space, at most the host's own limit; 0: none */
  const char *directory; /* to run in; NULL: the host's own */
} mw_child_limits;
typedef struct mw_child_result {
  int status;     /* exit status, or -1 if it did not exit by itself */
  int signal;     /* that ended it, or 0 */
  size_t memory;  /* its limit in bytes of address space; 0: no limit */
  bool inherited; /* that limit is the host's own, `ulimit -v` */
  bool timed_out; /* killed, with its whole process group, at the wall clock limit */
  mw_text output; /* standard output */
  mw_text errors; /* standard error */
} mw_child_result;
/* Run argv[0] (a path, or looked up in PATH) and wait; `input` (may be NULL) is its standard input. The child inherits
   no descriptors of the host, and signals have their default actions. Fails with MW_FILE_NOT_FOUND if there is no such
   program. */
int mw_child_run(const char *const *argv, const mw_text *input, const mw_child_limits *limits, mw_child_result *out);
/* The same in two steps, for a caller with other work in between. The thread that begins must also finish, which frees
   the child; the time limit counts from mw_child_begin. Until mw_child_finish, a child that writes more than a pipe
   holds (64 KiB) blocks. */
typedef struct mw_child mw_child;
int mw_child_begin(const char *const *argv, const mw_text *input, const mw_child_limits *limits, mw_child **out);
int mw_child_finish(mw_child *child, mw_child_result *out);
void mw_child_result_free(mw_child_result *result);
/* From now on children that this thread runs are killed soon after *flag is set. */
void mw_child_cancel(const atomic_bool *flag);

#endif
