/* The limits of each compute capability: the tables of CUDA's guides, for a CPU device opened with a compute capability
 * and for the occupancy calculator.
 *
 * Sources: CUDA 1.1 guide, appendix A; CUDA 4.2 guide, table F-2 (1.0 to 3.0); CUDA 11.2 guide, table 15; for the
 * allocation units of registers and shared memory: NVIDIA's occupancy calculator. Equal rows share a name. */
#include "base.h"

#include <stdlib.h>
#include <string.h>

#define KIB 1024

/* ---- textures and surfaces ---- */

static const mw_texture_limits textures_1 = {
    .texture_1d = 8192,
    .texture_1d_linear = 1 << 27,
    .texture_1d_layered = {8192, 512},
    .texture_2d = {65536, 32768},
    .texture_2d_linear = {65000, 65000},
    .texture_2d_layered = {8192, 8192, 512},
    .texture_3d = {2048, 2048, 2048},
    .textures = 128,
};

#define TEXTURES_2(height, depth, texture_count, surface_count)                                                        \
  {                                                                                                                    \
      .texture_1d = 65536,                                                                                             \
      .texture_1d_linear = 1 << 27,                                                                                    \
      .texture_1d_layered = {16384, 2048},                                                                             \
      .texture_2d = {65536, height},                                                                                   \
      .texture_2d_linear = {65000, 65000},                                                                             \
      .texture_2d_gather = {16384, 16384},                                                                             \
      .texture_2d_layered = {16384, 16384, 2048},                                                                      \
      .texture_3d = {depth, depth, depth},                                                                             \
      .texture_cubemap = 16384,                                                                                        \
      .texture_cubemap_layered = {16384, 2046},                                                                        \
      .textures = texture_count,                                                                                       \
      .surface_1d = 65536,                                                                                             \
      .surface_1d_layered = {65536, 2048},                                                                             \
      .surface_2d = {65536, 32768},                                                                                    \
      .surface_2d_layered = {65536, 32768, 2048},                                                                      \
      .surface_3d = {65536, 32768, 2048},                                                                              \
      .surface_cubemap = 32768,                                                                                        \
      .surface_cubemap_layered = {32768, 2046},                                                                        \
      .surfaces = surface_count,                                                                                       \
  }

static const mw_texture_limits textures_2 = TEXTURES_2(65535, 2048, 128, 8);
static const mw_texture_limits textures_30 = TEXTURES_2(65535, 4096, 256, 16);
static const mw_texture_limits textures_3 = TEXTURES_2(65536, 4096, 256, 16);

static const mw_texture_limits textures_5 = {
    .texture_1d = 65536,
    .texture_1d_linear = 1 << 27,
    .texture_1d_layered = {16384, 2048},
    .texture_2d = {65536, 65536},
    .texture_2d_linear = {65536, 65536},
    .texture_2d_gather = {16384, 16384},
    .texture_2d_layered = {16384, 16384, 2048},
    .texture_3d = {4096, 4096, 4096},
    .texture_cubemap = 16384,
    .texture_cubemap_layered = {16384, 2046},
    .textures = 256,
    .surface_1d = 16384,
    .surface_1d_layered = {16384, 2048},
    .surface_2d = {65536, 65536},
    .surface_2d_layered = {16384, 16384, 2048},
    .surface_3d = {4096, 4096, 4096},
    .surface_cubemap = 16384,
    .surface_cubemap_layered = {16384, 2046},
    .surfaces = 16,
};

#define TEXTURES_6(linear, surface_count)                                                                              \
  {                                                                                                                    \
      .texture_1d = 131072,                                                                                            \
      .texture_1d_linear = linear,                                                                                     \
      .texture_1d_layered = {32768, 2048},                                                                             \
      .texture_2d = {131072, 65536},                                                                                   \
      .texture_2d_linear = {131072, 65000},                                                                            \
      .texture_2d_gather = {32768, 32768},                                                                             \
      .texture_2d_layered = {32768, 32768, 2048},                                                                      \
      .texture_3d = {16384, 16384, 16384},                                                                             \
      .texture_cubemap = 32768,                                                                                        \
      .texture_cubemap_layered = {32768, 2046},                                                                        \
      .textures = 256,                                                                                                 \
      .surface_1d = 32768,                                                                                             \
      .surface_1d_layered = {32768, 2048},                                                                             \
      .surface_2d = {131072, 65536},                                                                                   \
      .surface_2d_layered = {32768, 32768, 2048},                                                                      \
      .surface_3d = {16384, 16384, 16384},                                                                             \
      .surface_cubemap = 32768,                                                                                        \
      .surface_cubemap_layered = {32768, 2046},                                                                        \
      .surfaces = surface_count,                                                                                       \
  }

static const mw_texture_limits textures_60 = TEXTURES_6(1 << 28, 16);
static const mw_texture_limits textures_61 = TEXTURES_6(1 << 27, 16);
static const mw_texture_limits textures_70 = TEXTURES_6(1 << 28, 32);
static const mw_texture_limits textures_72 = TEXTURES_6(1 << 27, 32);

/* ---- the table ---- */

/* Limits of a multiprocessor and of a block; of the latter, the shared memory without opt-in. */
typedef struct row {
  int number; /* major * 10 + minor */
  int warps, blocks, registers, shared;
  int block_registers, thread_registers, shared_per_block, shared_per_block_optin;
  int register_unit, shared_unit, warp_unit, shared_reserved;
  const mw_texture_limits *textures;
} row;

#define K(n) ((n) * KIB)
/* clang-format off */
static const row rows[] = {
    /*   warps blocks registers shared  block's  thread's   shared of a block  units        reserved */
    {10, 24,  8,   K(8),   K(16),  K(8), 124, K(16),  K(16), 256, 512, 2,   0, &textures_1},
    {11, 24,  8,   K(8),   K(16),  K(8), 124, K(16),  K(16), 256, 512, 2,   0, &textures_1},
    {12, 32,  8,  K(16),   K(16), K(16), 124, K(16),  K(16), 512, 512, 2,   0, &textures_1},
    {13, 32,  8,  K(16),   K(16), K(16), 124, K(16),  K(16), 512, 512, 2,   0, &textures_1},
    {20, 48,  8,  K(32),   K(48), K(32),  63, K(48),  K(48),  64, 128, 2,   0, &textures_2},
    {21, 48,  8,  K(32),   K(48), K(32),  63, K(48),  K(48),  64, 128, 2,   0, &textures_2},
    {30, 64, 16,  K(64),   K(48), K(64),  63, K(48),  K(48), 256, 256, 4,   0, &textures_30},
    {32, 64, 16,  K(64),   K(48), K(32), 255, K(48),  K(48), 256, 256, 4,   0, &textures_3},
    {35, 64, 16,  K(64),   K(48), K(64), 255, K(48),  K(48), 256, 256, 4,   0, &textures_3},
    {37, 64, 16, K(128),  K(112), K(64), 255, K(48),  K(48), 256, 256, 4,   0, &textures_3},
    {50, 64, 32,  K(64),   K(64), K(64), 255, K(48),  K(48), 256, 256, 4,   0, &textures_5},
    {52, 64, 32,  K(64),   K(96), K(64), 255, K(48),  K(48), 256, 256, 4,   0, &textures_5},
    {53, 64, 32,  K(64),   K(64), K(32), 255, K(48),  K(48), 256, 256, 4,   0, &textures_5},
    {60, 64, 32,  K(64),   K(64), K(64), 255, K(48),  K(48), 256, 256, 2,   0, &textures_60},
    {61, 64, 32,  K(64),   K(96), K(64), 255, K(48),  K(48), 256, 256, 4,   0, &textures_61},
    {62, 64, 32,  K(64),   K(64), K(32), 255, K(48),  K(48), 256, 256, 4,   0, &textures_61},
    {70, 64, 32,  K(64),   K(96), K(64), 255, K(48),  K(96), 256, 256, 4,   0, &textures_70},
    {72, 64, 32,  K(64),   K(96), K(64), 255, K(48),  K(96), 256, 256, 4,   0, &textures_72},
    {75, 32, 16,  K(64),   K(64), K(64), 255, K(48),  K(64), 256, 256, 4,   0, &textures_70},
    /* From 8.0 on the system reserves shared memory for each block. */
    {80, 64, 32,  K(64),  K(164), K(64), 255, K(48), K(163), 256, 128, 4, KIB, &textures_70},
    {86, 48, 16,  K(64),  K(100), K(64), 255, K(48),  K(99), 256, 128, 4, KIB, &textures_70},
    {87, 48, 16,  K(64),  K(164), K(64), 255, K(48), K(163), 256, 128, 4, KIB, &textures_70},
    {89, 48, 24,  K(64),  K(100), K(64), 255, K(48),  K(99), 256, 128, 4, KIB, &textures_70},
    {90, 64, 32,  K(64),  K(228), K(64), 255, K(48), K(227), 256, 128, 4, KIB, &textures_70},
};
/* clang-format on */

/* Limits that depend only on the generation. */
static void expand(const row *r, mw_capability *out) {
  bool first = r->number < 20;
  int side = first ? 512 : 1024;
  *out = (mw_capability){
      .major = r->number / 10,
      .minor = r->number % 10,
      .warps = r->warps,
      .blocks = r->blocks,
      .registers = r->registers,
      .shared = r->shared,
      .threads_per_block = side,
      .max_block = {side, side, 64},
      .max_grid = {r->number < 30 ? 65535 : INT32_MAX, 65535, first ? 1 : 65535},
      .registers_per_block = r->block_registers,
      .registers_per_thread = r->thread_registers,
      .shared_per_block = r->shared_per_block,
      .shared_per_block_optin = r->shared_per_block_optin,
      .banks = first ? 16 : 32,
      .total_constant = 64 * KIB,
      /* CUDA C++ programming guide 12.1, parameters of __global__ functions */
      .parameter_bytes = first            ? 256
                         : r->number < 70 ? 4 * KIB
                                          : 32764,
      .local_bytes = (first ? 16 : 512) * KIB,
      .register_unit = r->register_unit,
      .registers_by_block = first,
      .warp_unit = r->warp_unit,
      .shared_unit = r->shared_unit,
      .shared_reserved = r->shared_reserved,
      .textures = *r->textures,
  };
}

/* ---- looking up ---- */

int mw_capability_list(size_t i, mw_capability *out) {
  if (i >= MW_COUNT(rows))
    return fail(MW_INVALID_VALUE, "there is no compute capability %zu: there are %zu, counted from 0", i,
                MW_COUNT(rows));
  expand(&rows[i], out);
  return MW_SUCCESS;
}

/* "1.0, 1.1, …, 9.0" */
static void add_names(mw_text *text) {
  for (size_t i = 0; i < MW_COUNT(rows); i++)
    mw_text_addf(text, "%s%d.%d", i ? ", " : "", rows[i].number / 10, rows[i].number % 10);
}

int mw_capability_find(const char *name, mw_capability *out) {
  bool plain =
      strlen(name) == 3 && name[0] >= '0' && name[0] <= '9' && name[1] == '.' && name[2] >= '0' && name[2] <= '9';
  int number = plain ? (name[0] - '0') * 10 + (name[2] - '0') : 0;
  for (size_t i = 0; i < MW_COUNT(rows); i++) {
    if (rows[i].number != number) continue;
    expand(&rows[i], out);
    return MW_SUCCESS;
  }
  mw_text names = {0};
  add_names(&names);
  int code = fail(MW_INVALID_VALUE, "there is no compute capability '%s': there are %s", name, names.data);
  mw_text_free(&names);
  return code;
}
