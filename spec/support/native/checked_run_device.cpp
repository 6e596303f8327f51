// The functions by which kernels of a checked run on a GPU follow their threads (device/moonwarp/checked_run), on the
// host: a thread of a block is a thread of this process. Prints what each scenario finds, for
// spec/gpu/checks/checked_run_device_spec.lua:
// "name: kind(site,other) …", each pair of sites once.
#include <algorithm>
#include <atomic>
#include <functional>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <string>
#include <thread>
#include <vector>

#include "moonwarp/checked_run/layout.h"

/* ---- the machine: as checked_run/machine.h has it for a GPU ---- */

#define MOONWARP_FOLLOW_MACHINE 1
#define __mw_follow_function    template <int = 0> static
#define __mw_follow_inline      static inline
#define __mw_follow_called      static
#define __mw_follow_quick       static
typedef unsigned int __mw_u32;
typedef unsigned long long __mw_u64;

static __mw_u32 uses;
static __mw_u32 __mw_guard_follow_uses() { return uses; }

enum { SHARED = 4096, RESERVED = 1024, RESIDENT = 2 };

struct block_memory {
  mw_follow_here here;
  pthread_mutex_t lock;
  pthread_cond_t all_have_arrived;
  __mw_u32 threads, left, arrived, holds, held, generation;
  char shared[SHARED];
};
static thread_local __mw_u32 thread_id, block_id;
static thread_local block_memory *memory;

static mw_follow_page __mw_follow_no_page;
static mw_follow_here *__mw_here() { return &memory->here; }
static __mw_u32 __mw_follow_thread_id() { return thread_id; }
static __mw_u32 __mw_follow_block_id() { return block_id; }
static __mw_u32 __mw_follow_start() { return block_id; }
static void __mw_follow_meet_at(__mw_u32, __mw_u32, bool) {}
static bool __mw_follow_is_cooperative() { return true; }
/* The block's barrier does not wait for threads that have returned. */
static void release_if_complete(block_memory *m) {
  if (!m->arrived || m->arrived + m->left < m->threads) return;
  m->held = m->holds, m->arrived = m->holds = 0, m->generation++;
  pthread_cond_broadcast(&m->all_have_arrived);
}
static __mw_u32 __mw_follow_meet_count(bool predicate) {
  block_memory *m = memory;
  pthread_mutex_lock(&m->lock);
  __mw_u32 generation = m->generation;
  m->arrived++, m->holds += predicate;
  release_if_complete(m);
  while (m->generation == generation) pthread_cond_wait(&m->all_have_arrived, &m->lock);
  __mw_u32 held = m->held;
  pthread_mutex_unlock(&m->lock);
  return held;
}
static void __mw_follow_meet() { __mw_follow_meet_count(true); }
static __mw_u32 __mw_follow_leave() { return __atomic_add_fetch(&memory->here.gone, 1, __ATOMIC_SEQ_CST); }
static void leave_block() {
  pthread_mutex_lock(&memory->lock);
  memory->left++;
  release_if_complete(memory);
  pthread_mutex_unlock(&memory->lock);
}
static void __mw_follow_converge(__mw_u32 lanes);
/* A scenario's order of two threads: called before the operation, and after an exchange. */
enum operation { EXCHANGE, ADD, ORDER };
static void (*interleave)(operation);

static __mw_u64 __mw_xchg(__mw_u64 *at, __mw_u64 value) {
  __mw_u64 old = __atomic_exchange_n(at, value, __ATOMIC_SEQ_CST);
  if (interleave) interleave(EXCHANGE);
  return old;
}
static __mw_u64 __mw_cas64(__mw_u64 *at, __mw_u64 old, __mw_u64 value) {
  __atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return old;
}
static __mw_u32 __mw_cas(__mw_u32 *at, __mw_u32 old, __mw_u32 value) {
  __atomic_compare_exchange_n(at, &old, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
  return old;
}
static __mw_u32 __mw_add(__mw_u32 *at, __mw_u32 value) {
  if (interleave) interleave(ADD);
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
static __mw_u32 __mw_or(__mw_u32 *at, __mw_u32 value) { return __atomic_fetch_or(at, value, __ATOMIC_SEQ_CST); }
static __mw_u32 __mw_and(__mw_u32 *at, __mw_u32 value) { return __atomic_fetch_and(at, value, __ATOMIC_SEQ_CST); }
static void __mw_order() {
  if (interleave) interleave(ORDER);
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
}
static thread_local bool stopped;
static void __mw_stop_grid() { stopped = true; }
static void __mw_wait_a_little() { sched_yield(); }
static bool __mw_follow_is_shared(const void *address) {
  return (char *)address >= memory->shared && (char *)address < memory->shared + SHARED;
}
static bool __mw_follow_is_global(const void *address) { return !__mw_follow_is_shared(address); }
static __mw_u32 __mw_follow_offset(const void *address) {
  return (__mw_u32)((char *)address - memory->shared) + RESERVED;
}

#include "moonwarp/checked_run/calls.h"

/* Lanes meet by their mask. */
struct meeting {
  __mw_u32 lanes, count, generation;
};
static meeting meetings[16][2][32];
static pthread_mutex_t meetings_lock = PTHREAD_MUTEX_INITIALIZER;
static void __mw_follow_converge(__mw_u32 lanes) {
  pthread_mutex_lock(&meetings_lock);
  meeting *m = meetings[block_id][thread_id / 32];
  while (m->lanes && m->lanes != lanes) m++;
  m->lanes = lanes;
  __mw_u32 generation = m->generation;
  if (++m->count == (__mw_u32)__builtin_popcount(lanes)) {
    m->count = 0;
    __atomic_store_n(&m->generation, generation + 1, __ATOMIC_SEQ_CST);
  }
  pthread_mutex_unlock(&meetings_lock);
  while (__atomic_load_n(&m->generation, __ATOMIC_SEQ_CST) == generation) sched_yield();
}

/* ---- a session and its launches ---- */

enum { PAGES = 16, FINDINGS = 256, PAIRS = 4096, LOG = 4096, HEADS = 1024, MALLOCS = 1024, MEMORY = 1 << 16 };
static mw_follow_page pages[PAGES];
static mw_follow_session session;
static mw_follow_finding findings[FINDINGS];
static mw_follow_pair pairs[PAIRS];
static mw_follow_event events[LOG];
static mw_follow_head heads[HEADS];
static mw_follow_malloc mallocs[MALLOCS];
alignas(256) static char device_memory[MEMORY], spare[MW_FOLLOW_PAGE_WORDS];
static __mw_u32 next_run = 1, whole;
static bool by_bytes;

static void cover() {
  for (__mw_u64 n = (__mw_u64)device_memory >> MW_FOLLOW_PAGE_SHIFT;
       n <= ((__mw_u64)device_memory + MEMORY - 1) >> MW_FOLLOW_PAGE_SHIFT; n++) {
    mw_follow_page page = {n, (__mw_u64)calloc(MW_FOLLOW_PAGE_WORDS, sizeof(mw_follow_cell)),
                           (__mw_u64)malloc(MW_FOLLOW_PAGE_WORDS)};
    __mw_u64 at = n;
    while (pages[at & (PAGES - 1)].number) at++;
    memset((void *)page.written, 15, MW_FOLLOW_PAGE_WORDS);
    pages[at & (PAGES - 1)] = page;
  }
}

static void open_session() {
  memset(findings, 0, sizeof findings);
  memset(events, 0, sizeof events);
  memset(heads, 0, sizeof heads);
  memset(mallocs, 0, sizeof mallocs);
  memset(meetings, 0, sizeof meetings);
  session = mw_follow_session{(__mw_u64)pages, (__mw_u64)findings,
                              (__mw_u64)pairs, (__mw_u64)events,
                              (__mw_u64)heads, (__mw_u64)mallocs,
                              PAGES,           FINDINGS,
                              PAIRS,           LOG,
                              HEADS,           MALLOCS};
  memset(spare, 15, sizeof spare);
  session.spare = (__mw_u64)spare, session.spare_room = 1;
}

static std::string found() {
  static const char *const kinds[] = {"",      "race",  "unwritten", "diverged",    "returned",   "own lane",
                                      "never", "other", "absent",    "freed twice", "not malloc", "past",
                                      "freed", "stuck", "grid",      "used absent"};
  std::vector<const mw_follow_finding *> list;
  std::string text;
  for (auto &f : findings)
    if (f.key) list.push_back(&f);
  std::vector<std::string> words;
  for (auto f : list) {
    __mw_u32 first = f->here.site, second = f->other.site;
    if (second && second < first) std::swap(first, second); /* which of two comes first is chance */
    std::string word = std::string(" ") + kinds[f->kind] + "(" + std::to_string(first);
    words.push_back(word + (second ? "," + std::to_string(second) : "") + ")");
  }
  std::sort(words.begin(), words.end());
  words.erase(std::unique(words.begin(), words.end()), words.end());
  for (auto &word : words) text += word;
  if (session.pair_count) text += " pairs";
  for (auto &m : mallocs)
    if (m.address && !m.is_freed) text += " leak(" + std::to_string(m.site) + ")";
  return text;
}

static void run_block(__mw_u32 block, __mw_u32 threads, __mw_u64 launch, const std::function<void()> &body,
                      block_memory *m, std::vector<std::thread> &all) {
  memset(m, 0, sizeof *m);
  pthread_mutex_init(&m->lock, nullptr);
  pthread_cond_init(&m->all_have_arrived, nullptr);
  m->threads = threads;
  for (__mw_u32 t = 0; t < threads; t++)
    all.emplace_back([=] {
      thread_id = t, block_id = block, memory = m, stopped = false;
      __mw_guard_follow_begin(launch);
      body();
      __mw_guard_follow_end();
      leave_block();
    });
}

static void run(const char *name, __mw_u32 blocks, __mw_u32 threads, const std::function<void()> &body,
                __mw_u32 kinds = 15) {
  static block_memory memories[RESIDENT];
  open_session();
  uses = kinds | MW_FOLLOW_WARPS | MW_FOLLOW_ARRIVALS | (by_bytes ? MW_FOLLOW_BYTES : 0);
  mw_follow_launch launch = {};
  launch.session = (__mw_u64)&session;
  launch.threads = threads, launch.blocks = blocks, launch.kinds = kinds;
  launch.base = launch.floor = next_run;
  launch.whole = whole;
  launch.slot_count = RESIDENT;
  launch.shared_words = (SHARED + RESERVED) / 4;
  launch.cells_at = (sizeof(mw_follow_block) + 63) / 64 * 64;
  __mw_u64 end_of_cells = launch.cells_at + launch.shared_words * sizeof(mw_follow_cell) * (by_bytes ? 4 : 1);
  launch.written_at = kinds & MW_FOLLOW_INITIALISATION ? end_of_cells : 0;
  launch.slot_bytes = end_of_cells + launch.shared_words * 4;
  next_run += blocks;
  char *room = (char *)calloc(1, 256 + launch.slot_bytes * RESIDENT);
  launch.slots = (__mw_u64)room + 256;
  memcpy(room, &launch, sizeof launch);
  for (__mw_u32 first = 0; first < blocks; first += RESIDENT) {
    std::vector<std::thread> all;
    for (__mw_u32 b = first; b < first + RESIDENT && b < blocks; b++)
      run_block(b, threads, (__mw_u64)room, body, &memories[b - first], all);
    for (auto &t : all) t.join();
  }
  printf("%s:%s%s\n", name, found().c_str(), *(__mw_u32 *)(room + sizeof launch) ? " slots are left" : "");
  free(room);
}

/* ---- what kernels do ---- */

static __mw_u32 place_of(const void *at) {
  return __mw_follow_is_shared(at) ? MW_FOLLOW_IN_SHARED : MW_FOLLOW_IN_GLOBAL;
}
static void load(void *at, __mw_u32 site) { __mw_guard_follow(at, 4, nullptr, site, MW_FOLLOW_USED | place_of(at)); }
static void store(void *at, __mw_u32 site) { __mw_guard_follow(at, 4, nullptr, site, MW_FOLLOW_STORE); }
static void update(void *at, __mw_u32 site) {
  __mw_guard_follow(at, 4, nullptr, site, MW_FOLLOW_STORE | MW_FOLLOW_ATOMIC);
  __atomic_fetch_add((__mw_u32 *)at, 1, __ATOMIC_SEQ_CST);
  __mw_guard_follow_after(at, 0);
}
static std::atomic<int> arrived;
static void arrive() {
  arrived++;
  while (block_id == 3 && arrived < 4) sched_yield();
}
static void barrier(__mw_u32 site) { __mw_guard_follow_barrier(site); }
static char *shared(__mw_u32 i) { return memory->shared + 4 * i; }
static char *global(__mw_u32 i) { return device_memory + 4 * i; }
#define T thread_id
#define B block_id

static void run_shared() {
  run("a tile without a barrier", 1, 64, [] { store(shared(T), 1), store(shared(63 - T), 2); });
  run("a tile with one", 4, 64, [] { store(shared(T), 1), barrier(3), load(shared(63 - T), 2); });
  run("one word that all write", 1, 64, [] { store(shared(0), 1); });
  run("a sum by halves", 2, 64, [] {
    store(shared(T), 1), barrier(9);
    for (__mw_u32 d = 32; d; d /= 2) {
      if (T < d) load(shared(T), 2), load(shared(T + d), 3), store(shared(T), 4);
      barrier(9);
    }
  });
  run(
      "a word that all read again and again", 2, 64,
      [] {
        for (__mw_u32 i = 0; i < 9; i++) load(shared(1), 1), load(global(1), 2);
        barrier(9), load(shared(1), 3);
        if (T == 9) store(shared(1), 4);
      },
      MW_FOLLOW_RACES);
  run("neighbouring bytes", 1, 64, [] { __mw_guard_follow(memory->shared + T, 1, nullptr, 1, MW_FOLLOW_STORE); });
  by_bytes = true;
  run("neighbouring bytes by themselves", 1, 64, [] {
    __mw_guard_follow(memory->shared + T, 1, nullptr, 1, MW_FOLLOW_STORE), barrier(9), load(shared(T / 4), 2);
  });
  run("bytes that neighbours write too", 1, 64, [] {
    __mw_guard_follow(memory->shared + T, 1, nullptr, 1, MW_FOLLOW_STORE);
    __mw_guard_follow(memory->shared + (T + 1) % 64, 1, nullptr, 2, MW_FOLLOW_STORE);
  });
  run(
      "bytes of words that others read", 1, 64,
      [] { __mw_guard_follow(memory->shared + T, 1, nullptr, 1, MW_FOLLOW_STORE), load(shared(15 - T / 4), 2); }, 2);
  by_bytes = false;
  run(
      "a barrier without checks of barriers", 1, 64, [] { store(shared(T), 1), barrier(3), load(shared(63 - T), 2); },
      2 | 8);
  run("half a tile that is written", 1, 64, [] {
    if (T < 32) store(shared(T), 1);
    barrier(3), load(shared(63 - T), 2);
  });
}

/* Shadows of values: as mwcc makes it of a load of a value that is used, and of a store. */
static __mw_u64 find_shadow(char *at, __mw_u64 bytes, __mw_u32 site, __mw_latest *latest, __mw_u32 whole = 0) {
  __mw_frame f = __mw_guard_shadow_frame();
  bool is_shared = __mw_follow_is_shared(at);
  __mw_u64 number = is_shared ? __mw_follow_offset(at) : (__mw_u64)at;
  if (bytes < 16)
    return __mw_guard_shadow_load(at, number, bytes, device_memory, site, place_of(at), whole & f.whole, latest,
                                  f.pages, f.shared, f.page_mask, f.shared_words);
  __mw_shadow_pair pair = __mw_guard_shadow_load_pair(at, number, device_memory, site, place_of(at), whole & f.whole,
                                                      latest, f.pages, f.shared, f.page_mask, f.shared_words);
  return pair.low | pair.high;
}
static void use(char *at, __mw_u64 bytes, __mw_u32 site, __mw_u32 whole = 0) {
  __mw_latest latest = {};
  if (find_shadow(at, bytes, site, &latest, whole)) __mw_guard_unwritten(0, 99, &latest);
}
static void put(char *at, __mw_u64 bytes, __mw_u64 shadow = 0) {
  __mw_frame f = __mw_guard_shadow_frame();
  __mw_u64 number = __mw_follow_is_shared(at) ? __mw_follow_offset(at) : (__mw_u64)at;
  __mw_guard_shadow_store(at, number, bytes, shadow, place_of(at), 0, f.pages, f.shared, f.page_mask, f.shared_words);
}
static void move(char *to, char *from, __mw_u64 bytes) {
  __mw_latest latest = {};
  put(to, bytes, find_shadow(from, bytes, 9, &latest));
}
static void forget_global(__mw_u32 word, __mw_u32 count) {
  char *first = global(word), *shadow = (char *)__mw_page_of(&session, (__mw_u64)first)->written;
  memset(shadow + ((__mw_u64)first / 4 & (MW_FOLLOW_PAGE_WORDS - 1)), 0, count);
}

static void run_written() {
  enum { ALONE = 8 };
  run(
      "halves of shared words", 2, 64,
      [] {
        put(shared(T), 4), barrier(9), use(shared(63 - T), 4, 2), use(shared(T & ~3), 16, 3);
        use(shared(T) + 2, 2, 4), put(shared(64 + T) + 1, 1), use(shared(64 + T) + 1, 1, 6);
        use(shared(64 + T) + 2, 1, 7), use(shared(64 + T), 4, 8);
      },
      ALONE);
  forget_global(2048, 512);
  run(
      "halves of global words", 1, 32,
      [] {
        put(global(2048 + 4 * T), 16), use(global(2048 + 4 * T) + 8, 8, 2);
        put(global(2048 + 128 + T) + 1, 1), use(global(2048 + 128 + T) + 1, 1, 4);
        use(global(2048 + 128 + T) + 2, 2, 5), use(global(2048 + 256 + 2 * T), 8, 6);
        put(global(2048 + 256 + 2 * T), 8), use(global(2048 + 256 + 2 * T), 8, 8);
      },
      ALONE);
  forget_global(2048, 512);
  run(
      "values that are moved", 1, 32,
      [] {
        char *words = global(2048 + 4 * T), *tile = shared(4 * T);
        put(words, 4), put(words + 6, 1);
        move(tile, words, 8), use(tile, 4, 1), use(tile + 6, 1, 2), use(tile + 4, 2, 3), use(tile + 7, 1, 4);
        put(words, 8), move(words, tile, 8), use(words + 4, 4, 5), put(words + 4, 4, 0x00ff0000), use(words + 4, 2, 6);
        use(words + 4, 4, 7);
      },
      ALONE);
  forget_global(2048, 512);
  run(
      "copies in memory", 1, 32,
      [] {
        char *words = global(2048 + 8 * T), *tile = shared(8 * T);
        unsigned char bytes[12];
        __mw_latest latest = {};
        put(words, 4), __mw_guard_shadow_move(tile, words, 12), use(tile, 4, 1), use(tile + 4, 4, 2);
        __mw_guard_shadow_move(tile + 4, tile, 8), use(tile + 4, 4, 3), use(tile + 8, 4, 4);
        __mw_guard_shadow_fetch(tile, 12, tile, 5, bytes, &latest);
        if (bytes[7] == 0 && bytes[8] == 255 && latest.site == 5) __mw_guard_shadow_put(words, 12, bytes);
        use(words + 4, 4, 6), use(words + 8, 4, 7), __mw_guard_shadow_put(words, 12, nullptr), use(words + 8, 4, 8);
      },
      ALONE);
  forget_global(2048, 512);
  whole = 2;
  run(
      "arrays that are all written", 1, 32, [] { use(global(2048 + T), 4, 1, 2), use(global(2048 + T), 4, 2, 1); },
      ALONE);
  whole = 0;
  run(
      "a block of malloc that is partly written", 1, 1,
      [] {
        static char *at = (char *)((__mw_u64)64 << MW_FOLLOW_PAGE_SHIFT); /* of no page; nothing is accessed there */
        __mw_guard_follow_given(at + 16, 40, 1);
        put(at + 16, 4), use(at + 16, 4, 2), use(at + 20, 4, 3), use(at + 52, 4, 4), use(at + 64, 4, 5);
      },
      ALONE);
  run(
      "a shuffle from an absent lane that is used", 1, 32,
      [] {
        __mw_latest latest = {};
        if (T < 16) {
          __mw_guard_follow_shuffle(0xffff, 16, 31, 3, 1);
          if (__mw_guard_shadow_absent()) __mw_guard_unwritten(1 | MW_FOLLOW_FROM_SHUFFLE, 99, &latest);
          if (__mw_guard_shadow_absent()) __mw_guard_unwritten(2 | MW_FOLLOW_FROM_SHUFFLE, 99, &latest);
          __mw_guard_follow_shuffle(0xffff, 16, 31, 3, 1);
          __mw_guard_follow_shuffle(0xffff, 1, 31, 3, 1);
          if (__mw_guard_shadow_absent()) __mw_guard_unwritten(3 | MW_FOLLOW_FROM_SHUFFLE, 99, &latest);
        }
      },
      12);
}

static void run_warps() {
  run("lanes without __syncwarp", 1, 32, [] { store(shared(T), 1), store(shared(31 - T), 2); });
  run("lanes with __syncwarp", 1, 32,
      [] { store(shared(T), 1), __mw_guard_follow_warp(~0u, 9), store(shared(31 - T), 2); });
  run("__syncwarp for other warps", 1, 64,
      [] { store(shared(T), 1), __mw_guard_follow_warp(~0u, 9), store(shared(63 - T), 2); });
  run("halves of a warp", 1, 32,
      [] { store(shared(T), 1), __mw_guard_follow_warp(T < 16 ? 0xffff : 0xffff0000, 9), store(shared(T ^ 15), 2); });
  run("across the halves", 1, 32,
      [] { store(shared(T), 1), __mw_guard_follow_warp(T < 16 ? 0xffff : 0xffff0000, 9), store(shared(31 - T), 2); });
  run("pairs that pass on what they know", 1, 32, [] {
    store(shared(T), 1), __mw_guard_follow_warp(3u << T / 2 * 2, 9);
    if (T % 2 == 0) __mw_guard_follow_warp(5u << T / 4 * 4, 9);
    __mw_guard_follow_warp(3u << T / 2 * 2, 9), store(shared(T ^ 3), 2);
  });
  run(
      "a shuffle from an absent lane", 1, 32,
      [] {
        if (T < 16) __mw_guard_follow_shuffle(0xffff, 16, 31, 3, 1);
      },
      4);
  run("a lane that waits at a barrier", 1, 32, [] {
    if (T < 16) __mw_guard_follow_shuffle(~0u, 1, 31, 3, 1);
    barrier(2);
  });
  run("lanes that wait for each other", 1, 32, [] { __mw_guard_follow_mask(T < 16 ? ~0u : 0xffff8000, 1); });
  run("a mask without its own lane", 1, 32, [] { __mw_guard_follow_mask(0xffff, 1); });
  run(
      "volatile accesses in step", 1, 32,
      [] {
        const __mw_u32 read = MW_FOLLOW_VOLATILE | MW_FOLLOW_IN_SHARED, write = read | MW_FOLLOW_STORE;
        if (T < 2) __mw_guard_follow(shared(1), 4, nullptr, T == 0 ? 1 : 2, read), __mw_guard_follow_warp(3, 9);
        if (T == 1) __mw_guard_follow(shared(1), 4, nullptr, 3, write);
        if (T < 2) __mw_guard_follow(shared(2), 4, nullptr, T == 0 ? 4 : 5, read);
        if (T == 1) __mw_guard_follow(shared(2), 4, nullptr, 6, write);
      },
      2);
  for (int is_atomic = 1; is_atomic >= 0; is_atomic--)
    run(
        is_atomic ? "an atomic beside an incomplete record of a poll" : "a store beside an incomplete record of a read",
        1, 32,
        [=] {
          const mw_follow_here *here = __mw_here();
          mw_follow_cell *cells =
              (mw_follow_cell *)((char *)here->slot + ((const mw_follow_launch *)here->launch)->cells_at);
          if (T) return;
          cells[RESERVED / 4 + 1].who[MW_FOLLOW_READ_TOO] = (__mw_u64)here->run << 32 | 5 << 4 | 15;
          __mw_guard_follow(shared(1), 4, nullptr, 1,
                            MW_FOLLOW_IN_SHARED | MW_FOLLOW_STORE | (is_atomic ? MW_FOLLOW_ATOMIC : 0));
        },
        2);
  run("another call", 1, 32, [] { __mw_guard_follow_mask(~0u, T < 16 ? 1 : 2); });
}

static void run_barriers() {
  run("two barriers", 1, 64, [] { barrier(T % 2 ? 1 : 2); });
  run("a thread that has returned", 1, 64, [] {
    if (T != 5) barrier(1);
  });
  run("votes", 2, 64, [] {
    for (__mw_u32 i = 2; i < 9; i++)
      if (__mw_guard_follow_vote(T % i == 0, MW_FOLLOW_COUNT, 9) != (int)((63 + i) / i)) store(shared(0), 1);
    if (__mw_guard_follow_vote(T != 3, MW_FOLLOW_AND, 9) || !__mw_guard_follow_vote(T == 3, MW_FOLLOW_OR, 9))
      barrier(T);
  });
}

/* As what mwcc makes of `while (!b.try_wait(phase)) {}`. */
static std::atomic<__mw_u32> missing;
static void arrive_and_wait(__mw_u32 site) {
  __mw_guard_follow_word(RESERVED + 8, 1, 1, site);
  missing--;
  for (bool is_past = false; !is_past && !stopped;) {
    is_past = missing == 0;
    __mw_guard_follow_word(RESERVED + 8, 0, is_past, site);
  }
}
static void named(__mw_u32 number, __mw_u32 count, bool waits, __mw_u32 site) {
  __mw_guard_follow_named(number, count, waits, site);
}

static void run_arrivals() {
  run("a barrier with a number", 1, 64, [] {
    if (T < 32) store(shared(T), 1);
    named(1, 64, T >= 32, 9);
    if (T >= 32) load(shared(T - 32), 2);
  });
  run("a barrier with another number", 1, 64, [] {
    if (T < 32) store(shared(T), 1);
    named(1 + T / 32, 32, true, 9);
    if (T >= 32) store(shared(T - 32), 2);
  });
  run("a barrier of a part of a warp's lanes", 1, 40, [] { named(1, 64, true, 1), named(1, 0, true, 1); });
  run("a barrier with a number, for too many", 1, 64, [] {
    if (T < 32)
      named(1, 96, true, 1);
    else
      named(2, 32, true, 2);
  });
  missing = 64;
  run("a barrier that counts", 1, 64, [] { store(shared(T), 1), arrive_and_wait(9), load(shared(63 - T), 2); });
  missing = 65;
  run("a barrier that counts too many", 1, 64, [] { arrive_and_wait(1); });
  missing = 64;
  run("a thread that does not arrive", 1, 64, [] {
    if (T == 7)
      barrier(2);
    else
      arrive_and_wait(1), barrier(2);
  });
  run("a barrier of the grid", 2, 1, [] {
    for (int i = 0; i < 3; i++) __mw_guard_follow_grid_wait(1), __mw_guard_follow_grid();
  });
  run("a barrier of the grid, for a part of it", 2, 1, [] {
    if (B) __mw_guard_follow_grid_wait(1);
  });
}

static void copy(void *at, __mw_u32 site) {
  __mw_guard_follow_event(MW_FOLLOW_ASYNC, 1);
  __mw_guard_follow(at, 4, nullptr, site, MW_FOLLOW_STORE | MW_FOLLOW_COPIES);
  __mw_guard_follow_event(MW_FOLLOW_ASYNC, 0);
}
static void commit() { __mw_guard_follow_event(MW_FOLLOW_COMMIT, 0); }
static void wait_prior(__mw_u32 prior) { __mw_guard_follow_event(MW_FOLLOW_COPIED, prior); }

static void run_copies() {
  run("a copy that nothing waits for", 1, 64,
      [] { copy(shared(T), 1), commit(), barrier(3), load(shared(63 - T), 2); });
  run("a copy that is waited for", 1, 64,
      [] { copy(shared(T), 1), commit(), wait_prior(0), barrier(3), load(shared(63 - T), 2); });
  run("a copy that is waited for after the barrier", 1, 64,
      [] { copy(shared(T), 1), commit(), barrier(3), wait_prior(0), load(shared(63 - T), 2); });
  run("a copy of one's own", 1, 64, [] { copy(shared(T), 1), commit(), load(shared(T), 2); });
  run("a copy of one's own that is waited for", 1, 64,
      [] { copy(shared(T), 1), commit(), wait_prior(0), load(shared(T), 2); });
  run("a copy in a warp", 1, 32,
      [] { copy(shared(T), 1), commit(), wait_prior(0), __mw_guard_follow_warp(~0u, 9), load(shared(31 - T), 2); });
  run("two stages", 1, 64, [] {
    for (__mw_u32 i = 0; i < 5000; i++) {
      copy(shared(T + i % 2 * 64), 1), commit(), wait_prior(1);
      if (i < 4 || i > 4990) barrier(3);
      if (i) load(shared(T + (i + 1) % 2 * 64), 2);
    }
  });
  missing = 64;
  run("a copy that a barrier tracks", 1, 64, [] {
    copy(shared(T), 1), __mw_guard_follow_event(MW_FOLLOW_TRACK, (__mw_u64)memory->shared + 8 + 4);
    arrive_and_wait(9), load(shared(63 - T), 2);
  });
}

static void run_global() {
  run("one word that blocks write", 4, 2, [] { store(global(0), 1); });
  run("words of their own", 4, 2, [] { store(global(B * 2 + T), 1); });
  run("the next launch", 4, 2, [] { load(global(7 - B * 2 - T), 1); });
  /* block 3 is the last: it reads when all blocks have written */
  run("the last block without a fence", 4, 1, [] {
    store(global(B), 1), update(global(50), 9), arrive();
    for (__mw_u32 i = 0; B == 3 && i < 4; i++) load(global(i), 2);
  });
  arrived = 0;
  run("the last block with a fence", 4, 1, [] {
    store(global(B), 1), __mw_guard_follow_fence(0), update(global(50), 9), arrive();
    for (__mw_u32 i = 0; B == 3 && i < 4; i++) load(global(i), 2);
  });
  run("atomics", 4, 32, [] { update(global(60), 1); });
  run("an atomic and a plain access", 1, 64, [] {
    if (T == 0)
      load(global(61), 2);
    else
      update(global(61), 1);
  });
  run("past a block of malloc", 1, 1, [] {
    char *p = (char *)malloc(8);
    __mw_guard_follow_given(p, 8, 1);
    __mw_guard_follow_outside(p + 4, 4, p, 2, MW_FOLLOW_STORE);
    __mw_guard_follow_outside(p + 8, 4, p, 3, MW_FOLLOW_STORE);
    __mw_guard_follow_outside(p - 4, 4, p, 4, MW_FOLLOW_STORE), __mw_guard_follow_free(p, 5);
    __mw_guard_follow_outside(p + 4, 4, p, 6, MW_FOLLOW_USED);
  });
  run("blocks of malloc", 1, 3, [] {
    void *p = malloc(8);
    __mw_guard_follow_given(p, 8, 1);
    if (T == 1) __mw_guard_follow_free((char *)p + 4, 2);
    if (T < 2) __mw_guard_follow_free(p, 3);
    if (T == 0) __mw_guard_follow_free(p, 4);
  });
}

/* Lanes of a warp on a GPU execute each instruction together: the orders of two threads that this makes possible. */
static std::atomic<int> stage;
static void wait_for(int least) {
  while (stage < least) sched_yield();
}

static void run_in_step() {
  /* both exchange the first half of the record, thread 0 first; then thread 1 stores the second half first */
  run("records of lanes in step", 1, 2, [] {
    static std::atomic<int> done;
    static const auto order = [](operation what) {
      if (what == EXCHANGE && T == 0 && stage == 0) stage = 1, wait_for(3);
      if (what == EXCHANGE && T == 1 && stage == 1) stage = 2;
      if (what == ORDER && T == 1 && stage == 2) stage = 3, wait_for(4);
      if (what == ORDER && T == 0 && stage == 3) stage = 4;
    };
    if (T == 0) stage = 0, done = 0;
    __mw_follow_meet();
    interleave = order;
    if (T == 1) wait_for(1);
    update(global(62), 1), done++;
    while (done < 2) sched_yield();
    interleave = nullptr;
    if (T == 0) load(global(62), 2);
  });
  /* thread 1 releases while thread 0 does */
  run("releases of one word at the same time", 1, 2, [] {
    static const auto order = [](operation what) {
      if (what == ADD && T == 0 && stage == 0) stage = 1, wait_for(2);
    };
    if (T == 0) stage = 0;
    __mw_follow_meet();
    __mw_guard_follow_fence(0);
    interleave = order;
    if (T == 1) wait_for(1);
    __mw_self self;
    __mw_follow_self(&self);
    __mw_publish(&self, 77);
    if (T == 1) stage = 2;
    __mw_follow_meet();
    interleave = nullptr;
    if (T == 1) return;
    __mw_u32 count = 0, at = __mw_head_of(&session, 77, false)->latest;
    for (; at; at = events[at - 1].link) count++;
    printf("releases that are kept: %u\n", count);
  });
}

int main() {
  cover();
  run_shared();
  run_written();
  run_warps();
  run_barriers();
  run_arrivals();
  run_copies();
  run_global();
  run_in_step();
}
