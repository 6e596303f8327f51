/* Results: CUDA's codes, each thread's last error, and its message.
 *
 * The core's codes are the runtime API's numbers (mw_result), so only the driver API's must be looked up. */
#include "host.h"

#include <stdarg.h>

static _Thread_local int last;        /* cudaGetLastError */
static _Thread_local char *message;   /* mwCudaErrorMessage */
static _Thread_local bool is_message; /* whether `message` belongs to the failure that host_end will receive */

/* Sets the message from this library. */
static void set_message(const char *format, va_list arguments) {
  char *text = NULL;
  if (vasprintf(&text, format, arguments) < 0) text = NULL;
  free(message);
  message = text;
}

__attribute__((format(printf, 1, 2))) static void set_text(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_message(format, arguments);
  va_end(arguments);
}

int host_fail(int code, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  set_message(format, arguments);
  va_end(arguments);
  is_message = true;
  return code;
}

/* The core's message, unless this library set one. */
static void set_core_message(int code) {
  const mw_error *error = mw_error_last();
  if (!is_message && error && error->code == code) {
    if (error->log && *error->log)
      set_text("%s\n%s", error->message, error->log);
    else
      set_text("%s", error->message);
  } else if (!is_message) {
    set_text("%s", mw_result_text(code));
  }
  is_message = false;
}

cudaError_t host_end(int code) {
  if (code != MW_SUCCESS && code != MW_NOT_READY) {
    set_core_message(code);
    last = code;
  }
  is_message = false;
  return (cudaError_t)code;
}

CUresult host_end_driver(int code) {
  if (code != MW_SUCCESS && code != MW_NOT_READY) set_core_message(code);
  is_message = false;
#define RESULT(name, number, runtime)                                                                                  \
  case (int)runtime: return name;
  switch (code) { MW_CUDA_RESULTS(RESULT) }
#undef RESULT
  /* The driver API has one code for several of the runtime API. */
  if (code == MW_INVALID_SYMBOL) return CUDA_ERROR_NOT_FOUND;
  if (code == MW_INVALID_DEVICE_FUNCTION) return CUDA_ERROR_INVALID_HANDLE;
  return code < 100 ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_UNKNOWN;
}

int host_last_error(void) { return last; }

CUresult host_end_through(int code, int before) {
  last = before;
  is_message = code != MW_SUCCESS; /* the runtime API's function has set the message */
  return host_end_driver(code);
}

const char *mwCudaErrorMessage(void) { return message ? message : ""; }

cudaError_t cudaGetLastError(void) {
  cudaError_t code = (cudaError_t)last;
  last = MW_SUCCESS;
  return code;
}

cudaError_t cudaPeekAtLastError(void) { return (cudaError_t)last; }

/* The core's table gives unknown numbers the name of MW_UNKNOWN. */
static bool is_known(int code) {
  return code == MW_UNKNOWN || strcmp(mw_result_name(code), mw_result_name(MW_UNKNOWN)) != 0;
}

const char *cudaGetErrorName(cudaError_t error) {
  return is_known((int)error) ? mw_result_name((int)error) : "unrecognized error code";
}

const char *cudaGetErrorString(cudaError_t error) {
  return is_known((int)error) ? mw_result_text((int)error) : "unrecognized error code";
}

/* ---- the driver API's ---- */

CUresult cuGetErrorName(CUresult error, const char **name) {
  *name = NULL;
#define NAME(id, number, runtime)                                                                                      \
  case id: *name = #id; break;
  switch ((int)error) { MW_CUDA_RESULTS(NAME) }
#undef NAME
  return *name ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuGetErrorString(CUresult error, const char **text) {
  *text = NULL;
#define TEXT(id, number, runtime)                                                                                      \
  case id: *text = mw_result_text((int)runtime); break;
  switch ((int)error) { MW_CUDA_RESULTS(TEXT) }
#undef TEXT
  return *text ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
