/* Direct3D under CUDA's names: declared, so that host code which names it links, and refused. There is none here: each
 * returns cudaErrorNotSupported, or CUDA_ERROR_NOT_SUPPORTED. Their arguments are not looked at, and therefore not declared. */
#ifndef MOONWARP_CUDA_INTEROP_H
#define MOONWARP_CUDA_INTEROP_H

#include "cuda_errors.h"
#include "cuda_results.h"

#ifdef __cplusplus
extern "C" {
#define MW_ANY ...
#else
#define MW_ANY
#endif
#pragma GCC visibility push(default)
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wstrict-prototypes"

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
CUresult cuD3D9Begin(MW_ANY);
CUresult cuD3D9End(MW_ANY);
CUresult cuD3D9GetDevice(MW_ANY);
CUresult cuD3D9RegisterVertexBuffer(MW_ANY);
CUresult cuD3D9MapVertexBuffer(MW_ANY);
CUresult cuD3D9UnmapVertexBuffer(MW_ANY);
CUresult cuD3D9UnregisterVertexBuffer(MW_ANY);

#pragma GCC diagnostic pop
#pragma GCC visibility pop
#undef MW_ANY
#ifdef __cplusplus
}
#endif

#endif
