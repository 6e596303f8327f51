/* The CUDA driver's and NVRTC's interfaces, as far as they are used: moonwarp's own declarations of their types and
 * numbers, so that building needs no NVIDIA software. (CUDA Driver API reference; NVRTC user guide) */
#ifndef MW_CUDA_TYPES_H
#define MW_CUDA_TYPES_H

#include <stddef.h>
#include <stdint.h>

typedef int CUresult;
typedef int CUdevice;
typedef uint64_t CUdeviceptr;
typedef struct CUctx_st *CUcontext;
typedef struct CUmod_st *CUmodule;
typedef struct CUlinkState_st *CUlinkState;
typedef struct CUfunc_st *CUfunction;
typedef struct CUstream_st *CUstream;
typedef struct CUevent_st *CUevent;
typedef struct CUarray_st *CUarray;
typedef struct CUmipmappedArray_st *CUmipmappedArray;
typedef struct CUmemPoolHandle_st *CUmemoryPool;
typedef struct CUgraphicsResource_st *CUgraphicsResource;
typedef uint64_t CUtexObject;
typedef uint64_t CUsurfObject;
typedef void CUhostFn(void *context);

typedef int nvrtcResult;
typedef struct nvrtcProgram_st *nvrtcProgram;

/* CUresult: its numbers are cudaError_t's, and therefore mw_result's, except those below 100. */
enum {
  CUDA_OUT_OF_MEMORY = 2,
  CUDA_NOT_INITIALIZED = 3,
  CUDA_DEINITIALIZED = 4,
  CUDA_NOT_FOUND = 500,
  CUDA_NOT_READY = 600,
  CUDA_PEER_ACCESS_ENABLED = 704,
  CUDA_PEER_ACCESS_NOT_ENABLED = 705
};

/* CUmemAccessDesc: whether a device may reach a pool's memory. */
typedef struct CUDA_MEM_ACCESS {
  int kind; /* CU_LOCATION_DEVICE */
  int device;
  int access;
} CUDA_MEM_ACCESS;

enum { CU_LOCATION_DEVICE = 1, CU_ACCESS_NONE = 0, CU_ACCESS_READ_WRITE = 3 };

enum { NVRTC_OUT_OF_MEMORY = 1, NVRTC_INVALID_OPTION = 5, NVRTC_COMPILATION = 6 };

#define CU_STREAM_LEGACY ((CUstream)0x1)

enum { /* CUdevice_attribute */
       CU_MAX_THREADS_PER_BLOCK = 1,
       CU_MAX_BLOCK_X = 2,
       CU_MAX_GRID_X = 5,
       CU_SHARED_PER_BLOCK = 8,
       CU_TOTAL_CONSTANT = 9,
       CU_WARP_SIZE = 10,
       CU_MAX_PITCH = 11,
       CU_REGISTERS_PER_BLOCK = 12,
       CU_CLOCK_RATE = 13,
       CU_TEXTURE_ALIGNMENT = 14,
       CU_MULTIPROCESSORS = 16,
       CU_L2_CACHE_SIZE = 38,
       CU_TEXTURE_PITCH_ALIGNMENT = 51,
       CU_COMPUTE_MAJOR = 75,
       CU_COMPUTE_MINOR = 76,
       CU_SHARED_PER_BLOCK_OPTIN = 97,
       CU_COOPERATIVE_LAUNCH = 95,
       CU_MEMORY_POOLS = 115
};

enum { /* CUfunction_attribute */
       CU_FUNC_MAX_THREADS = 0,
       CU_FUNC_SHARED = 1,
       CU_FUNC_LOCAL = 3,
       CU_FUNC_REGISTERS = 4,
       CU_FUNC_MAX_DYNAMIC_SHARED = 8,
       CU_FUNC_CLUSTER_WIDTH = 11, /* by __cluster_dims__; then its height and depth */
       CU_FUNC_LARGE_CLUSTERS = 14 /* of more than 8 blocks */
};

enum { /* CUlaunchAttributeID */
       CU_LAUNCH_COOPERATIVE = 2,
       CU_LAUNCH_CLUSTER_DIMENSION = 4,
       CU_LAUNCH_STREAM_SERIALIZATION = 6
};

typedef struct CUlaunchAttribute {
  int id, pad;
  union {
    char bytes[64];
    int flag;
    unsigned dimension[3];
  } value;
} CUlaunchAttribute;

typedef struct CUlaunchConfig {
  unsigned grid[3], block[3], shared;
  CUstream stream;
  CUlaunchAttribute *attributes;
  unsigned count;
} CUlaunchConfig;

enum { CU_STREAM_FLAG_NON_BLOCKING = 1 };
enum { CU_EVENT_BLOCKING_SYNC = 1, CU_EVENT_NO_TIMING = 2 };
enum { CU_LIMIT_STACK = 0, CU_LIMIT_MALLOC_HEAP = 2, CU_LIMIT_PENDING_LAUNCHES = 4 };
enum { CU_HOST_PORTABLE = 1, CU_HOST_MAPPED = 2, CU_MANAGED_GLOBAL = 1, CU_HOST_REGISTER_MAPPED = 2 };
enum { CU_POOL_RELEASE_THRESHOLD = 4 };
enum { CU_WAIT_AT_LEAST = 0 };
enum { CU_MEMORY_HOST = 1, CU_MEMORY_DEVICE = 2, CU_MEMORY_ARRAY = 3, CU_MEMORY_UNIFIED = 4 };

typedef struct CUDA_MEMCPY3D {
  size_t source_x, source_y, source_z, source_lod;
  unsigned source_kind;
  const void *source_host;
  CUdeviceptr source_device;
  CUarray source_array;
  CUcontext source_context; /* of a copy between devices */
  size_t source_pitch, source_height;
  size_t target_x, target_y, target_z, target_lod;
  unsigned target_kind;
  void *target_host;
  CUdeviceptr target_device;
  CUarray target_array;
  CUcontext target_context;
  size_t target_pitch, target_height;
  size_t width, height, depth;
} CUDA_MEMCPY3D;

typedef struct CUDA_ARRAY3D_DESCRIPTOR {
  size_t width, height, depth;
  unsigned format, channels, flags;
} CUDA_ARRAY3D_DESCRIPTOR;

enum { /* CUarray_format */
       CU_FORMAT_U8 = 0x01,
       CU_FORMAT_U16 = 0x02,
       CU_FORMAT_U32 = 0x03,
       CU_FORMAT_S8 = 0x08,
       CU_FORMAT_S16 = 0x09,
       CU_FORMAT_S32 = 0x0a,
       CU_FORMAT_HALF = 0x10,
       CU_FORMAT_FLOAT = 0x20
};
enum { CU_ARRAY_LAYERED = 0x01, CU_ARRAY_SURFACE = 0x02, CU_ARRAY_CUBEMAP = 0x04, CU_ARRAY_GATHER = 0x08 };

typedef struct CUgraph_st *CUgraph;
typedef struct CUgraphNode_st *CUgraphNode;
typedef struct CUgraphExec_st *CUgraphExec;

typedef struct CUDA_KERNEL_NODE_PARAMS {
  CUfunction function;
  unsigned grid[3], block[3], shared;
  void **params, **extra;
} CUDA_KERNEL_NODE_PARAMS;

typedef struct CUDA_MEMSET_NODE_PARAMS {
  CUdeviceptr target;
  size_t pitch;
  unsigned value, size; /* of an element: 1, 2 or 4 bytes */
  size_t width, height;
} CUDA_MEMSET_NODE_PARAMS;

enum { CU_GRAPH_CONDITIONAL = 13 };
enum { CU_CONDITIONAL_IF, CU_CONDITIONAL_WHILE, CU_CONDITIONAL_SWITCH };

typedef struct CUgraphNodeParams {
  int type, reserved[3];
  union {
    long long room[29];
    struct {
      uint64_t handle;
      int kind;
      unsigned count;
      CUgraph *bodies; /* the driver's */
      CUcontext context;
    } conditional;
  } of;
  long long reserved_last;
} CUgraphNodeParams;

enum { CU_JIT_ERROR_LOG = 5, CU_JIT_ERROR_LOG_BYTES = 6 };
enum { CU_JIT_INPUT_CUBIN = 0, CU_JIT_INPUT_PTX = 1, CU_JIT_INPUT_LIBRARY = 4 };

enum { CU_RESOURCE_ARRAY, CU_RESOURCE_MIPMAP, CU_RESOURCE_LINEAR, CU_RESOURCE_PITCHED };

typedef struct CUDA_RESOURCE_DESC {
  unsigned kind;
  union {
    CUarray array;
    CUmipmappedArray mipmap;
    struct {
      CUdeviceptr address;
      unsigned format, channels;
      size_t bytes;
    } linear;
    struct {
      CUdeviceptr address;
      unsigned format, channels;
      size_t width, height, pitch;
    } pitched;
    int reserved[32];
  } of;
  unsigned flags;
} CUDA_RESOURCE_DESC;

enum {
  CU_TEXTURE_READ_AS_INTEGER = 0x01,
  CU_TEXTURE_NORMALIZED = 0x02,
  CU_TEXTURE_SRGB = 0x10,
  CU_TEXTURE_EXACT_TRILINEAR = 0x20,
  CU_TEXTURE_SEAMLESS = 0x40
};

typedef struct CUDA_TEXTURE_DESC {
  unsigned address[3], filter, flags, max_anisotropy, mip_filter;
  float lod_bias, lod_min, lod_max, border[4];
  int reserved[12];
} CUDA_TEXTURE_DESC;

#endif
