/* A GPU on the host, for checked_run_device.cpp: a thread of a block is a thread of this process, memory is divided as a
 * GPU's, and the functions by which kernels of a checked run follow their threads (device/moonwarp/checked_run) are
 * compiled for it. run() runs a scenario and prints what the session has found. */
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
static thread_local __mw_u32 together; /* the lanes that a scenario runs together */
static __mw_u32 __mw_follow_together() { return together; }
static __mw_u32 __mw_follow_ballot(__mw_u32 lanes, bool predicate);
static __mw_u32 __mw_follow_from(__mw_u32 lanes, __mw_u32 value, __mw_u32 from);
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

/* A register of each lane. Of a lane that is not there it holds anything. */
static __mw_u32 registers[16][32];
static __mw_u32 __mw_follow_from(__mw_u32 lanes, __mw_u32 value, __mw_u32 from) {
  __mw_u32 *warp = registers[thread_id / 32], lane = thread_id % 32;
  warp[lane] = value;
  __mw_follow_converge(lanes);
  __mw_u32 found = lanes >> from & 1 ? warp[from] : ~0u;
  __mw_follow_converge(lanes);
  return found;
}
static __mw_u32 __mw_follow_ballot(__mw_u32 lanes, bool predicate) {
  __mw_u32 *warp = registers[thread_id / 32], all = 0;
  warp[thread_id % 32] = predicate;
  __mw_follow_converge(lanes);
  for (__mw_u32 lane = 0; lane < 32; lane++) all |= (lanes >> lane & warp[lane] & 1) << lane;
  __mw_follow_converge(lanes);
  return all;
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

/* The lanes of a warp: two have a value that nothing has written, of which the sites are 40 and the lane. */
static void run_lanes(const char *name, const std::function<void(__mw_u32 shadow, __mw_latest)> &body) {
  const auto lane = [=] {
    together = ~0u;
    body(thread_id == 7 || thread_id == 20 ? ~0u : 0, __mw_latest{1, 1, 40 + thread_id, 4});
  };
  run(name, 1, 32, lane, MW_FOLLOW_INITIALISATION);
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
