/* A libnccl without GPUs: device memory is the host's (fake/cuda.c), and the messages of the ranks of one process run at
 * the end of a group. Messages whose other ranks do not call never end.
 *
 *   FAKE_NCCL_LOG   a file for the calls, one a line
 *   FAKE_NCCL_FAIL  "name@n=code …": the n-th call of that function returns code
 *   FAKE_NCCL       "absent": communicators of ranks that have not all been opened stay in progress */
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct id {
  char bytes[128];
} id;

enum { MOST_RANKS = 16, MOST_OPS = 512 };
enum { ALLREDUCE, REDUCE, BROADCAST, ALLGATHER, REDUCE_SCATTER, SEND, RECEIVE };

typedef struct clique {
  int number, size, opened;
  struct comm *comms[MOST_RANKS];
} clique;

typedef struct comm {
  clique *of;
  int rank, color, key;
  struct comm **part; /* of a split that is not complete */
} comm;

typedef struct op {
  int kind, type, operation, peer;
  const void *source;
  void *target;
  size_t count;
  comm *by;
} op;

static op ops[MOST_OPS];
static int op_count, depth, cliques_made;
static clique cliques[64];
static const int sizes[] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};

/* ---- calls ---- */

static struct {
  const char *name;
  int calls;
} counters[64];

static int record(const char *name, const char *format, ...) {
  int i = 0, result = 0;
  while (counters[i].name && strcmp(counters[i].name, name) != 0) i++;
  counters[i].name = name;
  int call = ++counters[i].calls;
  const char *order = getenv("FAKE_NCCL_FAIL"), *path = getenv("FAKE_NCCL_LOG");
  size_t length = strlen(name);
  for (const char *at = order; at && (at = strstr(at, name)); at++)
    if (at[length] == '@' && atoi(at + length + 1) == call) result = atoi(strchr(at, '=') + 1);
  FILE *file = path ? fopen(path, "a") : NULL;
  if (file) {
    va_list args;
    va_start(args, format);
    fprintf(file, "%s ", name);
    vfprintf(file, format, args);
    fprintf(file, "\n");
    va_end(args);
    fclose(file);
  }
  return result;
}

#define CALL(name, ...)                                                                                                \
  int failed = record(name, __VA_ARGS__);                                                                              \
  if (failed) return failed

/* ---- arithmetic ---- */

#define COMBINE(T)                                                                                                     \
  {                                                                                                                    \
    T *a = into;                                                                                                       \
    const T *b = from;                                                                                                 \
    for (size_t i = 0; i < count; i++)                                                                                 \
      a[i] = (T)(operation == 1   ? a[i] * b[i]                                                                        \
                 : operation == 2 ? (a[i] > b[i] ? a[i] : b[i])                                                        \
                 : operation == 3 ? (a[i] < b[i] ? a[i] : b[i])                                                        \
                                  : a[i] + b[i]);                                                                      \
    if (operation == 4 && last)                                                                                        \
      for (size_t i = 0; i < count; i++) a[i] = (T)(a[i] / (T)ranks);                                                  \
  }

static void combine(void *into, const void *from, size_t count, int type, int operation, int last, int ranks) {
  switch (type) {
  case 0: COMBINE(int8_t) break;
  case 1: COMBINE(uint8_t) break;
  case 2: COMBINE(int32_t) break;
  case 3: COMBINE(uint32_t) break;
  case 4: COMBINE(int64_t) break;
  case 5: COMBINE(uint64_t) break;
  case 7: COMBINE(float) break;
  case 8: COMBINE(double) break;
  default: abort();
  }
}

/* The reduction of `count` elements from element `from` of every rank's source. */
static char *reduce(op **of, int ranks, size_t from, size_t count) {
  size_t size = (size_t)sizes[of[0]->type];
  char *total = malloc(count * size + 1);
  memcpy(total, (const char *)of[0]->source + from * size, count * size);
  for (int r = 1; r < ranks; r++)
    combine(total, (const char *)of[r]->source + from * size, count, of[0]->type, of[0]->operation, r == ranks - 1,
            ranks);
  return total;
}

/* ---- matching ---- */

static void drop(int i) { memmove(ops + i, ops + i + 1, (size_t)(--op_count - i) * sizeof *ops); }

static void run(op **of, int ranks) {
  size_t count = of[0]->count, bytes = count * (size_t)sizes[of[0]->type];
  char *total = NULL;
  for (int r = 0; r < ranks; r++) switch (of[r]->kind) {
    case ALLREDUCE:
    case REDUCE:
      if (!total) total = reduce(of, ranks, 0, count);
      break;
    case BROADCAST: memmove(of[r]->target, of[of[0]->peer]->source, bytes); break;
    case ALLGATHER:
      for (int s = 0; s < ranks; s++) memmove((char *)of[r]->target + (size_t)s * bytes, of[s]->source, bytes);
      break;
    default: {
      char *part = reduce(of, ranks, (size_t)r * count, count);
      memcpy(of[r]->target, part, bytes);
      free(part);
    }
    }
  for (int r = 0; r < ranks && total; r++)
    if (of[r]->kind == ALLREDUCE || of[r]->peer == r) memcpy(of[r]->target, total, bytes);
  free(total);
}

static int run_one(void) {
  for (int i = 0; i < op_count; i++) {
    if (ops[i].kind == RECEIVE) continue;
    clique *of = ops[i].by->of;
    if (ops[i].kind == SEND) {
      for (int j = 0; j < op_count; j++)
        if (ops[j].kind == RECEIVE && ops[j].by->of == of && ops[j].by->rank == ops[i].peer &&
            ops[j].peer == ops[i].by->rank) {
          memmove(ops[j].target, ops[i].source, ops[i].count * (size_t)sizes[ops[i].type]);
          drop(i > j ? i : j);
          drop(i > j ? j : i);
          return 1;
        }
      continue;
    }
    op *found[MOST_RANKS] = {NULL};
    int at[MOST_RANKS], count = 0;
    for (int j = 0; j < op_count; j++)
      if (ops[j].by->of == of && ops[j].kind < SEND && !found[ops[j].by->rank]) {
        found[ops[j].by->rank] = &ops[j];
        at[count++] = j;
      }
    if (count < of->size) continue;
    run(found, of->size);
    while (count > 0) drop(at[--count]);
    return 1;
  }
  return 0;
}

static void split(clique *of) {
  for (int color = 0; color < 64; color++) {
    clique *new = NULL;
    for (;;) {
      comm *next = NULL;
      for (int r = 0; r < of->size; r++) {
        comm *c = of->comms[r];
        if (c->part && c->color == color && (!next || c->key < next->key)) next = c;
      }
      if (!next) break;
      if (!new) {
        new = &cliques[cliques_made];
        new->number = cliques_made++;
      }
      comm *part = calloc(1, sizeof *part);
      *part = (comm){.of = new, .rank = new->size};
      new->comms[new->size++] = part;
      new->opened++;
      *next->part = part;
      next->part = NULL;
    }
  }
}

/* ---- NCCL's functions ---- */

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

EXPORT int ncclGetVersion(int *version) {
  *version = 22703;
  return 0;
}

EXPORT const char *ncclGetErrorString(int result) {
  return result == 6 ? "remote process exited or there was a network error" : "a failure that was ordered";
}

EXPORT const char *ncclGetLastError(void *c) {
  (void)c;
  return "the fake library's last words";
}

EXPORT int ncclGetUniqueId(id *out) {
  CALL("ncclGetUniqueId", "%s", "");
  memset(out, 0, sizeof *out);
  out->bytes[0] = 1;
  out->bytes[1] = (char)cliques_made;
  cliques[cliques_made].number = cliques_made;
  cliques_made++;
  return 0;
}

EXPORT int ncclCommInitRankConfig(comm **out, int size, id of, int rank, const void *config) {
  CALL("ncclCommInitRankConfig", "%d of %d blocking %d nvls %s", rank, size, ((const int *)config)[4],
       getenv("NCCL_NVLS_ENABLE"));
  clique *c = &cliques[(int)of.bytes[1]];
  *out = calloc(1, sizeof **out);
  **out = (comm){.of = c, .rank = rank};
  c->size = size;
  c->opened++;
  c->comms[rank] = *out;
  return 7;
}

EXPORT int ncclCommSplit(comm *c, int color, int key, comm **part, const void *config) {
  (void)config;
  CALL("ncclCommSplit", "%d color %d", c->rank, color);
  c->color = color;
  c->key = key;
  c->part = color < 0 ? NULL : part;
  if (!depth) split(c->of);
  return 0;
}

EXPORT int ncclCommDestroy(comm *c) {
  CALL("ncclCommDestroy", "%d", c->rank);
  return 0;
}

EXPORT int ncclCommAbort(comm *c) {
  CALL("ncclCommAbort", "%d", c->rank);
  return 0;
}

EXPORT int ncclCommGetAsyncError(comm *c, int *result) {
  const char *machine = getenv("FAKE_NCCL");
  *result = machine && strstr(machine, "absent") && c->of->opened < c->of->size ? 7 : 0;
  return 0;
}

EXPORT int ncclCommCount(comm *c, int *count) {
  *count = c->of->size;
  return 0;
}

EXPORT int ncclCommUserRank(comm *c, int *rank) {
  *rank = c->rank;
  return 0;
}

EXPORT int ncclGroupStart(void) {
  depth++;
  return 0;
}

EXPORT int ncclGroupEnd(void) {
  CALL("ncclGroupEnd", "%d", depth);
  if (--depth > 0) return 0;
  for (int i = 0; i < cliques_made; i++)
    if (cliques[i].opened == cliques[i].size && cliques[i].size > 0) split(&cliques[i]);
  while (run_one()) {}
  return 0;
}

static int add(const char *name, op new) {
  int failed =
      record(name, "%d count %zu type %d op %d peer %d", new.by->rank, new.count, new.type, new.operation, new.peer);
  if (failed) return failed;
  if (op_count < MOST_OPS) ops[op_count++] = new;
  return 0;
}

EXPORT int ncclAllReduce(const void *source, void *target, size_t count, int type, int operation, comm *c, void *s) {
  (void)s;
  return add("ncclAllReduce", (op){ALLREDUCE, type, operation, -1, source, target, count, c});
}

EXPORT int ncclReduce(const void *source, void *target, size_t count, int type, int operation, int root, comm *c,
                      void *s) {
  (void)s;
  return add("ncclReduce", (op){REDUCE, type, operation, root, source, target, count, c});
}

EXPORT int ncclBroadcast(const void *source, void *target, size_t count, int type, int root, comm *c, void *s) {
  (void)s;
  return add("ncclBroadcast", (op){BROADCAST, type, 0, root, source, target, count, c});
}

EXPORT int ncclAllGather(const void *source, void *target, size_t count, int type, comm *c, void *s) {
  (void)s;
  return add("ncclAllGather", (op){ALLGATHER, type, 0, -1, source, target, count, c});
}

EXPORT int ncclReduceScatter(const void *source, void *target, size_t count, int type, int operation, comm *c,
                             void *s) {
  (void)s;
  return add("ncclReduceScatter", (op){REDUCE_SCATTER, type, operation, -1, source, target, count, c});
}

EXPORT int ncclSend(const void *source, size_t count, int type, int peer, comm *c, void *s) {
  (void)s;
  return add("ncclSend", (op){SEND, type, 0, peer, source, NULL, count, c});
}

EXPORT int ncclRecv(void *target, size_t count, int type, int peer, comm *c, void *s) {
  (void)s;
  return add("ncclRecv", (op){RECEIVE, type, 0, peer, NULL, target, count, c});
}
