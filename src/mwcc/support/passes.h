/* The table of passes made from passes.def: names, stages, descriptions. pipeline.c has their functions. */
#ifndef MWCC_PASSES_H
#define MWCC_PASSES_H

#include <stdbool.h>

typedef enum pass_id {
  PASS_NONE,
#define PASS(id, ...) PASS_##id,
#include "mwcc/passes.def"
#undef PASS
  PASS_COUNT
} pass_id;

typedef enum pass_stage {
  STAGE_READ,
  STAGE_GPU,
  STAGE_PREPARE,
  STAGE_WIDEN,
  STAGE_LOWER,
  STAGE_PARTITION,
  STAGE_OPTIMISE,
  STAGE_EMIT
} pass_stage;

typedef enum pass_when { PASS_ALWAYS, PASS_CPU, PASS_LEVEL, PASS_LANES } pass_when;

typedef struct pass_info {
  const char *name;
  pass_stage stage;
  pass_when when;
  bool optional;
  bool is_choice; /* a decision within another pass: it has no function, `needs` or `gives` of its own */
  const char *needs, *gives, *what, *counterpart;
} pass_info;

extern const pass_info pass_table[PASS_COUNT]; /* starts with PASS_NONE, which is not a pass */

/* The pass of that name, or PASS_NONE. */
pass_id pass_named(const char *name);
/* mwcc --passes */
void print_passes(void);

#endif
