/* Messages between devices by a library: what the core hands to a driver's `collective`.
 *
 * A communicator is one rank of a group of devices. What it queues runs in stream order. Between group(begin) and
 * group(end) nothing runs: the calls of several ranks, or several messages of one, then start together. */
#ifndef MW_COLLECTIVE_H
#define MW_COLLECTIVE_H

#include "core/core.h"

/* `count` elements of `size` bytes. scalar: the type that a reduction computes with ('b' int8, 'B' uint8, 'i' 'I' 32
   bits, 'l' 'L' 64 bits, 'h' half, 'f', 'd', 'x' bfloat16), or 0 for bytes that are only moved. */
typedef struct mw_message {
  mw_message_kind kind;
  uint64_t source, target; /* 0: none */
  size_t count, size;
  char scalar;
  mw_message_operation operation;
  int peer; /* the root, or the other rank */
  uint64_t owner;
  const char *site; /* borrowed */
} mw_message;

typedef struct mw_driver_collective {
  /* The name of the library, as a phrase: "NCCL 2.27.3 (libnccl.so.2)"; or MW_NOT_SUPPORTED with the reason. */
  int (*name)(void *device, mw_text *out);
  int (*id)(void *device, char *id);
  /* In a group, *state is usable after the group's end. seconds: the time limit, 0: none. */
  int (*open)(void *device, const char *id, int size, int rank, double seconds, void **state);
  int (*split)(void *state, int color, int key, void **part); /* *part NULL: in none */
  /* Calls the completion in any case. */
  int (*queue)(void *state, void *stream, const mw_message *message, mw_completion completion);
  int (*group)(bool begins);
  int (*rank)(void *state, int *rank, int *size);
  void (*limit)(void *state, double seconds);
  /* Ends the messages in flight; later calls fail with the reason. */
  int (*abort)(void *state, const char *reason);
  void (*close)(void *state);
} mw_driver_collective;

#endif
