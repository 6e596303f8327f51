/* Launches with attributes: cudaLaunchKernelExC, and how many clusters a device holds. cuLaunchKernelEx uses the same
 * functions, since the attributes have the same numbers and values in both APIs. */
#include "host/host.h"

static int check_range(const char *what, int value, int least, int most) {
  if (value >= least && value <= most) return MW_SUCCESS;
  return host_fail(MW_INVALID_VALUE, "the launch attribute %s is %d to %d, not %d", what, least, most, value);
}

static int check_preferred(const cudaLaunchAttributeValue *v, const unsigned cluster[3]) {
  const unsigned preferred[] = {v->preferredClusterDim.x, v->preferredClusterDim.y, v->preferredClusterDim.z};
  for (int i = 0; i < 3; i++)
    if (!cluster[0] || preferred[i] == 0 || preferred[i] % cluster[i] != 0)
      return host_fail(MW_INVALID_VALUE,
                       "the preferred cluster is a multiple of the launch's cluster dimension, which comes before it");
  return MW_SUCCESS;
}

static int read_attribute(const cudaLaunchAttribute *a, host_attributes *out) {
  const cudaLaunchAttributeValue *v = &a->val;
  host_geometry *g = &out->geometry;
  switch ((int)a->id) {
  case cudaLaunchAttributeIgnore: return MW_SUCCESS;
  case cudaLaunchAttributeAccessPolicyWindow:
    if (v->accessPolicyWindow.hitRatio >= 0 && v->accessPolicyWindow.hitRatio <= 1) return MW_SUCCESS;
    return host_fail(MW_INVALID_VALUE, "the hitRatio of an access-policy window is a number from 0 to 1");
  case cudaLaunchAttributeCooperative: g->cooperative = v->cooperative != 0; return MW_SUCCESS;
  case cudaLaunchAttributeClusterDimension:
    g->cluster[0] = v->clusterDim.x, g->cluster[1] = v->clusterDim.y, g->cluster[2] = v->clusterDim.z;
    if (g->cluster[0] && g->cluster[1] && g->cluster[2]) return MW_SUCCESS;
    return host_fail(MW_INVALID_VALUE, "a cluster has at least one block along each axis");
  case cudaLaunchAttributeClusterSchedulingPolicyPreference:
    return check_range("of the clusters' scheduling policy", v->clusterSchedulingPolicyPreference, 0, 2);
  case cudaLaunchAttributeProgrammaticStreamSerialization:
    g->dependent = v->programmaticStreamSerializationAllowed != 0;
    return MW_SUCCESS;
  case cudaLaunchAttributeProgrammaticEvent: out->events[0] = v->programmaticEvent.event; return MW_SUCCESS;
  case cudaLaunchAttributeLaunchCompletionEvent: out->events[1] = v->launchCompletionEvent.event; return MW_SUCCESS;
  case cudaLaunchAttributePriority:
  case cudaLaunchAttributeMemSyncDomainMap: return MW_SUCCESS;
  case cudaLaunchAttributeMemSyncDomain: return check_range("of memory domains", v->memSyncDomain, 0, 1);
  case cudaLaunchAttributePreferredClusterDimension: return check_preferred(v, g->cluster);
  case cudaLaunchAttributePreferredSharedMemoryCarveout:
    return check_range("of the carveout", (int)v->sharedMemCarveout, -1, 100);
  case cudaLaunchAttributeNvlinkUtilCentricScheduling:
    return check_range("of NVLink's use", (int)v->nvlinkUtilCentricScheduling, 0, 1);
  }
  return host_fail(MW_INVALID_VALUE, "a launch has no attribute %d", (int)a->id);
}

int host_attributes_read(const cudaLaunchConfig_t *config, host_attributes *out) {
  if (!config) return host_fail(MW_INVALID_VALUE, "a launch wants a configuration");
  const dim3 *grid = &config->gridDim, *block = &config->blockDim;
  *out = (host_attributes){.geometry = {.grid = {grid->x, grid->y, grid->z},
                                        .block = {block->x, block->y, block->z},
                                        .shared = config->dynamicSmemBytes},
                           .stream = config->stream};
  if (config->numAttrs > 0 && !config->attrs)
    return host_fail(MW_INVALID_VALUE, "a launch with %u attributes, and attrs is NULL", config->numAttrs);
  int code = MW_SUCCESS;
  for (unsigned i = 0; i < config->numAttrs && code == MW_SUCCESS; i++) code = read_attribute(&config->attrs[i], out);
  return code;
}

/* Events of a launch stand for a point before its end, and may be recorded later: here they are, after it. */
int host_attributes_run(host_context *context, const host_attributes *attributes, mw_launch *launch) {
  mw_event *events[2] = {NULL, NULL};
  mw_stream *stream = NULL;
  int code = host_stream(context, attributes->stream, &stream);
  for (int i = 0; i < 2 && code == MW_SUCCESS; i++)
    if (attributes->events[i] && !(events[i] = host_handle_find(HOST_EVENT, attributes->events[i])))
      code = host_fail(MW_INVALID_RESOURCE_HANDLE, "a launch's event is none, or one that was destroyed");
  if (code == MW_SUCCESS) code = mw_launch_run_in(launch, stream, NULL);
  for (int i = 0; i < 2; i++) {
    if (code == MW_SUCCESS && events[i]) code = mw_event_record(events[i], stream);
    mw_event_release(events[i]);
  }
  mw_stream_release(stream);
  mw_launch_release(launch);
  return code;
}

static int launch(host_context *context, const cudaLaunchConfig_t *config, const void *func, void **arguments) {
  host_attributes attributes;
  mw_kernel *kernel;
  mw_launch *made;
  int code = host_kernel(context, func, &kernel);
  if (code == MW_SUCCESS) code = host_attributes_read(config, &attributes);
  if (code == MW_SUCCESS) code = host_launch_pointers(kernel, &attributes.geometry, arguments, &made);
  return code ? code : host_attributes_run(context, &attributes, made);
}

cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t *config, const void *func, void **arguments) {
  HOST_RUNTIME(launch(context, config, func, arguments));
}

/* ---- occupancy ---- */

enum { PORTABLE = 8 };

/* The cluster of a launch of the configuration, and whether it may be larger than is portable. */
static int cluster_of(mw_kernel *kernel, const cudaLaunchConfig_t *config, host_attributes *attributes,
                      unsigned cluster[3], bool *larger) {
  int code = host_attributes_read(config, attributes);
  if (code != MW_SUCCESS) return code;
  host_function_cluster(kernel, cluster, larger);
  if (attributes->geometry.cluster[0]) memcpy(cluster, attributes->geometry.cluster, 3 * sizeof *cluster);
  return MW_SUCCESS;
}

int host_cluster_largest(host_context *context, mw_kernel *kernel, const cudaLaunchConfig_t *config, int *size) {
  host_attributes attributes;
  mw_properties facts;
  unsigned cluster[3];
  bool larger;
  int code = cluster_of(kernel, config, &attributes, cluster, &larger);
  if (code == MW_SUCCESS) code = mw_device_properties(context->device, &facts);
  if (code != MW_SUCCESS) return code;
  if (facts.max_cluster == 0) return host_fail(MW_NOT_SUPPORTED, "clusters came with compute capability 9.0");
  *size = larger || facts.max_cluster < PORTABLE ? facts.max_cluster : PORTABLE;
  return MW_SUCCESS;
}

int host_cluster_count(host_context *context, mw_kernel *kernel, const cudaLaunchConfig_t *config, int *clusters) {
  host_attributes attributes;
  mw_properties facts;
  mw_launch *launch;
  unsigned cluster[3];
  bool larger;
  int blocks, code = cluster_of(kernel, config, &attributes, cluster, &larger);
  if (code == MW_SUCCESS) code = mw_device_properties(context->device, &facts);
  if (code != MW_SUCCESS) return code;
  const host_geometry *g = &attributes.geometry;
  if (!cluster[0])
    return host_fail(MW_INVALID_CLUSTER_SIZE, "neither the configuration nor the kernel says how large clusters are");
  if (cluster[0] * cluster[1] * cluster[2] > PORTABLE && !larger)
    return host_fail(MW_INVALID_CLUSTER_SIZE,
                     "a cluster of %u blocks: more than %d want cudaFuncAttributeNonPortableClusterSizeAllowed",
                     cluster[0] * cluster[1] * cluster[2], PORTABLE);
  code = mw_launch_new(kernel, g->grid, g->block, g->shared, &launch);
  if (code != MW_SUCCESS) return code;
  code = mw_launch_cluster(launch, cluster);
  if (code == MW_SUCCESS) code = mw_launch_clusters(launch, clusters);
  mw_launch_release(launch);
  if (code != MW_SUCCESS || *clusters >= 0) return code;
  /* The device has no rule of its own: what the table of capabilities says, one multiprocessor like another. */
  code = host_occupancy(context, kernel, (int)(g->block[0] * g->block[1] * g->block[2]), g->shared, &blocks);
  if (code == MW_SUCCESS) *clusters = blocks * facts.multiprocessors / (int)(cluster[0] * cluster[1] * cluster[2]);
  return code;
}

static int largest(host_context *context, int *size, const void *func, const cudaLaunchConfig_t *config) {
  mw_kernel *kernel;
  int code = host_kernel(context, func, &kernel);
  return code ? code : host_cluster_largest(context, kernel, config, size);
}

static int count(host_context *context, int *clusters, const void *func, const cudaLaunchConfig_t *config) {
  mw_kernel *kernel;
  int code = host_kernel(context, func, &kernel);
  return code ? code : host_cluster_count(context, kernel, config, clusters);
}

cudaError_t cudaOccupancyMaxPotentialClusterSize(int *size, const void *func, const cudaLaunchConfig_t *config) {
  HOST_RUNTIME(largest(context, size, func, config));
}
cudaError_t cudaOccupancyMaxActiveClusters(int *clusters, const void *func, const cudaLaunchConfig_t *config) {
  HOST_RUNTIME(count(context, clusters, func, config));
}
