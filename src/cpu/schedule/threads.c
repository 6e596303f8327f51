/* Worker threads: when they are woken, and on which core they run.
 *
 * Waking a thread costs microseconds, and if other processes keep the cores busy, it may cost the waker its core. So:
 *
 * - A thread that waits for a command starts it itself.
 * - A thread without work spins for a while, then sleeps with a timeout (as the sentinel, which checks for work each
 *   time it wakes), and only then sleeps until it is woken.
 * - A command known to be short wakes no thread while there is a sentinel. A long one wakes one thread. Each thread that
 *   finds blocks left wakes the next, or the next two if all will have enough to do, since waking all threads one after
 *   the other would take too long.
 *
 * If there are as many threads as cores that the process may use, each thread is pinned to a core of its own, and a
 * waker prefers threads pinned to other cores. Otherwise Linux may place the woken thread on the waker's core and
 * preempt the waker for milliseconds: in a virtual machine, idle cores may look busy. */
#include "pool.h"

#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

static const double spin_seconds = 50e-6;

enum { NAPS = 8, FIRST_NAP = 50000 /* ns; each of the sentinel's sleeps is twice as long as the one before */ };
enum { ANYWHERE = -1 };

/* ---- waking ---- */

void cpu_pool_unlock(cpu_pool *pool) {
  cpu_thread *woken[CPU_WAKES];
  int count = pool->wakes;
  memcpy(woken, pool->wake, (size_t)count * sizeof *woken);
  pool->wakes = 0;
  mw_unlock(&pool->lock);
  for (int i = 0; i < count; i++) pthread_cond_signal(&woken[i]->work);
}

void cpu_pool_wait(cpu_pool *pool, pthread_cond_t *condition) {
  for (int i = 0; i < pool->wakes; i++) pthread_cond_signal(&pool->wake[i]->work);
  pool->wakes = 0;
  pthread_cond_wait(condition, &pool->lock);
}

/* A thread to wake: one pinned to `core` (there), or one that is not. NULL: there is none. */
static cpu_thread *find_sleeper(cpu_pool *pool, int core, bool there) {
  for (int i = 0; i < pool->threads; i++) {
    cpu_thread *thread = &pool->thread[i];
    if (thread->asleep && !thread->woken && (thread->home == core) == there) return thread;
  }
  return NULL;
}

/* The core for a new thread: not `core`, the waker's, unless no other is left. */
static int choose_home(const cpu_pool *pool, int core) {
  int chosen = ANYWHERE;
  for (int i = 0; i < pool->cores; i++) {
    bool taken = false;
    for (int j = 0; j < pool->threads; j++) taken = taken || pool->thread[j].home == pool->core[i];
    if (taken) continue;
    chosen = pool->core[i];
    if (chosen != core) break;
  }
  return chosen;
}

static void *thread_main(void *argument);

static void create(cpu_pool *pool, int core) {
  cpu_thread *thread = &pool->thread[pool->threads];
  pthread_condattr_t clock;
  thread->pool = pool;
  thread->home = choose_home(pool, core);
  pthread_condattr_init(&clock);
  pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
  pthread_cond_init(&thread->work, &clock);
  pthread_condattr_destroy(&clock);
  thread->signals = mw_try_alloc(CPU_SIGNAL_STACK, "a thread");
  if (!thread->signals || pthread_create(&thread->id, NULL, thread_main, thread)) {
    free(thread->signals);
    pthread_cond_destroy(&thread->work);
    return;
  }
  pool->threads++;
  atomic_fetch_sub(&pool->dormant, 1);
}

/* Whether enough threads are about to see the work. Threads that were woken or spin, but are pinned to the core of the
   calling thread, do not count: they run only once the caller leaves the core, perhaps after all work is done, while
   another core idles. (Linux may place the caller there. Of two threads with real-time priority the other one would
   wait indefinitely.) */
static bool enough_awake(const cpu_pool *pool, int core) {
  int spinning = cpu_pool_spinning(pool), coming = pool->waking;
  if (spinning > 1 || coming > pool->free_slots) return true; /* at most one thread is pinned to this core */
  if (spinning < 1 && coming < pool->free_slots) return false;
  for (int i = 0; i < pool->threads; i++) {
    const cpu_thread *thread = &pool->thread[i];
    if (thread->home != core) continue;
    spinning -= atomic_load_explicit(&thread->spins, memory_order_relaxed);
    coming -= thread->asleep && thread->woken;
  }
  return spinning > 0 || coming >= pool->free_slots;
}

static void wake_one(cpu_pool *pool) {
  if (pool->free_slots == 0 || !pool->first || atomic_load(&pool->dormant) == 0) return;
  int core = sched_getcpu();
  if (enough_awake(pool, core)) return;
  cpu_thread *thread = find_sleeper(pool, core, false);
  if (!thread && pool->threads < pool->slots) {
    create(pool, core);
    return;
  }
  if (!thread) thread = find_sleeper(pool, core, true);
  if (!thread) return;
  thread->woken = true;
  atomic_fetch_sub(&pool->dormant, 1);
  pool->waking++;
  pool->wake[pool->wakes++] = thread;
}

void cpu_pool_wake(cpu_pool *pool) {
  if (pool->wakes == 0) wake_one(pool);
}

void cpu_pool_wake_others(cpu_pool *pool) {
  for (int i = pool->wakes; i < CPU_WAKES; i++) wake_one(pool);
}

/* ---- waiting for work ---- */

static bool on_host_core(const cpu_pool *pool, int core) {
  return core == atomic_load_explicit(&pool->host_core, memory_order_relaxed);
}

/* Give a host thread that waits for its launch the time to start it itself, which is faster than handing it over. */
static void let_host_begin(void) {
  for (int i = 0; i < 8; i++) cpu_relax();
}

/* Run blocks of the gated command, if the gate is open. */
static bool pass(cpu_thread *thread, cpu_slot *slot) {
  let_host_begin();
  atomic_store_explicit(&thread->spins, false, memory_order_relaxed);
  bool ran = cpu_pool_pass(thread->pool, slot);
  atomic_store_explicit(&thread->spins, true, memory_order_relaxed);
  return ran;
}

/* Spin with the lock released and a slot taken, running gated commands, until another command has blocks to take.
   False: no command was activated for a while. */
static bool spin(cpu_thread *thread) {
  cpu_pool *pool = thread->pool;
  cpu_slot *slot = cpu_pool_take_slot(pool, (int)(thread - pool->thread));
  bool busy = true;
  atomic_fetch_add(&pool->spinners, 1);
  atomic_store(&thread->spins, true);
  cpu_pool_unlock(pool);
  unsigned seen = atomic_load(&pool->activations);
  double end = mw_time() + spin_seconds;
  for (int i = 1;; i++) {
    cpu_relax();
    if (atomic_load_explicit(&pool->ready, memory_order_relaxed) > 0) {
      let_host_begin();
      if (atomic_load(&pool->ready) > 0) break;
    } else if (cpu_gate_is_open(&pool->gate) && pass(thread, slot)) {
      end = mw_time() + spin_seconds;
    }
    if (i % 32) continue;
    double now = mw_time();
    unsigned activations = atomic_load_explicit(&pool->activations, memory_order_relaxed);
    if (activations != seen) end = now + spin_seconds;
    seen = activations;
    /* On the core of the launching host thread, spinning would only delay its launches. */
    if (now > end || on_host_core(pool, sched_getcpu())) {
      busy = false;
      break;
    }
  }
  mw_lock(&pool->lock);
  atomic_store(&thread->spins, false);
  atomic_fetch_sub(&pool->spinners, 1);
  cpu_pool_give_slot(pool, slot);
  return busy;
}

/* The waiting that an idle thread has done so far. */
typedef struct idleness {
  bool spun;
  int naps;
} idleness;

/* Wait for work: spin, then sleep for increasing times, then sleep until woken. */
static void idle(cpu_thread *thread, idleness *so_far) {
  cpu_pool *pool = thread->pool;
  /* Without a free slot, spinning gains nothing: a thread that frees a slot continues with the remaining work or wakes
     another thread. */
  if (pool->free_slots > 0 && !so_far->spun && pool->spinners < pool->slots - 1) {
    so_far->spun = !spin(thread);
    return;
  }
  thread->asleep = true;
  atomic_fetch_add(&pool->dormant, 1);
  if (!pool->sentinel && so_far->naps < NAPS && !on_host_core(pool, thread->home)) {
    struct timespec end;
    clock_gettime(CLOCK_MONOTONIC, &end);
    end.tv_nsec += (long)FIRST_NAP << so_far->naps++;
    if (end.tv_nsec >= 1000000000) end.tv_nsec -= 1000000000, end.tv_sec++;
    pool->sentinel = true;
    pthread_cond_timedwait(&thread->work, &pool->lock, &end);
    pool->sentinel = false;
  } else {
    pthread_cond_wait(&thread->work, &pool->lock);
    *so_far = (idleness){0};
  }
  thread->asleep = false;
  if (thread->woken)
    pool->waking--;
  else
    atomic_fetch_sub(&pool->dormant, 1);
  thread->woken = false;
}

/* ---- the thread's main function ---- */

/* Pinning is an optimisation: its failure is ignored. */
static void pin_to(int core) {
  cpu_set_t set;
  if (core == ANYWHERE) return;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);
}

static void thread_open(const cpu_thread *thread, stack_t *old) {
  sigset_t mask;
  sigfillset(&mask);
  static const int faults[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP};
  for (size_t i = 0; i < MW_COUNT(faults); i++) sigdelset(&mask, faults[i]);
  pthread_sigmask(SIG_SETMASK, &mask, NULL); /* the host's threads handle the host's signals */
  pthread_setname_np(pthread_self(), "moonwarp");
  prctl(PR_SET_TIMERSLACK, 1000); /* for the sentinel's sleeps */
  const stack_t signals = {.ss_sp = thread->signals, .ss_size = CPU_SIGNAL_STACK};
  sigaltstack(&signals, old);
}

static void *thread_main(void *argument) {
  cpu_thread *thread = argument;
  cpu_pool *pool = thread->pool;
  stack_t old;
  idleness so_far = {0};
  thread_open(thread, &old);
  pin_to(thread->home);
  mw_lock(&pool->lock);
  while (!pool->closing) {
    if (!cpu_pool_take_part(pool, (int)(thread - pool->thread)))
      idle(thread, &so_far);
    else
      so_far = (idleness){0};
  }
  cpu_pool_unlock(pool);
  sigaltstack(&old, NULL);
  free(thread->signals);
  return NULL;
}

/* ---- opening and closing ---- */

void cpu_threads_open(cpu_pool *pool) {
  cpu_set_t set;
  atomic_init(&pool->host_core, ANYWHERE);
  atomic_init(&pool->dormant, pool->slots);
  if (pool->slots < 2 || sched_getaffinity(0, sizeof set, &set) || CPU_COUNT(&set) != pool->slots) return;
  for (int core = 0; core < CPU_SETSIZE && pool->cores < pool->slots; core++) {
    if (CPU_ISSET(core, &set)) pool->core[pool->cores++] = core;
  }
}

void cpu_threads_close(cpu_pool *pool) {
  mw_lock(&pool->lock);
  pool->closing = true;
  for (int i = 0; i < pool->threads; i++) pthread_cond_signal(&pool->thread[i].work);
  cpu_pool_unlock(pool);
  for (int i = 0; i < pool->threads; i++) {
    pthread_join(pool->thread[i].id, NULL);
    pthread_cond_destroy(&pool->thread[i].work);
  }
}
