/* The tallies of a worker: counting in place, where a pattern of addresses is looked at once, however often it occurs.
 *
 * What an access adds to the counts depends on its pattern alone (mw_tally), by today's rules. So its counts are those of
 * the pattern, times its hits. A site has a few patterns, each of which is settled when another one takes its place. A
 * site whose patterns hardly occur twice is mostly counted without. The rules of compute capability 1.x have half-warps
 * and larger segments: nothing is counted in place there. */
#include "tallies.h"

#include <stdlib.h>
#include <string.h>

enum {
  PLAIN_RESIDUES = 31,
  SHARED_RESIDUES = 3,
  MOST_USELESS = 16, /* after this many patterns in sequence that rarely recur, only one in PROBED is remembered */
  PROBED = 16
};

/* What the runtime knows of a pattern: each hit's counts. */
typedef struct known {
  uint32_t space;
  memory_sums each;
} known;

struct tallies {
  rules rules;
  const mw_site *sites;
  size_t count;
  mw_tally *of;
  known (*known)[MW_TALLY_PATTERNS];
  uint32_t *useless;
};

tallies *tallies_new(const rules *r, const mw_site *sites, size_t count) {
  tallies *t = mw_alloc(sizeof *t);
  *t = (tallies){.rules = *r, .sites = sites, .count = count};
  t->of = mw_alloc((count + 1) * sizeof *t->of);
  t->known = mw_alloc((count + 1) * sizeof *t->known);
  t->useless = mw_alloc((count + 1) * sizeof *t->useless);
  return t;
}

mw_tally *tallies_table(tallies *t) { return t->of; }

void tallies_open(tallies *t, uint32_t site) { t->of[site].open = t->rules.set == MW_RULES_TODAY; }

void tallies_close(tallies *t) {
  for (size_t i = 0; i < t->count; i++) t->of[i].open = 0;
}

/* ---- accesses ---- */

/* Without an instruction of its own: baseline x86-64 has none, and a library call takes longer. */
static unsigned count_bits(uint32_t x) {
  x -= x >> 1 & 0x55555555u;
  x = (x & 0x33333333u) + (x >> 2 & 0x33333333u);
  x = (x + (x >> 4)) & 0x0f0f0f0fu;
  return x * 0x01010101u >> 24;
}

static void count_access(const tallies *t, const cpu_watch_event *e, memory_sums *into) {
  cpu_watch_event spelled = *e;
  uint64_t words[32];
  bool is_shared = e->space == MW_SPACE_SHARED;
  if (e->bases) {
    if (is_shared ? count_runs_shared(&t->rules, e, into) : count_runs_global(&t->rules, e, into)) return;
    cpu_watch_expand(e, words);
    spelled.words = words;
  }
  if (is_shared)
    count_shared(&t->rules, &spelled, into);
  else
    count_global(&t->rules, &spelled, into);
}

static void add_times(memory_sums *to, const memory_sums *each, uint64_t times) {
  uint64_t *sum = (uint64_t *)to;
  const uint64_t *one = (const uint64_t *)each;
  for (size_t i = 0; i < sizeof *to / sizeof *sum; i++) sum[i] += one[i] * times;
}

static void add_calls(sums *to, uint32_t lanes, uint64_t times) {
  to->executed += times;
  to->lanes += times * (lanes == ~0u ? 32 : count_bits(lanes));
  to->full += lanes == ~0u ? times : 0;
}

static sums *sums_of(site_sums *into, uint32_t site, uint32_t space) {
  return &into[site][space < CPU_WATCH_SPACES ? space : 0];
}

static void settle(mw_pattern *p, const known *k, uint32_t site, site_sums *into) {
  uint32_t lanes = (uint32_t)(p->key >> 32);
  if (!lanes || !p->hits) return;
  sums *to = sums_of(into, site, k->space);
  add_calls(to, lanes, p->hits);
  add_times(&to->memory, &k->each, p->hits);
  p->hits = 0;
}

/* The distances of active lanes, or of all runs. */
static void list_distances(const cpu_watch_event *e, uint64_t first, unsigned runs, uint64_t distance[32]) {
  for (unsigned n = 0; n < (runs ? runs : 32); n++) distance[n] = (runs ? e->bases[n] : e->words[n]) - first;
}

static bool has_distances(const mw_pattern *p, uint32_t lanes, unsigned runs, const uint64_t distance[32]) {
  uint64_t differs = 0;
  for (unsigned n = 0; n < (runs ? runs : 32); n++)
    differs |= (p->distance[n] ^ distance[n]) & (runs ? ~0ull : -(uint64_t)(lanes >> n & 1));
  return !differs;
}

static void count_once(const tallies *t, const cpu_watch_event *e, site_sums *into) {
  sums *to = sums_of(into, e->number, e->space);
  add_calls(to, e->lanes, 1);
  count_access(t, e, &to->memory);
}

static void count_pattern(tallies *t, const cpu_watch_event *e, uint64_t first, unsigned runs, site_sums *into) {
  bool is_shared = e->space == MW_SPACE_SHARED;
  uint64_t residue = first & (is_shared ? SHARED_RESIDUES : PLAIN_RESIDUES), distance[32];
  uint64_t key = (uint64_t)e->lanes << 32 | residue << 8 | runs, at = is_shared ? e->warp : first >> 2;
  unsigned which = at & (MW_TALLY_PATTERNS - 1);
  mw_pattern *p = &t->of[e->number].patterns[which];
  known *k = &t->known[e->number][which];
  if (t->useless[e->number] > MOST_USELESS && ++t->useless[e->number] % PROBED) {
    count_once(t, e, into);
    return;
  }
  list_distances(e, first, runs, distance);
  if (p->key == key && k->space == e->space && has_distances(p, e->lanes, runs, distance)) {
    p->hits++;
    return;
  }
  t->useless[e->number] = p->hits > 1 ? 0 : t->useless[e->number] + 1;
  settle(p, k, e->number, into);
  *k = (known){.space = e->space};
  count_access(t, e, &k->each);
  p->key = key;
  p->hits = 1;
  memcpy(p->distance, distance, (runs ? runs : 32) * sizeof *distance);
}

/* Whether the runs are those that generated code counts. */
static bool are_known_runs(const cpu_watch_event *e) {
  return e->bases && e->stride == e->site->stride && e->site->space != MW_SPACE_NONE;
}

void tallies_count(tallies *t, const cpu_watch_event *e, site_sums *into) {
  uint64_t words[32];
  cpu_watch_event spelled = *e;
  if (t->rules.set != MW_RULES_TODAY) {
    count_once(t, e, into);
  } else if (are_known_runs(e) && e->run_count == 1 && e->lanes == ~0u) {
    uint64_t residues = e->space == MW_SPACE_SHARED ? SHARED_RESIDUES : PLAIN_RESIDUES;
    t->of[e->number].residues[e->bases[0] & residues]++;
  } else if (are_known_runs(e)) {
    count_pattern(t, e, e->bases[0], e->run_count, into);
  } else {
    if (e->bases) {
      cpu_watch_expand(e, words);
      spelled.words = words;
    }
    spelled.bases = NULL;
    count_pattern(t, &spelled, spelled.words[__builtin_ctz(e->lanes)], 0, into);
  }
}

/* ---- the end ---- */

static void settle_residues(const tallies *t, uint32_t site, site_sums *into) {
  const mw_site *of = &t->sites[site];
  for (uint64_t residue = 0; residue < MW_TALLY_RESIDUES; residue++) {
    uint64_t times = t->of[site].residues[residue];
    if (!times) continue;
    cpu_watch_event e = {.site = of, .number = site, .lanes = ~0u, .space = of->space};
    memory_sums each = {0};
    sums *to = sums_of(into, site, of->space);
    e.bases = &residue, e.stride = of->stride, e.run_count = 1;
    count_access(t, &e, &each);
    add_calls(to, ~0u, times);
    add_times(&to->memory, &each, times);
  }
}

/* Branches, basic blocks and so on. */
static void settle_calls(const mw_tally *tally, const mw_site *site, sums *to) {
  to->executed += tally->whole + tally->executed;
  to->lanes += 32 * tally->whole + tally->lanes;
  to->full += tally->full + (site->kind == MW_SITE_BRANCH ? 0 : tally->whole);
  to->divergent += tally->divergent;
}

void tallies_settle(tallies *t, site_sums *into) {
  for (uint32_t site = 0; site < t->count; site++) {
    settle_calls(&t->of[site], &t->sites[site], &into[site][0]);
    settle_residues(t, site, into);
    for (unsigned n = 0; n < MW_TALLY_PATTERNS; n++) settle(&t->of[site].patterns[n], &t->known[site][n], site, into);
  }
  free(t->useless);
  free(t->known);
  free(t->of);
  free(t);
}
