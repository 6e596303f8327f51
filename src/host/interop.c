/* Interoperability with Direct3D, other processes and other interfaces: not supported; the message says why. */
#include "host/driver/driver.h"
#include "include/cuda_interop.h"

/* Declared without arguments: all arguments are ignored. */
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#pragma GCC diagnostic ignored "-Wold-style-definition"
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

#define DIRECT3D "there is no Direct3D on this system"
#define IPC      "memory and events belong to one process here"
#define EXTERNAL "memory and semaphores of other interfaces cannot be imported here"

static int refuse(const char *name, const char *why) { return host_fail(MW_NOT_SUPPORTED, "%s: %s", name, why); }

/* clang-format off */
#define RUNTIME(name, why) cudaError_t name() { return host_end(refuse(#name, why)); }
#define DRIVER(name, why) CUresult name() { return host_end_driver(refuse(#name, why)); }
#define DRIVER_IN_CONTEXT(name, why) CUresult name() { HOST_DRIVER(refuse(#name, why)); }
/* clang-format on */

RUNTIME(cudaD3D9Begin, DIRECT3D)
RUNTIME(cudaD3D9End, DIRECT3D)
RUNTIME(cudaD3D9SetDirect3DDevice, DIRECT3D)
RUNTIME(cudaD3D9GetDirect3DDevice, DIRECT3D)
RUNTIME(cudaD3D9GetDevice, DIRECT3D)
RUNTIME(cudaD3D9RegisterResource, DIRECT3D)
RUNTIME(cudaD3D9RegisterVertexBuffer, DIRECT3D)
RUNTIME(cudaD3D9UnregisterResource, DIRECT3D)
RUNTIME(cudaD3D9UnregisterVertexBuffer, DIRECT3D)
RUNTIME(cudaD3D9MapResources, DIRECT3D)
RUNTIME(cudaD3D9MapVertexBuffer, DIRECT3D)
RUNTIME(cudaD3D9UnmapResources, DIRECT3D)
RUNTIME(cudaD3D9UnmapVertexBuffer, DIRECT3D)
RUNTIME(cudaD3D9ResourceGetMappedPointer, DIRECT3D)
RUNTIME(cudaD3D9ResourceGetMappedPitch, DIRECT3D)
RUNTIME(cudaD3D9ResourceGetMappedSize, DIRECT3D)
RUNTIME(cudaD3D9ResourceGetSurfaceDimensions, DIRECT3D)
RUNTIME(cudaD3D9ResourceSetMapFlags, DIRECT3D)
RUNTIME(cudaD3D9GetDevices, DIRECT3D)
RUNTIME(cudaGraphicsD3D9RegisterResource, DIRECT3D)
RUNTIME(cudaD3D10GetDevice, DIRECT3D)
RUNTIME(cudaD3D10GetDevices, DIRECT3D)
RUNTIME(cudaGraphicsD3D10RegisterResource, DIRECT3D)
RUNTIME(cudaD3D11GetDevice, DIRECT3D)
RUNTIME(cudaD3D11GetDevices, DIRECT3D)
RUNTIME(cudaGraphicsD3D11RegisterResource, DIRECT3D)
DRIVER(cuD3D9Begin, DIRECT3D)
DRIVER(cuD3D9End, DIRECT3D)
DRIVER(cuD3D9GetDevice, DIRECT3D)
DRIVER(cuD3D9RegisterVertexBuffer, DIRECT3D)
DRIVER(cuD3D9MapVertexBuffer, DIRECT3D)
DRIVER(cuD3D9UnmapVertexBuffer, DIRECT3D)
DRIVER(cuD3D9UnregisterVertexBuffer, DIRECT3D)
DRIVER(cuD3D9CtxCreate, DIRECT3D)
DRIVER(cuD3D9GetDevices, DIRECT3D)
DRIVER(cuD3D9GetDirect3DDevice, DIRECT3D)
DRIVER_IN_CONTEXT(cuGraphicsD3D9RegisterResource, DIRECT3D)
DRIVER(cuD3D10GetDevice, DIRECT3D)
DRIVER(cuD3D10GetDevices, DIRECT3D)
DRIVER_IN_CONTEXT(cuGraphicsD3D10RegisterResource, DIRECT3D)
DRIVER(cuD3D11GetDevice, DIRECT3D)
DRIVER(cuD3D11GetDevices, DIRECT3D)
DRIVER_IN_CONTEXT(cuGraphicsD3D11RegisterResource, DIRECT3D)

RUNTIME(cudaIpcGetMemHandle, IPC)
RUNTIME(cudaIpcOpenMemHandle, IPC)
RUNTIME(cudaIpcCloseMemHandle, IPC)
RUNTIME(cudaIpcGetEventHandle, IPC)
RUNTIME(cudaIpcOpenEventHandle, IPC)
DRIVER_IN_CONTEXT(cuIpcGetMemHandle, IPC)
DRIVER_IN_CONTEXT(cuIpcOpenMemHandle, IPC)
DRIVER_IN_CONTEXT(cuIpcCloseMemHandle, IPC)
DRIVER_IN_CONTEXT(cuIpcGetEventHandle, IPC)
DRIVER_IN_CONTEXT(cuIpcOpenEventHandle, IPC)

RUNTIME(cudaImportExternalMemory, EXTERNAL)
RUNTIME(cudaExternalMemoryGetMappedBuffer, EXTERNAL)
RUNTIME(cudaExternalMemoryGetMappedMipmappedArray, EXTERNAL)
RUNTIME(cudaDestroyExternalMemory, EXTERNAL)
RUNTIME(cudaImportExternalSemaphore, EXTERNAL)
RUNTIME(cudaSignalExternalSemaphoresAsync, EXTERNAL)
RUNTIME(cudaWaitExternalSemaphoresAsync, EXTERNAL)
RUNTIME(cudaDestroyExternalSemaphore, EXTERNAL)
RUNTIME(cudaDeviceGetNvSciSyncAttributes, EXTERNAL)
DRIVER_IN_CONTEXT(cuImportExternalMemory, EXTERNAL)
DRIVER_IN_CONTEXT(cuExternalMemoryGetMappedBuffer, EXTERNAL)
DRIVER_IN_CONTEXT(cuExternalMemoryGetMappedMipmappedArray, EXTERNAL)
DRIVER_IN_CONTEXT(cuDestroyExternalMemory, EXTERNAL)
DRIVER_IN_CONTEXT(cuImportExternalSemaphore, EXTERNAL)
DRIVER_IN_CONTEXT(cuSignalExternalSemaphoresAsync, EXTERNAL)
DRIVER_IN_CONTEXT(cuWaitExternalSemaphoresAsync, EXTERNAL)
DRIVER_IN_CONTEXT(cuDestroyExternalSemaphore, EXTERNAL)
DRIVER_IN_CONTEXT(cuDeviceGetNvSciSyncAttributes, EXTERNAL)
