/* Device functions and the compute capability that introduced them. (CUDA 1.1 guide, appendices A and C; CUDA 4.2
 * guide, table F-1; CUDA 11.2 guide, appendices B and H)
 *
 * The first row that matches a function counts. Functions that are not listed exist in all capabilities, or are
 * arithmetic that every device has in software. */
#include "capability_table.h"
#include "read.h"

#include <string.h>

static const char cas[] = "loop with atomicCAS() on its bits";
static const char shuffle_instead[] = "pass values through shared memory";

static const feature features[] = {
    /* atomics: the argument's type follows the name, P for pointer: f float, d double, y unsigned long long, x long
       long, t unsigned short */
    {"atomicAdd*", "6float2", 90, "atomicAdd() of float2", "add each component by itself"},
    {"atomicAdd*", "6float4", 90, "atomicAdd() of float4", "add each component by itself"},
    {"atomic*_system", NULL, 60, "an atomic function with system scope", "use the form without _system"},
    {"atomic*_block", NULL, 60, "an atomic function with block scope", "use the form without _block"},
    {"atomicAdd", "13__nv_bfloat16", 80, "atomicAdd() of __nv_bfloat16", NULL},
    {"atomicAdd", "6__half", 70, "atomicAdd() of half", NULL},
    {"atomicAdd", "7__half2", 60, "atomicAdd() of half2", NULL},
    {"atomicAdd", "Pd", 60, "atomicAdd() of double", cas},
    {"atomicAdd", "Pf", 20, "atomicAdd() of float", cas},
    {"atomicCAS", "Pt", 70, "atomicCAS() of 16 bits", "use one of 32 bits"},
    {"atomicMin", "Py", 35, "atomicMin() of 64 bits", cas},
    {"atomicMin", "Px", 35, "atomicMin() of 64 bits", cas},
    {"atomicMax", "Py", 35, "atomicMax() of 64 bits", cas},
    {"atomicMax", "Px", 35, "atomicMax() of 64 bits", cas},
    {"atomicAnd", "Py", 35, "atomicAnd() of 64 bits", cas},
    {"atomicAnd", "Px", 35, "atomicAnd() of 64 bits", cas},
    {"atomicOr", "Py", 35, "atomicOr() of 64 bits", cas},
    {"atomicOr", "Px", 35, "atomicOr() of 64 bits", cas},
    {"atomicXor", "Py", 35, "atomicXor() of 64 bits", cas},
    {"atomicXor", "Px", 35, "atomicXor() of 64 bits", cas},
    {"atomic*", "Py", 12, "an atomic function of 64 bits", NULL},
    {"atomic*", "Px", 12, "an atomic function of 64 bits", NULL},
    {"atomic*", NULL, 11, "atomic functions", "let each block write a sum of its own, and add these in another launch"},
    /* threads of a warp */
    {"__reduce_*", NULL, 80, "__reduce_*_sync()", "reduce with __shfl_down_sync()"},
    {"__match_*", NULL, 70, "__match_*_sync()", NULL},
    {"__shfl*", NULL, 30, "shuffles", shuffle_instead},
    {"__all_sync", NULL, 30, "votes with a mask", "use __all()"},
    {"__any_sync", NULL, 30, "votes with a mask", "use __any()"},
    {"__uni_sync", NULL, 30, "votes with a mask", NULL},
    {"__ballot_sync", NULL, 30, "votes with a mask", "use __ballot()"},
    {"__activemask", NULL, 30, "__activemask()", NULL},
    {"__syncwarp", NULL, 30, "__syncwarp()", "use __syncthreads()"},
    {"__ballot", NULL, 20, "__ballot()", NULL},
    {"__all", NULL, 12, "votes of a warp", NULL},
    {"__any", NULL, 12, "votes of a warp", NULL},
    /* barriers, fences, clocks */
    {"__syncthreads_*", NULL, 20, "barriers that count", "use shared memory and __syncthreads()"},
    {"__barrier_sync*", NULL, 20, "named barriers", "use __syncthreads()"},
    {"__threadfence_system", NULL, 20, "__threadfence_system()", "use __threadfence()"},
    {"clock64", NULL, 20, "clock64()", "use clock()"},
    {"__nanosleep", NULL, 70, "__nanosleep()", NULL},
    /* memory */
    {"__ldg", NULL, 35, "__ldg()", "read through a texture, or as usual"},
    {"__ldc*", NULL, 35, "loads with cache hints", "read as usual"},
    {"__ldlu", NULL, 35, "loads with cache hints", "read as usual"},
    {"__stw*", NULL, 35, "stores with cache hints", "write as usual"},
    {"__stc*", NULL, 35, "stores with cache hints", "write as usual"},
    /* textures and surfaces: those with references name the reference's type */
    {"surf*", "7surface", 20, "surfaces", "write to global memory"},
    {"surf*", NULL, 30, "surface objects", "use a surface reference"},
    {"tex*Lod", NULL, 30, "mipmaps", NULL},
    {"tex*Grad", NULL, 30, "mipmaps", NULL},
    {"tex1DLayered", "7texture", 20, "layered textures", NULL},
    {"tex2DLayered", "7texture", 20, "layered textures", NULL},
    {"texCubemap*", "7texture", 20, "cubemaps", NULL},
    {"tex2Dgather", "7texture", 20, "tex2Dgather()", NULL},
    {"tex*", "7texture", 10, "textures", NULL},
    {"tex*", NULL, 30, "texture objects", "use a texture reference"},
    /* arithmetic */
    {"__funnelshift_*", NULL, 32, "funnel shifts", "shift twice"},
    {"__dp4a", NULL, 61, "__dp4a()", NULL},
    {"__dp2a*", NULL, 61, "__dp2a()", NULL},
    {"*", "I13__nv_bfloat16", 80, "arithmetic with __nv_bfloat16", "convert to float"},
    {"*", "I14__nv_bfloat162", 80, "arithmetic with __nv_bfloat162", "convert to float2"},
    {"*", "I6__half", 53, "arithmetic with half", "convert to float"},
    {"*", "I7__half2", 53, "arithmetic with half2", "convert to float2"},
};

static const feature imports[] = {
    {"vprintf", NULL, 20, "printf() in kernels", "write to an array"},
    {"printf", NULL, 20, "printf() in kernels", "write to an array"},
    {"__assertfail", NULL, 20, "assert() in kernels", "write to an array"},
    {"malloc", NULL, 20, "malloc() in kernels", "pass an array"},
    {"free", NULL, 20, "free() in kernels", "pass an array"},
    {"_Znwm", NULL, 20, "new in kernels", "pass an array"},
    {"_Znam", NULL, 20, "new in kernels", "pass an array"},
    {"_ZdlPv*", NULL, 20, "delete in kernels", "pass an array"},
    {"_ZdaPv*", NULL, 20, "delete in kernels", "pass an array"},
};

/* One star matches anything. */
static bool matches(const char *pattern, const char *name) {
  const char *star = strchr(pattern, '*');
  if (!star) return strcmp(pattern, name) == 0;
  size_t before = (size_t)(star - pattern), after = strlen(star + 1), length = strlen(name);
  return length >= before + after && strncmp(pattern, name, before) == 0 &&
         strcmp(star + 1, name + length - after) == 0;
}

const feature *feature_of(const char *name, const char *rest) {
  for (size_t i = 0; i < MW_COUNT(features); i++) {
    const feature *f = &features[i];
    if (matches(f->name, name) && (!f->with || strstr(rest, f->with))) return f;
  }
  return NULL;
}

const feature *feature_of_import(const char *linkage) {
  for (size_t i = 0; i < MW_COUNT(imports); i++)
    if (matches(imports[i].name, linkage)) return &imports[i];
  return NULL;
}
