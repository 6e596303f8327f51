/* Checked runs: beginning and ending them, and their reports. A run is one device's; launches on others are noted, for
 * its report. */
#include "launch.h"

#include <stdlib.h>
#include <string.h>

struct mw_report {
  mw_finding *findings;
  size_t count;
  char *unchecked; /* or NULL */
};

/* Launches choose their kernels again, with or without checks. */
static void change(mw_device *device, unsigned kinds) { atomic_store(&device->checking, kinds); }

/* ---- launches on other devices ---- */

typedef char device_name[sizeof(((mw_device *)0)->name)];

/* The devices without checks on which something was launched while a run was under way. */
static struct {
  pthread_mutex_t lock;
  int runs;
  device_name *names;
  size_t count;
} others = {.lock = MW_LOCK_INITIALIZER};

void mw_check_note(const mw_launch *launch) {
  const mw_device *device = launch->device;
  if (atomic_load(&device->checking)) return;
  mw_lock(&others.lock);
  bool known = !others.runs;
  for (size_t i = 0; i < others.count && !known; i++) known = strcmp(others.names[i], device->name) == 0;
  if (!known) {
    others.names = mw_realloc(others.names, (others.count + 1) * sizeof *others.names);
    memcpy(others.names[others.count++], device->name, sizeof device->name);
  }
  mw_unlock(&others.lock);
}

static void begin_notes(void) {
  mw_lock(&others.lock);
  others.runs++;
  mw_unlock(&others.lock);
  atomic_fetch_add(&mw_launches_noted, 1);
}

/* A line for each other device, after those of `text`. Yours: free. */
static char *end_notes(const mw_device *device, const char *text) {
  mw_text lines = {0};
  mw_text_addf(&lines, "%s", text);
  atomic_fetch_sub(&mw_launches_noted, 1);
  mw_lock(&others.lock);
  for (size_t i = 0; i < others.count; i++)
    if (strcmp(others.names[i], device->name) != 0)
      mw_text_addf(&lines, "%slaunches on %s: the checked run is of %s, which was in use when it began",
                   lines.length && lines.data[lines.length - 1] != '\n' ? "\n" : "", others.names[i], device->name);
  if (--others.runs == 0) {
    free(others.names);
    others.names = NULL;
    others.count = 0;
  }
  mw_unlock(&others.lock);
  return lines.data;
}

/* ---- beginning and ending ---- */

int mw_check_begin(mw_device *device, unsigned kinds, uint64_t seed) {
  if (!device->driver->check_begin)
    return fail(MW_NOT_SUPPORTED,
                "checked runs are the CPU device's, and %s is another: mw.use \"cpu\" before mw.check", device->name);
  int code = mw_device_synchronize(device);
  if (code == MW_SUCCESS) code = device->driver->check_begin(device->state, kinds, seed);
  if (code == MW_SUCCESS) begin_notes();
  if (code == MW_SUCCESS) change(device, kinds);
  return code;
}

int mw_check_end(mw_device *device, mw_report **out) {
  if (!device->driver->check_end || !atomic_load(&device->checking))
    return fail(MW_INVALID_VALUE, "no checked run of %s is under way", device->name);
  mw_error_free(NULL);
  (void)mw_device_synchronize(device); /* failures that are no findings are raised by the next wait */
  change(device, 0);
  int code = device->driver->check_end(device->state, out);
  char *unchecked = end_notes(device, code == MW_SUCCESS ? mw_report_unchecked(*out) : "");
  if (code == MW_SUCCESS)
    mw_report_say(*out, unchecked);
  else
    free(unchecked);
  mw_error *why = atomic_exchange(&device->unchecked, NULL);
  if (code == MW_SUCCESS && why) {
    mw_report_release(*out);
    *out = NULL;
    code = fail(why->code, "a kernel of the checked run ran without checks, as it could not be compiled with them: %s",
                why->message);
  }
  mw_error_free(why);
  return code;
}

mw_report *mw_report_new(mw_finding *findings, size_t count) {
  mw_report *report = mw_alloc(sizeof *report);
  *report = (mw_report){.findings = findings, .count = count};
  return report;
}

size_t mw_report_count(const mw_report *report) { return report->count; }

int mw_report_get(const mw_report *report, size_t i, mw_finding *out) {
  if (i >= report->count) return fail(MW_INVALID_VALUE, "a report of %zu findings has no number %zu", report->count, i);
  *out = report->findings[i];
  return MW_SUCCESS;
}

void mw_report_say(mw_report *report, char *unchecked) {
  free(report->unchecked);
  report->unchecked = unchecked;
}

const char *mw_report_unchecked(const mw_report *report) { return report->unchecked ? report->unchecked : ""; }

static void free_text(const char *text) { free((char *)(uintptr_t)text); }

void mw_report_release(mw_report *report) {
  if (!report) return;
  for (size_t i = 0; i < report->count; i++) {
    const mw_finding *f = &report->findings[i];
    const char *const texts[] = {f->here.kernel, f->here.file, f->other.kernel, f->other.file,
                                 f->array,       f->hint,      f->text};
    for (size_t k = 0; k < MW_COUNT(texts); k++) free_text(texts[k]);
  }
  free(report->findings);
  free(report->unchecked);
  free(report);
}
