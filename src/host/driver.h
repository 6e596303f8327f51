/* What the files of the driver API share besides host.h: modules and what is of them. */
#ifndef MW_HOST_DRIVER_H
#define MW_HOST_DRIVER_H

#include "host.h"

enum { HOST_BLOCK = 4096 }; /* bytes of parameters */

/* A function of a module, with what cuFuncSet* and cuParamSet* told it. Handles are one a name: asking twice gives the
   same. */
typedef struct host_function {
  mw_kernel *kernel;
  void *handle;
  unsigned shape[3];
  unsigned shared;
  size_t size;                     /* cuParamSetSize */
  unsigned char bytes[HOST_BLOCK]; /* the parameters, */
  unsigned char set[HOST_BLOCK];   /* and which of them were set */
} host_function;

/* A texture or surface reference: cuModuleGetTexRef's, or (no symbol) cuTexRefCreate's. */
typedef struct host_texref {
  mw_symbol *symbol;
  void *handle;
  mw_texture_desc desc;
  mw_channels channels;
  unsigned flags;
  CUarray array;       /* what it is bound to: an array, */
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
/* The reference of a variable, made at the first time. */
int host_texref_new(host_context *context, host_module *module, const char *name, mw_reference_kind kind,
                    host_texref **out);
/* The format of the driver API as the core's. */
int host_format(CUarray_format format, unsigned components, mw_channels *out);
CUarray_format host_format_of(const mw_channels *channels);
/* The array of a handle, retained; MW_INVALID_RESOURCE_HANDLE. */
int host_driver_array(CUarray handle, mw_cuda_array **out);

#endif
