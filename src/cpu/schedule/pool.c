/* Slots, and running the blocks of active commands in them. threads.c has the threads that take slots. */
#include "pool.h"
#include "cpu/check/screen.h"
#include "cpu/memory/heap.h"
#include "command_list.h"
#include "cpu/children/children.h"
#include "cpu/execution/cooperative.h"
#include "stream.h"
#include "trial.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>

enum { BACKLOG = 8 /* queued commands for which a thread is woken even though the sentinel would find them */ };

static int thread_id(void) {
  static _Thread_local int id __attribute__((tls_model("initial-exec")));
  if (!id) id = (int)syscall(SYS_gettid);
  return id;
}

/* ---- active commands: a list in the order of their streams' priorities; blocks are taken in this order ---- */

static void note_urgent(cpu_pool *pool) {
  int urgent = pool->first ? pool->first->stream->priority : INT_MAX;
  atomic_store_explicit(&pool->urgent, urgent, memory_order_relaxed);
}

static void list_add(cpu_pool *pool, cpu_command *command) {
  cpu_command *before = pool->last;
  while (before && before->stream->priority > command->stream->priority) before = before->active_previous;
  cpu_command *after = before ? before->active_next : pool->first;
  command->active = true;
  command->active_previous = before;
  command->active_next = after;
  if (before)
    before->active_next = command;
  else
    pool->first = command;
  if (after)
    after->active_previous = command;
  else
    pool->last = command;
  note_urgent(pool);
  if (!command->gated) atomic_fetch_add(&pool->ready, 1);
}

static void list_remove(cpu_pool *pool, cpu_command *command) {
  if (!command->active) return;
  command->active = false;
  if (command->active_previous)
    command->active_previous->active_next = command->active_next;
  else
    pool->first = command->active_next;
  if (command->active_next)
    command->active_next->active_previous = command->active_previous;
  else
    pool->last = command->active_previous;
  note_urgent(pool);
  if (command->gated)
    cpu_gate_close(&pool->gate);
  else
    atomic_fetch_sub(&pool->ready, 1);
}

/* ---- slots ---- */

cpu_slot *cpu_pool_take_slot(cpu_pool *pool, int preferred) {
  if (pool->free_slots == 0) return NULL;
  int i = preferred;
  while (pool->slot[i].busy) i = i + 1 < pool->slots ? i + 1 : 0;
  cpu_slot *slot = &pool->slot[i];
  slot->busy = true;
  slot->thread = thread_id();
  atomic_fetch_sub(&pool->free_slots, 1);
  return slot;
}

void cpu_pool_give_slot(cpu_pool *pool, cpu_slot *slot) {
  slot->busy = false;
  atomic_fetch_add(&pool->free_slots, 1);
}

void cpu_pool_stop(cpu_pool *pool, cpu_command *command) {
  atomic_store(&command->stop, true);
  list_remove(pool, command);
  int self = thread_id();
  for (int i = 0; i < pool->slots; i++) {
    cpu_slot *slot = &pool->slot[i];
    if (slot->busy && atomic_load(&slot->command) == command && slot->thread != self) cpu_fault_cancel(slot->thread);
  }
}

/* ---- running blocks ---- */

void cpu_pool_fail(cpu_pool *pool, cpu_worker *worker, cpu_command *command) {
  mw_lock(&pool->lock);
  bool first = !atomic_load(&command->stop), timed_out = command->timed_out && !command->reported;
  if (first) cpu_pool_stop(pool, command);
  if (timed_out) command->reported = true;
  cpu_pool_unlock(pool);
  if (!first && !timed_out) return; /* stopped because of another's failure */
  mw_error *error = cpu_fault_report(worker, command);
  if (!cpu_check_keeps(worker, command, error)) cpu_stream_fail(command, error);
}

/* A command of a stream of higher priority waits: threads switch to it between blocks. */
static bool more_urgent(const cpu_pool *pool, const cpu_command *command) {
  return atomic_load_explicit(&pool->urgent, memory_order_relaxed) < command->stream->priority;
}

static bool take(cpu_pool *pool, const cpu_slot *slot, cpu_command *command, cpu_taken *out) {
  return cpu_command_take(command, pool->slots, (int)(slot - pool->slot), out);
}

/* Take more blocks of the command; false if there are none, or if a more urgent command waits. */
static bool take_more(cpu_pool *pool, const cpu_slot *slot, cpu_command *command, cpu_taken *taken) {
  return taken->rest && !more_urgent(pool, command) && take(pool, slot, command, taken);
}

/* Whether its blocks are those of grids that kernels launched. */
static bool runs_children(cpu_command *command) {
  const struct cpu_family *family = atomic_load_explicit(&command->family, memory_order_relaxed);
  return family && family->running;
}

static bool run_blocks(cpu_worker *worker, cpu_command *command, const cpu_taken *taken) {
  if (runs_children(command)) return cpu_family_run(worker, command, taken->first, taken->last);
  if (!command->backwards) return cpu_worker_run(worker, taken->first, taken->last);
  bool good = true;
  for (uint64_t last = taken->last, first; good && last > taken->first; last = first) {
    first = last - taken->first > command->piece ? last - command->piece : taken->first;
    good = cpu_worker_run(worker, first, last);
  }
  return good;
}

static void run_kernel(cpu_pool *pool, const cpu_slot *slot, cpu_command *command, cpu_taken taken) {
  cpu_worker *worker = slot->worker;
  if (cpu_screen_skips(command)) {
    while (take_more(pool, slot, command, &taken)) continue;
    return;
  }
  cpu_heap_settle(pool->device->heap);
  cpu_worker_current = worker;
  bool children = runs_children(command);
  bool good = children || cpu_worker_prepare(worker, command, &command->kernel);
  cpu_bout bout;
  bool competes = !children && good && cpu_bout_begin(&bout, command, (int)(slot - pool->slot));
  double start = mw_time(), seconds;
  uint64_t blocks = 0;
  while (good) {
    good = competes ? cpu_bout_run(&bout, worker, &taken) : run_blocks(worker, command, &taken);
    blocks += taken.last - taken.first;
    if (!good || !take_more(pool, slot, command, &taken)) break;
  }
  cpu_worker_current = NULL;
  seconds = mw_time() - start;
  if (!good)
    cpu_pool_fail(pool, worker, command);
  else if (!children && !competes)
    atomic_store_explicit(&command->kernel.kernel->block_seconds, seconds / (double)blocks, memory_order_relaxed);
  if (good && !children) cpu_trial_ran(command, seconds);
  cpu_family_leave(worker, command);
  worker->work = NULL;
}

/* The same for a cooperative launch or one with clusters: each block has a worker of its own. */
static void run_residents(cpu_pool *pool, const cpu_slot *slot, cpu_command *command, cpu_taken taken) {
  cpu_heap_settle(pool->device->heap);
  do cpu_residents_run(pool, command, taken.first, taken.last);
  while (take_more(pool, slot, command, &taken));
}

static void run_transfer(cpu_pool *pool, const cpu_slot *slot, cpu_command *command, cpu_taken taken) {
  if (taken.begins) cpu_check_transfer(command);
  do cpu_transfer_run(command, taken.first, taken.last);
  while (take_more(pool, slot, command, &taken));
}

/* A cooperative launch, with the lock held: if blocks wait at the grid barrier, all have arrived, and they continue. */
static void next_phase(cpu_pool *pool, cpu_command *command) {
  if (cpu_residents_next(command)) {
    list_add(pool, command);
    return;
  }
  cpu_pool_unlock(pool);
  cpu_residents_free(pool, command);
  mw_lock(&pool->lock);
}

/* Run blocks of the list's current node. A thread that took all of them has the command to itself, and continues with
   further nodes as long as one thread suffices for each. Reporting a stopped node and watching one with a time limit
   need the lock, so such nodes end the loop. */
static void run_list(cpu_pool *pool, const cpu_slot *slot, cpu_command *command, cpu_taken taken) {
  bool alone = taken.begins && !taken.rest;
  do {
    if (cpu_command_doing(command) == CPU_KERNEL)
      run_kernel(pool, slot, command, taken);
    else
      run_transfer(pool, slot, command, taken);
    taken.first = 0;
  } while (alone && !atomic_load(&command->stop) && !atomic_load(&command->family) && !more_urgent(pool, command) &&
           command->deadline == 0 && cpu_limit(pool->device, MW_LIMIT_TIME) <= 0 &&
           (taken.last = cpu_list_go_on(command)) > 0);
}

/* With the lock held: if kernels of the command launched others, these are next. */
static void next_generation(cpu_pool *pool, cpu_command *command) {
  if (cpu_family_next(command)) {
    list_add(pool, command);
    return;
  }
  cpu_pool_unlock(pool);
  cpu_family_free(command);
  mw_lock(&pool->lock);
}

/* With the lock held: a list's node is done; activate the next one. A failed kernel ends its node, not the list; unless the
   list branches, since a loop might not end without it. The time limit of such a list is one for all of it. */
static void next_node(cpu_pool *pool, cpu_command *command) {
  bool branches = cpu_list_branches(command);
  size_t next = branches && atomic_load(&command->stop) ? SIZE_MAX : cpu_list_next(command);
  if (next >= cpu_list_count(command)) return;
  if (command->timed_out && !command->reported) cpu_stream_fail(command, cpu_fault_report(NULL, command));
  command->timed_out = command->reported = command->interrupted = false;
  if (!branches) command->deadline = 0;
  atomic_store_explicit(&command->taken, 0, memory_order_relaxed);
  atomic_store(&command->stop, false);
  cpu_list_load(command, next);
  cpu_command_set_grain(command);
  list_add(pool, command);
}

/* Run the taken blocks, and take and run more of the command's, without the lock. helper: a host thread, which has no
   signal stack. */
static void run_all(cpu_pool *pool, cpu_slot *slot, cpu_command *command, cpu_taken taken, bool helper) {
  if (command->kind == CPU_KERNEL || command->kind == CPU_LIST) {
    stack_t old;
    if (!slot->worker) slot->worker = cpu_worker_new(pool->device);
    bool equipped = cpu_worker_equip(slot->worker);
    if (helper && equipped) sigaltstack(&slot->worker->signal_stack, &old);
    if (!equipped && command->residents)
      cpu_pool_fail(pool, slot->worker, command);
    else if (command->kind == CPU_LIST)
      run_list(pool, slot, command, taken);
    else if (command->residents)
      run_residents(pool, slot, command, taken);
    else
      run_kernel(pool, slot, command, taken);
    if (helper && equipped) sigaltstack(&old, NULL);
  } else if (command->kind != CPU_CALL) {
    run_transfer(pool, slot, command, taken);
  }
}

static bool has_deadline(const cpu_pool *pool, const cpu_command *command) {
  return cpu_command_doing(command) == CPU_KERNEL && cpu_limit(pool->device, MW_LIMIT_TIME) > 0;
}

static bool all_taken(cpu_command *command) {
  return atomic_load(&command->taken) >= command->blocks || atomic_load(&command->stop);
}

static void wake_for(cpu_pool *pool, const cpu_command *command) {
  cpu_command_lasts(command) ? cpu_pool_wake_others(pool) : cpu_pool_wake(pool);
}

/* ---- the gated command ---- */

/* Short commands are run by one thread, for which the lock is cheaper. */
static bool may_have_gate(const cpu_command *command) {
  if (command->kind == CPU_LIST || command->kind == CPU_CALL || command->residents) return false;
  if (command->kind == CPU_KERNEL && command->kernel.kernel->image->launches) return false;
  return command->blocks > 1 && cpu_command_worth(command);
}

/* With the lock held: a gated command whose gate is closed has no blocks left to take. Deactivate it, and finish it if
   no thread is inside. True: it was finished, and the lock was released meanwhile. */
static bool settle_gate(cpu_pool *pool) {
  cpu_command *command = pool->gate.command;
  uint64_t state = atomic_load(&pool->gate.state);
  if (!command || state & CPU_GATE_OPEN) return false;
  list_remove(pool, command);
  if (state) return false;
  pool->gate.command = NULL;
  cpu_stream_finish(command);
  return true;
}

/* Wake sleeping threads if there is more work. */
static void wake_idle(cpu_pool *pool, const cpu_command *command, bool rest) {
  if (!rest && atomic_load(&pool->ready) == 0) return;
  if (atomic_load(&pool->dormant) == 0 || atomic_load(&pool->free_slots) == 0 || cpu_pool_spinning(pool) > 0) return;
  mw_lock(&pool->lock);
  wake_for(pool, command);
  cpu_pool_unlock(pool);
}

/* Run blocks of the gated command; the thread is inside. locked: the lock is held, and released while blocks run.
   False: no blocks were left, and the lock was not released. */
static bool run_inside(cpu_pool *pool, cpu_slot *slot, bool helper, bool locked) {
  cpu_command *command = pool->gate.command;
  cpu_taken taken;
  /* Before `stop` is read: either cpu_pool_stop sees this slot, or this thread sees `stop`. */
  atomic_store(&slot->command, command);
  bool ran = take(pool, slot, command, &taken);
  if (ran) {
    if (locked) cpu_pool_unlock(pool);
    if (taken.begins && has_deadline(pool, command)) {
      mw_lock(&pool->lock);
      cpu_monitor_watch(pool, command);
      cpu_pool_unlock(pool);
    }
    wake_idle(pool, command, taken.rest);
    run_all(pool, slot, command, taken, helper);
    if (locked) mw_lock(&pool->lock);
  }
  atomic_store(&slot->command, NULL);
  if (!ran || all_taken(command)) cpu_gate_close(&pool->gate);
  return ran;
}

bool cpu_pool_pass(cpu_pool *pool, cpu_slot *slot) {
  cpu_entrance entrance = cpu_gate_enter(&pool->gate);
  bool ran = entrance == CPU_GATE_INSIDE && run_inside(pool, slot, false, false);
  bool last = entrance == CPU_GATE_INSIDE ? cpu_gate_leave(&pool->gate) : entrance == CPU_GATE_SHUT_EMPTY;
  if (last) {
    mw_lock(&pool->lock);
    atomic_fetch_sub(&pool->spinners, 1); /* a completion may take a long time */
    settle_gate(pool);
    atomic_fetch_add(&pool->spinners, 1);
    cpu_pool_unlock(pool);
  }
  return ran;
}

/* The same with the lock held. False: as run_inside says, and no command was finished. */
static bool run_gated(cpu_pool *pool, cpu_slot *slot, bool helper) {
  bool ran = false;
  if (cpu_gate_enter(&pool->gate) == CPU_GATE_INSIDE) {
    ran = run_inside(pool, slot, helper, true);
    cpu_gate_leave(&pool->gate);
  }
  return settle_gate(pool) || ran;
}

/* ---- under the lock ---- */

/* Run blocks of the command until all are taken. The lock is held, and released while blocks run. False: there were
   none, and the lock was not released. */
static bool run(cpu_pool *pool, cpu_slot *slot, cpu_command *command, bool helper) {
  cpu_taken taken;
  if (command->gated) return run_gated(pool, slot, helper);
  if (!take(pool, slot, command, &taken)) {
    list_remove(pool, command);
    return false;
  }
  if (!taken.rest) list_remove(pool, command);
  if (pool->first) wake_for(pool, pool->first);
  command->users++;
  atomic_store(&slot->command, command);
  if (taken.begins && command->deadline == 0 && has_deadline(pool, command)) cpu_monitor_watch(pool, command);
  cpu_pool_unlock(pool);
  run_all(pool, slot, command, taken, helper);
  mw_lock(&pool->lock);
  atomic_store(&slot->command, NULL);
  if (all_taken(command)) list_remove(pool, command);
  if (command->users == 1 && !command->active && command->residents) next_phase(pool, command);
  if (command->users == 1 && !command->active && atomic_load(&command->family)) next_generation(pool, command);
  if (command->users == 1 && !command->active && command->kind == CPU_LIST) next_node(pool, command);
  if (--command->users == 0 && !command->active) cpu_stream_finish(command);
  return true;
}

/* ---- the threads that take part ---- */

void cpu_pool_activate(cpu_pool *pool, cpu_command *command) {
  command->gated = !pool->gate.command && may_have_gate(command);
  list_add(pool, command);
  if (command->gated) cpu_gate_open(&pool->gate, command);
  atomic_fetch_add_explicit(&pool->activations, 1, memory_order_relaxed);
}

static bool is_run(const cpu_pool *pool, const cpu_command *command) {
  return command->users > 0 || (command == pool->gate.command && cpu_gate_inside(&pool->gate) > 0);
}

void cpu_pool_begin(cpu_pool *pool, const cpu_stream *stream, const cpu_command *command) {
  const cpu_command *current = stream->current;
  atomic_store_explicit(&pool->host_core, sched_getcpu(), memory_order_relaxed);
  /* The thread that runs the current command, or that ends the wait, continues with the next ones. */
  if (!current || is_run(pool, current) || stream->blocked) return;
  bool many = stream->issued - atomic_load(&stream->retired) >= BACKLOG;
  if (!pool->sentinel || many || cpu_command_worth(command)) cpu_pool_wake(pool);
}

bool cpu_pool_help(cpu_pool *pool, cpu_stream *stream) {
  cpu_command *command = stream->current;
  if (!command || !command->active) return false;
  if (more_urgent(pool, command)) command = pool->first; /* priorities apply even though this thread waits */
  cpu_slot *slot = cpu_pool_take_slot(pool, pool->slots - 1);
  if (!slot) return false;
  bool ran = run(pool, slot, command, true);
  cpu_pool_give_slot(pool, slot);
  if (pool->first) cpu_pool_wake(pool);
  return ran;
}

bool cpu_pool_take_part(cpu_pool *pool, int preferred) {
  cpu_slot *slot = pool->first ? cpu_pool_take_slot(pool, preferred) : NULL;
  bool ran = false;
  if (!slot) return false;
  while (pool->first) ran = run(pool, slot, pool->first, false) || ran;
  cpu_pool_give_slot(pool, slot);
  return ran;
}

int cpu_pool_open(cpu_device *device, cpu_pool **out) {
  cpu_pool *pool = mw_alloc(sizeof *pool);
  mw_lock_init_as(&pool->lock, MW_LOCK_ADAPTIVE);
  pool->device = device;
  atomic_init(&pool->urgent, INT_MAX);
  pool->slots = device->workers;
  atomic_init(&pool->free_slots, pool->slots);
  cpu_threads_open(pool);
  *out = pool;
  return MW_SUCCESS;
}

void cpu_pool_close(cpu_pool *pool) {
  if (!pool) return;
  cpu_monitor_close(pool);
  cpu_threads_close(pool);
  for (int i = 0; i < pool->slots; i++) cpu_worker_free(pool->slot[i].worker);
  cpu_residents_close(pool);
  pthread_mutex_destroy(&pool->lock);
  free(pool);
}
