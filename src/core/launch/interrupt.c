/* Keyboard interrupts: while they are watched, SIGINT stops the running kernels.
 *
 * Little is allowed in a signal handler, so it wakes a thread, which calls the drivers. The handler replaces the
 * host's, so that a prompt's reaction to an interrupt does not depend on the code that it interrupts. */
#include "core/core.h"

#include <errno.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>
#include <unistd.h>

enum { ATTEMPTS = 250, ATTEMPT_NANOSECONDS = 20000000 };

static pthread_mutex_t lock = MW_LOCK_INITIALIZER;
static int watchers; /* the nesting depth of mw_interrupt_watch(1) */
static pthread_t thread;
static struct sigaction before;
static sem_t wake;
static int input_wakeup = -1; /* an eventfd: wakes a thread that waits for input, whichever thread got the signal */
static atomic_bool closing;
static atomic_int seen;

static void on_interrupt(int signal) {
  (void)signal;
  int error = errno;
  atomic_store(&seen, 1);
  sem_post(&wake);
  ssize_t written = write(input_wakeup, &(uint64_t){1}, sizeof(uint64_t));
  (void)written;
  errno = error;
}

static void *stop_kernels(void *unused) {
  (void)unused;
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, NULL);
  for (;;) {
    while (sem_wait(&wake) && errno == EINTR) continue;
    /* Repeat until the host has seen the interrupt, since a queued kernel may not have started yet. */
    for (int attempt = 0; attempt < ATTEMPTS && !atomic_load(&closing); attempt++) {
      mw_devices_interrupt();
      if (!atomic_load(&seen)) break;
      nanosleep(&(struct timespec){.tv_nsec = ATTEMPT_NANOSECONDS}, NULL);
    }
    if (atomic_load(&closing)) return NULL;
  }
}

static int start(void) {
  struct sigaction action = {.sa_handler = on_interrupt}; /* no SA_RESTART: it also interrupts reading a line */
  /* Block all signals in the handler: a driver's signal that makes the thread leave a kernel would also leave this
     handler, with SIGINT blocked for good. */
  sigfillset(&action.sa_mask);
  atomic_store(&closing, false);
  atomic_store(&seen, 0);
  input_wakeup = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (input_wakeup < 0)
    return fail(MW_OPERATING_SYSTEM, "could not make a descriptor to wait for interrupts: %s", strerror(errno));
  sem_init(&wake, 0, 0);
  if (pthread_create(&thread, NULL, stop_kernels, NULL)) {
    sem_destroy(&wake);
    close(input_wakeup);
    return fail(MW_OPERATING_SYSTEM, "could not start a thread to wait for interrupts");
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
  close(input_wakeup);
  input_wakeup = -1;
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

static void clear_input_wakeup(void) {
  uint64_t count;
  ssize_t got = read(input_wakeup, &count, sizeof count);
  (void)got;
}

int mw_interrupt_wait(int descriptor) {
  struct pollfd ready[] = {{.fd = descriptor, .events = POLLIN}, {.fd = input_wakeup, .events = POLLIN}};
  while (!atomic_load(&seen)) {
    int count = poll(ready, MW_COUNT(ready), -1);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || ready[0].revents) return 1; /* if waiting fails, reading reports the error */
    clear_input_wakeup();                        /* it is from an interrupt that mw_interrupt_seen has returned since */
  }
  return 0;
}

int mw_interrupt_seen(void) {
  int was = atomic_exchange(&seen, 0);
  if (was) clear_input_wakeup();
  return was;
}
