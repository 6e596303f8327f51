/* Finding BLAS and LAPACK: blas.h. */
#include "blas.h"
#include "base/shared_library.h"

#include <stdio.h>
#include <string.h>

static const char *const names[] = {"libopenblas.so.0", "libopenblas.so", NULL};
static const char *const places[] = {"/usr/lib/*/openblas*/libopenblas.so.0", "/usr/local/lib/libopenblas.so*",
                                     "/opt/*/lib/libopenblas.so*", NULL};
static const char *const lapack_names[] = {"liblapack.so.3", NULL};

static mw_library blas = {.title = "OpenBLAS", .variable = "MOONWARP_BLAS", .names = names, .places = places};
static mw_library lapack = {.title = "LAPACK", .variable = "MOONWARP_LAPACK", .names = lapack_names};
static pthread_once_t once = PTHREAD_ONCE_INIT;
static char *blas_problem, *lapack_problem, *title;
static void (*set_threads)(int);
static int (*get_threads)(void);
static pthread_mutex_t thread_lock = MW_LOCK_INITIALIZER;

static cpu_routine_code *routines[CPU_ROUTINES][4];

/* Names without the letter, of real and of complex elements. */
static const char *const routine_names[CPU_ROUTINES][2] = {
    [CPU_GEMM] = {"gemm", "gemm"},    [CPU_GEMV] = {"gemv", "gemv"},    [CPU_GETRF] = {"getrf", "getrf"},
    [CPU_GESV] = {"gesv", "gesv"},    [CPU_POTRF] = {"potrf", "potrf"}, [CPU_GEQRF] = {"geqrf", "geqrf"},
    [CPU_ORGQR] = {"orgqr", "ungqr"}, [CPU_SYEVD] = {"syevd", "heevd"}, [CPU_GESDD] = {"gesdd", "gesdd"},
    [CPU_GEEV] = {"geev", "geev"},
};

static const char letters[] = "sdcz";

cpu_routine_code *cpu_blas_routine(cpu_routine routine, char letter) {
  const char *at = letter ? strchr(letters, letter) : NULL;
  return at ? routines[routine][at - letters] : NULL;
}

/* Find routines first .. last - 1; false if one of them is missing. */
static bool find_routines(void *handle, cpu_routine first, cpu_routine last) {
  for (int routine = (int)first; routine < (int)last; routine++)
    for (int i = 0; i < 4; i++) {
      char name[16];
      snprintf(name, sizeof name, "%c%s_", letters[i], routine_names[routine][i / 2]);
      void *address = mw_library_find(handle, name);
      if (!address) return false;
      memcpy(&routines[routine][i], &address, sizeof address);
    }
  return true;
}

/* "OpenBLAS 0.3.21 (libopenblas.so.0)" */
static char *title_of(void *handle) {
  char *(*config)(void) = NULL;
  void *address = mw_library_find(handle, "openblas_get_config");
  if (!address) return mw_format("BLAS (%s)", blas.path);
  memcpy(&config, &address, sizeof address);
  char words[64] = "OpenBLAS";
  const char *text = config();
  if (strncmp(text, "OpenBLAS ", 9) == 0)
    snprintf(words, sizeof words, "OpenBLAS %.*s", (int)strcspn(text + 9, " "), text + 9);
  return mw_format("%s (%s)", words, blas.path);
}

static void load(void) {
  void *handle = mw_library_open(&blas), *address;
  if (!handle) {
    blas_problem = blas.problem
                       ? mw_strdup(blas.problem)
                       : mw_format("OpenBLAS was not found under these names: %s. Install the package libopenblas0; "
                                   "MOONWARP_BLAS may name another BLAS library",
                                   mw_library_tried(&blas));
    lapack_problem = mw_strdup(blas_problem);
    return;
  }
  if (!find_routines(handle, CPU_GEMM, CPU_GETRF)) {
    blas_problem =
        mw_format("%s has no BLAS routines of the names sgemm_, dgemm_, …: MOONWARP_BLAS names another one", blas.path);
    lapack_problem = mw_strdup(blas_problem);
    return;
  }
  title = title_of(handle);
  address = mw_library_find(handle, "openblas_set_num_threads");
  memcpy(&set_threads, &address, sizeof address);
  address = mw_library_find(handle, "openblas_get_num_threads");
  memcpy(&get_threads, &address, sizeof address);
  if (find_routines(handle, CPU_GETRF, CPU_ROUTINES)) return;
  void *other = mw_library_open(&lapack);
  if (!other || !find_routines(other, CPU_GETRF, CPU_ROUTINES))
    lapack_problem =
        mw_format("%s has no LAPACK, and liblapack.so.3 was not found: install the package libopenblas0", blas.path);
}

static int unless(const char *problem) { return problem ? fail(MW_NOT_SUPPORTED, "%s", problem) : MW_SUCCESS; }

int cpu_blas_load(void) {
  pthread_once(&once, load);
  return unless(blas_problem);
}

int cpu_lapack_load(void) {
  pthread_once(&once, load);
  return unless(lapack_problem);
}

void cpu_blas_use_threads(const cpu_device *device) {
  if (!set_threads || !get_threads) return;
  mw_lock(&thread_lock);
  if (get_threads() != device->workers) set_threads(device->workers);
  mw_unlock(&thread_lock);
}

/* ---- names ---- */

int cpu_blas_name(void *device, mw_text *out) {
  (void)device;
  int code = cpu_blas_load();
  if (code == MW_SUCCESS) mw_text_addf(out, "%s", title);
  return code;
}

int cpu_lapack_name(void *device, mw_text *out) {
  (void)device;
  int code = cpu_lapack_load();
  if (code == MW_SUCCESS && lapack.path) mw_text_addf(out, "LAPACK (%s)", lapack.path);
  if (code == MW_SUCCESS && !lapack.path) mw_text_addf(out, "%s", title);
  return code;
}

static void report_one(const char *what, int (*name)(void *, mw_text *), mw_text *out) {
  mw_text words = {0};
  if (name(NULL, &words) == MW_SUCCESS)
    mw_text_addf(out, "%s on the CPU: %s\n", what, words.data);
  else
    mw_text_addf(out, "%s on the CPU: moonwarp's own kernels. %s\n", what, mw_error_last()->message);
  mw_text_free(&words);
}

void cpu_linear_report(mw_text *out) {
  report_one("matrix products", cpu_blas_name, out);
  report_one("factorisations", cpu_lapack_name, out);
  mw_error_clear();
}
