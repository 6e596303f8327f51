/* Peer access: pairs of devices of which one's kernels may access the other's memory.
 *
 * A pair holds no references, since two devices with mutual access would never be closed. Instead, a device that is
 * closed waits for those that have access to it, whose commands may use its memory. */
#include "peer.h"
#include "failure.h"

#include <stdlib.h>

typedef struct pair {
  mw_device *device, *peer;
} pair;

static struct {
  pthread_mutex_t lock;
  pair *pairs;
  size_t count;
} book = {.lock = MW_LOCK_INITIALIZER};

/* Under the lock: the pair's index; the number of pairs if there is none. */
static size_t find(const mw_device *device, const mw_device *peer) {
  size_t i = 0;
  while (i < book.count && (book.pairs[i].device != device || book.pairs[i].peer != peer)) i++;
  return i;
}

static int take_out(size_t i) {
  const pair old = book.pairs[i];
  book.pairs[i] = book.pairs[--book.count];
  return old.device->driver->reach(old.device->state, old.peer->state, false);
}

int mw_device_can_reach(mw_device *device, mw_device *peer, int *out) {
  const mw_driver *driver = device->driver;
  *out = device != peer && driver == peer->driver && driver->can_reach && driver->can_reach(device->state, peer->state);
  return MW_SUCCESS;
}

int mw_device_reach(mw_device *device, mw_device *peer) {
  int can;
  if (device == peer)
    return fail(MW_INVALID_DEVICE, "%s can always access its own memory: the peer has to be another device",
                device->name);
  (void)mw_device_can_reach(device, peer, &can);
  if (!can)
    return fail(MW_PEER_ACCESS_UNSUPPORTED,
                "kernels of %s cannot access the memory of %s: copy what they need, which works between any devices",
                device->name, peer->name);
  int code = MW_SUCCESS;
  mw_lock(&book.lock);
  if (find(device, peer) < book.count) {
    code = fail(MW_PEER_ACCESS_ALREADY_ENABLED, "%s already has access to the memory of %s", device->name, peer->name);
  } else {
    book.pairs = mw_realloc(book.pairs, (book.count + 1) * sizeof *book.pairs);
    code = device->driver->reach(device->state, peer->state, true);
    if (code == MW_SUCCESS) book.pairs[book.count++] = (pair){device, peer};
  }
  mw_unlock(&book.lock);
  return code;
}

int mw_device_unreach(mw_device *device, mw_device *peer) {
  int code = MW_SUCCESS;
  mw_lock(&book.lock);
  size_t i = find(device, peer);
  if (i < book.count)
    code = take_out(i);
  else
    code = fail(MW_PEER_ACCESS_NOT_ENABLED, "%s has no access to the memory of %s", device->name, peer->name);
  mw_unlock(&book.lock);
  return code;
}

bool mw_device_reaches(const mw_device *device, const mw_device *peer) {
  mw_lock(&book.lock);
  bool found = find(device, peer) < book.count;
  mw_unlock(&book.lock);
  return found;
}

/* Ignores captures and holds: only running work matters. */
static void wait_for(mw_device *device) {
  int code = device->driver->stream_synchronize(device->stream);
  if (code != MW_SUCCESS && code != MW_NOT_READY) mw_failure_defer(device);
  (void)mw_streams_wait(device);
}

void mw_peers_forget(mw_device *device) {
  mw_lock(&book.lock);
  for (size_t i = book.count; i-- > 0;) {
    if (book.pairs[i].device != device && book.pairs[i].peer != device) continue;
    wait_for(book.pairs[i].device);
    if (take_out(i) != MW_SUCCESS) mw_error_clear(); /* a lost device has no access anyway */
  }
  if (book.count == 0) {
    free(book.pairs);
    book.pairs = NULL;
  }
  mw_unlock(&book.lock);
}
