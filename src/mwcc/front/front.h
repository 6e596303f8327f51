/* clang as the front end: CUDA C to bitcode.
 *
 *   frontend.c                                runs clang, as a child process or embedded (clang_embedded.cc)
 *   toolchain.c                               finds clang and the system's headers
 *   pch.c, dependencies.c                     precompiled device headers; the files that a result depends on
 *   units.c                                   several sources of one module
 *   alignas_rewrite.c, asm_rewrite.c,
 *   launch_rewrite.c, source_text.c           rewriting of source text that nvcc accepts and clang does not
 *   diagnostics_json.c                        mwcc --check */
#ifndef MWCC_FRONT_FRONT_H
#define MWCC_FRONT_FRONT_H

#include "mwcc/mwcc.h"

/* A precompiled header: pch.c. */
typedef struct pch {
  const char *path; /* NULL: none can be used */
  mw_hash key;
  bool is_cached, is_new; /* is in the user's cache folder; was made by this process, from these files */
  mw_text files;
} pch;

char *find_clang(void);                 /* of our LLVM's major version, so that LLVM reads its bitcode */
char *find_device_headers(void);        /* their folder */
char *find_installed(const char *path); /* relative to the prefix: <prefix>/<path> for <prefix>/bin/mwcc */
void add_system_headers(strings *args, const char *clang, const char *device, bool cxx);
/* Move alignas to where clang accepts it, in place (alignas_rewrite.c). */
void move_alignas(char *text, size_t length);
/* Add the text to `out` with launches as calls that clang compiles in device code (launch_rewrite.c). */
void rewrite_launches(mw_text *out, const char *text, size_t length);
/* Make launches in clang's messages what they are in the source. */
void restore_launches(mw_text *log);
bool is_word(char c);
/* The position after a comment, a literal or a single character (source_text.c). */
size_t skip_token(const char *text, size_t length, size_t at);
/* Add `text` to `out` with each % before a special register's name in an asm statement doubled, and with commas between
   the statement's operands (asm_rewrite.c). */
void escape_registers(mw_text *out, const char *text);
/* Add a file to a list of dependencies; a missing file is left out. */
void depend_add(mw_text *list, const char *path);
/* Add the prerequisites of a make rule, except files whose names start with `except` (or NULL), and remove the rule's
   file. */
void depend_read(mw_text *list, const char *rule, const char *except);
/* Whether no file of the list has changed. */
bool depend_unchanged(char *list);
/* The precompiled form of `header` for this clang command, which includes every option that matters to it. */
pch pch_find(const strings *command, const char *device, const char *header);
/* clang failed with this precompiled header: do not use it again. */
void pch_reject(const pch *p);
/* Write one to `path`, or end the process. */
void pch_make(const strings *command, const char *header, const char *path);
/* Start clang on the program's source. One of front_finish() and front_check() has to follow. */
front_job *front_begin(program *p);
/* Remove clang's files if the process ends before one of these: for a library of stages, which has its own quit(). */
void front_remove_at_end(const front_job *f);
/* The bitcode is in *bitcode, warnings and dependencies in the program. If the source has errors, prints clang's
   diagnostics and ends the process. */
void front_finish(program *p, front_job *f, mw_text *bitcode);
/* Without clang: read all of this from files of an earlier run (--bitcode). */
void front_read(program *p, mw_text *bitcode);
/* Print clang's diagnostics as JSON. Returns false if one of them is an error. */
bool front_check(program *p, front_job *f);
bool check_print(const char *text);
void front_make_pch(const options *o);

#endif
