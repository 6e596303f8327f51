/* Devices in a forked child, where they are lost: the threads that run their kernels exist only in the parent, and
 * locks that these held stay locked.
 *
 * In the child the devices get another driver. Its functions that would queue, wait or lock fail, or do nothing if
 * they cannot fail; functions that only read the child's copy of memory still work. So no other function checks for a
 * fork, and a launch costs no more than without this. The next mw_device_open opens a new device in the child. */
#include "core.h"
#include "forked.h"

static int refuse(void) {
  return fail(
      MW_INITIALIZATION_ERROR,
      "the device was opened before the process forked, and it does not survive that: what was made on it is the "
      "parent's. Open a device in the child, with mw.use(\"cpu\") before anything else of moonwarp, and make its "
      "arrays and modules there; or fork before the parent opens one");
}

/* All parameters are ignored. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

static int no_memory(void *device, mw_memory *out) { return refuse(); }
static int no_limit(void *device, mw_limit limit, double value) { return refuse(); }
static size_t nothing_printed(void *device, char *text, size_t size) { return 0; }
static void keep_nothing(void *device, bool ignore_object) {}
static bool no_reach(void *device, void *other) { return false; }
static int no_peer(void *device, void *other, bool on) { return refuse(); }
static int no_alloc(void *device, mw_memory_kind kind, size_t bytes, uint64_t *address) { return refuse(); }
static bool found_nothing(void *device, uint64_t address, uint64_t *base, size_t *bytes) { return false; }
static bool reserves_nothing(void *device, uint64_t address) { return false; }
static void keep_address(void *device, uint64_t address) {}
static void ignore_object(void *object) {}
static int no_array(void *device, const mw_cuda_array_desc *desc, uint64_t *array) { return refuse(); }
static int no_array_copy(void *stream, const mw_array_box *box, mw_completion completion) { return refuse(); }
static int no_texture(void *device, const struct mw_tex_record *record, uint64_t array, int level, uint64_t *handle) {
  return refuse();
}
static int no_surface(void *device, uint64_t array, int level, uint64_t *handle) { return refuse(); }
static int no_stream(void *device, unsigned flags, int priority, mw_stream *handle, void **stream) { return refuse(); }
static int refuse_object(void *object) { return refuse(); }
static int refuse_pair(void *object, void *other) { return refuse(); }
static int no_call(void *stream, mw_completion function) { return refuse(); }
static int no_hold(void *stream, void **hold) { return refuse(); }
static bool unreached(void *hold) { return false; }
static int no_event(void *device, unsigned flags, void **event) { return refuse(); }
static int no_elapsed(void *start, void *end, double *milliseconds) { return refuse(); }
static int no_launch(void *stream, const mw_launch_request *request) { return refuse(); }
static int no_list(void *device, const mw_list_item *items, size_t count, void **list) { return refuse(); }
static int no_run(void *stream, void *list, mw_completion completion) { return refuse(); }
static int no_copy(void *stream, uint64_t target, uint64_t source, size_t bytes, mw_completion completion) {
  return refuse();
}
static int no_fill(void *stream, uint64_t target, const void *pattern, size_t size, size_t count,
                   mw_completion completion) {
  return refuse();
}
static int no_copy_box(void *stream, const mw_box *box, mw_completion completion) { return refuse(); }
static int no_copy_between(void *stream, void *to, void *from, const mw_box *box, mw_completion completion) {
  return refuse();
}
static int no_fill_box(void *stream, const mw_box *box, const void *pattern, size_t size, mw_completion completion) {
  return refuse();
}
static int no_write(void *stream, uint64_t target, const void *source, size_t bytes) { return refuse(); }
static int no_read(void *stream, uint64_t source, void *target, size_t bytes) { return refuse(); }
static int no_compile(void *device, const mw_source *source, const char *const *instances, size_t count,
                      const char *path) {
  return refuse();
}
static int no_load(void *device, const char *path, void *parent, const mw_source *origin, void **unit) {
  return refuse();
}
static uint64_t never_specialises(void *kernel, uint64_t blocks, uint64_t threads) { return 0; }

/* What a driver cannot do, or need not, the core learns from a member that is NULL: that stays so. */
#define PUT(member, function)                                                                                          \
  do {                                                                                                                 \
    if (lost->member) lost->member = (function);                                                                       \
  } while (0)

static void lose_memory(mw_driver *lost) {
  PUT(memory, no_memory);
  PUT(alloc, no_alloc);
  PUT(free, keep_address);
  PUT(find, found_nothing);
  PUT(reserves, reserves_nothing);
  PUT(array_new, no_array);
  PUT(array_free, keep_address);
  PUT(array_copy, no_array_copy);
  PUT(texture_new, no_texture);
  PUT(surface_new, no_surface);
  PUT(texture_free, keep_address);
  PUT(surface_free, keep_address);
}

static void lose_streams(mw_driver *lost) {
  PUT(stream_new, no_stream);
  PUT(stream_free, ignore_object);
  PUT(stream_synchronize, refuse_object);
  PUT(stream_query, refuse_object);
  PUT(stream_wait, refuse_pair);
  PUT(stream_call, no_call);
  PUT(hold_new, no_hold);
  PUT(hold_reached, unreached);
  PUT(hold_free, ignore_object);
  PUT(event_new, no_event);
  PUT(event_free, ignore_object);
  PUT(event_record, refuse_pair);
  PUT(event_query, refuse_object);
  PUT(event_synchronize, refuse_object);
  PUT(event_elapsed, no_elapsed);
}

static void lose_work(mw_driver *lost) {
  PUT(launch, no_launch);
  PUT(list_new, no_list);
  PUT(list_run, no_run);
  PUT(list_free, ignore_object);
  PUT(copy, no_copy);
  PUT(fill, no_fill);
  PUT(copy_box, no_copy_box);
  PUT(copy_between, no_copy_between);
  PUT(fill_box, no_fill_box);
  PUT(write, no_write);
  PUT(read, no_read);
}

void mw_driver_lose(const mw_driver *driver, mw_driver *lost) {
  *lost = *driver;
  PUT(close, ignore_object);
  PUT(reset, refuse_object);
  PUT(limit_set, no_limit);
  PUT(keep_printed, keep_nothing);
  PUT(printed, nothing_printed);
  PUT(can_reach, no_reach);
  PUT(reach, no_peer);
  PUT(interrupt, ignore_object);
  PUT(compile, no_compile);
  PUT(load, no_load);
  PUT(unload, ignore_object);
  PUT(specialises, never_specialises);
  lose_memory(lost);
  lose_streams(lost);
  lose_work(lost);
  lost->take_failures = NULL;
}
