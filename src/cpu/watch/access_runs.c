/* Accesses of which the compiler knows the shape: runs of lanes with one stride (mw_services.watch_runs), counted without
 * looking at each lane. What does not fit the closed forms here is left to coalescing.c, whose counts these are. */
#include "coalescing.h"

enum { SECTOR = 32, WORD = 4, BANKS = 32, WIDEST = 16 /* bytes of one thread's access */ };

/* The active lanes of a run: from the address `first` to `last`, `count` of them. */
typedef struct run {
  uint64_t first, last;
  unsigned count;
} run;

/* The runs that have active lanes, without those that repeat the one before; false: one has gaps. *all: active lanes. */
static bool list_runs(const cpu_watch_event *e, run *runs, unsigned *count, unsigned *all) {
  unsigned width = 32 / e->run_count;
  uint32_t whole = width == 32 ? ~0u : (1u << width) - 1;
  *count = *all = 0;
  for (unsigned n = 0; n < e->run_count; n++) {
    uint32_t lanes = e->lanes >> n * width & whole;
    if (!lanes) continue;
    unsigned from = (unsigned)__builtin_ctz(lanes), to = 31u - (unsigned)__builtin_clz(lanes);
    uint32_t rest = lanes >> from;
    if (rest & (rest + 1)) return false;
    run r = {e->bases[n] + from * e->stride, e->bases[n] + to * e->stride, to - from + 1};
    *all += r.count;
    run *before = *count ? &runs[*count - 1] : NULL;
    if (before && before->first == r.first && before->last == r.last) continue;
    if (before && e->stride && r.first == before->last + e->stride) {
      before->last = r.last;
      before->count += r.count;
      continue;
    }
    runs[(*count)++] = r;
  }
  return true;
}

/* Loads and stores of up to 16 bytes, at most a sector apart, whose runs follow each other. */
bool count_runs_global(const rules *rule, const cpu_watch_event *e, memory_sums *into) {
  uint64_t bytes = e->site->bytes, sectors = 0, used = 0, end = 0, last = 0;
  unsigned count, all;
  run runs[32];
  if (rule->set != MW_RULES_TODAY || e->site->kind > MW_SITE_STORE || bytes > WIDEST || e->stride > SECTOR)
    return false;
  if (!list_runs(e, runs, &count, &all)) return false;
  for (unsigned n = 0; n < count; n++) {
    uint64_t from = runs[n].first >> 5, to = (runs[n].last + bytes - 1) >> 5;
    if (n && runs[n].first <= last) return false;
    sectors += to - from + 1 - (n && from == end);
    used += e->stride ? runs[n].count * bytes : bytes;
    if (n && from < end) return false;
    end = to;
    last = runs[n].last;
  }
  into->requests++;
  into->bytes += all * bytes;
  into->used += used;
  into->sectors += sectors;
  into->moved += sectors * SECTOR;
  into->ideal += (used + SECTOR - 1) / SECTOR;
  return true;
}

/* Aligned words of up to 4 bytes, whole words apart: the wavefronts are the most words of a bank. */
bool count_runs_shared(const rules *rule, const cpu_watch_event *e, memory_sums *into) {
  uint64_t bytes = e->site->bytes, used = 0;
  unsigned count, all, most = 1;
  run runs[32];
  if (rule->set != MW_RULES_TODAY || e->site->kind > MW_SITE_STORE || bytes > WORD || e->stride >> 31) return false;
  if (e->stride % WORD || !list_runs(e, runs, &count, &all)) return false;
  for (unsigned n = 0; n < count; n++) {
    if (runs[n].first % WORD + bytes > WORD || (n && runs[n].first <= runs[n - 1].last)) return false;
    used += e->stride ? runs[n].count * bytes : bytes;
  }
  if (count == 1 && e->stride) {
    uint64_t words = e->stride / WORD;
    unsigned together = BANKS; /* the number of the 32 lanes that access one bank */
    while (words % together) together /= 2;
    unsigned apart = BANKS / together;
    most = (runs[0].count + apart - 1) / apart;
  } else if (count > 1) {
    unsigned char in_bank[BANKS] = {0};
    for (unsigned n = 0; n < count; n++)
      for (uint64_t at = runs[n].first; at <= runs[n].last; at += e->stride ? e->stride : WORD) {
        unsigned here = ++in_bank[at / WORD % BANKS];
        if (here > most) most = here;
      }
  }
  into->requests++;
  into->least++;
  into->bytes += all * bytes;
  into->used += used;
  into->wavefronts += most;
  return true;
}
