/* The processor's name and features. Features have the names of GCC's __builtin_cpu_supports on x86-64, and of LLVM's
 * target features on AArch64, as mwcc writes them into a .mwo. */
#include "cpu/processor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct feature {
  const char *name;
  bool present;
} feature;

#if defined(__x86_64__)

const char processor_architecture[] = "x86_64";

/* clang-format off */
#define FEATURES(X)                                                                                                   \
  X("sse3") X("ssse3") X("sse4.1") X("sse4.2") X("sse4a") X("popcnt") X("movbe") X("lzcnt") X("bmi") X("bmi2")        \
  X("adx") X("aes") X("pclmul") X("sha") X("gfni") X("vaes") X("vpclmulqdq") X("f16c") X("fma") X("fma4") X("xop")    \
  X("avx") X("avx2") X("avxvnni") X("avx512f") X("avx512cd") X("avx512bw") X("avx512dq") X("avx512vl")                \
  X("avx512ifma") X("avx512vbmi") X("avx512vbmi2") X("avx512vnni") X("avx512bitalg") X("avx512vpopcntdq")             \
  X("avx512bf16") X("avx512fp16") X("avx512vp2intersect") X("rdrnd") X("rdseed") X("fsgsbase") X("prfchw") X("mmx")   \
  X("sse") X("sse2")
/* clang-format on */

#define TEST(name) {name, __builtin_cpu_supports(name)},

#elif defined(__aarch64__)

#include <asm/hwcap.h>
#include <sys/auxv.h>

const char processor_architecture[] = "aarch64";

/* clang-format off */
#define FEATURES(X)                                                                                                   \
  X("neon", AT_HWCAP, HWCAP_ASIMD) X("fp-armv8", AT_HWCAP, HWCAP_FP) X("fullfp16", AT_HWCAP, HWCAP_ASIMDHP)           \
  X("aes", AT_HWCAP, HWCAP_AES) X("sha2", AT_HWCAP, HWCAP_SHA2) X("sha3", AT_HWCAP, HWCAP_SHA3)                       \
  X("crc", AT_HWCAP, HWCAP_CRC32) X("lse", AT_HWCAP, HWCAP_ATOMICS) X("rdm", AT_HWCAP, HWCAP_ASIMDRDM)                \
  X("dotprod", AT_HWCAP, HWCAP_ASIMDDP) X("fp16fml", AT_HWCAP, HWCAP_ASIMDFHM) X("jsconv", AT_HWCAP, HWCAP_JSCVT)     \
  X("complxnum", AT_HWCAP, HWCAP_FCMA) X("rcpc", AT_HWCAP, HWCAP_LRCPC) X("sve", AT_HWCAP, HWCAP_SVE)                 \
  X("sve2", AT_HWCAP2, HWCAP2_SVE2) X("i8mm", AT_HWCAP2, HWCAP2_I8MM) X("bf16", AT_HWCAP2, HWCAP2_BF16)
/* clang-format on */

#define TEST(name, word, bit) {name, (getauxval(word) & (bit)) != 0},

#endif

/* The builtin needs a literal, so the table is filled at run time. */
static bool has(const char *name, size_t length) {
  const feature features[] = {FEATURES(TEST)};
  for (size_t i = 0; i < MW_COUNT(features); i++) {
    if (strlen(features[i].name) == length && memcmp(features[i].name, name, length) == 0) return features[i].present;
  }
  return false;
}

bool processor_lacks(const char *list, char *out, size_t size) {
  while (*list) {
    size_t length = strcspn(list, ",");
    if (length && !has(list, length)) {
      snprintf(out, size, "%.*s", (int)length, list);
      return true;
    }
    list += length + (list[length] == ',');
  }
  return false;
}

void processor_features(mw_text *out) {
  const feature features[] = {FEATURES(TEST)};
  for (size_t i = 0; i < MW_COUNT(features); i++) {
    if (features[i].present) mw_text_addf(out, "%s,", features[i].name);
  }
}

typedef struct level {
  const char *name, *features;
} level;

/* The x86-64 psABI's levels, the highest first. */
static const level levels[] = {
#if defined(__x86_64__)
    {"x86-64-v4", "avx512f,avx512bw,avx512cd,avx512dq,avx512vl,avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt"},
    {"x86-64-v3", "avx2,bmi,bmi2,f16c,fma,lzcnt,movbe,popcnt"},
    {"x86-64-v2", "sse3,ssse3,sse4.1,sse4.2,popcnt"},
#else
    {"generic", "neon"},
#endif
};

const char *processor_level(void) {
  char lacking[32];
  for (size_t i = 0; i < MW_COUNT(levels); i++)
    if (!processor_lacks(levels[i].features, lacking, sizeof lacking)) return levels[i].name;
  return NULL;
}

/* The value of the first line "key : value" of /proc/cpuinfo. */
static bool cpuinfo(const char *key, char *out, size_t size) {
  FILE *file = fopen("/proc/cpuinfo", "re");
  char line[512];
  bool found = false;
  while (file && !found && fgets(line, sizeof line, file)) {
    char *colon = strchr(line, ':');
    if (!colon || strncmp(line, key, strlen(key)) != 0) continue;
    colon += 1 + strspn(colon + 1, " \t");
    snprintf(out, size, "%.*s", (int)strcspn(colon, "\n"), colon);
    found = true;
  }
  if (file) fclose(file);
  return found;
}

void processor_name(char *out, size_t size) {
  if (!cpuinfo("model name", out, size)) snprintf(out, size, "%s processor", processor_architecture);
}

int processor_clock_khz(void) {
  char text[64] = "";
  FILE *file = fopen("/sys/devices/system/cpu/cpu0/cpufreq/cpuinfo_max_freq", "re");
  bool known = file && fgets(text, sizeof text, file);
  if (file) fclose(file);
  if (known) return atoi(text);
  return cpuinfo("cpu MHz", text, sizeof text) ? (int)(atof(text) * 1000) : 0;
}

/* ---- caches ---- */

static bool read_cache(int index, const char *what, char *out, size_t size) {
  char path[96];
  snprintf(path, sizeof path, "/sys/devices/system/cpu/cpu0/cache/index%d/%s", index, what);
  FILE *file = fopen(path, "re");
  bool known = file && fgets(out, (int)size, file);
  if (file) fclose(file);
  return known;
}

/* The number of processors in a list such as "0-3,8-11". */
static int count_listed(const char *list) {
  int count = 0;
  while (*list >= '0' && *list <= '9') {
    char *end;
    long first = strtol(list, &end, 10), last = first;
    if (*end == '-') last = strtol(end + 1, &end, 10);
    if (last >= first) count += (int)(last - first) + 1;
    list = *end == ',' ? end + 1 : end;
  }
  return count;
}

/* Bytes of all last-level caches; 0 if unknown. */
static uint64_t last_caches(void) {
  enum { LAST = 4 };
  char size[32], list[1024];
  for (int index = LAST; index >= 0; index--) {
    if (!read_cache(index, "size", size, sizeof size) || !read_cache(index, "shared_cpu_list", list, sizeof list))
      continue;
    char *unit;
    uint64_t bytes = strtoull(size, &unit, 10);
    bytes <<= *unit == 'K' ? 10 : *unit == 'M' ? 20 : 0; /* separate: operands of << are unsequenced */
    long all = sysconf(_SC_NPROCESSORS_ONLN), sharing = count_listed(list);
    if (!bytes || sharing < 1) break;
    return bytes * (uint64_t)(all > sharing ? (all + sharing - 1) / sharing : 1);
  }
  return 0;
}

/* If all processors of a server share one large last-level cache, a few of them gain little from it: it is distant, and
   other users share it if this is a virtual machine that sees the whole cache. */
uint64_t processor_cached(int processors) {
  enum { GUESS = 32 << 20, MOST_EACH = 16 << 20 };
  uint64_t bytes = last_caches(), most = (uint64_t)processors * MOST_EACH;
  if (!bytes) bytes = GUESS;
  return bytes < most ? bytes : most;
}
