/* A device's background thread: see background.h. It starts with the first job. */
#include "background.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

typedef struct mw_background {
  pthread_mutex_t lock; /* a leaf */
  pthread_cond_t wake;
  pthread_t thread;
  pid_t process; /* in a forked child there is no thread */
  bool runs;
  atomic_bool closing;
  mw_job *jobs;
  size_t count;
} mw_background;

static mw_background *background_of(mw_device *device) {
  mw_background *made = atomic_load(&device->background), *none = NULL;
  if (made) return made;
  made = mw_alloc(sizeof *made);
  mw_lock_init(&made->lock);
  pthread_cond_init(&made->wake, NULL);
  made->process = getpid();
  if (atomic_compare_exchange_strong(&device->background, &none, made)) return made;
  pthread_cond_destroy(&made->wake);
  pthread_mutex_destroy(&made->lock);
  free(made);
  return none;
}

static bool next_job(mw_background *b, mw_job *out) {
  mw_lock(&b->lock);
  while (b->count == 0 && !atomic_load(&b->closing)) pthread_cond_wait(&b->wake, &b->lock);
  bool some = b->count > 0 && !atomic_load(&b->closing);
  if (some) {
    *out = b->jobs[0];
    b->count--;
    for (size_t i = 0; i < b->count; i++) b->jobs[i] = b->jobs[i + 1];
  }
  mw_unlock(&b->lock);
  return some;
}

static void *work(void *argument) {
  mw_background *b = argument;
  mw_job job;
  mw_child_cancel(&b->closing);
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
  bool takes = !atomic_load(&b->closing) && (b->runs || start(b));
  if (takes) {
    b->jobs = mw_realloc(b->jobs, (b->count + 1) * sizeof *b->jobs);
    b->jobs[b->count++] = job;
    pthread_cond_signal(&b->wake);
  }
  mw_unlock(&b->lock);
  if (!takes) job.drop(job.context);
}

void mw_background_close(mw_device *device) {
  mw_background *b = atomic_load(&device->background);
  if (!b || b->process != getpid()) return;
  mw_lock(&b->lock);
  atomic_store(&b->closing, true);
  bool runs = b->runs;
  pthread_cond_signal(&b->wake);
  mw_unlock(&b->lock);
  if (runs) pthread_join(b->thread, NULL);
  for (size_t i = 0; i < b->count; i++) b->jobs[i].drop(b->jobs[i].context);
  b->count = 0;
}

void mw_background_free(mw_device *device) {
  mw_background *b = atomic_load(&device->background);
  if (!b) return;
  if (b->process == getpid()) {
    pthread_cond_destroy(&b->wake);
    pthread_mutex_destroy(&b->lock);
  }
  free(b->jobs);
  free(b);
}
