/* The results of warp functions for a group of lanes: shuffles, votes, matches, reductions. */
#include "warp.h"

/* The lane that `self` reads from. (PTX ISA, shfl.sync) */
static uint32_t source_of(mw_warp_call call, uint32_t self, uint32_t source, uint32_t segments) {
  uint32_t segment = segments >> 8 & 31, clamp = segments & 31;
  int32_t first = (int32_t)(self & segment), last = (int32_t)((self & segment) | (clamp & ~segment)), from;
  source &= 31;
  switch (call) {
  case MW_WARP_SHUFFLE_UP: from = (int32_t)self - (int32_t)source; return from >= last ? (uint32_t)from : self;
  case MW_WARP_SHUFFLE_DOWN: from = (int32_t)(self + source); break;
  case MW_WARP_SHUFFLE_XOR: from = (int32_t)(self ^ source); break;
  default: from = (int32_t)((uint32_t)first | (source & ~segment)); break;
  }
  return from <= last ? (uint32_t)from : self;
}

uint32_t cpu_warp_source(const lane *l, uint32_t self) { return source_of(l->call, self, l->source, l->segments); }

static void shuffle(lane *lanes, uint32_t group) {
  EACH_LANE(n, group) {
    uint32_t from = source_of(lanes[n].call, n, lanes[n].source, lanes[n].segments);
    lanes[n].result = group >> from & 1 ? lanes[from].value : 0; /* an absent lane's value is undefined */
  }
}

static void match_any(lane *lanes, uint32_t group) {
  EACH_LANE(n, group) {
    lanes[n].result = 0;
    EACH_LANE(m, group) if (lanes[m].value == lanes[n].value) lanes[n].result |= 1u << m;
  }
}

static uint32_t reduced(mw_warp_call call, uint32_t a, uint32_t b) {
  switch (call) {
  case MW_WARP_ADD: return a + b;
  case MW_WARP_MIN: return (int32_t)a < (int32_t)b ? a : b;
  case MW_WARP_MAX: return (int32_t)a > (int32_t)b ? a : b;
  case MW_WARP_UMIN: return a < b ? a : b;
  case MW_WARP_UMAX: return a > b ? a : b;
  case MW_WARP_AND: return a & b;
  case MW_WARP_OR: return a | b;
  default: return a ^ b;
  }
}

/* The result that all lanes of the group share. */
static uint64_t agreed(mw_warp_call call, const lane *lanes, uint32_t group) {
  uint64_t first = lanes[lowest(group)].value;
  uint32_t votes = 0, sum = (uint32_t)first;
  bool same = true;
  EACH_LANE(n, group) {
    if (lanes[n].value) votes |= 1u << n;
    if (lanes[n].value != first) same = false;
    if (n != lowest(group)) sum = reduced(call, sum, (uint32_t)lanes[n].value);
  }
  switch (call) {
  case MW_WARP_SYNC: return 0;
  case MW_WARP_ALL: return votes == group;
  case MW_WARP_ANY: return votes != 0;
  case MW_WARP_UNIFORM: return votes == 0 || votes == group;
  case MW_WARP_BALLOT: return votes;
  case MW_WARP_MATCH_ALL: return same ? group : 0;
  default: return sum;
  }
}

void cpu_warp_compute(mw_warp_call call, lane *lanes, uint32_t group) {
  if (cpu_warp_shuffles(call)) {
    shuffle(lanes, group);
  } else if (call == MW_WARP_MATCH_ANY) {
    match_any(lanes, group);
  } else {
    uint64_t result = agreed(call, lanes, group);
    EACH_LANE(n, group) lanes[n].result = result;
  }
}
