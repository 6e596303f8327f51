/* Streams and events, under the names of both APIs. */
#include "host.h"

#include <pthread.h>

/* ---- streams ---- */

static int stream_new(host_context *context, unsigned flags, int priority, cudaStream_t *out) {
  mw_stream *stream;
  if (!out || flags > 1)
    return host_fail(MW_INVALID_VALUE,
                     out ? "a stream's flags are 0 or 1" : "the pointer that receives the stream is NULL");
  int code = mw_stream_new(context->device, flags, priority, &stream);
  if (code == MW_SUCCESS) *out = host_handle_new(HOST_STREAM, context->id, stream);
  return code;
}

static int stream_destroy(cudaStream_t handle) {
  if (!handle || handle == cudaStreamLegacy || handle == cudaStreamPerThread)
    return host_fail(MW_INVALID_RESOURCE_HANDLE, "a default stream cannot be destroyed");
  mw_stream *stream = host_handle_take(HOST_STREAM, handle);
  if (!stream) return host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not a stream, or one that was destroyed");
  mw_stream_release(stream);
  return MW_SUCCESS;
}

/* f(stream), with the stream of a handle. */
static int with_stream(host_context *context, cudaStream_t handle, int (*f)(mw_stream *stream)) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  code = f(stream);
  mw_stream_release(stream);
  return code;
}

static int get_event(cudaEvent_t handle, mw_event **out) {
  *out = host_handle_find(HOST_EVENT, handle);
  return *out ? MW_SUCCESS : host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not an event, or one that was destroyed");
}

static int stream_wait(host_context *context, cudaStream_t handle, cudaEvent_t which, unsigned flags) {
  mw_event *event;
  mw_stream *stream;
  if (flags != 0) return host_fail(MW_INVALID_VALUE, "the flags of cudaStreamWaitEvent are 0");
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  code = get_event(which, &event);
  if (code == MW_SUCCESS) {
    code = mw_stream_wait(stream, event);
    mw_event_release(event);
  }
  mw_stream_release(stream);
  return code;
}

typedef struct callback {
  cudaStream_t stream;
  cudaStreamCallback_t runtime;
  CUstreamCallback driver;
  void *data;
} callback;

static void run_callback(void *context) {
  callback call = *(callback *)context;
  free(context);
  if (call.runtime)
    call.runtime(call.stream, cudaSuccess, call.data);
  else
    call.driver(call.stream, CUDA_SUCCESS, call.data);
}

static int add_callback(host_context *context, const callback *call, unsigned flags) {
  mw_stream *stream;
  if (flags != 0 || (!call->runtime && !call->driver))
    return host_fail(MW_INVALID_VALUE, flags ? "the flags of a callback are 0" : "a callback is a function");
  int code = host_stream(context, call->stream, &stream);
  if (code != MW_SUCCESS) return code;
  callback *copy = malloc(sizeof *copy);
  if (!copy) abort();
  *copy = *call;
  /* A graph would call it in each launch, but its completion frees it. */
  code = mw_stream_capturing(stream, NULL)
             ? host_fail(MW_STREAM_CAPTURE_UNSUPPORTED, "callbacks cannot be captured: use cudaLaunchHostFunc")
             : mw_stream_call(stream, run_callback, copy);
  if (code != MW_SUCCESS) free(copy);
  mw_stream_release(stream);
  return code;
}

static int host_function(host_context *context, cudaStream_t handle, cudaHostFn_t function, void *data) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  code = mw_stream_call(stream, function, data);
  mw_stream_release(stream);
  return code;
}

/* Flags or priority of a stream. */
static int get_number(host_context *context, cudaStream_t handle, bool flags, int *out) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  *out = flags ? (int)(mw_stream_flags_of(stream) & MW_STREAM_NON_BLOCKING) : mw_stream_priority(stream);
  mw_stream_release(stream);
  return MW_SUCCESS;
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t *stream, unsigned flags, int priority) {
  HOST_RUNTIME(stream_new(context, flags, priority, stream));
}
cudaError_t cudaStreamCreateWithFlags(cudaStream_t *stream, unsigned flags) {
  return cudaStreamCreateWithPriority(stream, flags, 0);
}
cudaError_t cudaStreamCreate(cudaStream_t *stream) { return cudaStreamCreateWithPriority(stream, 0, 0); }
cudaError_t cudaStreamDestroy(cudaStream_t stream) { return host_end(stream_destroy(stream)); }
cudaError_t cudaStreamQuery(cudaStream_t stream) { HOST_RUNTIME(with_stream(context, stream, mw_stream_query)); }
cudaError_t cudaStreamSynchronize(cudaStream_t stream) {
  HOST_RUNTIME(with_stream(context, stream, mw_stream_synchronize));
}
cudaError_t cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t event, unsigned flags) {
  HOST_RUNTIME(stream_wait(context, stream, event, flags));
}
cudaError_t cudaStreamGetFlags(cudaStream_t stream, unsigned *flags) {
  HOST_RUNTIME(get_number(context, stream, true, (int *)flags));
}
cudaError_t cudaStreamGetPriority(cudaStream_t stream, int *priority) {
  HOST_RUNTIME(get_number(context, stream, false, priority));
}
cudaError_t cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data, unsigned flags) {
  HOST_RUNTIME(add_callback(context, &(callback){.stream = stream, .runtime = function, .data = data}, flags));
}
cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  HOST_RUNTIME(host_function(context, stream, function, data));
}

static int get_id(host_context *context, cudaStream_t handle, unsigned long long *id) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  *id = mw_stream_id(stream);
  mw_stream_release(stream);
  return MW_SUCCESS;
}

cudaError_t cudaStreamGetId(cudaStream_t stream, unsigned long long *id) { HOST_RUNTIME(get_id(context, stream, id)); }

static int priority_range(host_context *context, int *least, int *greatest) {
  int ignored;
  mw_stream_priorities(context->device, least ? least : &ignored, greatest ? greatest : &ignored);
  return MW_SUCCESS;
}

cudaError_t cudaDeviceGetStreamPriorityRange(int *least, int *greatest) {
  HOST_RUNTIME(priority_range(context, least, greatest));
}

/* ---- attributes: accepted and reported, and without effect where the hardware has none ---- */

typedef struct attributes {
  struct attributes *next;
  unsigned long long stream;
  cudaStreamAttrValue window, policy;
} attributes;

static struct {
  pthread_mutex_t lock;
  attributes *first;
} known = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Under the lock. */
static attributes *attributes_of(unsigned long long stream, bool make) {
  attributes *found = known.first;
  while (found && found->stream != stream) found = found->next;
  if (found || !make) return found;
  found = calloc(1, sizeof *found);
  if (!found) abort();
  found->stream = stream;
  found->next = known.first;
  return known.first = found;
}

static int exchange_attribute(host_context *context, cudaStream_t handle, cudaStreamAttrID which,
                              const cudaStreamAttrValue *set, cudaStreamAttrValue *get) {
  unsigned long long id;
  bool window = which == cudaStreamAttributeAccessPolicyWindow;
  if (!window && which != cudaStreamAttributeSynchronizationPolicy)
    return host_fail(MW_INVALID_VALUE, "a stream has no attribute %d", (int)which);
  if (set && window && !(set->accessPolicyWindow.hitRatio >= 0 && set->accessPolicyWindow.hitRatio <= 1))
    return host_fail(MW_INVALID_VALUE, "the hitRatio of an access-policy window is a number from 0 to 1");
  int code = get_id(context, handle, &id);
  if (code != MW_SUCCESS) return code;
  pthread_mutex_lock(&known.lock);
  attributes *found = attributes_of(id, set != NULL);
  cudaStreamAttrValue *place = !found ? NULL : window ? &found->window : &found->policy;
  if (set) *place = *set;
  if (get) *get = place ? *place : (cudaStreamAttrValue){0};
  pthread_mutex_unlock(&known.lock);
  return MW_SUCCESS;
}

cudaError_t cudaStreamSetAttribute(cudaStream_t stream, cudaStreamAttrID attr, const cudaStreamAttrValue *value) {
  HOST_RUNTIME(exchange_attribute(context, stream, attr, value, NULL));
}
cudaError_t cudaStreamGetAttribute(cudaStream_t stream, cudaStreamAttrID attr, cudaStreamAttrValue *value) {
  HOST_RUNTIME(exchange_attribute(context, stream, attr, NULL, value));
}

/* ---- events ---- */

static int event_new(host_context *context, unsigned flags, cudaEvent_t *out) {
  mw_event *event;
  int code = mw_event_new(context->device, flags, &event);
  if (code == MW_SUCCESS) *out = host_handle_new(HOST_EVENT, context->id, event);
  return code;
}

static int event_record(host_context *context, cudaEvent_t handle, cudaStream_t where) {
  mw_stream *stream;
  mw_event *event;
  int code = get_event(handle, &event);
  if (code != MW_SUCCESS) return code;
  code = host_stream(context, where, &stream);
  if (code == MW_SUCCESS) {
    code = mw_event_record(event, stream);
    mw_stream_release(stream);
  }
  mw_event_release(event);
  return code;
}

static int with_event(cudaEvent_t handle, int (*f)(mw_event *event)) {
  mw_event *event;
  int code = get_event(handle, &event);
  if (code != MW_SUCCESS) return code;
  code = f(event);
  mw_event_release(event);
  return code;
}

static int event_destroy(cudaEvent_t handle) {
  mw_event *event = host_handle_take(HOST_EVENT, handle);
  if (!event) return host_fail(MW_INVALID_RESOURCE_HANDLE, "this is not an event, or one that was destroyed");
  mw_event_release(event);
  return MW_SUCCESS;
}

static int event_elapsed(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  mw_event *first, *last;
  double between;
  int code = get_event(start, &first);
  if (code != MW_SUCCESS) return code;
  code = get_event(end, &last);
  if (code == MW_SUCCESS) {
    code = mw_event_elapsed(first, last, &between);
    if (code == MW_SUCCESS) *milliseconds = (float)between;
    mw_event_release(last);
  }
  mw_event_release(first);
  return code;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t *event, unsigned flags) {
  HOST_RUNTIME(event_new(context, flags, event));
}
cudaError_t cudaEventCreate(cudaEvent_t *event) { return cudaEventCreateWithFlags(event, 0); }
cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  HOST_RUNTIME(event_record(context, event, stream));
}
cudaError_t cudaEventRecordWithFlags(cudaEvent_t event, cudaStream_t stream, unsigned flags) {
  HOST_RUNTIME(flags > 1 ? host_fail(MW_INVALID_VALUE, "the flags of cudaEventRecordWithFlags are 0 or 1")
                         : event_record(context, event, stream));
}
cudaError_t cudaEventQuery(cudaEvent_t event) { return host_end(with_event(event, mw_event_query)); }
cudaError_t cudaEventSynchronize(cudaEvent_t event) { return host_end(with_event(event, mw_event_synchronize)); }
cudaError_t cudaEventDestroy(cudaEvent_t event) { return host_end(event_destroy(event)); }
cudaError_t cudaEventElapsedTime(float *milliseconds, cudaEvent_t start, cudaEvent_t end) {
  return host_end(event_elapsed(milliseconds, start, end));
}

/* ---- the driver API ---- */

CUresult cuStreamCreateWithPriority(CUstream *stream, unsigned flags, int priority) {
  HOST_DRIVER(stream_new(context, flags, priority, stream));
}
CUresult cuStreamCreate(CUstream *stream, unsigned flags) { return cuStreamCreateWithPriority(stream, flags, 0); }
CUresult cuStreamDestroy(CUstream stream) { HOST_DRIVER(stream_destroy(stream)); }
CUresult cuStreamQuery(CUstream stream) { HOST_DRIVER(with_stream(context, stream, mw_stream_query)); }
CUresult cuStreamSynchronize(CUstream stream) { HOST_DRIVER(with_stream(context, stream, mw_stream_synchronize)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
  HOST_DRIVER(stream_wait(context, stream, event, flags));
}
CUresult cuStreamGetPriority(CUstream stream, int *priority) {
  HOST_DRIVER(get_number(context, stream, false, priority));
}
CUresult cuStreamGetFlags(CUstream stream, unsigned *flags) {
  HOST_DRIVER(get_number(context, stream, true, (int *)flags));
}

/* A default stream belongs to the current context. */
static int get_context(host_context *context, CUstream handle, CUcontext *out) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code != MW_SUCCESS) return code;
  mw_stream_release(stream);
  const host_context *owner = host_handle_any_owned(HOST_CONTEXT, host_handle_owner(HOST_STREAM, handle));
  *out = (owner ? owner : context)->handle;
  return MW_SUCCESS;
}

CUresult cuStreamGetCtx(CUstream stream, CUcontext *out) { HOST_DRIVER(get_context(context, stream, out)); }

_Static_assert(sizeof(CUstreamAttrValue) == sizeof(cudaStreamAttrValue), "one value under two names");

CUresult cuStreamSetAttribute(CUstream stream, CUstreamAttrID attr, const CUstreamAttrValue *value) {
  cudaStreamAttrValue same;
  memcpy(&same, value, sizeof same);
  HOST_DRIVER(exchange_attribute(context, stream, (cudaStreamAttrID)attr, &same, NULL));
}
CUresult cuStreamGetAttribute(CUstream stream, CUstreamAttrID attr, CUstreamAttrValue *value) {
  host_context *context;
  cudaStreamAttrValue found;
  int code = host_context_driver(&context);
  if (code == MW_SUCCESS) code = exchange_attribute(context, stream, (cudaStreamAttrID)attr, NULL, &found);
  if (code == MW_SUCCESS) memcpy(value, &found, sizeof found);
  return host_end_driver(code);
}

CUresult cuStreamAddCallback(CUstream stream, CUstreamCallback function, void *data, unsigned flags) {
  HOST_DRIVER(add_callback(context, &(callback){.stream = stream, .driver = function, .data = data}, flags));
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void *data) {
  HOST_DRIVER(host_function(context, stream, function, data));
}
CUresult cuCtxGetStreamPriorityRange(int *least, int *greatest) {
  HOST_DRIVER(priority_range(context, least, greatest));
}
CUresult cuEventCreate(CUevent *event, unsigned flags) { HOST_DRIVER(event_new(context, flags, event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { HOST_DRIVER(event_record(context, event, stream)); }
CUresult cuEventQuery(CUevent event) { HOST_DRIVER(with_event(event, mw_event_query)); }
CUresult cuEventSynchronize(CUevent event) { HOST_DRIVER(with_event(event, mw_event_synchronize)); }
CUresult cuEventDestroy(CUevent event) { HOST_DRIVER(event_destroy(event)); }
CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  HOST_DRIVER(event_elapsed(milliseconds, start, end));
}
