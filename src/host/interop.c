/* Direct3D: refused, with the reason. */
#include "host.h"
#include "include/cuda_interop.h"

/* Declared without arguments: whatever a caller gives is not looked at. */
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wold-style-definition"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static int refuse(const char *name) {
  return host_fail(MW_NOT_SUPPORTED, "%s: there is no Direct3D on this system", name);
}

cudaError_t cudaD3D9Begin() { return host_end(refuse("cudaD3D9Begin")); }
cudaError_t cudaD3D9End() { return host_end(refuse("cudaD3D9End")); }
cudaError_t cudaD3D9SetDirect3DDevice() { return host_end(refuse("cudaD3D9SetDirect3DDevice")); }
cudaError_t cudaD3D9GetDirect3DDevice() { return host_end(refuse("cudaD3D9GetDirect3DDevice")); }
cudaError_t cudaD3D9GetDevice() { return host_end(refuse("cudaD3D9GetDevice")); }
cudaError_t cudaD3D9RegisterResource() { return host_end(refuse("cudaD3D9RegisterResource")); }
cudaError_t cudaD3D9RegisterVertexBuffer() { return host_end(refuse("cudaD3D9RegisterVertexBuffer")); }
cudaError_t cudaD3D9UnregisterResource() { return host_end(refuse("cudaD3D9UnregisterResource")); }
cudaError_t cudaD3D9UnregisterVertexBuffer() { return host_end(refuse("cudaD3D9UnregisterVertexBuffer")); }
cudaError_t cudaD3D9MapResources() { return host_end(refuse("cudaD3D9MapResources")); }
cudaError_t cudaD3D9MapVertexBuffer() { return host_end(refuse("cudaD3D9MapVertexBuffer")); }
cudaError_t cudaD3D9UnmapResources() { return host_end(refuse("cudaD3D9UnmapResources")); }
cudaError_t cudaD3D9UnmapVertexBuffer() { return host_end(refuse("cudaD3D9UnmapVertexBuffer")); }
cudaError_t cudaD3D9ResourceGetMappedPointer() { return host_end(refuse("cudaD3D9ResourceGetMappedPointer")); }
cudaError_t cudaD3D9ResourceGetMappedPitch() { return host_end(refuse("cudaD3D9ResourceGetMappedPitch")); }
cudaError_t cudaD3D9ResourceGetMappedSize() { return host_end(refuse("cudaD3D9ResourceGetMappedSize")); }
cudaError_t cudaD3D9ResourceGetSurfaceDimensions() { return host_end(refuse("cudaD3D9ResourceGetSurfaceDimensions")); }
cudaError_t cudaD3D9ResourceSetMapFlags() { return host_end(refuse("cudaD3D9ResourceSetMapFlags")); }
CUresult cuD3D9Begin() { return host_end_driver(refuse("cuD3D9Begin")); }
CUresult cuD3D9End() { return host_end_driver(refuse("cuD3D9End")); }
CUresult cuD3D9GetDevice() { return host_end_driver(refuse("cuD3D9GetDevice")); }
CUresult cuD3D9RegisterVertexBuffer() { return host_end_driver(refuse("cuD3D9RegisterVertexBuffer")); }
CUresult cuD3D9MapVertexBuffer() { return host_end_driver(refuse("cuD3D9MapVertexBuffer")); }
CUresult cuD3D9UnmapVertexBuffer() { return host_end_driver(refuse("cuD3D9UnmapVertexBuffer")); }
CUresult cuD3D9UnregisterVertexBuffer() { return host_end_driver(refuse("cuD3D9UnregisterVertexBuffer")); }
