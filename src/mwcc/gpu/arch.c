/* The GPU architecture to compile for: checks --target=nvptx, --arch, --ptx and --capability and completes them. Needs
 * no LLVM. */
#include "mwcc/mwcc.h"

#include <stdlib.h>
#include <string.h>

/* GPUs that both CUDA 12's drivers and LLVM support, with the first version of PTX for each. Newer GPUs run the PTX of
   older ones. */
static const struct {
  const char *name;
  int ptx;
} archs[] = {
    {"sm_50", 40}, {"sm_52", 41}, {"sm_53", 42}, {"sm_60", 50}, {"sm_61", 50},
    {"sm_62", 50}, {"sm_70", 60}, {"sm_72", 61}, {"sm_75", 63}, {"sm_80", 70},
    {"sm_86", 71}, {"sm_87", 74}, {"sm_89", 78}, {"sm_90", 78}, {"sm_90a", 80},
};

/* PTX versions that LLVM writes and that have all instructions of our headers. */
static const char *const versions[] = {"7.0", "7.1", "7.2", "7.3", "7.4", "7.5", "7.6", "7.7",
                                       "7.8", "8.0", "8.1", "8.2", "8.3", "8.4", "8.5"};

static int number_of(const char *version) { return (version[0] - '0') * 10 + version[2] - '0'; }

void gpu_settle(options *o) {
  const char *arch = o->arch ? o->arch : o->cpu ? o->cpu : "sm_52", *version = o->ptx ? o->ptx : "8.0";
  bool known = false;
  if (o->arch && o->cpu) die("--arch=%s and --mcpu=%s both choose the GPU: leave one out", o->arch, o->cpu);
  if (strcmp(o->target, "nvptx") != 0 && strcmp(o->target, "nvptx64") != 0 &&
      strcmp(o->target, "nvptx64-nvidia-cuda") != 0)
    die("--target=%s is not a GPU: use --target=nvptx", o->target);
  for (size_t i = 0; i < MW_COUNT(versions); i++) known = known || strcmp(versions[i], version) == 0;
  if (!known)
    die("--ptx=%s is not supported: use a version from %s to %s", version, versions[0],
        versions[MW_COUNT(versions) - 1]);
  for (size_t i = 0; i < MW_COUNT(archs); i++) {
    if (strcmp(archs[i].name, arch) != 0) continue;
    if (archs[i].ptx > number_of(version))
      die("--ptx=%s is too old for %s: use %d.%d or later", version, arch, archs[i].ptx / 10, archs[i].ptx % 10);
    int own = atoi(arch + strlen("sm_"));
    if (o->capability && o->capability != own)
      die("--capability=%d.%d contradicts --arch=%s: leave one out", o->capability / 10, o->capability % 10, arch);
    o->capability = own;
    o->arch = o->cpu = arch;
    o->ptx = mw_format("+ptx%d", number_of(version));
    return;
  }
  die("--arch=%s is not supported: use sm_50, sm_52, sm_53, sm_60, sm_61, sm_62, sm_70, sm_72, sm_75, sm_80, sm_86, "
      "sm_87, sm_89, sm_90 or sm_90a. A newer GPU runs code for an older one",
      arch);
}
