/* The number of CPU devices and their compute capabilities: from $MOONWARP_CPU_DEVICES, or from the last call of
 * mw_device_simulate. */
#include "simulated_devices.h"

#include <stdlib.h>
#include <string.h>

enum { DEVICES_MOST = 16 };

static pthread_mutex_t lock = MW_LOCK_INITIALIZER;
static bool is_simulated;
static cpu_simulated simulated;

/* "3", or "1.1,2.0,8.0"; `source` begins the error message. */
static int parse(const char *text, const char *source, cpu_simulated *out) {
  *out = (cpu_simulated){.count = 0};
  if (strlen(text) <= 2 && *text && strspn(text, "0123456789") == strlen(text)) out->count = atoi(text);
  for (const char *at = text, *end; strchr(text, '.') && out->count < DEVICES_MOST; at = end + 1) {
    char name[8] = "";
    end = at + strcspn(at, ",");
    if (end - at < (int)sizeof name) memcpy(name, at, (size_t)(end - at));
    int code = mw_capability_find(name, &out->capabilities[out->count]);
    if (code != MW_SUCCESS) return code;
    out->count++;
    if (!*end) return MW_SUCCESS;
  }
  if (out->count >= 1 && out->count <= DEVICES_MOST && !strchr(text, '.')) return MW_SUCCESS;
  return fail(MW_INVALID_VALUE,
              "%s '%s': it should be a number of devices from 1 to %d, or their compute capabilities, as 1.1,2.0,8.0",
              source, text, DEVICES_MOST);
}

int cpu_simulated_get(cpu_simulated *out) {
  const char *text = getenv("MOONWARP_CPU_DEVICES");
  mw_lock(&lock);
  bool known = is_simulated;
  *out = simulated;
  mw_unlock(&lock);
  if (known) return MW_SUCCESS;
  *out = (cpu_simulated){.count = 1};
  return text && *text ? parse(text, "MOONWARP_CPU_DEVICES is", out) : MW_SUCCESS;
}

int cpu_simulate(const char *devices) {
  cpu_simulated new = {.count = 1};
  int code = devices ? parse(devices, "the CPU devices are to be", &new) : MW_SUCCESS;
  if (code != MW_SUCCESS) return code;
  mw_lock(&lock);
  simulated = new;
  is_simulated = devices != NULL;
  mw_unlock(&lock);
  return MW_SUCCESS;
}
