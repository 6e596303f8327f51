/* Devices: the list of drivers, opening by name, sharing, limits, waiting.
 *
 * A device is opened once and shared: `open_devices` lists all open ones, and the last release removes a device from
 * the list before closing it. Only host threads hold device handles (see core.h), so closing may wait for the streams.
 * A forked child starts with an empty list: the devices that it inherits are lost (forked.h). */
#include "core.h"
#include "core/module/background.h"
#include "core/graph/capture.h"
#include "failure.h"
#include "forked.h"
#include "peer.h"

#include <math.h>
#include <string.h>
#include <stdio.h>
#include <stdlib.h>

/* The first driver that has a device provides the default device. */
static const mw_driver *const drivers[] = {&mw_cuda_driver, &mw_cpu_driver};

static pthread_mutex_t list_lock = MW_LOCK_INITIALIZER;
static mw_device *open_devices;

/* ---- names ---- */

static int device_count(const mw_driver *driver) {
  int count = 0;
  return driver->count(&count) == MW_SUCCESS ? count : 0;
}

/* The names of all devices, for error messages: "cpu:0", "cuda:0", "cuda:1". */
static void list_devices(mw_text *text) {
  mw_text_add(text, "", 0);
  for (size_t i = 0; i < MW_COUNT(drivers); i++)
    for (int ordinal = 0, count = device_count(drivers[i]); ordinal < count; ordinal++)
      mw_text_addf(text, "%s'%s:%d'", text->length ? ", " : "", drivers[i]->name, ordinal);
}

void mw_drivers_report(mw_text *out) {
  for (size_t d = 0; d < MW_COUNT(drivers); d++)
    if (drivers[d]->report) drivers[d]->report(out);
}

int mw_device_list(size_t i, char name[32]) {
  size_t first = 0;
  for (size_t d = 0; d < MW_COUNT(drivers); d++) {
    size_t count = (size_t)device_count(drivers[d]);
    if (i - first < count) {
      snprintf(name, 32, "%s:%d", drivers[d]->name, (int)(i - first));
      return MW_SUCCESS;
    }
    first += count;
  }
  return fail(MW_INVALID_DEVICE, "there is no device %zu: there are %zu, counted from 0", i, first);
}

bool mw_device_draws(size_t i, unsigned list) {
  size_t first = 0;
  for (size_t d = 0; d < MW_COUNT(drivers); d++) {
    size_t count = (size_t)device_count(drivers[d]);
    if (i - first < count) return drivers[d]->graphics && drivers[d]->graphics->draws((int)(i - first), list);
    first += count;
  }
  return false;
}

static const mw_driver *find_driver(const char *name, size_t length) {
  for (size_t i = 0; i < MW_COUNT(drivers); i++)
    if (strlen(drivers[i]->name) == length && memcmp(drivers[i]->name, name, length) == 0) return drivers[i];
  return NULL;
}

static int no_such_device(const char *name, bool from_environment) {
  mw_text names = {0};
  list_devices(&names);
  const char *start = from_environment ? "$MOONWARP_DEVICE names the device" : "there is no device";
  const char *verb = from_environment ? ", which does not exist" : "";
  const mw_driver *driver = find_driver(name, strcspn(name, ":@"));
  bool empty = driver && driver->report && device_count(driver) == 0;
  int code = fail(MW_INVALID_DEVICE, "%s '%s'%s; this machine has %s%s", start, name, verb,
                  names.length ? names.data : "none that moonwarp can use", empty ? ". mw.doctor() says why" : "");
  mw_text_free(&names);
  return code;
}

/* "3" of "cuda:3": -1 if it is not a plain number. */
static int parse_ordinal(const char *text) {
  size_t length = strlen(text);
  if (length < 1 || length > 4 || strspn(text, "0123456789") != length) return -1;
  return atoi(text);
}

/* A parsed name: a driver's device, with its own capability (capability.major is 0) or with a given one. */
typedef struct choice {
  const mw_driver *driver;
  int ordinal;
  mw_capability capability;
} choice;

/* "cpu", "cpu:1", "cpu@1.1", "cpu:1@1.1" */
static int find_named(const char *name, bool from_environment, choice *out) {
  size_t length = strcspn(name, "@");
  const char *capability = name[length] ? name + length + 1 : NULL;
  char plain[32];
  if (length >= sizeof plain) return no_such_device(name, from_environment);
  memcpy(plain, name, length);
  plain[length] = '\0';
  size_t driver = strcspn(plain, ":");
  *out = (choice){.driver = find_driver(plain, driver)};
  out->ordinal = plain[driver] == ':' ? parse_ordinal(plain + driver + 1) : 0;
  int count = 0, code = out->driver ? out->driver->count(&count) : MW_SUCCESS;
  if (code != MW_SUCCESS) return code;
  if (out->ordinal < 0 || out->ordinal >= count) return no_such_device(plain, from_environment);
  if (!capability) return MW_SUCCESS;
  if (!out->driver->open_as)
    return fail(MW_INVALID_DEVICE, "the compute capability of '%s' is fixed: only \"cpu\" can be opened with another",
                plain);
  return mw_capability_find(capability, &out->capability);
}

int mw_device_simulate(const char *driver, const char *devices) {
  const mw_driver *found = find_driver(driver, strlen(driver));
  if (!found) return fail(MW_INVALID_VALUE, "there is no driver '%s'", driver);
  if (!found->simulate)
    return fail(MW_NOT_SUPPORTED, "the devices of '%s' are physical: their number cannot be set", driver);
  return found->simulate(devices);
}

/* ---- opening and closing ---- */

static int number_of(const mw_capability *capability) { return capability->major * 10 + capability->minor; }

static int open_device(const choice *wanted, mw_device **out) {
  mw_device *device = mw_alloc(sizeof *device);
  const mw_driver *driver = wanted->driver;
  int ordinal = wanted->ordinal;
  mw_refs_init(&device->refs);
  device->driver = driver;
  device->ordinal = ordinal;
  mw_failures_open(device);
  device->capability = number_of(&wanted->capability);
  snprintf(device->name, sizeof device->name, "%s:%d", driver->name, ordinal);
  if (device->capability) {
    size_t length = strlen(device->name);
    snprintf(device->name + length, sizeof device->name - length, "@%d.%d", wanted->capability.major,
             wanted->capability.minor);
  }
  int code = device->capability ? driver->open_as(ordinal, &wanted->capability, &device->state)
                                : driver->open(ordinal, &device->state);
  if (code != MW_SUCCESS) goto fail_open;
  code = driver->properties(device->state, &device->properties);
  if (code != MW_SUCCESS) goto fail_opened;
  code = mw_streams_open(device);
  if (code != MW_SUCCESS) goto fail_opened;
  *out = device;
  return MW_SUCCESS;
fail_opened:
  driver->close(device->state);
fail_open:
  mw_failures_close(device);
  free(device);
  return code;
}

static void close_device(mw_device *device) {
  mw_background_close(device);
  mw_elementwise_close(device);
  mw_peers_forget(device);
  mw_streams_close(device);
  mw_background_free(device);
  device->driver->close(device->state);
  mw_failures_close(device);
  free(device);
}

/* In a forked child: reinitialise the locks, which other threads of the parent may have held. */
static void lose_devices(void) {
  mw_lock_init(&list_lock);
  for (mw_device *device = open_devices; device; device = device->next) {
    mw_lock_init(&device->stream_lock);
    mw_lock_init(&device->failure_lock);
    mw_driver_lose(device->driver, &device->lost);
    device->driver = &device->lost;
  }
  open_devices = NULL;
}

static void watch_forks(void) { pthread_atfork(NULL, NULL, lose_devices); }

static bool is_wanted(const mw_device *device, const choice *wanted) {
  return device->driver == wanted->driver && device->ordinal == wanted->ordinal &&
         device->capability == number_of(&wanted->capability);
}

/* The wanted device, opened if necessary. Under the lock, so that two threads that open it at the same time share
   one. */
static int share_device(const choice *wanted, mw_device **out) {
  static pthread_once_t watched = PTHREAD_ONCE_INIT;
  int code = MW_SUCCESS;
  pthread_once(&watched, watch_forks);
  mw_lock(&list_lock);
  mw_device *device = open_devices;
  while (device && !is_wanted(device, wanted)) device = device->next;
  if (device) {
    mw_refs_take(&device->refs);
  } else if ((code = open_device(wanted, &device)) == MW_SUCCESS) {
    device->next = open_devices;
    open_devices = device;
  }
  mw_unlock(&list_lock);
  if (code == MW_SUCCESS) *out = device;
  return code;
}

void mw_devices_interrupt(void) {
  mw_lock(&list_lock);
  for (mw_device *device = open_devices; device; device = device->next)
    if (device->driver->interrupt) device->driver->interrupt(device->state);
  mw_unlock(&list_lock);
}

/* The first device of the first driver whose first device can be opened: an unusable GPU is skipped. */
static int open_default(mw_device **out) {
  int code = MW_NO_DEVICE;
  for (size_t i = 0; i < MW_COUNT(drivers) && code != MW_SUCCESS; i++) {
    int count = 0, counted = drivers[i]->count(&count);
    if (counted != MW_SUCCESS) code = counted;
    if (count > 0) code = share_device(&(const choice){.driver = drivers[i]}, out);
  }
  return code == MW_NO_DEVICE ? fail(code, "there is no device; mw.doctor() says what each driver lacks") : code;
}

int mw_device_open(const char *name, mw_device **out) {
  choice wanted;
  bool from_environment = !name;
  if (from_environment) name = getenv("MOONWARP_DEVICE");
  if (from_environment && (!name || !*name)) return open_default(out);
  int code = find_named(name, from_environment, &wanted);
  return code == MW_SUCCESS ? share_device(&wanted, out) : code;
}

mw_device *mw_device_retain(mw_device *device) {
  mw_refs_take(&device->refs);
  return device;
}

void mw_device_release(mw_device *device) {
  if (!device) return;
  /* The lock keeps mw_device_open from finding a device whose last reference is being released. */
  mw_lock(&list_lock);
  bool last = mw_refs_drop(&device->refs);
  if (last) {
    mw_device **link = &open_devices;
    while (*link && *link != device) link = &(*link)->next;
    if (*link) *link = device->next; /* else it was lost in a fork */
  }
  mw_unlock(&list_lock);
  if (last) close_device(device);
}

/* The driver's objects are lost; the core recognises its handles of them by the epoch. */
int mw_device_reset(mw_device *device) {
  if (atomic_load(&device->captures) > 0)
    return fail(MW_STREAM_CAPTURE_UNSUPPORTED, "%s cannot be reset while a graph is captured", device->name);
  if (atomic_load(&device->checking)) (void)mw_device_wait(device); /* what a checked run found stays in its report */
  int code = device->driver->reset ? device->driver->reset(device->state) : mw_device_wait(device);
  if (code != MW_SUCCESS) return code;
  if (device->driver->reset) atomic_fetch_add(&device->epoch, 1);
  mw_failures_clear(device);
  return MW_SUCCESS;
}

/* ---- facts ---- */

const char *mw_device_name(const mw_device *device) { return device->name; }
unsigned mw_device_resets(const mw_device *device) { return atomic_load(&device->epoch); }

int mw_device_properties(mw_device *device, mw_properties *out) {
  *out = device->properties;
  return MW_SUCCESS;
}

int mw_device_memory(mw_device *device, mw_memory *out) { return device->driver->memory(device->state, out); }

int mw_device_keep_printed(mw_device *device, int keep) {
  if (!device->driver->keep_printed)
    return fail(MW_NOT_SUPPORTED, "%s prints to stdout directly: its kernels' output cannot be captured", device->name);
  device->driver->keep_printed(device->state, keep != 0);
  return MW_SUCCESS;
}

size_t mw_device_printed(mw_device *device, char *text, size_t size) {
  return device->driver->printed ? device->driver->printed(device->state, text, size) : 0;
}

static const char *const limit_names[] = {
    [MW_LIMIT_TIME] = "time",
    [MW_LIMIT_MEMORY] = "memory",
    [MW_LIMIT_STACK] = "stack",
    [MW_LIMIT_COMPILE_TIME] = "compile_time",
    [MW_LIMIT_COMPILE_MEMORY] = "compile_memory",
    [MW_LIMIT_SPECIALISE] = "specialise",
    [MW_LIMIT_HEAP] = "heap",
    [MW_LIMIT_LAUNCHES] = "launches",
};

static const char *const limit_units[] = {
    [MW_LIMIT_TIME] = "seconds",         [MW_LIMIT_MEMORY] = "bytes",         [MW_LIMIT_STACK] = "bytes",
    [MW_LIMIT_COMPILE_TIME] = "seconds", [MW_LIMIT_COMPILE_MEMORY] = "bytes", [MW_LIMIT_SPECIALISE] = "threads",
    [MW_LIMIT_HEAP] = "bytes",           [MW_LIMIT_LAUNCHES] = "launches",
};

static int check_limit(mw_limit limit) {
  if ((unsigned)limit < MW_COUNT(limit_names)) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE, "%d is not a limit of moonwarp", (int)limit);
}

int mw_device_limit_get(mw_device *device, mw_limit limit, double *value) {
  int code = check_limit(limit);
  return code ? code : device->driver->limit_get(device->state, limit, value);
}

int mw_device_limit_set(mw_device *device, mw_limit limit, double value) {
  int code = check_limit(limit);
  if (code != MW_SUCCESS) return code;
  if (!isfinite(value) || value < 0)
    return fail(MW_INVALID_VALUE, "the limit '%s' wants a number of %s that is not negative, got %g",
                limit_names[limit], limit_units[limit], value);
  return device->driver->limit_set(device->state, limit, value);
}

/* ---- waiting ---- */

int mw_device_wait(mw_device *device) {
  int code = mw_capture_refuse_wait(device);
  if (code != MW_SUCCESS) return code;
  code = device->driver->stream_synchronize(device->stream);
  if (code != MW_SUCCESS && code != MW_NOT_READY) mw_failure_defer(device);
  int others = atomic_load(&device->stream_count) > 0 ? mw_streams_wait(device) : MW_SUCCESS;
  bool held = code == MW_NOT_READY || others == MW_NOT_READY;
  return held && !mw_stream_in_function() ? MW_NOT_READY : MW_SUCCESS;
}

int mw_device_synchronize(mw_device *device) {
  int refused = mw_capture_refuse_wait(device);
  if (refused != MW_SUCCESS) return refused;
  bool alone = atomic_load_explicit(&device->stream_count, memory_order_acquire) == 0 && !mw_stream_in_function();
  int code = alone ? device->driver->stream_synchronize(device->stream) : mw_device_wait(device);
  if (code == MW_NOT_READY) return code;
  int failure = mw_failure_raise(device, NULL, mw_owner_current());
  return failure ? failure : code;
}
