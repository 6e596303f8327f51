/* Clang as the front end, and where it is: CUDA C -> bitcode. */
#ifndef MWCC_FRONT_FRONT_H
#define MWCC_FRONT_FRONT_H

#include "mwcc/mwcc.h"

char *find_clang(void);                 /* of the major version of our LLVM, which reads its bitcode */
char *find_device_headers(void);        /* a folder */
char *find_installed(const char *path); /* beside mwcc: "lib/…" for <prefix>/bin/mwcc */
void add_system_headers(strings *args, const char *clang, const char *device, bool cxx);
/* A source's text as clang wants it: see alignas_rewrite.c. */
void order_specifiers(char *text, size_t length);
/* Add a file to a list of dependencies; one that is not there is left out. */
void depend_add(mw_text *list, const char *path);
/* Add those of a make rule, but not files whose names start with `except` (or NULL); the rule's file is removed. */
void depend_read(mw_text *list, const char *rule, const char *except);
/* Whether all files of the list are as they were. */
bool depend_unchanged(char *list);
/* The precompiled form of `header` for this clang command, which has in it all that matters. */
pch pch_find(const strings *command, const char *device, const char *header);
/* clang could do nothing with it. */
void pch_refused(const pch *p);
/* Write one to `path`, or end the process. */
void pch_make(const strings *command, const char *header, const char *path);
front_job *front_begin(program *p);
/* The bitcode is in *bitcode, warnings and dependencies in the program. Ends the process with clang's own diagnostics
   where the source is wrong. */
void front_finish(program *p, front_job *f, mw_text *bitcode);
/* Instead: all of it from files of an earlier run (--bitcode). */
void front_read(program *p, mw_text *bitcode);
/* Instead: print clang's diagnostics as JSON; false where one is an error. */
bool front_check(program *p, front_job *f);
bool check_print(const char *text);
void front_make_pch(const options *o);

#endif
