/* Messages between GPUs by NCCL, found at run time: MOONWARP_NCCL names the library or is "off".
 *
 *   library.c       the functions of the library, and the words for its failures
 *   communicator.c  communicators: opening, splitting, aborting, closing
 *   message.c       queueing messages, groups
 *   time_limit.c    the time limit of messages
 *
 * Communicators are non-blocking: a call may return "in progress", and is polled until the time limit, so that a rank
 * that never comes is an error. One lock orders the calls of NCCL in this process. */
#ifndef CUDA_NCCL_H
#define CUDA_NCCL_H

#include "core/collective/collective.h"
#include "cuda/cuda.h"

typedef void *ncclComm_t;

typedef struct nccl_id {
  char bytes[MW_COMMUNICATOR_ID];
} nccl_id;

/* ncclConfig_t of NCCL 2.18, which later versions accept. (nccl.h) */
typedef struct nccl_config {
  size_t size;
  unsigned magic, version;
  int blocking, cga_cluster_size, min_ctas, max_ctas;
  const char *net_name;
  int split_share, unused;
} nccl_config;

enum { NCCL_SUCCESS = 0, NCCL_IN_PROGRESS = 7, NCCL_INT8 = 0, NCCL_UINT8 = 1 };

/* X(function, parameters) */
#define NCCL(X)                                                                                                        \
  X(ncclGetVersion, (int *version))                                                                                    \
  X(ncclGetUniqueId, (nccl_id * id))                                                                                   \
  X(ncclCommInitRankConfig, (ncclComm_t * comm, int size, nccl_id id, int rank, nccl_config *config))                  \
  X(ncclCommSplit, (ncclComm_t comm, int color, int key, ncclComm_t *part, nccl_config *config))                       \
  X(ncclCommDestroy, (ncclComm_t comm))                                                                                \
  X(ncclCommAbort, (ncclComm_t comm))                                                                                  \
  X(ncclCommGetAsyncError, (ncclComm_t comm, int *result))                                                             \
  X(ncclCommCount, (ncclComm_t comm, int *count))                                                                      \
  X(ncclCommUserRank, (ncclComm_t comm, int *rank))                                                                    \
  X(ncclGroupStart, (void))                                                                                            \
  X(ncclGroupEnd, (void))                                                                                              \
  X(ncclAllReduce,                                                                                                     \
    (const void *source, void *target, size_t count, int type, int operation, ncclComm_t comm, CUstream stream))       \
  X(ncclReduce, (const void *source, void *target, size_t count, int type, int operation, int root, ncclComm_t comm,   \
                 CUstream stream))                                                                                     \
  X(ncclBroadcast,                                                                                                     \
    (const void *source, void *target, size_t count, int type, int root, ncclComm_t comm, CUstream stream))            \
  X(ncclAllGather, (const void *source, void *target, size_t count, int type, ncclComm_t comm, CUstream stream))       \
  X(ncclReduceScatter,                                                                                                 \
    (const void *source, void *target, size_t count, int type, int operation, ncclComm_t comm, CUstream stream))       \
  X(ncclSend, (const void *source, size_t count, int type, int peer, ncclComm_t comm, CUstream stream))                \
  X(ncclRecv, (void *target, size_t count, int type, int peer, ncclComm_t comm, CUstream stream))

extern struct nccl_functions {
#define POINTER(name, params) int(*name) params;
  NCCL(POINTER)
#undef POINTER
  const char *(*ncclGetLastError)(ncclComm_t comm);
  const char *(*ncclGetErrorString)(int result);
} nccl;

/* One rank. */
typedef struct nccl_communicator {
  cuda_device *device;
  ncclComm_t handle; /* NULL: aborted, or not yet opened */
  int rank, size;    /* size 0: asked of the library once it is open */
  unsigned epoch;
  double seconds;
  char *reason; /* why it was aborted, or NULL */
} nccl_communicator;

int nccl_load(void);
int nccl_name(void *device, mw_text *out);
/* Fail with the library's words: "`what` failed: …". */
int nccl_failed(int result, ncclComm_t comm, const char *what);

/* The lock of NCCL's calls, and the number of open groups, while which no communicator is aborted. */
extern pthread_mutex_t nccl_lock;
extern int nccl_open_groups;

/* communicator.c. Wait until the communicator's calls have been made; after its time limit it is aborted. */
int nccl_settle(nccl_communicator *c, const char *what);
/* Under the lock. */
void nccl_end(nccl_communicator *c, const char *reason);
int nccl_open(void *device, const char *id, int size, int rank, double seconds, void **state);
int nccl_split(void *state, int color, int key, void **part);
int nccl_id_new(void *device, char *id);
int nccl_rank(void *state, int *rank, int *size);
void nccl_limit(void *state, double seconds);
int nccl_abort(void *state, const char *reason);
void nccl_close(void *state);

/* message.c */
int nccl_queue(void *state, void *stream, const mw_message *message, mw_completion completion);
int nccl_group(bool begins);
/* In a group: settle the communicator at its end. */
void nccl_group_opens(nccl_communicator *c);
bool nccl_in_group(void);

/* time_limit.c: a message was queued in the stream. */
void nccl_watch(nccl_communicator *c, cuda_stream *stream, const mw_message *message);
/* No message of the communicator is watched any longer. */
void nccl_unwatch(nccl_communicator *c);

extern const mw_driver_collective cuda_collective;
/* A line for mw_doctor. */
void cuda_collective_report(mw_text *out);

#endif
