/* Calls of watched code, as watch.c makes them and tally.c avoids them. */
#ifndef WIDEN_TALLY_H
#define WIDEN_TALLY_H

#include "mwcc/widen/widen.h"
#include "mwcc/analysis/watched_site.h"

typedef enum watch_kind {
  WATCH_NOTHING, /* the set of lanes says all */
  WATCH_TAKES,   /* a word of 32 bits: the lanes that take a branch */
  WATCH_RUNS,    /* the first address of each run of lanes */
  WATCH_WORDS    /* vectors of each lane's word */
} watch_kind;

/* What is said of a site. Words are numbers of 64 bits, frozen where lanes may not be active. */
typedef struct watch_call {
  mask m;
  watched_site *of;
  LLVMValueRef site, warp, lanes;
  watch_kind kind;
  vectors words;
  int count; /* of runs */
  uint64_t stride;
} watch_call;

/* ---- watch.c ---- */
/* The words in memory, as the runtime wants them. */
LLVMValueRef lay_out_words(widener *w, const watch_call *c);

/* ---- tally.c ---- */
/* Whether the code counts for itself what the call would say. */
bool is_counted_in_place(program *p, watch_call *c);
/* Count, and go on at `rest`, or at `told` if the runtime must be called. Returns the words in memory, or NULL. */
LLVMValueRef count_in_place(widener *w, const watch_call *c, LLVMBasicBlockRef told, LLVMBasicBlockRef rest);

#endif
