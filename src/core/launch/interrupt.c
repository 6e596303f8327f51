/* Interrupts from the keyboard: while they are watched, SIGINT stops the kernels that run.
 *
 * A signal handler may do next to nothing, so it wakes a thread, and that asks the drivers. The handler replaces the
 * host's, so that what a prompt does with an interrupt does not depend on where it came. */
#include "core/core.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <time.h>

enum { ROUNDS = 250, ROUND_NANOSECONDS = 20000000 };

static pthread_mutex_t lock = MW_LOCK_INITIALIZER;
static int watchers; /* calls of mw_interrupt_watch(1) without their mw_interrupt_watch(0) */
static pthread_t thread;
static struct sigaction before;
static sem_t wake;
static atomic_bool closing;
static atomic_int seen;

static void on_interrupt(int signal) {
  (void)signal;
  int error = errno;
  atomic_store(&seen, 1);
  sem_post(&wake);
  errno = error;
}

static void *stop_kernels(void *unused) {
  (void)unused;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  for (;;) {
    while (sem_wait(&wake) && errno == EINTR) continue;
    /* Until the host has taken note, for a kernel may be queued and not have begun. */
    for (int round = 0; round < ROUNDS && !atomic_load(&closing); round++) {
      mw_devices_interrupt();
      if (!atomic_load(&seen)) break;
      nanosleep(&(struct timespec){.tv_nsec = ROUND_NANOSECONDS}, NULL);
    }
    if (atomic_load(&closing)) return NULL;
  }
}

static int start(void) {
  struct sigaction action = {.sa_handler = on_interrupt}; /* no SA_RESTART: reading a line ends as well */
  /* Nothing comes in between: a driver's signal that takes the thread out of a kernel would take it out of this handler,
     with SIGINT blocked for good. */
  sigfillset(&action.sa_mask);
  atomic_store(&closing, false);
  atomic_store(&seen, 0);
  sem_init(&wake, 0, 0);
  if (pthread_create(&thread, NULL, stop_kernels, NULL)) {
    sem_destroy(&wake);
    return fail(MW_OPERATING_SYSTEM, "found no thread to wait for interrupts");
  }
  sigaction(SIGINT, &action, &before);
  return MW_SUCCESS;
}

static void stop(void) {
  sigaction(SIGINT, &before, NULL);
  atomic_store(&closing, true);
  sem_post(&wake);
  pthread_join(thread, NULL);
  sem_destroy(&wake);
}

int mw_interrupt_watch(int on) {
  int code = MW_SUCCESS;
  mw_lock(&lock);
  if (on && watchers == 0) code = start();
  if (!on && watchers == 1) stop();
  if (on && code == MW_SUCCESS) watchers++;
  if (!on && watchers > 0) watchers--;
  mw_unlock(&lock);
  return code;
}

int mw_interrupt_wait(int descriptor) {
  struct pollfd input = {.fd = descriptor, .events = POLLIN};
  sigset_t interrupt, before_it;
  int ready = 0;
  sigemptyset(&interrupt);
  sigaddset(&interrupt, SIGINT);
  pthread_sigmask(SIG_BLOCK, &interrupt, &before_it);
  /* blocked from the look at `seen` to the wait, which alone lets it in */
  while (!ready && !atomic_load(&seen)) {
    ready = ppoll(&input, 1, NULL, &before_it);
    if (ready < 0 && errno == EINTR) ready = 0;
  }
  pthread_sigmask(SIG_SETMASK, &before_it, NULL);
  return ready != 0; /* where waiting fails, reading will tell why */
}

int mw_interrupt_seen(void) { return atomic_exchange(&seen, 0); }
