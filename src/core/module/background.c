/* A device's background thread: see background.h. It starts with the first job. */
#include "background.h"

#include <signal.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

typedef struct mw_background {
  pthread_mutex_t lock; /* a leaf */
  pthread_cond_t wake, done;
  pthread_t thread;
  pid_t process; /* in a forked child there is no thread */
  bool runs, closing;
  bool busy; /* with a job that is wanted soon */
  atomic_bool cancelled;
  mw_job *jobs;
  size_t count;
} mw_background;

static void init_condition(pthread_cond_t *condition) {
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(condition, &attributes);
  pthread_condattr_destroy(&attributes);
}

static void free_background(mw_background *b) {
  pthread_cond_destroy(&b->wake);
  pthread_cond_destroy(&b->done);
  pthread_mutex_destroy(&b->lock);
  free(b);
}

static mw_background *background_of(mw_device *device) {
  mw_background *made = atomic_load(&device->background), *none = NULL;
  if (made) return made;
  made = mw_alloc(sizeof *made);
  mw_lock_init(&made->lock);
  init_condition(&made->wake);
  init_condition(&made->done);
  made->process = getpid();
  if (atomic_compare_exchange_strong(&device->background, &none, made)) return made;
  free_background(made);
  return none;
}

static bool next_job(mw_background *b, mw_job *out) {
  mw_lock(&b->lock);
  b->busy = false;
  pthread_cond_signal(&b->done);
  while (b->count == 0 && !b->closing) pthread_cond_wait(&b->wake, &b->lock);
  bool some = b->count > 0 && !b->closing;
  if (some) {
    *out = b->jobs[0];
    b->busy = out->soon;
    b->count--;
    for (size_t i = 0; i < b->count; i++) b->jobs[i] = b->jobs[i + 1];
  }
  mw_unlock(&b->lock);
  return some;
}

static void *work(void *argument) {
  mw_background *b = argument;
  mw_job job;
  mw_child_cancel(&b->cancelled);
  while (next_job(b, &job)) job.run(job.context);
  return NULL;
}

/* All signals are for other threads. */
static bool start(mw_background *b) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  b->runs = pthread_create(&b->thread, NULL, work, b) == 0;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  return b->runs;
}

void mw_background_add(mw_device *device, mw_job job) {
  mw_background *b = background_of(device);
  mw_lock(&b->lock);
  bool takes = !b->closing && (b->runs || start(b));
  if (takes) {
    b->jobs = mw_realloc(b->jobs, (b->count + 1) * sizeof *b->jobs);
    size_t at = b->count++;
    for (; at > 0 && job.soon && !b->jobs[at - 1].soon; at--) b->jobs[at] = b->jobs[at - 1];
    b->jobs[at] = job;
    pthread_cond_signal(&b->wake);
  }
  mw_unlock(&b->lock);
  if (!takes) job.drop(job.context);
}

/* Under the lock. What was compiled serves the next process, if not this one. */
static void wait_for_job(mw_background *b) {
  struct timespec end;
  clock_gettime(CLOCK_MONOTONIC, &end);
  end.tv_sec++;
  while (b->busy && pthread_cond_timedwait(&b->done, &b->lock, &end) == 0) {}
}

void mw_background_close(mw_device *device) {
  mw_background *b = atomic_load(&device->background);
  if (!b || b->process != getpid()) return;
  mw_lock(&b->lock);
  b->closing = true;
  bool runs = b->runs;
  pthread_cond_signal(&b->wake);
  wait_for_job(b);
  atomic_store(&b->cancelled, true);
  mw_unlock(&b->lock);
  if (runs) pthread_join(b->thread, NULL);
  for (size_t i = 0; i < b->count; i++) b->jobs[i].drop(b->jobs[i].context);
  b->count = 0;
}

void mw_background_free(mw_device *device) {
  mw_background *b = atomic_load(&device->background);
  if (!b) return;
  free(b->jobs);
  if (b->process == getpid())
    free_background(b);
  else
    free(b);
}
