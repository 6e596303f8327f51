/* How the accesses of a warp become transactions. The rules' numbers are in device/moonwarp/measured_run/rules.h, since
 * kernels on a GPU count by them as well (count.h there); spec/measure/counters_spec.lua has what an H100 counted. */
#include "coalescing.h"

#include <stdlib.h>
#include <string.h>

enum {
  LANES = 32,
  SECTOR = MW_SECTOR_BYTES,
  WORD = MW_WORD_BYTES,
  BANKS = MW_BANKS_TODAY,
  HALF = MW_HALF_WARP,
  WIDEST = MW_WIDEST_ACCESS
};

/* ---- sets of numbers ---- */

enum { BUCKETS = 64, MOST_NUMBERS = 4 * LANES };

/* The numbers of some lanes, without duplicates: a hash table with chains. */
typedef struct number_set {
  uint64_t items[MOST_NUMBERS];
  uint8_t next[MOST_NUMBERS]; /* in the chain: an index + 1, 0 at its end */
  uint8_t first[BUCKETS];     /* likewise */
  unsigned count;
} number_set;

static void empty(number_set *set) {
  memset(set->first, 0, sizeof set->first);
  set->count = 0;
}

/* The number's index in the set, to which it is added. */
static unsigned add(number_set *set, uint64_t number) {
  uint8_t *bucket = &set->first[number % BUCKETS];
  for (unsigned i = *bucket; i; i = set->next[i - 1])
    if (set->items[i - 1] == number) return i - 1;
  unsigned added = set->count++;
  set->items[added] = number;
  set->next[added] = *bucket;
  *bucket = (uint8_t)set->count;
  return added;
}

/* ---- the active lanes of a call ---- */

typedef struct lanes {
  uint64_t at[LANES]; /* addresses, in the order of lanes */
  uint8_t number[LANES];
  unsigned count;
  bool ascending; /* each is at least the one before */
} lanes;

static void collect(const cpu_watch_event *e, uint64_t offset, uint32_t among, lanes *out) {
  out->count = 0;
  out->ascending = true;
  for (uint32_t rest = e->lanes & among; rest; rest &= rest - 1) {
    unsigned lane = (unsigned)__builtin_ctz(rest);
    uint64_t address = e->words[lane] + offset;
    if (out->count && address < out->at[out->count - 1]) out->ascending = false;
    out->at[out->count] = address;
    out->number[out->count++] = (uint8_t)lane;
  }
}

/* The number of distinct at[i] >> shift, where lanes access `bytes` from at[i] on. */
static unsigned count_units(const lanes *l, unsigned bytes, unsigned shift) {
  number_set set;
  unsigned count = 0;
  empty(&set);
  if (l->ascending) {
    uint64_t last = UINT64_MAX;
    for (unsigned i = 0; i < l->count; i++) {
      uint64_t first = l->at[i] >> shift, end = (l->at[i] + bytes - 1) >> shift;
      if (last != UINT64_MAX && first <= last) first = last + 1;
      if (first > end && last != UINT64_MAX) continue;
      count += (unsigned)(end - first) + 1;
      last = end;
    }
    return count;
  }
  for (unsigned i = 0; i < l->count; i++) {
    add(&set, l->at[i] >> shift);
    if ((l->at[i] + bytes - 1) >> shift != l->at[i] >> shift) add(&set, (l->at[i] + bytes - 1) >> shift);
  }
  return set.count;
}

/* ---- whole warps with one stride, which most accesses are: closed forms ---- */

/* Whether all 32 lanes are active, and each address is the one before plus *stride, which is not negative. */
static bool has_stride(const cpu_watch_event *e, uint64_t *stride) {
  const uint64_t *at = e->words;
  uint64_t step = at[1] - at[0], differs = 0;
  if (e->lanes != ~0u || step >> 32) return false;
  for (unsigned i = 1; i < LANES; i++) differs |= (at[i] - at[i - 1]) ^ step;
  *stride = step;
  return !differs;
}

/* The same for each half of a warp: the rows of a block that is 16 threads wide. */
static bool have_strides(const cpu_watch_event *e, uint64_t *stride) {
  const uint64_t *at = e->words;
  uint64_t step = at[1] - at[0], differs = 0;
  if (e->lanes != ~0u || step >> 32) return false;
  for (unsigned i = 1; i < HALF; i++) differs |= (at[i] - at[i - 1]) ^ step;
  for (unsigned i = HALF + 1; i < LANES; i++) differs |= (at[i] - at[i - 1]) ^ step;
  *stride = step;
  return !differs;
}

/* A request of a whole warp, of which each lane accesses `bytes`. */
static void add_request(memory_sums *into, uint64_t bytes, uint64_t used, uint64_t sectors) {
  into->requests++;
  into->bytes += LANES * bytes;
  into->used += used;
  into->sectors += sectors;
  into->moved += sectors * SECTOR;
  into->ideal += (used + SECTOR - 1) / SECTOR;
}

/* Two halves that share no sector. */
static bool count_rows_global(const cpu_watch_event *e, memory_sums *into) {
  uint64_t stride, bytes = e->site->bytes;
  const uint64_t *at = e->words;
  if (e->site->kind > MW_SITE_STORE || bytes > WIDEST || !have_strides(e, &stride) || stride > SECTOR) return false;
  uint64_t first[2] = {at[0] >> 5, at[HALF] >> 5};
  uint64_t last[2] = {(at[HALF - 1] + bytes - 1) >> 5, (at[LANES - 1] + bytes - 1) >> 5};
  if (first[0] <= last[1] && first[1] <= last[0]) return false;
  uint64_t sectors = last[0] - first[0] + last[1] - first[1] + 2;
  uint64_t used = 2 * (stride ? HALF * bytes : bytes);
  add_request(into, bytes, used, sectors);
  return true;
}

/* Loads and stores of up to 16 bytes, at most a sector apart: no sector in between is left out. */
static bool count_plain_global(const cpu_watch_event *e, memory_sums *into) {
  uint64_t stride, bytes = e->site->bytes;
  if (e->site->kind > MW_SITE_STORE || bytes > WIDEST || !has_stride(e, &stride) || stride > SECTOR) return false;
  uint64_t sectors = ((e->words[LANES - 1] + bytes - 1) >> 5) - (e->words[0] >> 5) + 1;
  uint64_t used = stride ? LANES * bytes : bytes;
  add_request(into, bytes, used, sectors);
  return true;
}

/* Aligned words of up to 4 bytes, whole words apart: lanes fall on a bank in turn. */
static bool count_plain_shared(const cpu_watch_event *e, memory_sums *into) {
  uint64_t stride, bytes = e->site->bytes, words, together = BANKS;
  if (e->site->kind > MW_SITE_STORE || bytes > WORD || !has_stride(e, &stride)) return false;
  if (stride % WORD || e->words[0] % WORD + bytes > WORD) return false;
  words = stride / WORD;
  while (words % together) together /= 2;
  into->requests++;
  into->least++;
  into->bytes += LANES * bytes;
  into->used += stride ? LANES * bytes : bytes;
  into->wavefronts += stride ? together : 1;
  return true;
}

static bool is_swapped(const mw_site *site) { return mw_is_swapped(site->kind, site->detail); }

/* ---- aligned words anywhere, in one pass over the active lanes ---- */

/* Whether all active lanes' addresses are multiples of `bytes`, a power of two. */
static bool are_aligned(const cpu_watch_event *e, uint64_t bytes, unsigned *count) {
  uint64_t bits = 0;
  *count = 0;
  for (uint32_t rest = e->lanes; rest; rest &= rest - 1, ++*count) bits |= e->words[__builtin_ctz(rest)];
  return !(bits & (bytes - 1)) && !(bytes & (bytes - 1)) && bytes <= WIDEST && bytes > 0;
}

/* Loads and stores. */
static bool count_aligned_global(const cpu_watch_event *e, memory_sums *into) {
  unsigned bytes = e->site->bytes, count, distinct = 0;
  number_set set;
  uint32_t words[LANES]; /* of each sector, a bit for each byte at which an access begins */
  if (e->site->kind > MW_SITE_STORE || !are_aligned(e, bytes, &count)) return false;
  empty(&set);
  for (uint32_t rest = e->lanes; rest; rest &= rest - 1) {
    uint64_t at = e->words[__builtin_ctz(rest)];
    unsigned before = set.count, sector = add(&set, at / SECTOR);
    uint32_t begun = set.count > before ? 0 : words[sector], bit = 1u << at % SECTOR;
    distinct += !(begun & bit);
    words[sector] = begun | bit;
  }
  into->requests++;
  into->bytes += (uint64_t)count * bytes;
  into->used += (uint64_t)distinct * bytes;
  into->sectors += set.count;
  into->moved += (uint64_t)set.count * SECTOR;
  into->ideal += (distinct * bytes + SECTOR - 1) / SECTOR;
  return true;
}

/* Words of 4 bytes. */
static bool count_aligned_shared(const cpu_watch_event *e, memory_sums *into) {
  unsigned count, most = 0, in_bank[BANKS] = {0};
  number_set set;
  if (e->site->bytes != WORD || is_swapped(e->site) || !are_aligned(e, WORD, &count)) return false;
  empty(&set);
  for (uint32_t rest = e->lanes; rest; rest &= rest - 1) {
    uint64_t word = e->words[__builtin_ctz(rest)] / WORD;
    unsigned before = set.count;
    add(&set, word);
    if (set.count > before && ++in_bank[word % BANKS] > most) most = in_bank[word % BANKS];
  }
  into->requests++;
  into->least++;
  into->bytes += (uint64_t)count * WORD;
  into->used += (uint64_t)set.count * WORD;
  into->collisions += e->site->kind >= MW_SITE_ATOMIC ? count - set.count : 0;
  into->wavefronts += most;
  return true;
}

/* ---- global memory ---- */

static void count_strict(const lanes *l, unsigned bytes, memory_sums *into) {
  bool ordered = bytes >= 4 && l->count > 0;
  uint64_t base = l->count ? l->at[0] - (uint64_t)(l->number[0] % HALF) * bytes : 0;
  ordered = ordered && base % ((uint64_t)HALF * bytes) == 0;
  for (unsigned i = 0; i < l->count; i++)
    ordered = ordered && l->at[i] == base + (uint64_t)(l->number[i] % HALF) * bytes;
  if (!l->count) return;
  into->sectors += mw_strict_transactions(ordered, bytes, l->count);
  into->moved += mw_strict_bytes(ordered, bytes, l->count);
}

static void count_segments(const lanes *l, unsigned bytes, memory_sums *into) {
  unsigned size = mw_segment_bytes(bytes);
  number_set set;
  empty(&set);
  for (unsigned i = 0; i < l->count; i++) add(&set, l->at[i] / size);
  for (unsigned n = 0; n < set.count; n++) {
    unsigned first = ~0u, last = 0;
    for (unsigned i = 0; i < l->count; i++) {
      unsigned distance = (unsigned)(l->at[i] % size);
      if (l->at[i] / size != set.items[n]) continue;
      if (distance < first) first = distance;
      if (distance + bytes - 1 > last) last = distance + bytes - 1;
    }
    into->sectors++;
    into->moved += mw_segment_width(size, first, last);
  }
}

/* Atomic operations: each sector once for each of the lanes at its busiest address. Where the address is the program's
   one place for all lanes, nvcc combines their values first. */
static unsigned count_atomic_sectors(const lanes *l, bool is_uniform) {
  unsigned count = 0;
  number_set sectors;
  empty(&sectors);
  if (is_uniform) return l->count > 0;
  for (unsigned i = 0; i < l->count; i++) add(&sectors, l->at[i] / SECTOR);
  for (unsigned n = 0; n < sectors.count; n++) {
    unsigned most = 0;
    for (unsigned i = 0; i < l->count; i++) {
      unsigned same = 0;
      for (unsigned k = i; k < l->count && l->at[i] / SECTOR == sectors.items[n]; k++) same += l->at[k] == l->at[i];
      if (same > most) most = same;
    }
    count += most;
  }
  return count;
}

static void count_part(const rules *r, const cpu_watch_event *e, unsigned offset, unsigned bytes, memory_sums *into) {
  lanes l;
  into->requests++;
  collect(e, offset, ~0u, &l);
  unsigned distinct = count_units(&l, 1, 0), used = distinct * bytes;
  into->bytes += (uint64_t)l.count * bytes;
  into->used += used;
  into->collisions += e->site->kind >= MW_SITE_ATOMIC ? l.count - distinct : 0;
  if (r->set == MW_RULES_TODAY) {
    bool is_atomic = e->site->kind == MW_SITE_ATOMIC || e->site->kind == MW_SITE_REDUCTION;
    unsigned sectors = is_atomic ? count_atomic_sectors(&l, e->site->is_uniform) : count_units(&l, bytes, 5);
    into->sectors += sectors;
    into->moved += (uint64_t)sectors * SECTOR;
    into->ideal += mw_divided(used, SECTOR);
    return;
  }
  for (unsigned half = 0; half < 2; half++) {
    collect(e, offset, half ? 0xffff0000u : 0xffffu, &l);
    if (!l.count) continue;
    if (r->set == MW_RULES_1_0)
      count_strict(&l, bytes, into);
    else
      count_segments(&l, bytes, into);
    into->ideal += mw_divided(count_units(&l, 1, 0) * bytes, MW_LONGEST_TRANSACTION);
  }
}

void count_global(const rules *r, const cpu_watch_event *e, memory_sums *into) {
  unsigned bytes = e->site->bytes;
  if (r->set == MW_RULES_TODAY &&
      (count_plain_global(e, into) || count_rows_global(e, into) || count_aligned_global(e, into)))
    return;
  for (unsigned at = 0; at < bytes || at == 0; at += WIDEST)
    count_part(r, e, at, bytes - at < WIDEST ? bytes - at : WIDEST, into);
}

/* ---- shared memory ---- */

/* The passes that the banks need: the most distinct words of one bank. */
static unsigned passes(const lanes *l, unsigned bytes, unsigned banks) {
  number_set words;
  unsigned in_bank[BANKS] = {0}, most = 0;
  empty(&words);
  for (unsigned i = 0; i < l->count; i++) {
    for (uint64_t word = l->at[i] / WORD; word <= (l->at[i] + bytes - 1) / WORD; word++) {
      unsigned before = words.count;
      add(&words, word);
      if (words.count == before) continue;
      unsigned here = ++in_bank[word % banks];
      if (here > most) most = here;
    }
  }
  return most;
}

static void count_rounds(const cpu_watch_event *e, memory_sums *into) {
  for (uint32_t rest = e->lanes; rest;) {
    lanes l;
    uint32_t done = 0;
    collect(e, 0, rest, &l);
    into->rounds++;
    into->round_wavefronts += passes(&l, e->site->bytes, BANKS);
    for (unsigned i = 0; i < l.count; i++) {
      bool first = true;
      for (unsigned k = 0; k < i; k++) first = first && l.at[k] != l.at[i];
      if (first) done |= 1u << l.number[i];
    }
    rest &= ~done;
  }
}

void count_shared(const rules *r, const cpu_watch_event *e, memory_sums *into) {
  bool old = r->set != MW_RULES_TODAY;
  unsigned bytes = e->site->bytes, together = mw_lanes_together(old, bytes);
  lanes l;
  if (!old && (count_plain_shared(e, into) || count_aligned_shared(e, into))) return;
  into->requests++;
  collect(e, 0, ~0u, &l);
  unsigned distinct = count_units(&l, 1, 0);
  into->bytes += (uint64_t)l.count * bytes;
  into->used += (uint64_t)distinct * bytes;
  into->collisions += e->site->kind >= MW_SITE_ATOMIC ? l.count - distinct : 0;
  if (!old && is_swapped(e->site)) count_rounds(e, into);
  for (unsigned at = 0; at < bytes; at += WIDEST) {
    unsigned size = bytes - at < WIDEST ? bytes - at : WIDEST;
    for (unsigned first = 0; first < LANES; first += together) {
      collect(e, at, (together == LANES ? ~0u : (1u << together) - 1) << first, &l);
      if (!l.count) continue;
      into->wavefronts += passes(&l, size, old ? MW_BANKS_OLD : BANKS);
      into->least++;
    }
  }
}
