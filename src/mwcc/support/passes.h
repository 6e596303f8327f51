/* The passes by number, name and description: what passes.def says of them. pipeline.c knows their functions. */
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
  STAGE_SHARE,
  STAGE_OPTIMISE,
  STAGE_EMIT
} pass_stage;

typedef enum pass_when { PASS_ALWAYS, PASS_CPU, PASS_LEVEL, PASS_LANES } pass_when;

typedef struct pass_info {
  const char *name;
  pass_stage stage;
  pass_when when;
  bool optional;
  bool is_choice; /* one that its stage makes: there is no function, and nothing to need or to give */
  const char *needs, *gives, *what, *counterpart;
} pass_info;

extern const pass_info pass_table[PASS_COUNT]; /* the first, PASS_NONE, is none */

/* PASS_NONE: there is none of that name. */
pass_id pass_named(const char *name);
/* mwcc --passes */
void print_passes(void);

#endif
