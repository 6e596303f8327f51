/* The time limit: a thread that stops kernels which exceed it. It is started when a limit is first set, and sleeps
 * while no kernel with a deadline runs. An interrupt stops kernels in the same way. */
#include "pool.h"

#include <time.h>

void cpu_monitor_watch(cpu_pool *pool, cpu_command *command) {
  command->seconds = cpu_limit(pool->device, MW_LIMIT_TIME);
  if (command->seconds <= 0) return;
  command->deadline = mw_time() + command->seconds;
  if (pool->monitor_idle) pthread_cond_signal(&pool->watch);
}

/* The running command with the earliest deadline, or NULL. */
static cpu_command *due_first(cpu_pool *pool) {
  cpu_command *first = NULL;
  for (int i = 0; i < pool->slots; i++) {
    cpu_command *command = atomic_load(&pool->slot[i].command);
    if (!command || cpu_command_doing(command) != CPU_KERNEL || command->deadline == 0 || command->timed_out) continue;
    if (!first || command->deadline < first->deadline) first = command;
  }
  return first;
}

static struct timespec after(double seconds) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  if (seconds > 3600) seconds = 3600;
  time.tv_sec += (time_t)seconds;
  time.tv_nsec += (long)((seconds - (double)(time_t)seconds) * 1e9);
  if (time.tv_nsec >= 1000000000) {
    time.tv_nsec -= 1000000000;
    time.tv_sec++;
  }
  return time;
}

static void *monitor_main(void *argument) {
  cpu_pool *pool = argument;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  pthread_setname_np(pthread_self(), "moonwarp-clock");
  mw_lock(&pool->lock);
  while (!pool->closing) {
    cpu_command *command = due_first(pool);
    double left = command ? command->deadline - mw_time() : 0;
    if (!command) {
      pool->monitor_idle = true;
      pthread_cond_wait(&pool->watch, &pool->lock);
      pool->monitor_idle = false;
    } else if (left > 0) {
      struct timespec time = after(left);
      pthread_cond_timedwait(&pool->watch, &pool->lock, &time);
    } else {
      command->timed_out = true;
      cpu_pool_stop(pool, command);
    }
  }
  mw_unlock(&pool->lock);
  return NULL;
}

void cpu_monitor_interrupt(cpu_pool *pool) {
  mw_lock(&pool->lock);
  for (int i = 0; i < pool->slots; i++) {
    cpu_command *command = atomic_load(&pool->slot[i].command);
    if (!command || cpu_command_doing(command) != CPU_KERNEL || command->timed_out) continue;
    command->timed_out = command->interrupted = true;
    cpu_pool_stop(pool, command);
  }
  cpu_pool_unlock(pool);
}

int cpu_monitor_start(cpu_pool *pool) {
  int code = MW_SUCCESS;
  mw_lock(&pool->lock);
  if (!pool->monitored) {
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&pool->watch, &attributes);
    pthread_condattr_destroy(&attributes);
    pool->monitored = !pthread_create(&pool->monitor, NULL, monitor_main, pool);
    if (!pool->monitored) {
      pthread_cond_destroy(&pool->watch);
      code = fail(MW_OPERATING_SYSTEM, "could not start the thread that enforces the time limit");
    }
  }
  mw_unlock(&pool->lock);
  return code;
}

void cpu_monitor_close(cpu_pool *pool) {
  if (!pool->monitored) return;
  mw_lock(&pool->lock);
  pool->closing = true;
  pthread_cond_signal(&pool->watch);
  mw_unlock(&pool->lock);
  pthread_join(pool->monitor, NULL);
  pthread_cond_destroy(&pool->watch);
}
