/* The part of cuda.c with memory, which is the host's: each piece has its size before it, and the context that it is of. */

static size_t in_use, outstanding; /* outstanding: freed in a stream, and the host has not waited for that */
static CUstream freed_in;
static struct {
  char *memory;
  size_t bytes;
  CUcontext owner;
} pieces[64]; /* of the last allocations */

/* Whose memory it is, as far as that is known. */
static CUcontext owner_of(CUdeviceptr address) {
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    if (pieces[i].memory && address - (uintptr_t)pieces[i].memory < pieces[i].bytes) return pieces[i].owner;
  return NULL;
}

static void note(char *memory, size_t bytes) {
  static size_t next;
  pieces[next].memory = memory;
  pieces[next].bytes = bytes;
  pieces[next++].owner = current;
  next %= sizeof pieces / sizeof *pieces;
}

/* The size stands before the memory, which is aligned as the device's. */
static CUresult allocate_beside(void **out, size_t bytes, size_t others) {
  if (in_use + others + bytes > (size_t)setting("memory", 1000000000)) return CUDA_OUT_OF_MEMORY;
  char *memory = aligned_alloc(256, (bytes + 511) / 256 * 256);
  memcpy(memory, &bytes, sizeof bytes);
  memset(memory + 256, 0xcd, bytes);
  in_use += bytes;
  note(memory + 256, bytes);
  *out = memory + 256;
  return 0;
}

static CUresult allocate(void **out, size_t bytes) { return allocate_beside(out, bytes, outstanding); }

static void release(void *memory) {
  size_t bytes;
  memcpy(&bytes, (char *)memory - 256, sizeof bytes);
  in_use -= bytes;
  for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
    if (pieces[i].memory == memory) pieces[i].memory = NULL;
  free((char *)memory - 256);
}

static CUresult fake_cuMemGetInfo(size_t *available, size_t *total) {
  CALL(cuMemGetInfo, "%s", "");
  *total = (size_t)setting("memory", 1000000000);
  *available = *total - in_use;
  return 0;
}

static CUresult fake_cuMemAlloc(CUdeviceptr *address, size_t bytes) {
  CALL(cuMemAlloc, "%zu", bytes);
  return allocate((void **)address, bytes);
}

static CUresult fake_cuMemAllocAsync(CUdeviceptr *address, size_t bytes, CUstream stream) {
  CALL(cuMemAllocAsync, "%zu", bytes);
  return allocate_beside((void **)address, bytes, stream == freed_in ? 0 : outstanding);
}

static CUresult fake_cuMemAllocManaged(CUdeviceptr *address, size_t bytes, unsigned flags) {
  CALL(cuMemAllocManaged, "%zu %u", bytes, flags);
  return allocate((void **)address, bytes);
}

static CUresult fake_cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  CALL(cuMemHostAlloc, "%zu %u", bytes, flags);
  return allocate(memory, bytes);
}

static CUresult fake_cuMemFree(CUdeviceptr address) {
  CALL(cuMemFree, "%s", "");
  release((void *)(uintptr_t)address);
  return 0;
}

static CUresult fake_cuMemFreeAsync(CUdeviceptr address, CUstream stream) {
  CALL(cuMemFreeAsync, "%s", "");
  size_t before = in_use;
  release((void *)(uintptr_t)address);
  outstanding += before - in_use;
  freed_in = stream;
  return 0;
}

static CUresult fake_cuMemFreeHost(void *memory) {
  CALL(cuMemFreeHost, "%s", "");
  release(memory);
  return 0;
}

static CUresult move(CUdeviceptr target, CUdeviceptr source, size_t bytes) {
  memmove((void *)(uintptr_t)target, (void *)(uintptr_t)source, bytes);
  return 0;
}

static CUresult fake_cuMemcpyHtoDAsync(CUdeviceptr target, const void *source, size_t bytes, CUstream stream) {
  (void)stream;
  CALL(cuMemcpyHtoDAsync, "%zu", bytes);
  return move(target, (CUdeviceptr)(uintptr_t)source, bytes);
}

static CUresult fake_cuMemcpyDtoHAsync(void *target, CUdeviceptr source, size_t bytes, CUstream stream) {
  (void)stream;
  CALL(cuMemcpyDtoHAsync, "%zu", bytes);
  return move((CUdeviceptr)(uintptr_t)target, source, bytes);
}

static CUresult fake_cuMemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  (void)stream;
  CALL(cuMemcpyDtoDAsync, "%zu", bytes);
  return move(target, source, bytes);
}

static CUresult fake_cuMemcpyAsync(CUdeviceptr target, CUdeviceptr source, size_t bytes, CUstream stream) {
  (void)stream;
  CALL(cuMemcpyAsync, "%zu", bytes);
  /* As an H100 does with memory of pools. */
  if (owner_of(target) && owner_of(source) && owner_of(target) != owner_of(source)) return 1;
  return move(target, source, bytes);
}

static CUresult fake_cuMemcpyPeerAsync(CUdeviceptr target, CUcontext to, CUdeviceptr source, CUcontext from,
                                       size_t bytes, CUstream stream) {
  (void)stream;
  CALL(cuMemcpyPeerAsync, "%zu from %d to %d", bytes, (int)((char *)from - contexts), (int)((char *)to - contexts));
  return move(target, source, bytes);
}

/* Checked runs clear gigabytes. */
static void fill(CUdeviceptr target, size_t pitch, uint32_t value, size_t size, size_t width, size_t height) {
  for (size_t y = 0; y < height; y++) {
    char *row = (char *)(uintptr_t)target + y * pitch;
    if (value == 0)
      memset(row, 0, width * size);
    else
      for (size_t x = 0; x < width; x++) memcpy(row + x * size, &value, size);
  }
}

#define FILL(name, type, size)                                                                                         \
  static CUresult fake_cuMemset##name##Async(CUdeviceptr target, type value, size_t count, CUstream stream) {          \
    (void)stream;                                                                                                      \
    CALL(cuMemset##name##Async, "%zu", count);                                                                         \
    fill(target, 0, value, size, count, 1);                                                                            \
    return 0;                                                                                                          \
  }                                                                                                                    \
  static CUresult fake_cuMemsetD2##name##Async(CUdeviceptr target, size_t pitch, type value, size_t width,             \
                                               size_t height, CUstream stream) {                                       \
    (void)stream;                                                                                                      \
    CALL(cuMemsetD2##name##Async, "%zu x %zu by %zu", width, height, pitch);                                           \
    fill(target, pitch, value, size, width, height);                                                                   \
    return 0;                                                                                                          \
  }
FILL(D8, unsigned char, 1)
FILL(D16, unsigned short, 2)
FILL(D32, unsigned, 4)
#undef FILL

static CUresult fake_cuMemcpy3DAsync(const CUDA_MEMCPY3D *copy, CUstream stream) {
  (void)stream;
  CALL(cuMemcpy3DAsync, "%zu x %zu x %zu, %u to %u", copy->width, copy->height, copy->depth, copy->source_kind,
       copy->target_kind);
  if (copy->source_kind == CU_MEMORY_ARRAY || copy->target_kind == CU_MEMORY_ARRAY) return 0;
  for (size_t z = 0; z < copy->depth; z++)
    for (size_t y = 0; y < copy->height; y++)
      move(copy->target_device + (z * copy->target_height + y) * copy->target_pitch,
           copy->source_device + (z * copy->source_height + y) * copy->source_pitch, copy->width);
  return 0;
}

static CUresult fake_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D *copy, CUstream stream) {
  (void)stream;
  CALL(cuMemcpy3DPeerAsync, "%zu x %zu x %zu from %d to %d", copy->width, copy->height, copy->depth,
       (int)((char *)copy->source_context - contexts), (int)((char *)copy->target_context - contexts));
  for (size_t y = 0; y < copy->height; y++)
    move(copy->target_device + y * copy->target_pitch, copy->source_device + y * copy->source_pitch, copy->width);
  return 0;
}
