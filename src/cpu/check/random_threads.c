/* Random order of threads and blocks, in a checked run with a seed (mw.check's schedule = "random"): threads of a block,
 * and blocks of a launch, switch before accesses, and which one continues is drawn at random.
 *
 * Numbers are drawn from a state of each block's, and one of each launch's, that depend on the seed, the launch and the
 * block alone; one thread runs a whole launch. So a seed is an order. Blocks differ in how often they switch: after each
 * other access, or so rarely that a thread gets far ahead of the others. Both kinds of order find races that the other
 * one misses. */
#include "session.h"

#include "cpu/execution/cluster.h"
#include "cpu/execution/warp.h"

static uint64_t mix(uint64_t x) {
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  x ^= x >> 32;
  x *= 0xd6e8feb86659fd93u;
  return x ^ x >> 32;
}

bool cpu_check_is_random(const cpu_device *device) {
  const cpu_check *check = cpu_check_of(device);
  return check && check->seed;
}

uint64_t cpu_check_random_state(const cpu_device *device, uint32_t launch, uint64_t block) {
  if (!cpu_check_is_random(device)) return 0;
  return mix(mix(cpu_check_of(device)->seed) + mix((uint64_t)launch << 32 ^ block)) | 1;
}

uint32_t cpu_check_draw(uint64_t *state, uint32_t below) {
  *state = *state * 6364136223846793005u + 2; /* an odd state stays odd, so it is never 0 */
  return (uint32_t)((mix(*state) >> 32) * below >> 32);
}

uint32_t cpu_check_draw_command(const cpu_device *device, uint32_t below) {
  cpu_check *check = cpu_check_of(device);
  if (!check->command_state) check->command_state = cpu_check_random_state(device, UINT32_MAX, 0);
  return cpu_check_draw(&check->command_state, below);
}

/* The average number of accesses between switches: 2 to 64, chosen for each block. */
static uint32_t accesses_per_switch(const cpu_worker *worker) {
  return 2u << mix(worker->base.block + cpu_check_of(worker->device)->seed) % 6;
}

void cpu_check_may_switch(cpu_worker *worker) {
  enum { BLOCKS = 4 }; /* one of 4 switches is to another block */
  uintptr_t call = worker->call, frame = worker->call_frame;
  if (worker->ring.current == &worker->ring.home || cpu_check_draw(&worker->random, accesses_per_switch(worker)) > 0)
    return;
  if (cpu_check_draw(&worker->random, BLOCKS) == 0)
    cpu_cluster_leave(worker);
  else
    cpu_warps_switch(worker);
  worker->call = call;
  worker->call_frame = frame;
}
