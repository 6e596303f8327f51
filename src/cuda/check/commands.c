/* Races of copies and fills with kernels in streams that nothing orders. At the end of the run, a command's range is
 * compared with the shadow, which has the latest accesses of kernels to each word. */
#include "session.h"

#include <stdlib.h>
#include <string.h>

enum { WORDS = 1 << 16 /* fetched at a time */, SOME = 1 << 12 /* accesses reported of a command */ };

void cuda_check_command(cuda_stream *stream, uint64_t address, size_t bytes, bool writes) {
  check_session *check = stream->device->check;
  if (!check || !bytes || !(check->kinds & MW_CHECK_RACES)) return;
  mw_lock(&check->lock);
  check_launch *made = check_add_launch(check, NULL, NULL, 1);
  if (made) {
    mw_clocks_queue(&check->clocks, check_stream_number(check, stream), &made->order);
    if (writes) check_meet_reads(check, made);
    check->commands = mw_realloc(check->commands, (check->command_count + 1) * sizeof *check->commands);
    check->commands[check->command_count++] = (check_command){made->base, writes, {address, bytes, false}};
  }
  mw_unlock(&check->lock);
}

void cuda_check_library(cuda_stream *stream, uint64_t address, size_t bytes) {
  cuda_check_wrote(stream->device, stream->handle, address, bytes);
  cuda_check_command(stream, address, bytes, true);
}

void check_forget_commands(check_session *check, uint64_t address, size_t bytes) {
  size_t left = 0;
  for (size_t i = 0; i < check->command_count; i++) {
    const check_range *r = &check->commands[i].range;
    bool meets = r->address < address + bytes && address < r->address + r->bytes;
    if (!meets) check->commands[left++] = check->commands[i];
  }
  check->command_count = left;
}

static bool is_unordered(const check_launch *a, const check_launch *b) {
  return a != b && !mw_happens_before(&a->order, &b->order) && !mw_happens_before(&b->order, &a->order);
}

/* Whether a kernel of the run is in no order with the command. */
static bool meets_kernels(const check_session *check, const check_launch *command) {
  for (size_t i = 0; i < check->launch_count; i++)
    if (check->launches[i].kernel && is_unordered(&check->launches[i], command)) return true;
  return false;
}

typedef struct comparison {
  check_session *check;
  const check_command *command;
  const check_launch *launch;
  void (*race)(check_session *, const mw_follow_finding *);
  unsigned left;
} comparison;

/* The bytes of a word that the command accesses. */
static unsigned bytes_at(const check_range *range, uint64_t word) {
  unsigned bytes = 0;
  for (unsigned k = 0; k < 4; k++) bytes |= (unsigned)(word + k - range->address < range->bytes) << k;
  return bytes;
}

static void compare(comparison *c, const mw_follow_cell *cell, uint64_t word) {
  for (int k = 0; k < MW_FOLLOW_RECORDS && c->left; k++) {
    uint64_t who = cell->who[k], what = cell->what[k];
    bool is_whole = (what >> 7 & 511) == (who >> 4 & 511) && what >> 44;
    if (!is_whole || !(who & bytes_at(&c->command->range, word))) continue;
    const check_launch *launch = check_launch_of(c->check, (unsigned)(who >> 32));
    if (!launch || !launch->kernel || !is_unordered(launch, c->launch)) continue;
    if (!c->command->writes && !(what & MW_FOLLOW_STORE)) continue;
    mw_follow_finding found = {.kind = MW_FOLLOW_RACE, .count = 1, .address = word, .bytes = 4, .ready = 1};
    found.here = (mw_follow_end){.site = (unsigned)(what >> 44),
                                 .run = (unsigned)(who >> 32),
                                 .thread = (unsigned)(who >> 4) & 1023,
                                 .flags = (unsigned)what & 127};
    found.other = (mw_follow_end){.run = c->command->run, .flags = c->command->writes ? MW_FOLLOW_STORE : 0};
    c->race(c->check, &found);
    c->left--;
  }
}

/* Words from `at` on, of one page. */
static CUresult compare_words(comparison *c, uint64_t at, size_t count, mw_follow_cell *cells) {
  const mw_follow_page *page = check_page_of(c->check, at);
  if (!page->number || !page->cells) return 0;
  uint64_t from = page->cells + at / 4 % MW_FOLLOW_PAGE_WORDS * sizeof *cells;
  CUresult result = cu.cuMemcpyDtoHAsync(cells, from, count * sizeof *cells, c->check->device->side);
  if (result == 0) result = cu.cuStreamSynchronize(c->check->device->side);
  for (size_t n = 0; n < count && result == 0; n++) compare(c, &cells[n], at + 4 * n);
  return result;
}

CUresult check_commands(check_session *check, void (*race)(check_session *, const mw_follow_finding *)) {
  mw_follow_cell *cells = mw_alloc(WORDS * sizeof *cells);
  CUresult result = 0;
  for (size_t i = 0; i < check->command_count; i++) {
    const check_command *command = &check->commands[i];
    comparison c = {check, command, check_launch_of(check, command->run), race, SOME};
    if (!c.launch || !meets_kernels(check, c.launch)) continue;
    uint64_t end = command->range.address + command->range.bytes;
    for (uint64_t at = command->range.address & ~3ull, next; at < end && c.left && result == 0; at = next) {
      next = (at | (4 * WORDS - 1)) + 1; /* a part of a page */
      result = compare_words(&c, at, (size_t)(((next < end ? next : end) - at + 3) / 4), cells);
    }
  }
  free(cells);
  return result;
}
