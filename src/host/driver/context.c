/* Contexts, and the current context of each thread.
 *
 * Each thread has a stack of contexts (cuCtxPushCurrent). The runtime API, whose functions name at most a device,
 * uses the topmost. If the stack is empty, it pushes the device's primary context, as CUDA does, so that both APIs
 * use the same. The stack holds handles, so a context that another thread destroyed is recognised. */
#include "host/host.h"

#include <pthread.h>
#include <stdatomic.h>

enum { DEVICES = 64, DEPTH = 64 };

static struct {
  pthread_once_t once;
  pthread_mutex_t lock; /* held while a device is opened */
  char names[DEVICES][32];
  int count, first; /* first: the device that is current in a new thread */
  host_context *primary[DEVICES];
  atomic_uint serial;
} devices = {.once = PTHREAD_ONCE_INIT, .lock = PTHREAD_MUTEX_INITIALIZER};

static atomic_bool initialised; /* by cuInit */

static _Thread_local struct {
  void *stack[DEPTH];
  int depth;
  int ordinal; /* the argument of cudaSetDevice + 1, while the stack is empty; 0: none */
} thread;

/* ---- devices by number ---- */

/* Whether two names mean one device: "cpu:1@1.1" is "cpu:1", opened with a compute capability. */
static bool same_device(const char *a, const char *b) {
  size_t length = strcspn(a, "@");
  return length == strcspn(b, "@") && memcmp(a, b, length) == 0;
}

/* $MOONWARP_DEVICE names the device that new threads use, and may state its compute capability. */
static void list_devices(void) {
  char name[32];
  while (devices.count < DEVICES - 1 && mw_device_list((size_t)devices.count, name) == MW_SUCCESS)
    memcpy(devices.names[devices.count++], name, sizeof name);
  const char *wanted = getenv("MOONWARP_DEVICE");
  mw_device *device;
  if (!wanted || !*wanted || mw_device_open(NULL, &device) != MW_SUCCESS) return;
  while (devices.first < devices.count && !same_device(devices.names[devices.first], mw_device_name(device)))
    devices.first++;
  if (devices.first == devices.count) devices.count++;
  snprintf(devices.names[devices.first], sizeof name, "%.31s", mw_device_name(device));
  mw_device_release(device);
}

int host_device_count(void) {
  pthread_once(&devices.once, list_devices);
  return devices.count;
}

const char *host_device_name(int ordinal) {
  if (ordinal >= 0 && ordinal < host_device_count()) return devices.names[ordinal];
  host_fail(MW_INVALID_DEVICE, "there is no device %d: there are %d, counted from 0", ordinal, host_device_count());
  return NULL;
}

int host_device_find(const char *name) {
  for (int i = 0; i < host_device_count(); i++)
    if (same_device(devices.names[i], name)) return i;
  return -1;
}

int host_device_ordinal(const mw_device *device) { return device ? host_device_find(mw_device_name(device)) : -1; }

/* ---- making and ending ---- */

static host_context *context_new(int ordinal, mw_device *device, bool primary) {
  host_context *context = calloc(1, sizeof *context);
  if (!context) abort();
  *context = (host_context){.id = atomic_fetch_add(&devices.serial, 1) + 1,
                            .ordinal = ordinal,
                            .device = device,
                            .primary = primary,
                            .uses = primary ? 0 : 1};
  context->handle = host_handle_new(HOST_CONTEXT, context->id, context); /* its own */
  return context;
}

int host_context_primary(int ordinal, host_context **out) {
  const char *name = host_device_name(ordinal);
  if (!name) return host_device_count() ? MW_INVALID_DEVICE : MW_NO_DEVICE;
  int code = MW_SUCCESS;
  pthread_mutex_lock(&devices.lock);
  if (!devices.primary[ordinal]) {
    mw_device *device;
    code = mw_device_open(name, &device);
    if (code == MW_SUCCESS) devices.primary[ordinal] = context_new(ordinal, device, true);
  }
  *out = devices.primary[ordinal];
  pthread_mutex_unlock(&devices.lock);
  return code;
}

/* The object has an entry under another key, which releases it. */
static void keep_object(void *object) { (void)object; }

static void release_array(void *array) {
  mw_cuda_array_free(array);
  mw_cuda_array_release(array);
}

/* How to release the objects of a context, in an order in which none is needed by those that remain. */
static const struct {
  host_kind kind;
  void (*release)(void *object);
} ending[] = {
    {HOST_GENERATOR, host_generator_release},
    {HOST_DISTRIBUTION, keep_object},
    {HOST_NODE, host_node_release},
    {HOST_EXEC, (void (*)(void *))mw_graph_exec_release},
    {HOST_GRAPH, host_graph_release},
    {HOST_SHOWN, keep_object},
    {HOST_REFERENCE, host_reference_release},
    {HOST_MODULE, host_module_release},
    {HOST_TEXREF, host_texref_release},
    {HOST_TEXTURE, host_object_release},
    {HOST_SURFACE, host_object_release},
    {HOST_GRAPHICS, host_graphics_release},
    {HOST_BUFFER_NAME, host_graphics_release},
    {HOST_ARRAY, release_array},
    {HOST_MIPMAP, release_array},
    {HOST_EVENT, (void (*)(void *))mw_event_release},
    {HOST_STREAM, (void (*)(void *))mw_stream_release},
};

static void free_memory(const host_context *context) {
  mw_memory_info info;
  for (size_t i = 0; mw_memory_live(i, &info) == MW_SUCCESS;) {
    bool ours = info.flags >> HOST_FLAG_BITS == context->id;
    int code = !ours                               ? MW_INVALID_VALUE
               : info.kind == MW_MEMORY_REGISTERED ? mw_memory_unregister(info.address)
                                                   : mw_memory_free(info.address);
    if (code != MW_SUCCESS) i++;
  }
}

void host_context_empty(host_context *context) {
  void *object;
  (void)mw_device_synchronize(context->device);
  for (size_t i = 0; i < sizeof ending / sizeof *ending; i++)
    while ((object = host_handle_take_owned(ending[i].kind, context->id)) != NULL) ending[i].release(object);
  host_program_drop(context);
  free_memory(context);
  if (!context->primary) return;
  host_limits_reset(context);
  context->flags = 0;
  for (int i = 0; i < devices.count; i++)
    if (i != context->ordinal && devices.primary[i]) mw_device_unreach(context->device, devices.primary[i]->device);
}

/* ---- a thread's contexts ---- */

static int ordinal_of_thread(void) {
  host_device_count();
  return thread.ordinal ? thread.ordinal - 1 : devices.first;
}

static host_context *top(void) {
  return thread.depth ? host_handle_find(HOST_CONTEXT, thread.stack[thread.depth - 1]) : NULL;
}

int host_context_current(host_context **out) {
  if (thread.depth == 0) {
    int code = host_context_primary(ordinal_of_thread(), out);
    if (code == MW_SUCCESS) thread.stack[thread.depth++] = (*out)->handle;
    return code;
  }
  *out = top();
  return *out ? MW_SUCCESS : host_fail(cudaErrorContextIsDestroyed, "the thread's current context was destroyed");
}

int host_context_driver(host_context **out) {
  if (!atomic_load(&initialised))
    return host_fail(MW_INITIALIZATION_ERROR, "cuInit must be called before all other functions");
  if (thread.depth == 0)
    return host_fail(MW_INVALID_CONTEXT, "this thread has no current context: cuCtxCreate makes one");
  *out = top();
  return *out ? MW_SUCCESS : host_fail(cudaErrorContextIsDestroyed, "the thread's current context was destroyed");
}

static int push(void *handle) {
  if (thread.depth == DEPTH) return host_fail(MW_INVALID_VALUE, "a thread's stack takes %d contexts", DEPTH);
  thread.stack[thread.depth++] = handle;
  return MW_SUCCESS;
}

int host_stream(host_context *context, cudaStream_t stream, mw_stream **out) {
  if (!stream || stream == cudaStreamLegacy) {
    *out = mw_stream_retain(mw_device_stream(context->device));
    return MW_SUCCESS;
  }
  if (stream == cudaStreamPerThread) return mw_stream_per_thread(context->device, out);
  *out = host_handle_find(HOST_STREAM, stream);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a stream, or one that was destroyed");
}

int host_context_stream(cudaStream_t stream, host_context **context, mw_stream **out) {
  int code = host_context_current(context);
  return code ? code : host_stream(*context, stream, out);
}

/* ---- the runtime API's ---- */

cudaError_t cudaGetDeviceCount(int *count) {
  if (!count) return host_end(host_fail(MW_INVALID_VALUE, "the pointer that receives the number is NULL"));
  *count = host_device_count();
  return host_end(*count ? MW_SUCCESS : host_fail(MW_NO_DEVICE, "there is no device"));
}

cudaError_t cudaSetDevice(int device) {
  host_context *context;
  if (!host_device_name(device)) return host_end(MW_INVALID_DEVICE);
  if (thread.depth == 0) {
    thread.ordinal = device + 1;
    return host_end(MW_SUCCESS);
  }
  int code = host_context_primary(device, &context);
  if (code == MW_SUCCESS) thread.stack[thread.depth - 1] = context->handle;
  return host_end(code);
}

cudaError_t cudaGetDevice(int *device) {
  const host_context *context = top();
  *device = context ? context->ordinal : ordinal_of_thread();
  return host_end(MW_SUCCESS);
}

/* ---- the driver API's ---- */

CUresult cuInit(unsigned flags) {
  if (flags != 0) return host_end_driver(host_fail(MW_INVALID_VALUE, "the flags of cuInit are 0"));
  if (host_device_count() == 0) return host_end_driver(host_fail(MW_NO_DEVICE, "there is no device"));
  atomic_store(&initialised, true);
  return CUDA_SUCCESS;
}

static int need_init(void) {
  return atomic_load(&initialised)
             ? MW_SUCCESS
             : host_fail(MW_INITIALIZATION_ERROR, "cuInit must be called before all other functions");
}

CUresult cuDeviceGetCount(int *count) {
  int code = need_init();
  if (code == MW_SUCCESS) *count = host_device_count();
  return host_end_driver(code);
}

CUresult cuDeviceGet(CUdevice *device, int ordinal) {
  int code = need_init();
  if (code == MW_SUCCESS && !host_device_name(ordinal)) code = MW_INVALID_DEVICE;
  if (code == MW_SUCCESS) *device = ordinal;
  return host_end_driver(code);
}

CUresult cuCtxCreate(CUcontext *out, unsigned flags, CUdevice ordinal) {
  host_context *primary;
  int code = need_init();
  if (code == MW_SUCCESS && flags > 31) code = host_fail(MW_INVALID_VALUE, "a context's flags are 0 to 31");
  if (code == MW_SUCCESS) code = host_context_primary(ordinal, &primary);
  if (code == MW_SUCCESS && thread.depth == DEPTH) code = push(NULL);
  if (code != MW_SUCCESS) return host_end_driver(code);
  host_context *context = context_new(ordinal, mw_device_retain(primary->device), false);
  context->flags = flags;
  *out = context->handle;
  return host_end_driver(push(context->handle));
}

static void context_end(host_context *context) {
  host_handle_take(HOST_CONTEXT, context->handle);
  if (thread.depth && thread.stack[thread.depth - 1] == context->handle) thread.depth--;
  host_context_empty(context);
  mw_device_release(context->device);
  free(context);
}

/* The context of a handle that may be destroyed or attached to. */
static int find_context(CUcontext handle, host_context **out) {
  int code = need_init();
  if (code != MW_SUCCESS) return code;
  *out = host_handle_find(HOST_CONTEXT, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_CONTEXT, "this is not a context, or one that was destroyed");
}

CUresult cuCtxDestroy(CUcontext handle) {
  host_context *context;
  int code = find_context(handle, &context);
  if (code == MW_SUCCESS && context->primary)
    code = host_fail(MW_INVALID_CONTEXT, "a primary context cannot be destroyed: cuDevicePrimaryCtxReset empties it");
  if (code == MW_SUCCESS) context_end(context);
  return host_end_driver(code);
}

CUresult cuCtxAttach(CUcontext *out, unsigned flags) {
  host_context *context;
  int code = host_context_driver(&context);
  if (code == MW_SUCCESS && flags != 0) code = host_fail(MW_INVALID_VALUE, "the flags of cuCtxAttach are 0");
  if (code != MW_SUCCESS) return host_end_driver(code);
  context->uses++;
  *out = context->handle;
  return CUDA_SUCCESS;
}

CUresult cuCtxDetach(CUcontext handle) {
  host_context *context;
  int code = find_context(handle, &context);
  if (code == MW_SUCCESS && (thread.depth == 0 || thread.stack[thread.depth - 1] != (void *)handle))
    code = host_fail(MW_INVALID_CONTEXT, "a context is detached by the thread in which it is current");
  if (code == MW_SUCCESS && --context->uses == 0 && !context->primary) context_end(context);
  return host_end_driver(code);
}

CUresult cuCtxPushCurrent(CUcontext handle) {
  host_context *context;
  int code = find_context(handle, &context);
  return host_end_driver(code ? code : push(handle));
}

CUresult cuCtxPopCurrent(CUcontext *out) {
  host_context *context;
  int code = host_context_driver(&context);
  if (code != MW_SUCCESS) return host_end_driver(code);
  thread.depth--;
  if (out) *out = context->handle;
  return CUDA_SUCCESS;
}

CUresult cuCtxSetCurrent(CUcontext handle) {
  host_context *context;
  int code = need_init();
  if (code == MW_SUCCESS && !handle) {
    if (thread.depth) thread.depth--;
    return CUDA_SUCCESS;
  }
  if (code == MW_SUCCESS) code = find_context(handle, &context);
  if (code == MW_SUCCESS && thread.depth) thread.depth--;
  return host_end_driver(code ? code : push(handle));
}

CUresult cuCtxGetCurrent(CUcontext *out) {
  int code = need_init();
  if (code == MW_SUCCESS) *out = thread.depth ? thread.stack[thread.depth - 1] : NULL;
  return host_end_driver(code);
}

CUresult cuCtxGetDevice(CUdevice *out) {
  host_context *context;
  int code = host_context_driver(&context);
  if (code == MW_SUCCESS) *out = context->ordinal;
  return host_end_driver(code);
}

CUresult cuCtxGetFlags(unsigned *flags) {
  host_context *context;
  int code = host_context_driver(&context);
  if (code == MW_SUCCESS) *flags = context->flags;
  return host_end_driver(code);
}

CUresult cuCtxGetApiVersion(CUcontext handle, unsigned *version) {
  host_context *context;
  int code = handle ? find_context(handle, &context) : host_context_driver(&context);
  if (code == MW_SUCCESS) *version = CUDA_VERSION;
  return host_end_driver(code);
}

CUresult cuCtxSynchronize(void) {
  host_context *context;
  int code = host_context_driver(&context);
  return host_end_driver(code ? code : mw_device_synchronize(context->device));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice ordinal) {
  host_context *context;
  int code = need_init();
  if (code == MW_SUCCESS) code = host_context_primary(ordinal, &context);
  if (code != MW_SUCCESS) return host_end_driver(code);
  context->uses++;
  *out = context->handle;
  return CUDA_SUCCESS;
}

CUresult cuDevicePrimaryCtxRelease(CUdevice ordinal) {
  host_context *context;
  int code = need_init();
  if (code == MW_SUCCESS) code = host_context_primary(ordinal, &context);
  if (code == MW_SUCCESS && context->uses == 0)
    code = host_fail(MW_INVALID_CONTEXT, "the device's primary context is not retained");
  if (code == MW_SUCCESS && --context->uses == 0) host_context_empty(context);
  return host_end_driver(code);
}

CUresult cuDevicePrimaryCtxSetFlags(CUdevice ordinal, unsigned flags) {
  host_context *context;
  int code = need_init();
  if (code == MW_SUCCESS && flags > 31) code = host_fail(MW_INVALID_VALUE, "a context's flags are 0 to 31");
  if (code == MW_SUCCESS) code = host_context_primary(ordinal, &context);
  if (code == MW_SUCCESS) context->flags = flags;
  return host_end_driver(code);
}

CUresult cuDevicePrimaryCtxGetState(CUdevice ordinal, unsigned *flags, int *active) {
  host_context *context;
  int code = need_init();
  if (code == MW_SUCCESS) code = host_context_primary(ordinal, &context);
  if (code != MW_SUCCESS) return host_end_driver(code);
  *flags = context->flags;
  *active = context->uses > 0;
  return CUDA_SUCCESS;
}

static int reach(CUcontext handle, bool on, unsigned flags) {
  host_context *context, *peer;
  int code = host_context_driver(&context);
  if (code == MW_SUCCESS) code = find_context(handle, &peer);
  if (code == MW_SUCCESS && flags != 0) code = host_fail(MW_INVALID_VALUE, "the flags of peer access are 0");
  if (code != MW_SUCCESS) return code;
  return on ? mw_device_reach(context->device, peer->device) : mw_device_unreach(context->device, peer->device);
}

CUresult cuCtxEnablePeerAccess(CUcontext peer, unsigned flags) { return host_end_driver(reach(peer, true, flags)); }
CUresult cuCtxDisablePeerAccess(CUcontext peer) { return host_end_driver(reach(peer, false, 0)); }

CUresult cuDevicePrimaryCtxReset(CUdevice ordinal) {
  host_context *context;
  int code = need_init();
  if (code == MW_SUCCESS) code = host_context_primary(ordinal, &context);
  if (code == MW_SUCCESS) host_context_empty(context);
  return host_end_driver(code);
}
