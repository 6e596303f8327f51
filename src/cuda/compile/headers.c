/* The device headers for NVRTC, as strings in the library: compiling reads no installed file. */
#include "compiler.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct embedded {
  const char *name;
  const char *text;
} embedded;

/* One array a header, `static const unsigned char text_N[]`, and the list of their names. */
#include "nvrtc_headers.inc"

/* Built into NVRTC, or part of the prelude: including it has no effect. */
static const char *const built_in[] = {"cuda_runtime.h",
                                       "cuda_runtime_api.h",
                                       "cuda_device_runtime_api.h",
                                       "device_launch_parameters.h",
                                       "device_functions.h",
                                       "device_atomic_functions.h",
                                       "device_types.h",
                                       "driver_types.h",
                                       "builtin_types.h",
                                       "common_functions.h",
                                       "host_config.h",
                                       "host_defines.h",
                                       "math_functions.h",
                                       "sm_20_atomic_functions.h",
                                       "sm_20_intrinsics.h",
                                       "sm_30_intrinsics.h",
                                       "sm_32_atomic_functions.h",
                                       "sm_32_intrinsics.h",
                                       "sm_35_atomic_functions.h",
                                       "sm_35_intrinsics.h",
                                       "sm_60_atomic_functions.h",
                                       "sm_61_intrinsics.h",
                                       "texture_fetch_functions.h",
                                       "texture_types.h",
                                       "texture_indirect_functions.h",
                                       "surface_types.h",
                                       "surface_functions.h",
                                       "surface_indirect_functions.h",
                                       "cuda_texture_types.h",
                                       "cuda_surface_types.h",
                                       "channel_descriptor.h",
                                       "sm_11_atomic_functions.h",
                                       "sm_12_atomic_functions.h",
                                       "sm_13_double_functions.h",
                                       "device_double_functions.h",
                                       "math_functions_dbl_ptx1.h",
                                       "math_functions_dbl_ptx3.h",
                                       "vector_functions.h",
                                       "vector_types.h",
                                       "cuda_profiler_api.h",
                                       "cuda_stdint.h",
                                       "cuda_occupancy.h",
                                       "crt/host_defines.h",
                                       "crt/host_config.h",
                                       "crt/device_functions.h",
                                       "crt/math_functions.h",
                                       "crt/common_functions.h",
                                       "cfloat",
                                       "climits",
                                       "cstdio",
                                       "cstdlib",
                                       "float.h",
                                       "limits.h",
                                       "math.h",
                                       "stddef.h",
                                       "stdint.h",
                                       "stdio.h",
                                       "stdlib.h",
                                       "string.h",
                                       "moonwarp_device.h",
                                       "../moonwarp_device.h",
                                       "moonwarp/arithmetic/arithmetic.h",
                                       "moonwarp/math/roots.h",
                                       "moonwarp/warp/warp.h",
                                       "moonwarp/math/libm.h",
                                       "moonwarp/make_vector.h"};

bool cuda_has_header(const mw_source *source, const char *name) {
  for (size_t i = 0; i < source->header_count; i++)
    if (strcmp(source->headers[i].name, name) == 0) return true;
  for (size_t i = 0; i < source->option_count; i++) {
    const char *folder = source->options[i];
    if (strncmp(folder, "-I", 2) != 0) continue;
    folder = folder[2] || i + 1 == source->option_count ? folder + 2 : source->options[i + 1];
    char *path = mw_format("%s/%s", folder, name);
    bool there = access(path, R_OK) == 0;
    free(path);
    if (there) return true;
  }
  return false;
}

static const char cstdint[] =
    "#pragma once\nnamespace std {\nusing ::int8_t; using ::int16_t; using ::int32_t; using ::int64_t; using "
    "::uint8_t;\n"
    "using ::uint16_t; using ::uint32_t; using ::uint64_t; using ::intptr_t; using ::uintptr_t; using ::size_t;\n}\n";

static const char cstring[] =
    "#pragma once\nnamespace std {\nusing ::memcpy; using ::memmove; using ::memset; using ::size_t;\n}\n";

/* The prelude has assert already; including this again makes it follow NDEBUG. */
static const char assert_again[] = "#include \"moonwarp/assertion.h\"\n";

static void add(cuda_headers *out, const char *name, const char *text) {
  out->names = mw_realloc(out->names, ((size_t)out->count + 1) * sizeof *out->names);
  out->texts = mw_realloc(out->texts, ((size_t)out->count + 1) * sizeof *out->texts);
  out->names[out->count] = name;
  out->texts[out->count++] = text;
}

void cuda_headers_collect(const mw_source *source, cuda_headers *out) {
  *out = (cuda_headers){0};
  for (size_t i = 0; i < source->header_count; i++) add(out, source->headers[i].name, source->headers[i].text);
  out->first = out->count;
  for (size_t i = 0; i < MW_COUNT(embedded_headers); i++)
    if (strncmp(embedded_headers[i].name, "cub/", 4) == 0 || !cuda_has_header(source, embedded_headers[i].name))
      add(out, embedded_headers[i].name, embedded_headers[i].text);
  if (!cuda_has_header(source, "cstdint")) add(out, "cstdint", cstdint);
  if (!cuda_has_header(source, "cstring")) add(out, "cstring", cstring);
  if (!cuda_has_header(source, "assert.h")) add(out, "assert.h", assert_again);
  if (!cuda_has_header(source, "cassert")) add(out, "cassert", assert_again);
  for (size_t i = 0; i < MW_COUNT(built_in); i++)
    if (!cuda_has_header(source, built_in[i])) add(out, built_in[i], "\n");
}

void cuda_headers_free(cuda_headers *headers) {
  free(headers->names);
  free(headers->texts);
}
