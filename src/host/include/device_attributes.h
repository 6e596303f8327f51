/* cudaDeviceAttr and CUdevice_attribute, which have the same numbers. */
#ifndef MOONWARP_DEVICE_ATTRIBUTES_H
#define MOONWARP_DEVICE_ATTRIBUTES_H

/* X(number, runtime API, driver API, field of cudaDeviceProp) */
#define MW_DEVICE_ATTRIBUTES(X)                                                                                        \
  X(1, MaxThreadsPerBlock, MAX_THREADS_PER_BLOCK, maxThreadsPerBlock)                                                  \
  X(2, MaxBlockDimX, MAX_BLOCK_DIM_X, maxThreadsDim[0])                                                                \
  X(3, MaxBlockDimY, MAX_BLOCK_DIM_Y, maxThreadsDim[1])                                                                \
  X(4, MaxBlockDimZ, MAX_BLOCK_DIM_Z, maxThreadsDim[2])                                                                \
  X(5, MaxGridDimX, MAX_GRID_DIM_X, maxGridSize[0])                                                                    \
  X(6, MaxGridDimY, MAX_GRID_DIM_Y, maxGridSize[1])                                                                    \
  X(7, MaxGridDimZ, MAX_GRID_DIM_Z, maxGridSize[2])                                                                    \
  X(8, MaxSharedMemoryPerBlock, MAX_SHARED_MEMORY_PER_BLOCK, sharedMemPerBlock)                                        \
  X(9, TotalConstantMemory, TOTAL_CONSTANT_MEMORY, totalConstMem)                                                      \
  X(10, WarpSize, WARP_SIZE, warpSize)                                                                                 \
  X(11, MaxPitch, MAX_PITCH, memPitch)                                                                                 \
  X(12, MaxRegistersPerBlock, MAX_REGISTERS_PER_BLOCK, regsPerBlock)                                                   \
  X(13, ClockRate, CLOCK_RATE, clockRate)                                                                              \
  X(14, TextureAlignment, TEXTURE_ALIGNMENT, textureAlignment)                                                         \
  X(15, GpuOverlap, GPU_OVERLAP, deviceOverlap)                                                                        \
  X(16, MultiProcessorCount, MULTIPROCESSOR_COUNT, multiProcessorCount)                                                \
  X(17, KernelExecTimeout, KERNEL_EXEC_TIMEOUT, kernelExecTimeoutEnabled)                                              \
  X(18, Integrated, INTEGRATED, integrated)                                                                            \
  X(19, CanMapHostMemory, CAN_MAP_HOST_MEMORY, canMapHostMemory)                                                       \
  X(20, ComputeMode, COMPUTE_MODE, computeMode)                                                                        \
  X(30, SurfaceAlignment, SURFACE_ALIGNMENT, surfaceAlignment)                                                         \
  X(31, ConcurrentKernels, CONCURRENT_KERNELS, concurrentKernels)                                                      \
  X(32, EccEnabled, ECC_ENABLED, ECCEnabled)                                                                           \
  X(33, PciBusId, PCI_BUS_ID, pciBusID)                                                                                \
  X(34, PciDeviceId, PCI_DEVICE_ID, pciDeviceID)                                                                       \
  X(35, TccDriver, TCC_DRIVER, tccDriver)                                                                              \
  X(36, MemoryClockRate, MEMORY_CLOCK_RATE, memoryClockRate)                                                           \
  X(37, GlobalMemoryBusWidth, GLOBAL_MEMORY_BUS_WIDTH, memoryBusWidth)                                                 \
  X(38, L2CacheSize, L2_CACHE_SIZE, l2CacheSize)                                                                       \
  X(39, MaxThreadsPerMultiProcessor, MAX_THREADS_PER_MULTIPROCESSOR, maxThreadsPerMultiProcessor)                      \
  X(40, AsyncEngineCount, ASYNC_ENGINE_COUNT, asyncEngineCount)                                                        \
  X(41, UnifiedAddressing, UNIFIED_ADDRESSING, unifiedAddressing)                                                      \
  X(50, PciDomainId, PCI_DOMAIN_ID, pciDomainID)                                                                       \
  X(51, TexturePitchAlignment, TEXTURE_PITCH_ALIGNMENT, texturePitchAlignment)                                         \
  X(75, ComputeCapabilityMajor, COMPUTE_CAPABILITY_MAJOR, major)                                                       \
  X(76, ComputeCapabilityMinor, COMPUTE_CAPABILITY_MINOR, minor)                                                       \
  X(78, StreamPrioritiesSupported, STREAM_PRIORITIES_SUPPORTED, streamPrioritiesSupported)                             \
  X(79, GlobalL1CacheSupported, GLOBAL_L1_CACHE_SUPPORTED, globalL1CacheSupported)                                     \
  X(80, LocalL1CacheSupported, LOCAL_L1_CACHE_SUPPORTED, localL1CacheSupported)                                        \
  X(81, MaxSharedMemoryPerMultiprocessor, MAX_SHARED_MEMORY_PER_MULTIPROCESSOR, sharedMemPerMultiprocessor)            \
  X(82, MaxRegistersPerMultiprocessor, MAX_REGISTERS_PER_MULTIPROCESSOR, regsPerMultiprocessor)                        \
  X(83, ManagedMemory, MANAGED_MEMORY, managedMemory)                                                                  \
  X(84, IsMultiGpuBoard, MULTI_GPU_BOARD, isMultiGpuBoard)                                                             \
  X(85, MultiGpuBoardGroupID, MULTI_GPU_BOARD_GROUP_ID, multiGpuBoardGroupID)                                          \
  X(86, HostNativeAtomicSupported, HOST_NATIVE_ATOMIC_SUPPORTED, hostNativeAtomicSupported)                            \
  X(88, PageableMemoryAccess, PAGEABLE_MEMORY_ACCESS, pageableMemoryAccess)                                            \
  X(89, ConcurrentManagedAccess, CONCURRENT_MANAGED_ACCESS, concurrentManagedAccess)                                   \
  X(90, ComputePreemptionSupported, COMPUTE_PREEMPTION_SUPPORTED, computePreemptionSupported)                          \
  X(91, CanUseHostPointerForRegisteredMem, CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM, canUseHostPointerForRegisteredMem) \
  X(95, CooperativeLaunch, COOPERATIVE_LAUNCH, cooperativeLaunch)                                                      \
  X(97, MaxSharedMemoryPerBlockOptin, MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, sharedMemPerBlockOptin)                       \
  X(101, DirectManagedMemAccessFromHost, DIRECT_MANAGED_MEM_ACCESS_FROM_HOST, directManagedMemAccessFromHost)          \
  X(106, MaxBlocksPerMultiprocessor, MAX_BLOCKS_PER_MULTIPROCESSOR, maxBlocksPerMultiProcessor)                        \
  X(108, MaxPersistingL2CacheSize, MAX_PERSISTING_L2_CACHE_SIZE, persistingL2CacheMaxSize)                             \
  X(109, MaxAccessPolicyWindowSize, MAX_ACCESS_POLICY_WINDOW_SIZE, accessPolicyMaxWindowSize)

#define MW_RUNTIME_ATTRIBUTE(number, runtime, driver, field) cudaDevAttr##runtime = number,
enum cudaDeviceAttr { MW_DEVICE_ATTRIBUTES(MW_RUNTIME_ATTRIBUTE) cudaDevAttrHostRegisterSupported = 99 };
#undef MW_RUNTIME_ATTRIBUTE

#endif
