/* Interoperability with Direct3D, other processes and other interfaces under CUDA's names: declared, so that host
 * code which names it links, but not supported. Each function returns cudaErrorNotSupported, or
 * CUDA_ERROR_NOT_SUPPORTED. Arguments are ignored, and therefore not declared. */
#ifndef MOONWARP_CUDA_INTEROP_H
#define MOONWARP_CUDA_INTEROP_H

#include "cuda_errors.h"
#include "cuda_results.h"

typedef struct cudaIpcMemHandle_st {
  char reserved[64];
} cudaIpcMemHandle_t, CUipcMemHandle;
typedef struct cudaIpcEventHandle_st {
  char reserved[64];
} cudaIpcEventHandle_t, CUipcEventHandle;
typedef struct CUexternalMemory_st *cudaExternalMemory_t, *CUexternalMemory;
typedef struct CUexternalSemaphore_st *cudaExternalSemaphore_t, *CUexternalSemaphore;

#pragma GCC visibility push(default)
#pragma GCC diagnostic push
#ifdef __cplusplus
extern "C" {
#define MW_ANY ...
#else
#define MW_ANY
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#endif

cudaError_t cudaD3D9Begin(MW_ANY);
cudaError_t cudaD3D9End(MW_ANY);
cudaError_t cudaD3D9SetDirect3DDevice(MW_ANY);
cudaError_t cudaD3D9GetDirect3DDevice(MW_ANY);
cudaError_t cudaD3D9GetDevice(MW_ANY);
cudaError_t cudaD3D9RegisterResource(MW_ANY);
cudaError_t cudaD3D9RegisterVertexBuffer(MW_ANY);
cudaError_t cudaD3D9UnregisterResource(MW_ANY);
cudaError_t cudaD3D9UnregisterVertexBuffer(MW_ANY);
cudaError_t cudaD3D9MapResources(MW_ANY);
cudaError_t cudaD3D9MapVertexBuffer(MW_ANY);
cudaError_t cudaD3D9UnmapResources(MW_ANY);
cudaError_t cudaD3D9UnmapVertexBuffer(MW_ANY);
cudaError_t cudaD3D9ResourceGetMappedPointer(MW_ANY);
cudaError_t cudaD3D9ResourceGetMappedPitch(MW_ANY);
cudaError_t cudaD3D9ResourceGetMappedSize(MW_ANY);
cudaError_t cudaD3D9ResourceGetSurfaceDimensions(MW_ANY);
cudaError_t cudaD3D9ResourceSetMapFlags(MW_ANY);
cudaError_t cudaD3D9GetDevices(MW_ANY);
cudaError_t cudaGraphicsD3D9RegisterResource(MW_ANY);
cudaError_t cudaD3D10GetDevice(MW_ANY);
cudaError_t cudaD3D10GetDevices(MW_ANY);
cudaError_t cudaGraphicsD3D10RegisterResource(MW_ANY);
cudaError_t cudaD3D11GetDevice(MW_ANY);
cudaError_t cudaD3D11GetDevices(MW_ANY);
cudaError_t cudaGraphicsD3D11RegisterResource(MW_ANY);
CUresult cuD3D9Begin(MW_ANY);
CUresult cuD3D9End(MW_ANY);
CUresult cuD3D9GetDevice(MW_ANY);
CUresult cuD3D9RegisterVertexBuffer(MW_ANY);
CUresult cuD3D9MapVertexBuffer(MW_ANY);
CUresult cuD3D9UnmapVertexBuffer(MW_ANY);
CUresult cuD3D9UnregisterVertexBuffer(MW_ANY);
CUresult cuD3D9CtxCreate(MW_ANY);
CUresult cuD3D9GetDevices(MW_ANY);
CUresult cuD3D9GetDirect3DDevice(MW_ANY);
CUresult cuGraphicsD3D9RegisterResource(MW_ANY);
CUresult cuD3D10GetDevice(MW_ANY);
CUresult cuD3D10GetDevices(MW_ANY);
CUresult cuGraphicsD3D10RegisterResource(MW_ANY);
CUresult cuD3D11GetDevice(MW_ANY);
CUresult cuD3D11GetDevices(MW_ANY);
CUresult cuGraphicsD3D11RegisterResource(MW_ANY);

/* Other processes. */
cudaError_t cudaIpcGetMemHandle(MW_ANY);
cudaError_t cudaIpcOpenMemHandle(MW_ANY);
cudaError_t cudaIpcCloseMemHandle(MW_ANY);
cudaError_t cudaIpcGetEventHandle(MW_ANY);
cudaError_t cudaIpcOpenEventHandle(MW_ANY);
CUresult cuIpcGetMemHandle(MW_ANY);
CUresult cuIpcOpenMemHandle(MW_ANY);
CUresult cuIpcCloseMemHandle(MW_ANY);
CUresult cuIpcGetEventHandle(MW_ANY);
CUresult cuIpcOpenEventHandle(MW_ANY);

/* Memory and semaphores of Vulkan, Direct3D and NvSci. */
cudaError_t cudaImportExternalMemory(MW_ANY);
cudaError_t cudaExternalMemoryGetMappedBuffer(MW_ANY);
cudaError_t cudaExternalMemoryGetMappedMipmappedArray(MW_ANY);
cudaError_t cudaDestroyExternalMemory(MW_ANY);
cudaError_t cudaImportExternalSemaphore(MW_ANY);
cudaError_t cudaSignalExternalSemaphoresAsync(MW_ANY);
cudaError_t cudaWaitExternalSemaphoresAsync(MW_ANY);
cudaError_t cudaDestroyExternalSemaphore(MW_ANY);
cudaError_t cudaDeviceGetNvSciSyncAttributes(MW_ANY);
CUresult cuImportExternalMemory(MW_ANY);
CUresult cuExternalMemoryGetMappedBuffer(MW_ANY);
CUresult cuExternalMemoryGetMappedMipmappedArray(MW_ANY);
CUresult cuDestroyExternalMemory(MW_ANY);
CUresult cuImportExternalSemaphore(MW_ANY);
CUresult cuSignalExternalSemaphoresAsync(MW_ANY);
CUresult cuWaitExternalSemaphoresAsync(MW_ANY);
CUresult cuDestroyExternalSemaphore(MW_ANY);
CUresult cuDeviceGetNvSciSyncAttributes(MW_ANY);

#pragma GCC diagnostic pop
#pragma GCC visibility pop
#undef MW_ANY
#ifdef __cplusplus
}
#endif

#endif
