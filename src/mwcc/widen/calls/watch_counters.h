/* Calls of watched code: watch_calls.c emits them, watch_counters.c avoids them. */
#ifndef WIDEN_WATCH_COUNTERS_H
#define WIDEN_WATCH_COUNTERS_H

#include "mwcc/widen/widen.h"
#include "mwcc/analysis/watched_site.h"

typedef enum watch_kind {
  WATCH_NOTHING, /* the set of lanes suffices */
  WATCH_TAKES,   /* a word of 32 bits: the lanes that take a branch */
  WATCH_RUNS,    /* the first address of each run of lanes */
  WATCH_WORDS    /* vectors of each lane's word */
} watch_kind;

/* The report of a call about a site. Words are 64-bit numbers, frozen where lanes may not be active. */
typedef struct watch_call {
  mask m;
  watched_site *of;
  LLVMValueRef site, warp, lanes;
  watch_kind kind;
  vectors words;
  int count; /* of runs */
  uint64_t stride;
} watch_call;

/* ---- watch_calls.c ---- */
/* The words in memory, in the runtime's layout. */
LLVMValueRef lay_out_words(widener *w, const watch_call *c);

/* ---- watch_counters.c ---- */
/* Whether generated code counts the site itself, instead of calling the runtime. */
bool is_counted_in_place(program *p, watch_call *c);
/* Count and continue at `rest`, or at `call_block` if the runtime must be called. Returns the words in memory, or NULL. */
LLVMValueRef count_in_place(widener *w, const watch_call *c, LLVMBasicBlockRef call_block, LLVMBasicBlockRef rest);

#endif
