/* What the files of the driver API share besides host.h: modules, their functions and their references. */
#ifndef MW_HOST_DRIVER_H
#define MW_HOST_DRIVER_H

#include "host/host.h"

enum { HOST_BLOCK = 4096 }; /* bytes of parameters */

/* A function of a module with the settings of cuFuncSet* and cuParamSet*. Repeated cuModuleGetFunction returns one
   handle. */
typedef struct host_function {
  mw_kernel *kernel;
  void *handle;
  CUmodule module; /* that it belongs to */
  unsigned shape[3];
  unsigned shared;
  size_t size;                     /* cuParamSetSize */
  unsigned char bytes[HOST_BLOCK]; /* the parameters, */
  unsigned char set[HOST_BLOCK];   /* and which of them were set */
} host_function;

/* A texture or surface reference: from cuModuleGetTexRef, or (without a symbol) from cuTexRefCreate. */
typedef struct host_texref {
  mw_symbol *symbol;
  void *handle;
  mw_texture_desc desc;
  mw_channels channels;
  unsigned flags;
  CUarray array; /* bound to it: an array, */
  CUmipmappedArray mipmap;
  CUdeviceptr address; /* or memory */
  size_t bytes, width, height, pitch;
} host_texref;

typedef struct host_module {
  mw_module *module;
  host_function **functions;
  host_texref **references;
  size_t function_count, reference_count;
} host_module;

int host_module_get(CUmodule handle, host_module **out);
int host_function_get(CUfunction handle, host_function **out);
/* The reference of a variable, made in the first call. */
int host_texref_new(host_context *context, host_module *module, const char *name, mw_reference_kind kind,
                    host_texref **out);
/* A launch with parameters as cuLaunchKernel takes them; yours. */
int host_driver_launch(host_function *f, const host_geometry *geometry, void **parameters, void **extra,
                       mw_launch **out);
/* A format of the driver API as the core's channels. */
int host_format(CUarray_format format, unsigned components, mw_channels *out);
CUarray_format host_format_of(const mw_channels *channels);
/* The array of a handle, retained; MW_INVALID_RESOURCE_HANDLE. */
int host_driver_array(CUarray handle, mw_cuda_array **out);
/* Whether a copy's two contexts exist; MW_INVALID_CONTEXT. */
int host_check_peers(CUcontext target, CUcontext source);

/* The body of a function that equals one of the runtime API, with the same handles and numbers. It needs a current
   context, and leaves what cudaGetLastError returns unchanged. `then` may use `code`. */
#define HOST_THROUGH_THEN(call, then)                                                                                  \
  host_context *context;                                                                                               \
  int code = host_context_driver(&context), before = host_last_error();                                                \
  if (code != MW_SUCCESS) return host_end_driver(code);                                                                \
  code = (int)(call);                                                                                                  \
  then;                                                                                                                \
  return host_end_through(code, before)
#define HOST_THROUGH(call) HOST_THROUGH_THEN(call, (void)0)

#endif
