/* Inline PTX: the one loop that programs write in it, which waits for a phase of an mbarrier:
 *
 *   LAB_WAIT: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;
 *   @p bra DONE; bra LAB_WAIT; DONE:              or   @!p bra LAB_WAIT;
 *
 * becomes "mbarrier.await.parity.shared::cta.b64 [%0], %1;", a wait for a word. Loops that do anything else stay, and
 * are refused as control flow. */
#include "ptx.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *skip(const char *at) {
  while (isspace((unsigned char)*at) || *at == '{' || *at == '}' || *at == ';') at++;
  return at;
}

/* Whether only labels and branches follow. */
static bool only_branches(const char *at) {
  for (at = skip(at); *at; at = skip(at)) {
    if (*at == '@') at = skip(at + strcspn(at, " \t\n"));
    size_t word = strcspn(at, " \t\n:;.");
    const char *after = at + word;
    while (isspace((unsigned char)*after)) after++;
    if (*after == ':') {
      at = after + 1;
    } else if (starts_with(at, "bra")) {
      at += strcspn(at, ";");
    } else {
      return false;
    }
  }
  return true;
}

bool ptx_shorten_wait_loop(char *text) {
  char *wait = strstr(text, "mbarrier."), *end = wait ? strchr(wait, ';') : NULL, *start = wait;
  if (!end || !strstr(end, "bra") || !only_branches(end)) return false;
  bool tests = starts_with(wait, "mbarrier.test_wait"), tries = starts_with(wait, "mbarrier.try_wait");
  if (!tests && !tries) return false;
  while (start > text && isspace((unsigned char)start[-1])) start--;
  if (start == text || start[-1] != ':') return false;
  for (start--; start > text && start[-1] != ';' && start[-1] != '{' && !isspace((unsigned char)start[-1]);) start--;
  char *suffix = wait + (tests ? strlen("mbarrier.test_wait") : strlen("mbarrier.try_wait"));
  char *operands = suffix + strcspn(suffix, " \t\n"), *rest = strchr(operands, ',');
  if (!rest || rest > end) return false;
  char *made = mw_format("mbarrier.await%.*s %.*s;", (int)(operands - suffix), suffix, (int)(end - rest - 1), rest + 1);
  size_t length = strlen(made);
  bool fits = length <= strlen(start);
  if (fits) memcpy(start, made, length + 1);
  free(made);
  return fits;
}
