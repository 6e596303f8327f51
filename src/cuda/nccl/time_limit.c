/* The time limit of messages: a thread that aborts the communicator of a message which does not end.
 *
 * A message in flight has an event after it in its stream. The limit counts from when the message was queued. The
 * failure is handed to the stream before the communicator is aborted, so that the next wait for the stream reports it.
 * The thread starts with the first message that has a limit, and sleeps while none is in flight. */
#include "nccl.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct watched {
  struct watched *next;
  nccl_communicator *communicator;
  cuda_stream *stream;
  CUevent event;
  double due, seconds;
  uint64_t owner;
  mw_message_kind kind;
  char site[CUDA_SITE];
} watched;

/* The list is in the order of nccl_lock, which is taken before it. */
static struct {
  pthread_cond_t more;
  watched *list;
  bool runs;
} watch = {.more = PTHREAD_COND_INITIALIZER};

static const useconds_t interval = 10000;

static const char *const kinds[] = {"allreduce", "reduce", "broadcast", "allgather", "reduce_scatter", "send", "recv"};

static void drop(watched **link) {
  watched *w = *link;
  *link = w->next;
  cu.cuEventDestroy(w->event);
  free(w);
}

static void expire(watched *w) {
  nccl_communicator *c = w->communicator;
  int asynchronous = NCCL_SUCCESS;
  if (c->handle) nccl.ncclCommGetAsyncError(c->handle, &asynchronous);
  bool is_failure = asynchronous != NCCL_SUCCESS && asynchronous != NCCL_IN_PROGRESS;
  fail(MW_LAUNCH_TIMEOUT,
       "rank %d of %d: %s%s%s did not end within %g s, the time limit%s%s: a rank is missing, or made other calls. The "
       "communicator was aborted",
       c->rank, c->size, kinds[w->kind], w->site[0] ? " queued at " : "", w->site, w->seconds,
       is_failure ? "; NCCL says: " : "", is_failure ? nccl.ncclGetErrorString(asynchronous) : "");
  mw_error_kind("device");
  mw_stream_fail(w->stream->core, w->owner, mw_error_copy(mw_error_last()));
  nccl_end(c, mw_error_last()->message);
  mw_error_clear();
}

/* One look at all messages. Under the lock. */
static void look(void) {
  double now = mw_time();
  for (watched **link = &watch.list; *link;) {
    watched *w = *link;
    cuda_device *device = w->communicator->device;
    bool gone = w->communicator->epoch != device->epoch || atomic_load(&device->lost) != 0 || !w->communicator->handle;
    if (!gone && cu.cuCtxSetCurrent(device->context) == 0 && cu.cuEventQuery(w->event) == CUDA_NOT_READY) {
      if (now < w->due || nccl_open_groups > 0) {
        link = &w->next;
        continue;
      }
      expire(w);
    }
    drop(link);
  }
}

static void *run(void *unused) {
  (void)unused;
  sigset_t every;
  sigfillset(&every);
  pthread_sigmask(SIG_SETMASK, &every, NULL);
  for (;;) {
    mw_lock(&nccl_lock);
    while (!watch.list) pthread_cond_wait(&watch.more, &nccl_lock);
    look();
    mw_unlock(&nccl_lock);
    usleep(interval);
  }
  return NULL;
}

void nccl_watch(nccl_communicator *c, cuda_stream *stream, const mw_message *message) {
  CUevent event;
  pthread_t thread;
  if (c->seconds <= 0 || cu.cuEventCreate(&event, CU_EVENT_NO_TIMING) != 0) return;
  if (cu.cuEventRecord(event, stream->handle) != 0) {
    cu.cuEventDestroy(event);
    return;
  }
  watched *w = mw_alloc(sizeof *w);
  *w = (watched){.communicator = c,
                 .stream = stream,
                 .event = event,
                 .due = mw_time() + c->seconds,
                 .seconds = c->seconds,
                 .owner = message->owner,
                 .kind = message->kind};
  if (message->site) strcpy(w->site, message->site); /* at most CUDA_SITE bytes: message.c */
  mw_lock(&nccl_lock);
  if (!watch.runs && pthread_create(&thread, NULL, run, NULL) == 0) {
    watch.runs = true;
    pthread_detach(thread);
  }
  w->next = watch.list;
  watch.list = w;
  pthread_cond_signal(&watch.more);
  mw_unlock(&nccl_lock);
}

/* Its messages in flight end, or reach their limit. */
void nccl_unwatch(nccl_communicator *c) {
  for (bool waits = true; waits;) {
    waits = false;
    mw_lock(&nccl_lock);
    for (watched **link = &watch.list; *link;) {
      if ((*link)->communicator != c) {
        link = &(*link)->next;
      } else if (c->handle && !atomic_load(&c->device->lost) && c->epoch == c->device->epoch &&
                 cu.cuEventQuery((*link)->event) == CUDA_NOT_READY) {
        waits = true;
        link = &(*link)->next;
      } else {
        drop(link);
      }
    }
    mw_unlock(&nccl_lock);
    if (waits) usleep(interval / 10);
  }
}
