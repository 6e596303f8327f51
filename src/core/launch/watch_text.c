/* What watchers of launches say: the lines of text that lua/moonwarp/watch/ reads, the same for all devices, and their
 * options. */
#include "watch.h"

#include <stdlib.h>

int mw_watch_rules(const char *capability, enum mw_rule_set *out) {
  char *end;
  const char *text = *capability ? capability : "9.0";
  long major = strtol(text, &end, 10), minor = 0;
  bool valid = end != text && (!*end || *end == '.') && major >= 1;
  if (valid && *end) minor = strtol(end + 1, &end, 10);
  if (!valid || *end || (major == 1 && minor > 3) || minor < 0)
    return fail(MW_INVALID_VALUE,
                "there are no counters for compute capability %s: there are for 1.0 to 1.3, and from "
                "2.0 on those of 9.0",
                capability);
  *out = major > 1 ? MW_RULES_TODAY : minor < 2 ? MW_RULES_1_0 : MW_RULES_1_2;
  return MW_SUCCESS;
}

static const char *text_of(const char *text) { return text ? text : ""; }

void mw_watch_add_site(mw_text *out, const mw_watched_site *s) {
  mw_text_addf(out, "\t%u\t%u\t%u\t%u\t%d\t%u\t%d\t%s\t%s\t%s\t%s", s->kind, s->space, s->bytes, s->detail, s->line,
               s->column, s->outer_line, text_of(s->file), text_of(s->outer_file), text_of(s->name),
               text_of(s->function));
}

void mw_watch_add_counts(mw_text *out, const mw_watched_counts *c) {
  const uint64_t numbers[] = {c->executed, c->lanes,      c->full,   c->divergent,       c->requests, c->sectors,
                              c->ideal,    c->wavefronts, c->least,  c->bytes,           c->used,     c->collisions,
                              c->moved,    c->issued,     c->rounds, c->round_wavefronts};
  for (size_t n = 0; n < MW_COUNT(numbers); n++) mw_text_addf(out, "\t%llu", (unsigned long long)numbers[n]);
  mw_text_addf(out, "\n");
}

void mw_watch_add_work(mw_text *out, uint64_t executed, uint64_t lanes, const uint32_t *work, size_t classes,
                       uint32_t flops) {
  mw_text_addf(out, "\t%llu\t%llu\t%u", (unsigned long long)executed, (unsigned long long)lanes, flops);
  for (size_t n = 0; n < classes; n++) mw_text_addf(out, "\t%u", work[n]);
  mw_text_addf(out, "\n");
}

/* Distances from the 128-byte line of the lowest address, so that numbers are small. */
void mw_watch_add_sample(mw_text *out, size_t number, uint32_t lanes, const uint64_t at[32]) {
  uint64_t base = UINT64_MAX;
  for (unsigned lane = 0; lane < 32; lane++)
    if (lanes >> lane & 1 && at[lane] < base) base = at[lane];
  mw_text_addf(out, "sample\t%zu", number);
  for (unsigned lane = 0; lane < 32; lane++)
    if (lanes >> lane & 1) mw_text_addf(out, "\t%u:%llu", lane, (unsigned long long)(at[lane] - base / 128 * 128));
  mw_text_addf(out, "\t\n");
}
