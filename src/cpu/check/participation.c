/* Barriers and warp functions that not all threads reach: divergent __syncthreads(), wrong masks, absent lanes. */
#include "session.h"

#include "cpu/execution/warp.h"

#include <stdio.h>
#include <string.h>

static bool is_running(const cpu_worker *worker) {
  return worker->holds_check && worker->checked && worker->checked->check;
}

static check_end end_at(cpu_worker *worker, uint32_t thread, uintptr_t pc) {
  const cpu_checked *self = worker->checked;
  return (check_end){
      .site = pc ? check_site_of(worker, pc) : 0, .thread = thread, .block = self->block, .launch = self->launch};
}

/* ---- barriers ---- */

static bool is_same_line(const cpu_check *check, uint32_t a, uint32_t b) {
  const check_site *first = check_site_at(check, a), *second = check_site_at(check, b);
  if (a == b || first->line != second->line) return a == b;
  return first->file == second->file || (first->file && second->file && strcmp(first->file, second->file) == 0);
}

/* A thread of the block that has returned, or NOBODY. */
static uint32_t returned(const cpu_warps *all, uint32_t count) {
  for (uint32_t thread = 0; thread < count; thread++)
    if (!(alive_of(&all->warps[thread / LANES]) >> thread % LANES & 1)) return thread;
  return NOBODY;
}

void cpu_check_arrivals(cpu_worker *worker) {
  if (!is_running(worker) || !check_wants(worker->checked->check, MW_CHECK_BARRIERS)) return;
  const cpu_warps *all = worker->warps;
  cpu_check *check = worker->checked->check;
  check_end first = {0}, other = {0};
  bool has_first = false, has_other = false;
  char text[160];
  for (uint32_t i = 0; i < all->count; i++) {
    EACH_LANE(n, all->warps[i].stopped) {
      uint32_t thread = i * LANES + n;
      uintptr_t place = all->lanes[thread].place;
      if (!has_first) {
        first = end_at(worker, thread, place);
        has_first = true;
      } else if (!has_other && place != all->lanes[first.thread].place) {
        other = end_at(worker, thread, place);
        has_other = !is_same_line(check, first.site, other.site);
      }
    }
  }
  if (!has_first) return;
  if (has_other) {
    snprintf(text, sizeof text, "waits at one barrier, and other threads of its block wait at another");
    check_found(check, &(check_fact){.kind = "barrier_divergence",
                                     .here = first,
                                     .other = &other,
                                     .scope = "block",
                                     .text = text,
                                     .hint = "all threads of a block have to reach the same __syncthreads()"});
  }
  uint32_t gone = returned(all, worker->checked->count);
  if (gone == NOBODY) return;
  unsigned id[3];
  cpu_unfold(gone, worker->work->frame.block, id);
  snprintf(text, sizeof text, "waits at a barrier that thread (%u,%u,%u) never reaches: it has returned", id[0], id[1],
           id[2]);
  check_found(check, &(check_fact){.kind = "barrier_divergence",
                                   .here = first,
                                   .scope = "block",
                                   .text = text,
                                   .hint = "let threads without work skip the work, not the barrier"});
}

void cpu_check_grid_part(cpu_worker *worker) {
  cpu_check *check = worker->checked->check;
  if (!check_wants(check, MW_CHECK_BARRIERS)) return;
  check_end here = end_at(worker, checked_thread_of(worker), worker->call);
  check_found(check, &(check_fact){.kind = "barrier_divergence",
                                   .here = here,
                                   .scope = "grid",
                                   .text = "waits for the whole grid, and some blocks have ended without waiting",
                                   .hint = "all threads of the grid have to call grid.sync()"});
}

/* ---- warp functions ---- */

static void found_mask(cpu_worker *worker, uint32_t thread, uintptr_t pc, const char *text, const char *hint) {
  check_end here = end_at(worker, thread, pc);
  check_found(worker->checked->check,
              &(check_fact){.kind = "warp_mask", .here = here, .scope = "warp", .text = text, .hint = hint});
}

void cpu_check_mask(cpu_worker *worker, uint32_t thread, uint32_t mask) {
  if (!is_running(worker) || mask >> thread % LANES & 1 || !check_wants(worker->checked->check, MW_CHECK_BARRIERS))
    return;
  char text[160];
  snprintf(text, sizeof text, "calls a warp function with the mask 0x%08x, which does not name its own lane, %u", mask,
           thread % LANES);
  found_mask(worker, thread, worker->call, text,
             "the mask names the lanes that call: __activemask() is no substitute for it");
}

void cpu_check_group(cpu_worker *worker, uint32_t thread, uint32_t group) {
  if (!is_running(worker) || !check_wants(worker->checked->check, MW_CHECK_BARRIERS)) return;
  uint32_t first = thread / LANES * LANES, left = worker->checked->count - first;
  const lane *l = &worker->warps->lanes[thread];
  uint32_t missing = l->mask & ~group & (left >= LANES ? ~0u : (1u << left) - 1);
  if (!missing || l->call == MW_WARP_APPLY) return;
  char text[160];
  snprintf(text, sizeof text, "calls a warp function with the mask 0x%08x, and its lane %u never calls it", l->mask,
           lowest(missing));
  found_mask(worker, thread, l->place, text, "compute the mask with __ballot_sync() before the branch");
}

/* Lanes that exchange values have to call the same function. */
void cpu_check_places(cpu_worker *worker, uint32_t first, uint32_t group) {
  if (!is_running(worker) || !check_wants(worker->checked->check, MW_CHECK_BARRIERS)) return;
  const lane *lanes = &worker->warps->lanes[first];
  if (lanes[lowest(group)].call == MW_WARP_SYNC || lanes[lowest(group)].call == MW_WARP_APPLY) return;
  EACH_LANE(n, group) {
    if (lanes[n].place == lanes[lowest(group)].place) continue;
    check_end here = end_at(worker, first + lowest(group), lanes[lowest(group)].place);
    check_end other = end_at(worker, first + n, lanes[n].place);
    if (is_same_line(worker->checked->check, here.site, other.site)) continue;
    check_found(worker->checked->check,
                &(check_fact){.kind = "warp_mask",
                              .here = here,
                              .other = &other,
                              .scope = "warp",
                              .text = "calls a warp function, and other lanes of its mask call another one instead",
                              .hint = "name the lanes that take this branch: __ballot_sync() before it"});
    return;
  }
}

void cpu_check_absent(cpu_worker *worker, uint32_t thread, uint32_t from) {
  if (!is_running(worker) || !check_wants(worker->checked->check, MW_CHECK_BARRIERS)) return;
  worker->checked->threads[thread].absent = true; /* a finding where the value is used */
  if (check_wants(worker->checked->check, MW_CHECK_INITIALISATION) && worker->checked->check->values) return;
  char text[160];
  snprintf(text, sizeof text,
           "reads lane %u in a shuffle in which that lane does not take part: the value is undefined", from);
  found_mask(worker, thread, worker->warps->lanes[thread].place, text,
             "name all lanes that are read from, and let them call");
}
