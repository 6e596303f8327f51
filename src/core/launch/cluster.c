/* Clusters: the limits on their sizes. */
#include "launch.h"

#include <stdlib.h>

static int fail_cluster(const mw_kernel *kernel, char *message) {
  int code = fail(MW_INVALID_CLUSTER_SIZE, "%s", message);
  mw_error_kernel(kernel->info->name, NULL, NULL);
  free(message);
  return code;
}

int mw_cluster_check(const mw_kernel *kernel, const unsigned grid[3], const unsigned cluster[3]) {
  static const char axes[] = "xyz";
  const mw_device *device = kernel->module->device;
  const unsigned *fixed = kernel->info->cluster;
  const char *name = kernel->info->name;
  unsigned most = (unsigned)device->properties.max_cluster;
  if (most == 0)
    return fail_cluster(kernel, mw_format("%s is launched with clusters, which came with compute capability 9.0, and "
                                          "%s has %d.%d: launch it without",
                                          name, device->name, device->properties.major, device->properties.minor));
  if (fixed[0] && (fixed[0] != cluster[0] || fixed[1] != cluster[1] || fixed[2] != cluster[2]))
    return fail_cluster(kernel, mw_format("%s is launched with clusters of (%u, %u, %u) blocks, and is compiled for "
                                          "(%u, %u, %u) by __cluster_dims__",
                                          name, cluster[0], cluster[1], cluster[2], fixed[0], fixed[1], fixed[2]));
  for (int i = 0; i < 3; i++)
    if (cluster[i] == 0 || cluster[i] > most)
      return fail_cluster(kernel, mw_format("the cluster (%u, %u, %u) of %s: its %c has to be 1 to %u", cluster[0],
                                            cluster[1], cluster[2], name, axes[i], most));
  if (cluster[0] * cluster[1] * cluster[2] > most)
    return fail_cluster(kernel, mw_format("the cluster (%u, %u, %u) of %s is too large: %u x %u x %u = %u blocks, and "
                                          "%s takes %u at most",
                                          cluster[0], cluster[1], cluster[2], name, cluster[0], cluster[1], cluster[2],
                                          cluster[0] * cluster[1] * cluster[2], device->name, most));
  for (int i = 0; i < 3; i++)
    if (grid[i] % cluster[i] != 0)
      return fail_cluster(kernel, mw_format("the grid (%u, %u, %u) of %s cannot be divided into clusters of (%u, %u, "
                                            "%u) blocks: its %c has to be a multiple of %u",
                                            grid[0], grid[1], grid[2], name, cluster[0], cluster[1], cluster[2],
                                            axes[i], cluster[i]));
  return MW_SUCCESS;
}

int mw_launch_clusters(mw_launch *launch, int *clusters) {
  const mw_driver *driver = launch->kernel->module->device->driver;
  mw_launch_request request = launch->request;
  *clusters = -1;
  if (!driver->clusters) return MW_SUCCESS;
  request.kernel = mw_launch_choose(launch, 1);
  return driver->clusters(&request, clusters);
}
