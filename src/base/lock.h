/* Locks: pthread's. In builds with MW_DEBUG (make config=debug, config=sanitize) they are checked: a thread that
 * locks a lock which it holds, or unlocks one that it does not hold, ends the process with a message. Unchecked, the
 * first would wait for ever, and the second would break the exclusion of the thread that holds the lock.
 *
 * The order of locks, outermost first. A thread that holds one may take only those below it:
 *
 *   1. the list of devices                          device.c
 *   2. a module's `making`, then its `lock`         module.c, specialize.c, kernel.c, symbol.c
 *   3. a module's `binding`                         texture_reference.c
 *   4. a resource of OpenGL's                       interop.c
 *   5. a texture's                                  texture.c
 *   6. a device's `stream_lock`                     stream.c, capture.c
 *   7. the driver's: those of its streams and pool, of its heaps and tables
 *   8. leaf locks, under which no other code is called: failure.c, command.c, peer.c, interrupt.c, gl.c, an image's
 *      names and the like
 *
 * Releasing an object may destroy it, and that takes locks from the top of the list. So references are dropped after
 * the lock was released: a function passes what it finds under the lock to its caller. */
#ifndef MW_LOCK_H
#define MW_LOCK_H

#include <pthread.h>

#ifdef MW_DEBUG

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MW_LOCK_INITIALIZER PTHREAD_ERRORCHECK_MUTEX_INITIALIZER_NP
#define MW_LOCK_KIND        PTHREAD_MUTEX_ERRORCHECK
#define MW_LOCK_ADAPTIVE    PTHREAD_MUTEX_ERRORCHECK

static inline void mw_lock_must(const char *what, const char *file, int line, int error) {
  if (!error) return;
  fprintf(stderr, "moonwarp: %s:%d: %s: %s\n", file, line, what, strerror(error));
  abort();
}
#define mw_lock(mutex)   mw_lock_must("locking " #mutex, __FILE__, __LINE__, pthread_mutex_lock(mutex))
#define mw_unlock(mutex) mw_lock_must("unlocking " #mutex, __FILE__, __LINE__, pthread_mutex_unlock(mutex))

#else

#define MW_LOCK_INITIALIZER PTHREAD_MUTEX_INITIALIZER
#define MW_LOCK_KIND        PTHREAD_MUTEX_DEFAULT
#define MW_LOCK_ADAPTIVE    PTHREAD_MUTEX_ADAPTIVE_NP
#define mw_lock(mutex)      ((void)pthread_mutex_lock(mutex))
#define mw_unlock(mutex)    ((void)pthread_mutex_unlock(mutex))

#endif

static inline void mw_lock_init_as(pthread_mutex_t *mutex, int kind) {
  pthread_mutexattr_t attributes;
  pthread_mutexattr_init(&attributes);
  pthread_mutexattr_settype(&attributes, kind);
  pthread_mutex_init(mutex, &attributes);
  pthread_mutexattr_destroy(&attributes);
}
static inline void mw_lock_init(pthread_mutex_t *mutex) { mw_lock_init_as(mutex, MW_LOCK_KIND); }

#endif
