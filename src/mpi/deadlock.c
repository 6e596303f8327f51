/* Deadlock detection. A rank that waits for longer than a moment calls mw_mpi_watch repeatedly. There it answers the
 * queries of rank 0; rank 0 sends queries to all ranks while it waits itself. A deadlock is found if all ranks answer
 * two consecutive rounds, no rank has completed an operation between the two, and no message is in flight. Then every
 * rank raises an error that says where each of them waits. A rank that computes does not answer, so a round lasts until
 * it waits. */
#include "mpi/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUESTION = 1, ANSWER, VERDICT, COMPLAINT };
enum { LONGEST = 65536 };
static const double BETWEEN_ROUNDS = 1.0; /* seconds */

typedef struct place {
  uint64_t completed; /* how many operations it has completed */
  int32_t round, is_transferring;
  char where[MW_MPI_TEXT];
} place;

/* A message that is being sent. */
typedef struct note {
  struct note *next;
  mpi_handle request;
  char data[];
} note;

static mpi_handle channel;
static note *notes;
static int32_t *posted; /* how many notes to each rank */
static int32_t taken;   /* how many this rank has taken */
static bool complained;

static struct {
  int round, answers;
  bool is_open; /* a round has begun, and not all ranks have answered */
  double begun;
  place *now, *before; /* of each rank, in this round and in the last one */
  bool has_before;
} rounds;

/* ---- sending and receiving ---- */

static void open_channel(void) {
  if (channel) return;
  size_t size = (size_t)mpi_world->size;
  channel = mpi_channel;
  posted = mw_alloc(size * sizeof *posted);
  memset(posted, 0, size * sizeof *posted);
  if (mpi_world->rank != 0) return;
  rounds.now = mw_alloc(2 * size * sizeof(place));
  rounds.before = rounds.now + size;
}

static void reap(void) {
  for (note **at = &notes; *at;) {
    note *sent = *at;
    if (mpi_tested(&sent->request, NULL)) {
      *at = sent->next;
      free(sent);
    } else {
      at = &sent->next;
    }
  }
}

static void post(int to, int what, const void *data, size_t size) {
  note *sent = mw_alloc(sizeof *sent + size);
  memcpy(sent->data, data, size);
  sent->next = notes;
  if (mpi.Isend(sent->data, (int)size, mpi.byte, to, what, channel, &sent->request) == 0) {
    notes = sent;
    posted[to]++;
  } else {
    free(sent);
  }
}

static bool are_sent(void *unused) {
  (void)unused;
  reap();
  return !notes;
}

/* Remember that others are to say what they were told before this rank ends all. What was posted is sent now: at exit
 * libmpi may be on the stack, when another rank has ended all, and is not to be called then. */
static void complain(void) {
  complained = true;
  mpi_poll(are_sent, NULL, 0.5);
}

static bool is_received(void *request) { return mpi_tested(request, NULL); }

/* Take a message of a kind, or of any, if there is one. */
static bool take(int what, void *data, size_t size, int *source) {
  int status[MPI_STATUS_INTS], is_there = 0;
  mpi_handle request = 0;
  if (mpi.Iprobe(mpi.any_source, what, channel, &is_there, status) != 0 || !is_there) return false;
  *source = status[mpi.status_source];
  what = status[mpi.status_tag];
  if (mpi.Irecv(data, (int)size, mpi.byte, *source, what, channel, &request) != 0) return false;
  taken++;
  return mpi_poll(is_received, &request, 10);
}

/* ---- complaints ---- */

void mpi_complain(int world_rank, const char *text) {
  open_channel();
  post(world_rank, COMPLAINT, text, strlen(text) + 1);
  complain();
}

bool mpi_has_complained(void) { return complained; }

/* ---- the end ---- */

static bool is_drained(void *due) {
  static char text[LONGEST];
  int source;
  while (take(mpi.any_tag, text, sizeof text, &source)) continue;
  reap();
  return taken >= *(int32_t *)due && !notes;
}

/* A rank learns how many notes it is due from the others' counts, so it also waits for those that are on their way. */
void mpi_drain(void) {
  size_t size = (size_t)mpi_world->size;
  static int32_t due;
  mpi_handle request = 0;
  open_channel();
  int *ones = mw_alloc(size * sizeof *ones);
  for (size_t i = 0; i < size; i++) ones[i] = 1;
  if (mpi.Ireduce_scatter(posted, &due, ones, mpi.int32, mpi.sum, channel, &request) != 0 ||
      !mpi_poll(is_received, &request, 10))
    return; /* libmpi may still use them */
  free(ones);
  mpi_poll(is_drained, &due, 10);
}

/* ---- rounds ---- */

static place own_place(const char *where, int round) {
  place own = {.completed = mpi_completed, .round = round, .is_transferring = mpi_transfers > 0};
  snprintf(own.where, sizeof own.where, "%s", where);
  return own;
}

static void begin_round(void) {
  int32_t round = ++rounds.round;
  rounds.is_open = true;
  rounds.answers = 0;
  rounds.begun = mw_time();
  for (int rank = 1; rank < mpi_world->size; rank++) post(rank, QUESTION, &round, sizeof round);
}

static bool is_stuck(void) {
  if (!rounds.has_before) return false;
  for (int rank = 0; rank < mpi_world->size; rank++)
    if (rounds.now[rank].completed != rounds.before[rank].completed || rounds.now[rank].is_transferring) return false;
  return true;
}

static int give_verdict(void) {
  mw_text text = {0};
  mw_text_addf(&text, "deadlock: every rank waits");
  for (int rank = 0; rank < mpi_world->size && text.length < LONGEST - MW_MPI_TEXT - 64; rank++)
    mw_text_addf(&text, "\n  rank %d: %s", rank, rounds.now[rank].where);
  for (int rank = 1; rank < mpi_world->size; rank++) post(rank, VERDICT, text.data, text.length + 1);
  complain();
  int code = fail(MW_LAUNCH_TIMEOUT, "%s", text.data);
  mw_error_kind("device");
  mw_text_free(&text);
  return code;
}

static int lead(const char *where) {
  place answer;
  int source;
  while (take(ANSWER, &answer, sizeof answer, &source)) {
    if (answer.round != rounds.round) continue;
    rounds.now[source] = answer;
    rounds.answers++;
  }
  if (!rounds.is_open) {
    if (mw_time() - rounds.begun >= BETWEEN_ROUNDS) begin_round();
    return MW_SUCCESS;
  }
  if (rounds.answers < mpi_world->size - 1) return MW_SUCCESS;
  rounds.is_open = false;
  rounds.begun = mw_time();
  rounds.now[0] = own_place(where, rounds.round);
  if (is_stuck()) return rounds.has_before = false, give_verdict();
  memcpy(rounds.before, rounds.now, (size_t)mpi_world->size * sizeof(place));
  rounds.has_before = true;
  return MW_SUCCESS;
}

int mw_mpi_watch(const char *where) {
  static char text[LONGEST];
  int32_t round;
  int source;
  open_channel();
  reap();
  if (take(COMPLAINT, text, sizeof text, &source)) return fail(MW_INVALID_VALUE, "%s", text);
  if (take(VERDICT, text, sizeof text, &source)) {
    fail(MW_LAUNCH_TIMEOUT, "%s", text);
    mw_error_kind("device");
    return MW_LAUNCH_TIMEOUT;
  }
  while (take(QUESTION, &round, sizeof round, &source)) {
    place own = own_place(where, round);
    post(0, ANSWER, &own, sizeof own);
  }
  return mpi_world->rank == 0 ? lead(where) : MW_SUCCESS;
}
