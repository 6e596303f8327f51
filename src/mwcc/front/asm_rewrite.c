/* Makes clang accept asm statements as nvcc does: the names of special registers, and operands without a comma between.
 *
 *   asm volatile("mov.u64 %0, %globaltimer;" : "=l"(t));   ->   "mov.u64 %0, %%globaltimer;"
 *   asm("add.s32 %0, %1, %2;" : "=r"(r) : "r"(x) "r"(y));   ->   "r"(x), "r"(y)
 *
 * To clang % begins an operand, and a % of the assembler's is written twice. */
#include "mwcc/mwcc.h"
#include "front.h"

#include <ctype.h>
#include <string.h>

/* Whether the text after a single % is the name of a special register (PTX ISA, chapter 10). */
static bool is_register(const char *text) {
  static const char *const names[] = {"tid",
                                      "ntid",
                                      "ctaid",
                                      "nctaid",
                                      "cluster_ctaid",
                                      "cluster_nctaid",
                                      "clusterid",
                                      "nclusterid",
                                      "cluster_ctarank",
                                      "cluster_nctarank",
                                      "is_explicit_cluster",
                                      "laneid",
                                      "warpid",
                                      "nwarpid",
                                      "smid",
                                      "nsmid",
                                      "gridid",
                                      "clock",
                                      "clock_hi",
                                      "clock64",
                                      "globaltimer",
                                      "globaltimer_lo",
                                      "globaltimer_hi",
                                      "lanemask_eq",
                                      "lanemask_lt",
                                      "lanemask_le",
                                      "lanemask_gt",
                                      "lanemask_ge",
                                      "dynamic_smem_size",
                                      "total_smem_size"};
  size_t length = 0;
  while (is_word(text[length])) length++;
  for (size_t i = 0; i < MW_COUNT(names); i++)
    if (strlen(names[i]) == length && memcmp(names[i], text, length) == 0) return true;
  return false;
}

/* Past `asm volatile (`, or NULL: this word is no statement's beginning. */
static const char *enter(const char *at) {
  static const char *const words[] = {"__asm__", "__asm", "asm", "__volatile__", "__volatile", "volatile"};
  enum { STARTS = 3 };
  for (bool started = false;;) {
    size_t length = 0, i = started ? STARTS : 0, end = started ? MW_COUNT(words) : STARTS;
    while (is_word(at[length])) length++;
    for (; i < end; i++)
      if (strlen(words[i]) == length && memcmp(words[i], at, length) == 0) break;
    if (i == end) return started && *at == '(' ? at + 1 : NULL;
    at += length;
    while (isspace((unsigned char)*at)) at++;
    started = true;
  }
}

static bool is_comment(const char *at) { return at[0] == '/' && (at[1] == '/' || at[1] == '*'); }

/* The template, which is all string literals up to the first colon, and the operands up to the parenthesis that closes
   the statement. Returns where that is. */
static const char *copy_statement(mw_text *out, const char *at) {
  bool quoted = false, template = true, closed = false; /* closed: an operand's value has just ended */
  for (int depth = 0; *at && (quoted || depth > 0 || *at != ')'); at++) {
    if (!quoted && is_comment(at)) {
      size_t rest = strlen(at), length = skip_token(at, rest, 0);
      if (length > rest) length = rest; /* it has no end */
      mw_text_add(out, at, length);
      at += length - 1;
      continue;
    }
    if (quoted && template && at[0] == '%' && is_register(at + 1) && at[-1] != '%') mw_text_add(out, "%", 1);
    if (!quoted && *at == '"' && closed && depth == 0) mw_text_add(out, ",", 1);
    mw_text_add(out, at, 1);
    if (*at == '"') quoted = !quoted;
    if (quoted && *at == '\\' && at[1]) mw_text_add(out, ++at, 1);
    if (quoted || isspace((unsigned char)*at)) continue;
    closed = *at == ')' && depth == 1;
    depth += (*at == '(') - (*at == ')');
    if (*at == ':' && depth == 0) template = false;
  }
  return at;
}

void escape_registers(mw_text *out, const char *text) {
  size_t length = strlen(text), start = 0, at = 0;
  while (at < length) {
    bool first = (text[at] == 'a' || text[at] == '_') && (at == 0 || !is_word(text[at - 1]));
    const char *body = first ? enter(text + at) : NULL;
    if (!body) {
      at = skip_token(text, length, at);
      continue;
    }
    mw_text_add(out, text + start, (size_t)(body - text) - start);
    start = at = (size_t)(copy_statement(out, body) - text);
  }
  if (start < length) mw_text_add(out, text + start, length - start);
}
