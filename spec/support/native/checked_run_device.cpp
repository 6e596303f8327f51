// The functions by which kernels of a checked run on a GPU follow their threads (device/moonwarp/checked_run), on the
// host: a thread of a block is a thread of this process. Prints what each scenario finds, for
// spec/gpu/checks/checked_run_device_spec.lua:
// "name: kind(site,other) …", each pair of sites once.
#include "checked_run_machine.h"

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

/* A value of the lane's with that shadow is shuffled, and what it gets is used. by, clamp: as of shfl.sync. */
enum mode { IDX, UP, DOWN, XOR };
enum { WHOLE_WARP = 31, QUARTERS = 24 << 8 | 31 };
static void use_shuffled(__mw_u32 mask, mode how, __mw_u32 by, __mw_u32 shadow, __mw_u32 origin, __mw_latest latest,
                         __mw_u32 clamp = WHOLE_WARP) {
  if (__mw_guard_shadow_shuffle(mask, by, clamp, how, shadow, origin, &latest)) __mw_guard_unwritten(0, 99, &latest);
}

static void run_shuffles() {
  run_lanes("a shuffle to the next lane", [](__mw_u32 shadow, __mw_latest latest) {
    if (T < 8) together = 0xff, use_shuffled(~0u, DOWN, 1, shadow, 0, latest);
  });
  run_lanes("a shuffle whose result is not used", [](__mw_u32 shadow, __mw_latest latest) {
    __mw_u32 moved = __mw_guard_shadow_shuffle(~0u, 16, WHOLE_WARP, XOR, shadow, 0, &latest);
    if (moved && T != 20 - 16 && T != 7 + 16) __mw_guard_unwritten(0, 99, &latest);
  });
  run_lanes("a shuffle past the end of the width", [](__mw_u32 shadow, __mw_latest latest) {
    use_shuffled(~0u, DOWN, 1, T == 7 ? shadow : 0, 0, latest, QUARTERS);
  });
  run_lanes("a shuffle in which no value is unwritten",
            [](__mw_u32, __mw_latest latest) { use_shuffled(~0u, XOR, 1, 0, 0, latest); });
  run_lanes("a shuffle from a lane of another branch", [](__mw_u32 shadow, __mw_latest latest) {
    together = T < 16 ? 0xffff : 0xffff0000;
    use_shuffled(~0u, XOR, 16, shadow, 0, latest);
  });
  run_lanes("a shuffle from a lane outside of the mask", [](__mw_u32 shadow, __mw_latest latest) {
    use_shuffled(T < 16 ? 0xffff : 0xffff0000, XOR, 16, shadow, 0, latest);
  });
  run_lanes("a shuffle of a variable that nothing has written",
            [](__mw_u32 shadow, __mw_latest latest) { use_shuffled(~0u, IDX, 20, shadow, shadow ? 3 : 0, latest); });
  run_lanes("a shuffle of what came from an absent lane", [](__mw_u32 shadow, __mw_latest latest) {
    use_shuffled(~0u, IDX, 20, shadow, shadow ? 3 | MW_FOLLOW_FROM_SHUFFLE : 0, latest);
  });
  run_lanes("a sum of a warp in the first lane", [](__mw_u32 shadow, __mw_latest latest) {
    if (T == 7 || !shadow) shadow = latest.site = 0; /* it has loaded no unwritten value */
    for (__mw_u32 d = 16; d; d /= 2) shadow |= __mw_guard_shadow_shuffle(~0u, d, WHOLE_WARP, DOWN, shadow, 0, &latest);
    if (T == 0 && shadow) __mw_guard_unwritten(0, 99, &latest);
  });
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

#include "checked_run_in_step.h"

int main() {
  cover();
  run_shared();
  run_written();
  run_shuffles();
  run_warps();
  run_barriers();
  run_arrivals();
  run_copies();
  run_global();
  run_in_step();
}
