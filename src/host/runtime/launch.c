/* Launching under the runtime API's names: cudaLaunchKernel, and the triple cudaConfigureCall, cudaSetupArgument,
 * cudaLaunch. Arguments are bytes here; the core knows the parameters' types and checks sizes. */
#include "host/host.h"

/* ---- arguments ---- */

static int launch_new(mw_kernel *kernel, const host_geometry *g, mw_launch **out) {
  enum { PORTABLE = 8 };
  unsigned cluster[3];
  bool larger, given = g->cluster[0] > 0;
  host_function_cluster(kernel, cluster, &larger);
  if (given) memcpy(cluster, g->cluster, sizeof cluster);
  if (cluster[0] * cluster[1] * cluster[2] > PORTABLE && !larger)
    return host_fail(MW_INVALID_CLUSTER_SIZE,
                     "a cluster of %u blocks: more than %d want cudaFuncAttributeNonPortableClusterSizeAllowed",
                     cluster[0] * cluster[1] * cluster[2], PORTABLE);
  int code = mw_launch_new(kernel, g->grid, g->block, g->shared, out);
  if (code != MW_SUCCESS) return code;
  if (g->cooperative) mw_launch_cooperate(*out);
  if (g->dependent) mw_launch_depend(*out);
  if (cluster[0]) code = mw_launch_cluster(*out, cluster);
  if (code != MW_SUCCESS) mw_launch_release(*out);
  return code;
}

int host_launch_pointers(mw_kernel *kernel, const host_geometry *geometry, void *const *arguments, mw_launch **out) {
  const mw_kernel_info *info = mw_kernel_describe(kernel);
  mw_launch *launch;
  int code = launch_new(kernel, geometry, &launch);
  if (code != MW_SUCCESS) return code;
  if (!arguments && info->param_count > 0)
    code =
        host_fail(MW_INVALID_VALUE, "%s has %zu parameters, and there are no arguments", info->name, info->param_count);
  for (size_t i = 0; i < info->param_count && code == MW_SUCCESS; i++)
    code = arguments[i] ? mw_launch_bytes(launch, i, arguments[i], info->params[i].type->size)
                        : host_fail(MW_INVALID_VALUE, "argument %zu of %s is NULL: it is a pointer to the value", i + 1,
                                    info->name);
  if (code != MW_SUCCESS)
    mw_launch_release(launch);
  else
    *out = launch;
  return code;
}

/* Whether the bytes of a parameter were all set. */
static bool is_set(const unsigned char *set, size_t from, size_t bytes, size_t size) {
  if (from + bytes > size) return false;
  for (size_t i = from; set && i < from + bytes; i++)
    if (!set[i]) return false;
  return true;
}

int host_launch_block(mw_kernel *kernel, const host_geometry *geometry, const unsigned char *block,
                      const unsigned char *set, size_t size, mw_launch **out) {
  const mw_kernel_info *info = mw_kernel_describe(kernel);
  mw_launch *launch;
  int code = launch_new(kernel, geometry, &launch);
  if (code != MW_SUCCESS) return code;
  for (size_t i = 0; i < info->param_count && code == MW_SUCCESS; i++) {
    const mw_param *p = &info->params[i];
    if (is_set(set, p->offset, p->type->size, size))
      code = mw_launch_bytes(launch, i, block + p->offset, p->type->size);
    else
      code = host_fail(MW_INVALID_VALUE, "parameter %zu '%s' of %s has %zu bytes at offset %zu, and not all were set",
                       i + 1, p->name, info->name, p->type->size, p->offset);
  }
  if (code != MW_SUCCESS)
    mw_launch_release(launch);
  else
    *out = launch;
  return code;
}

/* ---- cudaLaunchKernel ---- */

static host_geometry geometry_of(dim3 grid, dim3 block, size_t shared) {
  return (host_geometry){{grid.x, grid.y, grid.z}, {block.x, block.y, block.z}, shared, false, false, {0}};
}

int host_launch_run(host_context *context, mw_launch *launch, cudaStream_t handle) {
  mw_stream *stream;
  int code = host_stream(context, handle, &stream);
  if (code == MW_SUCCESS) {
    code = mw_launch_run_in(launch, stream, NULL);
    mw_stream_release(stream);
  }
  mw_launch_release(launch);
  return code;
}

static int launch_kernel(host_context *context, const void *func, const host_geometry *geometry, void *const *arguments,
                         cudaStream_t stream) {
  mw_kernel *kernel;
  mw_launch *launch;
  int code = host_kernel(context, func, &kernel);
  if (code == MW_SUCCESS) code = host_launch_pointers(kernel, geometry, arguments, &launch);
  return code ? code : host_launch_run(context, launch, stream);
}

cudaError_t cudaLaunchKernel(const void *func, dim3 grid, dim3 block, void **arguments, size_t shared,
                             cudaStream_t stream) {
  const host_geometry geometry = geometry_of(grid, block, shared);
  HOST_RUNTIME(launch_kernel(context, func, &geometry, arguments, stream));
}

cudaError_t cudaLaunchCooperativeKernel(const void *func, dim3 grid, dim3 block, void **arguments, size_t shared,
                                        cudaStream_t stream) {
  host_geometry geometry = geometry_of(grid, block, shared);
  geometry.cooperative = true;
  HOST_RUNTIME(launch_kernel(context, func, &geometry, arguments, stream));
}

/* ---- the triple ---- */

enum { BLOCK = 4096 };

typedef struct configuration {
  struct configuration *outer; /* calls nest, as <<< >>> does within arguments */
  host_geometry geometry;
  cudaStream_t stream;
  size_t count; /* of arguments */
  struct {
    size_t offset, size;
  } arguments[BLOCK / 4];
  unsigned char bytes[BLOCK];
} configuration;

static _Thread_local configuration *innermost;

cudaError_t cudaConfigureCall(dim3 grid, dim3 block, size_t shared, cudaStream_t stream) {
  configuration *new = malloc(sizeof *new);
  if (!new) return host_end(host_fail(MW_MEMORY_ALLOCATION, "no memory for a configuration"));
  new->outer = innermost;
  new->geometry = geometry_of(grid, block, shared);
  new->stream = stream;
  new->count = 0;
  innermost = new;
  return host_end(MW_SUCCESS);
}

static int setup_argument(const void *argument, size_t size, size_t offset) {
  configuration *c = innermost;
  if (!c) return host_fail(MW_MISSING_CONFIGURATION, "cudaConfigureCall must be called before cudaSetupArgument");
  if (!argument || size == 0 || size > BLOCK || offset > BLOCK - size)
    return host_fail(MW_INVALID_VALUE, "cudaSetupArgument wants a value, a size and an offset below %d", BLOCK);
  size_t i = 0;
  while (i < c->count && c->arguments[i].offset != offset) i++;
  if (i == sizeof c->arguments / sizeof *c->arguments)
    return host_fail(MW_INVALID_VALUE, "more arguments than a kernel can have");
  c->arguments[i].offset = offset;
  c->arguments[i].size = size;
  if (i == c->count) c->count++;
  memcpy(c->bytes + offset, argument, size);
  return MW_SUCCESS;
}

cudaError_t cudaSetupArgument(const void *argument, size_t size, size_t offset) {
  return host_end(setup_argument(argument, size, offset));
}

/* Each argument must be a parameter, and each parameter must have an argument. */
static int check_arguments(const mw_kernel_info *info, const configuration *c) {
  for (size_t i = 0; i < info->param_count; i++) {
    const mw_param *p = &info->params[i];
    size_t k = 0;
    while (k < c->count && c->arguments[k].offset != p->offset) k++;
    if (k == c->count)
      return host_fail(MW_INVALID_VALUE, "parameter %zu '%s' of %s stands at offset %zu, and nothing was set there",
                       i + 1, p->name, info->name, p->offset);
    if (c->arguments[k].size != p->type->size)
      return host_fail(MW_INVALID_VALUE, "parameter %zu '%s' of %s has %zu bytes, and %zu were set", i + 1, p->name,
                       info->name, p->type->size, c->arguments[k].size);
  }
  if (c->count == info->param_count) return MW_SUCCESS;
  return host_fail(MW_INVALID_VALUE, "%s has %zu parameters, and %zu were set", info->name, info->param_count,
                   c->count);
}

static int launch_configured(host_context *context, const void *func, const configuration *c) {
  mw_kernel *kernel;
  mw_launch *launch;
  int code = host_kernel(context, func, &kernel);
  if (code == MW_SUCCESS) code = check_arguments(mw_kernel_describe(kernel), c);
  if (code == MW_SUCCESS) code = host_launch_block(kernel, &c->geometry, c->bytes, NULL, BLOCK, &launch);
  return code ? code : host_launch_run(context, launch, c->stream);
}

cudaError_t cudaLaunch(const void *func) {
  host_context *context;
  configuration *c = innermost;
  if (!c) return host_end(host_fail(MW_MISSING_CONFIGURATION, "cudaConfigureCall must be called before cudaLaunch"));
  innermost = c->outer;
  int code = host_context_current(&context);
  if (code == MW_SUCCESS) code = launch_configured(context, func, c);
  free(c);
  return host_end(code);
}
