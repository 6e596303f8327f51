/* Trials of kernels: see trial.h.
 *
 * A worker runs chunks of neighbouring blocks with the kernel (K) and the candidate (R) in the order K R R K: a round.
 * Chunks of a round have the same number of blocks, and the order cancels a drift of the blocks' durations. A round
 * gives the ratio of the candidate's time to the kernel's, and the median ratio decides, weighted by the rounds' times, so
 * that blocks with nothing to do count for little. Times are the thread's own processor time: other load of the machine
 * disturbs the caches, but does not count otherwise. The first round is not counted, since the candidate's code is cold.
 *
 * A candidate that is much slower is recognised in one round, so a trial costs at most a few milliseconds. */
#include "trial.h"
#include "cpu/execution/cluster.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

static const double chunk_seconds = 100e-6, hopeless = 3, clearly_slower = 1.3, clearly_faster = 0.75, faster = 0.97;
enum { ROUNDS = 15, ROUNDS_CLEAR = 4, TURNS = 4, LEAST_BLOCKS = 2 * TURNS };
static const int order_of_turns[TURNS] = {0, 1, 1, 0};

typedef struct cpu_round {
  uint64_t size; /* blocks of a chunk, in this round */
  int turn;
  uint32_t number; /* the trial's, when the round began */
  double seconds[2];
  bool warm; /* a round of this trial was completed before */
} cpu_round;

typedef struct result {
  double ratio, weight;
} result;

typedef struct cpu_trial {
  pthread_mutex_t lock; /* a leaf */
  double left;          /* seconds until it is ripe */
  atomic_bool ripens, runs;
  mw_completion next;
  cpu_kernel *own, *champion, *candidate;
  atomic_uint number; /* of the trial: each kernel may have several candidates, one after the other */
  result results[ROUNDS];
  int count;
  cpu_round *rounds; /* by slot */
} cpu_trial;

/* ---- the driver's interface ---- */

static bool is_comparable(const mw_mwo_kernel *image) {
  return image->gangs <= 1 && image->merged != 2 && !image->interchanged && !image->iterations && image->any_order;
}

size_t cpu_candidates(void *argument, uint32_t gangs[MW_CANDIDATES]) {
  _Static_assert((int)MW_CANDIDATES == (int)MW_MOST_CANDIDATES, "the core's and the image's numbers differ");
  const mw_mwo_kernel *image = ((const cpu_kernel *)argument)->image;
  size_t count = 0;
  if (!is_comparable(image)) return 0;
  while (count < MW_CANDIDATES && image->candidates[count]) gangs[count] = image->candidates[count], count++;
  return count;
}

/* Whether the candidate takes all launches that the kernel takes, apart from what `fits` tests. */
static bool are_comparable(const mw_mwo_kernel *own, const mw_mwo_kernel *candidate) {
  return is_comparable(candidate) && own->info.shared_bytes == candidate->info.shared_bytes &&
         own->separate_count == candidate->separate_count &&
         (!own->separate_count ||
          memcmp(own->separate, candidate->separate, own->separate_count * sizeof *own->separate) == 0);
}

static cpu_trial *trial_of(cpu_kernel *kernel) {
  cpu_trial *trial = atomic_load(&kernel->trial);
  if (trial) return trial;
  trial = mw_alloc(sizeof *trial);
  mw_lock_init(&trial->lock);
  trial->own = trial->champion = kernel;
  trial->rounds = mw_alloc((size_t)kernel->unit->device->workers * sizeof *trial->rounds);
  atomic_store(&kernel->trial, trial);
  return trial;
}

void cpu_trial_free(cpu_kernel *kernel) {
  cpu_trial *trial = atomic_load(&kernel->trial);
  if (!trial || trial->own != kernel) return;
  pthread_mutex_destroy(&trial->lock);
  free(trial->rounds);
  free(trial);
}

void cpu_ripen(void *kernel, double seconds, mw_completion ripe) {
  cpu_trial *trial = trial_of(kernel);
  mw_lock(&trial->lock);
  trial->left = seconds;
  trial->next = ripe;
  atomic_store(&trial->ripens, true);
  mw_unlock(&trial->lock);
}

void cpu_trial_ran(const cpu_command *command, double seconds) {
  cpu_trial *trial = atomic_load_explicit(&command->kernel.kernel->trial, memory_order_acquire);
  mw_completion next = {0};
  if (!trial || !atomic_load_explicit(&trial->ripens, memory_order_relaxed)) return;
  mw_lock(&trial->lock);
  trial->left -= seconds;
  if (trial->left <= 0 && atomic_exchange(&trial->ripens, false)) next = trial->next;
  mw_unlock(&trial->lock);
  if (next.done) next.done(next.context);
}

void cpu_prefer(void *argument, void *candidate) {
  cpu_kernel *kernel = argument;
  cpu_trial *trial = trial_of(kernel);
  mw_lock(&trial->lock);
  trial->champion = candidate;
  atomic_store(&trial->champion->trial, trial);
  atomic_store(&kernel->preferred, trial->champion);
  mw_unlock(&trial->lock);
}

void *cpu_preferred(void *argument) {
  cpu_kernel *kernel = argument, *preferred = atomic_load(&kernel->preferred);
  return preferred ? preferred : kernel;
}

void cpu_compete(void *kernel, void *argument, mw_completion decided) {
  cpu_trial *trial = trial_of(kernel);
  cpu_kernel *candidate = argument;
  bool comparable = are_comparable(trial->own->image, candidate->image);
  mw_lock(&trial->lock);
  trial->candidate = candidate;
  trial->next = decided;
  trial->count = 0;
  atomic_fetch_add(&trial->number, 1);
  atomic_store(&trial->runs, comparable);
  mw_unlock(&trial->lock);
  if (!comparable) decided.done(decided.context);
}

static bool suits(const cpu_kernel *kernel, const mw_frame *frame) {
  return !kernel->image->fits || kernel->image->fits(frame);
}

const cpu_kernel *cpu_trial_winner(const cpu_kernel *kernel, mw_frame *frame) {
  const cpu_kernel *preferred = atomic_load_explicit(&kernel->preferred, memory_order_acquire);
  if (!preferred || cpu_blocks_wait(frame) || !suits(preferred, frame)) return kernel;
  frame->symbols = preferred->unit->symbols;
  return preferred;
}

/* ---- deciding ---- */

static int by_ratio(const void *left, const void *right) {
  const result *a = left, *b = right;
  return (a->ratio > b->ratio) - (a->ratio < b->ratio);
}

/* The weighted median. */
static double median(const cpu_trial *trial) {
  result sorted[ROUNDS];
  double all = 0, sum = 0;
  memcpy(sorted, trial->results, sizeof sorted);
  qsort(sorted, (size_t)trial->count, sizeof *sorted, by_ratio);
  for (int i = 0; i < trial->count; i++) all += sorted[i].weight;
  for (int i = 0; i < trial->count; i++)
    if ((sum += sorted[i].weight) >= all / 2) return sorted[i].ratio;
  return 1;
}

static bool is_clear(const cpu_trial *trial) {
  bool slower = true, quicker = true;
  for (int i = 0; i < trial->count; i++) {
    slower = slower && trial->results[i].ratio > clearly_slower;
    quicker = quicker && trial->results[i].ratio < clearly_faster;
  }
  return trial->count >= ROUNDS_CLEAR && (slower || quicker);
}

static void add_result(const cpu_bout *bout, double own, double candidate) {
  cpu_trial *trial = bout->trial;
  mw_completion next = {0};
  mw_lock(&trial->lock);
  if (atomic_load(&trial->runs) && atomic_load(&trial->number) == bout->number && own > 0) {
    double ratio = candidate / own;
    trial->results[trial->count++] = (result){ratio, own + candidate};
    if (ratio > hopeless || trial->count == ROUNDS || is_clear(trial)) {
      if (ratio <= hopeless && median(trial) < faster) {
        trial->champion = trial->candidate;
        atomic_store(&trial->champion->trial, trial);
        atomic_store(&trial->own->preferred, trial->champion);
      }
      atomic_store(&trial->runs, false);
      next = trial->next;
    }
  }
  mw_unlock(&trial->lock);
  if (next.done) next.done(next.context);
}

/* ---- running ---- */

bool cpu_bout_begin(cpu_bout *bout, const cpu_command *command, int slot) {
  const cpu_kernel_work *work = &command->kernel;
  cpu_trial *trial = atomic_load_explicit(&work->kernel->trial, memory_order_acquire);
  if (!trial || !atomic_load_explicit(&trial->runs, memory_order_acquire)) return false;
  if (work->frame.iterations || work->instead || cpu_blocks_wait(&work->frame) || command->watched ||
      command->checked || command->blocks < LEAST_BLOCKS)
    return false;
  mw_lock(&trial->lock);
  bool runs = atomic_load(&trial->runs) && trial->champion == work->kernel;
  if (runs) {
    *bout = (cpu_bout){.trial = trial, .round = &trial->rounds[slot], .number = atomic_load(&trial->number)};
    bout->works[0] = bout->works[1] = *work;
    bout->works[1].kernel = trial->candidate;
    bout->works[1].frame.symbols = trial->candidate->unit->symbols;
  }
  mw_unlock(&trial->lock);
  if (!runs || bout->works[1].kernel->image->info.local_bytes > work->stack ||
      !suits(bout->works[1].kernel, &bout->works[1].frame))
    return false;
  double each = atomic_load_explicit(&work->kernel->block_seconds, memory_order_relaxed);
  bout->chunk = each > 0 && each < chunk_seconds ? (uint64_t)(chunk_seconds / each) : 1;
  if (bout->round->number != bout->number) *bout->round = (cpu_round){.number = bout->number};
  return true;
}

static double processor_seconds(void) {
  struct timespec time;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void end_turn(cpu_bout *bout, double seconds) {
  cpu_round *round = bout->round;
  round->seconds[order_of_turns[round->turn]] += seconds;
  /* after the first half of a round: a hopeless candidate gets no second turn */
  bool ended = ++round->turn == TURNS || (round->turn == 2 && round->seconds[1] > 2 * hopeless * round->seconds[0]);
  if (!ended) return;
  if (round->warm) add_result(bout, round->seconds[0], round->seconds[1]);
  *round = (cpu_round){.number = round->number, .warm = true};
}

bool cpu_bout_run(cpu_bout *bout, cpu_worker *worker, const cpu_taken *taken) {
  cpu_round *round = bout->round;
  bool good = true;
  for (uint64_t first = taken->first, last; good && first < taken->last; first = last) {
    uint64_t left = taken->last - first;
    if (round->turn == 0) round->size = bout->chunk < left ? bout->chunk : left;
    bool whole = round->size <= left && atomic_load_explicit(&bout->trial->runs, memory_order_relaxed);
    last = whole ? first + round->size : taken->last;
    worker->work = &bout->works[whole ? order_of_turns[round->turn] : 0];
    double start = processor_seconds();
    good = cpu_worker_run(worker, first, last);
    if (good && whole) end_turn(bout, processor_seconds() - start);
  }
  return good;
}
