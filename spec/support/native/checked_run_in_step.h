/* For checked_run_device.cpp: records of lanes that run together. */
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
  /* thread 1 has exchanged the first half of its record when thread 2 records its own read, and keeps thread 1's */
  run("reads of lanes in step and a write after __syncwarp", 1, 3, [] {
    static const auto order = [](operation what) {
      if (what == EXCHANGE && T == 1 && stage == 0) stage = 1, wait_for(2);
      if (what == ORDER && T == 2 && stage == 1) stage = 2;
    };
    if (T == 0) stage = 0;
    __mw_follow_meet();
    interleave = order;
    if (T == 2) wait_for(1);
    if (T > 0) load(global(63), 1);
    __mw_follow_meet();
    interleave = nullptr;
    __mw_follow_meet();
    __mw_guard_follow_warp(7, 9);
    if (T == 2) store(global(63), 2);
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
