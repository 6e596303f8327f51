/* The part of cuda.c with textures, whose handles count up, and with OpenGL: one resource, whose memory stays. */

static uint64_t handles = 100;

static CUresult fake_cuArray3DCreate(CUarray *array, const CUDA_ARRAY3D_DESCRIPTOR *d) {
  CALL(cuArray3DCreate, "%zu x %zu x %zu format %u channels %u flags %u", d->width, d->height, d->depth, d->format,
       d->channels, d->flags);
  *array = (CUarray)(uintptr_t)++handles;
  return 0;
}

static CUresult fake_cuMipmappedArrayCreate(CUmipmappedArray *array, const CUDA_ARRAY3D_DESCRIPTOR *d,
                                            unsigned levels) {
  CALL(cuMipmappedArrayCreate, "%zu x %zu x %zu levels %u", d->width, d->height, d->depth, levels);
  *array = (CUmipmappedArray)(uintptr_t)++handles;
  return 0;
}

static CUresult fake_cuMipmappedArrayGetLevel(CUarray *level, CUmipmappedArray array, unsigned number) {
  (void)array;
  CALL(cuMipmappedArrayGetLevel, "%u", number);
  *level = (CUarray)(uintptr_t)++handles;
  return 0;
}

static CUresult fake_cuTexObjectCreate(CUtexObject *texture, const CUDA_RESOURCE_DESC *r, const CUDA_TEXTURE_DESC *t,
                                       const void *view) {
  (void)view;
  unsigned bits[4];
  char border[64] = "";
  memcpy(bits, t->border, sizeof bits);
  if (bits[0] | bits[1] | bits[2] | bits[3])
    snprintf(border, sizeof border, " border %x %x %x %x", bits[0], bits[1], bits[2], bits[3]);
  CALL(cuTexObjectCreate, "kind %u address %u %u %u filter %u flags %u%s", r->kind, t->address[0], t->address[1],
       t->address[2], t->filter, t->flags, border);
  *texture = ++handles;
  return 0;
}

static CUresult fake_cuSurfObjectCreate(CUsurfObject *surface, const CUDA_RESOURCE_DESC *r) {
  CALL(cuSurfObjectCreate, "kind %u", r->kind);
  *surface = ++handles;
  return 0;
}

/* ---- OpenGL ---- */

static char resource_memory[64];

static CUresult fake_cuGraphicsGLRegisterBuffer(CUgraphicsResource *resource, unsigned buffer, unsigned flags) {
  CALL(cuGraphicsGLRegisterBuffer, "%u flags %u", buffer, flags);
  *resource = (CUgraphicsResource)resource_memory;
  return 0;
}

static CUresult fake_cuGraphicsGLRegisterImage(CUgraphicsResource *resource, unsigned image, unsigned target,
                                               unsigned flags) {
  CALL(cuGraphicsGLRegisterImage, "%u target %x flags %u", image, target, flags);
  *resource = (CUgraphicsResource)resource_memory;
  return 0;
}

static CUresult fake_cuGraphicsResourceGetMappedPointer(CUdeviceptr *address, size_t *bytes,
                                                        CUgraphicsResource resource) {
  CALL(cuGraphicsResourceGetMappedPointer, "%s", "");
  *address = (CUdeviceptr)(uintptr_t)resource;
  *bytes = sizeof resource_memory;
  return 0;
}

static CUresult fake_cuGraphicsSubResourceGetMappedArray(CUarray *array, CUgraphicsResource resource, unsigned layer,
                                                         unsigned level) {
  (void)resource;
  CALL(cuGraphicsSubResourceGetMappedArray, "layer %u level %u", layer, level);
  *array = (CUarray)(uintptr_t)++handles;
  return 0;
}

static CUresult fake_cuGraphicsResourceGetMappedMipmappedArray(CUmipmappedArray *array, CUgraphicsResource resource) {
  (void)resource;
  CALL(cuGraphicsResourceGetMappedMipmappedArray, "%s", "");
  *array = (CUmipmappedArray)(uintptr_t)++handles;
  return 0;
}

/* The second of its devices draws. */
static CUresult fake_cuGLGetDevices(unsigned *count, CUdevice *devices, unsigned size, unsigned list) {
  CALL(cuGLGetDevices, "size %u list %u", size, list);
  *count = 1;
  devices[0] = 1;
  return 0;
}
