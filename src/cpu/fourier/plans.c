/* FFTW's functions and plans: plans.h. FFTW's planner runs in one thread at a time, its plans in any number.
 * (FFTW 3 manual, "guru interface", "thread safety") */
#include "plans.h"

#include "base/base.h"
#include "base/lock.h"
#include "base/shared_library.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { ESTIMATE = 64, PRESERVE_INPUT = 16, KEPT = 64 };

typedef struct dimension {
  ptrdiff_t n, from, to;
} dimension;

typedef void *plan_complex(int rank, const dimension *dims, int rest, const dimension *more, void *from, void *to,
                           int sign, unsigned flags);
typedef void *plan_real(int rank, const dimension *dims, int rest, const dimension *more, void *from, void *to,
                        unsigned flags);

/* The functions of one precision: fftw_… or fftwf_…. */
typedef struct fftw {
  mw_library library;
  const char *prefix, *package;
  char *problem;
  plan_complex *plan;
  plan_real *plan_real, *plan_inverse;
  cpu_execute *run, *run_real, *run_inverse;
  void (*destroy)(void *plan);
  int (*alignment)(void *address);
} fftw;

static const char *const single_names[] = {"libfftw3f.so.3", NULL}, *const double_names[] = {"libfftw3.so.3", NULL};
static fftw libraries[2] = {
    {.library = {.title = "FFTW (single precision)", .variable = "MOONWARP_FFTWF", .names = single_names},
     .prefix = "fftwf",
     .package = "libfftw3-single3"},
    {.library = {.title = "FFTW (double precision)", .variable = "MOONWARP_FFTW", .names = double_names},
     .prefix = "fftw",
     .package = "libfftw3-double3"},
};
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void find(fftw *f, void *handle, const char *name, void *pointer) {
  char *full = mw_format("%s_%s", f->prefix, name);
  void *address = mw_library_find(handle, full);
  if (!address && !f->problem) f->problem = mw_format("%s has no function %s", f->library.path, full);
  memcpy(pointer, &address, sizeof address);
  free(full);
}

static void load_one(fftw *f) {
  void *handle = mw_library_open(&f->library);
  if (!handle) {
    f->problem = f->library.problem ? mw_strdup(f->library.problem)
                                    : mw_format("%s was not found under these names: %s. Install the package %s",
                                                f->library.title, mw_library_tried(&f->library), f->package);
    return;
  }
  find(f, handle, "plan_guru64_dft", &f->plan);
  find(f, handle, "plan_guru64_dft_r2c", &f->plan_real);
  find(f, handle, "plan_guru64_dft_c2r", &f->plan_inverse);
  find(f, handle, "execute_dft", &f->run);
  find(f, handle, "execute_dft_r2c", &f->run_real);
  find(f, handle, "execute_dft_c2r", &f->run_inverse);
  find(f, handle, "destroy_plan", &f->destroy);
  find(f, handle, "alignment_of", &f->alignment);
}

static void load(void) {
  load_one(&libraries[0]);
  load_one(&libraries[1]);
}

const char *cpu_fftw_problem(bool is_double) {
  pthread_once(&once, load);
  return libraries[is_double].problem;
}

const char *cpu_fftw_path(bool is_double) { return libraries[is_double].library.path; }

cpu_execute *cpu_fftw_function(mw_fourier_kind kind, bool is_double) {
  const fftw *f = &libraries[is_double];
  return kind == MW_FOURIER_REAL ? f->run_real : kind == MW_FOURIER_REAL_INVERSE ? f->run_inverse : f->run;
}

int cpu_fftw_alignment(bool is_double, void *address) { return libraries[is_double].alignment(address); }

/* ---- plans ---- */

static pthread_mutex_t lock = MW_LOCK_INITIALIZER; /* guards the list, and FFTW's planner */
static cpu_plan *plans;

static bool same_key(const cpu_plan_key *a, const cpu_plan_key *b) {
  return a->kind == b->kind && a->is_double == b->is_double && a->from_alignment == b->from_alignment &&
         a->to_alignment == b->to_alignment && a->count == b->count && a->n == b->n && a->inner == b->inner &&
         a->from_line == b->from_line && a->to_line == b->to_line;
}

static void *make_plan(const cpu_plan_key *key, void *from, void *to) {
  fftw *f = &libraries[key->is_double];
  ptrdiff_t n = (ptrdiff_t)key->n, inner = (ptrdiff_t)key->inner;
  const dimension line = {n, inner, inner};
  const dimension more[2] = {{(ptrdiff_t)key->count, (ptrdiff_t)key->from_line, (ptrdiff_t)key->to_line},
                             {inner, 1, 1}};
  unsigned flags = ESTIMATE | PRESERVE_INPUT;
  switch (key->kind) {
  case MW_FOURIER_REAL: return f->plan_real(1, &line, 2, more, from, to, flags);
  case MW_FOURIER_REAL_INVERSE: return f->plan_inverse(1, &line, 2, more, from, to, flags);
  default: return f->plan(1, &line, 2, more, from, to, key->kind == MW_FOURIER_FORWARD ? -1 : 1, flags);
  }
}

/* Destroy the plans after the first KEPT that nothing uses. With the lock held. */
static void drop_old(void) {
  int count = 0;
  for (cpu_plan **at = &plans; *at;) {
    cpu_plan *cached = *at;
    if (++count > KEPT && cached->users == 0) {
      *at = cached->next;
      libraries[cached->key.is_double].destroy(cached->plan);
      free(cached);
    } else {
      at = &cached->next;
    }
  }
}

cpu_plan *cpu_plan_for(const cpu_plan_key *key, void *from, void *to) {
  mw_lock(&lock);
  cpu_plan **at = &plans, *cached;
  while (*at && !same_key(&(*at)->key, key)) at = &(*at)->next;
  cached = *at;
  if (cached) {
    *at = cached->next;
  } else {
    void *plan = make_plan(key, from, to);
    if (plan) {
      cached = mw_alloc(sizeof *cached);
      *cached = (cpu_plan){.key = *key, .plan = plan};
    }
  }
  if (cached) {
    cached->users++;
    cached->next = plans;
    plans = cached;
    drop_old();
  }
  mw_unlock(&lock);
  return cached;
}

void cpu_plan_release(cpu_plan *plan) {
  if (!plan) return;
  mw_lock(&lock);
  plan->users--;
  mw_unlock(&lock);
}
