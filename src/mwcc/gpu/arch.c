/* For which GPU: what --target=nvptx goes with, and what clang is told. LLVM is not needed for it. */
#include "mwcc/mwcc.h"

#include <stdlib.h>
#include <string.h>

/* The GPUs that drivers of CUDA 12 know and LLVM makes code for, with the version of PTX that they came with. Newer GPUs
   run the PTX of older ones. */
static const struct {
  const char *name;
  int ptx;
} archs[] = {
    {"sm_50", 40}, {"sm_52", 41}, {"sm_53", 42}, {"sm_60", 50}, {"sm_61", 50},
    {"sm_62", 50}, {"sm_70", 60}, {"sm_72", 61}, {"sm_75", 63}, {"sm_80", 70},
    {"sm_86", 71}, {"sm_87", 74}, {"sm_89", 78}, {"sm_90", 78}, {"sm_90a", 80},
};

/* Versions that LLVM knows, and our headers' instructions are in. */
static const char *const versions[] = {"7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7",
                                       "7.8", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5"};

static int number_of(const char *version) { return (version[0] - '0') * 10 + version[2] - '0'; }

void gpu_settle(options *o) {
  const char *arch = o->arch ? o->arch : o->cpu ? o->cpu : "sm_52", *version = o->ptx ? o->ptx : "8.0";
  bool known = false;
  if (o->arch && o->cpu) die("--arch=%s and --mcpu=%s say the same: leave one out", o->arch, o->cpu);
  if (strcmp(o->target, "nvptx") != 0 && strcmp(o->target, "nvptx64") != 0 &&
      strcmp(o->target, "nvptx64-nvidia-cuda") != 0)
    die("--target knows nvptx for GPUs, not '%s'", o->target);
  for (size_t i = 0; i < MW_COUNT(versions); i++) known = known || strcmp(versions[i], version) == 0;
  if (!known)
    die("--ptx knows the versions %s to %s, not '%s'", versions[0], versions[MW_COUNT(versions) - 1], version);
  for (size_t i = 0; i < MW_COUNT(archs); i++) {
    if (strcmp(archs[i].name, arch) != 0) continue;
    if (archs[i].ptx > number_of(version))
      die("%s came with PTX %d.%d, and --ptx says %s", arch, archs[i].ptx / 10, archs[i].ptx % 10, version);
    int own = atoi(arch + strlen("sm_"));
    if (o->capability && o->capability != own)
      die("--capability=%d.%d does not go with --arch=%s", o->capability / 10, o->capability % 10, arch);
    o->capability = own;
    o->arch = o->cpu = arch;
    o->ptx = mw_format("+ptx%d", number_of(version));
    return;
  }
  die("--arch knows sm_50, sm_52, sm_53, sm_60, sm_61, sm_62, sm_70, sm_72, sm_75, sm_80, sm_86, sm_87, sm_89, sm_90 "
      "and "
      "sm_90a, not '%s': a newer GPU runs code for an older one",
      arch);
}
