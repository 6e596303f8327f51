/* The table of passes (passes.def), for options and for --passes. */
#include "passes.h"

#include <stdio.h>
#include <string.h>

enum { REQUIRED, OPTIONAL };

const pass_info pass_table[PASS_COUNT] = {
#define PASS(id, text, of, function, whenever, kind, need, give, sentence, other)                                      \
  [PASS_##id] = {.name = text,                                                                                         \
                 .stage = STAGE_##of,                                                                                  \
                 .when = PASS_##whenever,                                                                              \
                 .optional = kind,                                                                                     \
                 .is_choice = sizeof need == 1,                                                                        \
                 .needs = need,                                                                                        \
                 .gives = give,                                                                                        \
                 .what = sentence,                                                                                     \
                 .counterpart = other},
#include "mwcc/passes.def"
#undef PASS
};

pass_id pass_named(const char *name) {
  for (int id = PASS_NONE + 1; id < PASS_COUNT; id++)
    if (strcmp(pass_table[id].name, name) == 0) return (pass_id)id;
  return PASS_NONE;
}

void print_passes(void) {
  static const char *const stages[] = {
      [STAGE_READ] = "read",         [STAGE_GPU] = "gpu",     [STAGE_PREPARE] = "prepare",
      [STAGE_WIDEN] = "widen",       [STAGE_LOWER] = "lower", [STAGE_PARTITION] = "partition",
      [STAGE_OPTIMISE] = "optimise", [STAGE_EMIT] = "emit"};
  for (int id = PASS_NONE + 1; id < PASS_COUNT; id++) {
    const pass_info *p = &pass_table[id];
    printf("%-9s %-26s %s  %s\n", stages[p->stage], p->name, p->optional ? "optional" : "required", p->what);
    if (!p->is_choice) printf("%46s  needs: %s; gives: %s\n", "", p->needs, p->gives);
    printf("%46s  elsewhere: %s\n", "", p->counterpart);
  }
}
