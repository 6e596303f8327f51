/* Texture and surface references: variables of a module that hold a handle, bound by the host.
 *
 * Bindings are state of the host: each launch gets the handles of the current bindings and takes uses of their
 * textures, so later bindings do not affect work in flight, in any stream. The module retains bound textures. */
#include "texture_reference.h"
#include "texture.h"

#include <stdlib.h>
#include <string.h>

/* ---- the list ---- */

static mw_binding *find_binding(const mw_module *module, const char *linkage) {
  for (size_t i = 0; i < module->binding_count; i++)
    if (strcmp(module->bindings[i]->symbol.linkage, linkage) == 0) return module->bindings[i];
  return NULL;
}

void mw_reference_enter(mw_module *module, const mw_symbol_info *symbol) {
  if (!symbol->reference || find_binding(module, symbol->linkage)) return;
  mw_binding *binding = mw_alloc(sizeof *binding);
  binding->symbol = *symbol;
  module->bindings = mw_realloc(module->bindings, (module->binding_count + 1) * sizeof *module->bindings);
  module->bindings[module->binding_count++] = binding;
}

mw_binding **mw_reference_list(const mw_module *module, const mw_kernel_info *info) {
  if (info->reference_count == 0) return NULL;
  mw_binding **list = mw_alloc(info->reference_count * sizeof *list);
  for (size_t i = 0; i < info->reference_count; i++) list[i] = find_binding(module, info->references[i]);
  return list;
}

void mw_reference_unbind_all(mw_module *module) {
  for (size_t i = 0; i < module->binding_count; i++) {
    mw_texture_release(module->bindings[i]->texture);
    module->bindings[i]->texture = NULL;
  }
}

void mw_reference_free(mw_module *module) {
  for (size_t i = 0; i < module->binding_count; i++) free(module->bindings[i]);
  free(module->bindings);
}

/* ---- matching a reference's declaration with a texture ---- */

typedef struct shape {
  uint32_t kind;     /* of a record */
  int dimensions;    /* of a declaration */
  const char *words; /* what is bound */
  const char *wants; /* what the declaration wants */
} shape;

static const shape shapes[] = {
    {MW_TEX_LINEAR, 0x01, "memory of one dimension", "memory or a CUDA array of one dimension"},
    {MW_TEX_PITCHED, 0x02, "memory of two dimensions", "memory or a CUDA array of two dimensions"},
    {MW_TEX_1D, 0x01, "a 1-D CUDA array", "memory or a CUDA array of one dimension"},
    {MW_TEX_2D, 0x02, "a 2-D CUDA array", "memory or a CUDA array of two dimensions"},
    {MW_TEX_3D, 0x03, "a 3-D CUDA array", "a 3-D CUDA array"},
    {MW_TEX_1D_LAYERED, 0xF1, "a layered 1-D CUDA array", "a layered 1-D CUDA array"},
    {MW_TEX_2D_LAYERED, 0xF2, "a layered 2-D CUDA array", "a layered 2-D CUDA array"},
    {MW_TEX_CUBEMAP, 0x0C, "a cubemap", "a cubemap"},
    {MW_TEX_CUBEMAP_LAYERED, 0xFC, "a layered cubemap", "a layered cubemap"},
};

static const char *declared_words(int dimensions) {
  for (size_t i = 0; i < MW_COUNT(shapes); i++)
    if (shapes[i].dimensions == dimensions) return shapes[i].wants;
  return "a texture of no known type";
}

/* One-dimensional arrays may have a height of 1 or of 0. */
static bool is_one_row(const mw_texture *texture) {
  return texture->now.kind == MW_TEX_2D && texture->now.levels[0].height == 1;
}

static int check_kind(const mw_symbol_info *symbol, const mw_texture *texture) {
  bool surface = symbol->reference->kind == MW_REFERENCE_SURFACE;
  int code = surface ? MW_INVALID_SURFACE : MW_INVALID_TEXTURE;
  if (texture->is_surface != surface)
    return fail(code, "'%s' is a %s reference and cannot be bound to a %s: make %s", symbol->name,
                surface ? "surface" : "texture", surface ? "texture" : "surface",
                surface ? "one with mw.surface(array)" : "one with mw.texture(array, {...})");
  if (symbol->reference->dimensions == 0x01 && is_one_row(texture)) return MW_SUCCESS;
  for (size_t i = 0; i < MW_COUNT(shapes); i++)
    if (shapes[i].kind == texture->now.kind && shapes[i].dimensions != symbol->reference->dimensions)
      return fail(code, "'%s' is declared as %s and wants %s; this %s is over %s", symbol->name, symbol->type->name,
                  declared_words(symbol->reference->dimensions), surface ? "surface" : "texture", shapes[i].words);
  return MW_SUCCESS;
}

static int check_format(const mw_symbol_info *symbol, const mw_texture *texture) {
  const mw_type *element = symbol->reference->element;
  const mw_tex_record *record = &texture->now;
  const mw_channels have = {(mw_channel_kind)record->channel_kind, (int)record->channel_bits, (int)record->channels};
  mw_channels wanted;
  if (element->kind == MW_TYPE_VOID) return MW_SUCCESS;
  int code = mw_channels_of(element, &wanted);
  if (code != MW_SUCCESS) return code;
  /* Half texels are read as float. (CUDA C++ Programming Guide, 16-bit floating-point textures) */
  bool halves = wanted.kind == MW_CHANNEL_FLOAT && wanted.bits == 32 && have.bits == 16 && !texture->is_surface;
  if (wanted.kind == have.kind && (wanted.bits == have.bits || halves) && wanted.count == have.count) return MW_SUCCESS;
  mw_channels_text name = mw_channels_name(&wanted);
  return fail(MW_INVALID_CHANNEL_DESCRIPTOR,
              "'%s' is declared with texels of %s, and this %s has texels of %s: make its memory one of %s",
              symbol->name, name.text, texture->is_surface ? "surface" : "texture", mw_channels_name(&have).text,
              name.text);
}

static int check_read(const mw_symbol_info *symbol, mw_texture *texture) {
  static const char *const words[] = {[MW_READ_ELEMENT] = "as they are (cudaReadModeElementType)",
                                      [MW_READ_NORMALIZED] = "as normalized floats (cudaReadModeNormalizedFloat)"};
  mw_read_mode read = symbol->reference->read;
  bool agreed = false;
  if (texture->is_surface) return MW_SUCCESS;
  int code = mw_texture_decide(texture, read, &agreed);
  if (code != MW_SUCCESS || agreed) return code;
  return fail(MW_INVALID_TEXTURE,
              "'%s' reads texels %s, and this texture is made for reading them %s: make another one", symbol->name,
              words[read], words[read == MW_READ_ELEMENT ? MW_READ_NORMALIZED : MW_READ_ELEMENT]);
}

static int check(const mw_device *device, const mw_symbol_info *symbol, mw_texture *texture) {
  const char *noun = texture->is_surface ? "surface" : "texture";
  if (texture->device != device)
    return fail(MW_INVALID_DEVICE_POINTER, "'%s' is on %s, and this %s is on %s", symbol->name, device->name, noun,
                texture->device->name);
  const mw_buffer *memory = texture->array ? texture->array->buffer : texture->buffer;
  if (mw_buffer_is_freed(memory)) return fail(MW_INVALID_RESOURCE_HANDLE, "the memory of this %s was freed", noun);
  int code = check_kind(symbol, texture);
  if (code == MW_SUCCESS) code = check_format(symbol, texture);
  if (code == MW_SUCCESS) code = check_read(symbol, texture);
  return code;
}

/* ---- binding ---- */

const mw_reference *mw_symbol_reference(const mw_symbol *symbol) { return symbol->info.reference; }

static mw_binding *binding_of(const mw_symbol *symbol) {
  mw_lock(&symbol->module->lock);
  mw_binding *binding = find_binding(symbol->module, symbol->info.linkage);
  mw_unlock(&symbol->module->lock);
  return binding;
}

int mw_symbol_bind(mw_symbol *symbol, mw_texture *texture) {
  mw_module *module = symbol->module;
  mw_binding *binding = symbol->info.reference ? binding_of(symbol) : NULL;
  if (!binding)
    return fail(MW_INVALID_TEXTURE, "'%s' is a variable of type %s, not a texture or surface reference",
                symbol->info.name, symbol->info.type->name);
  int code = texture ? check(module->device, &symbol->info, texture) : MW_SUCCESS;
  if (code != MW_SUCCESS) return code;
  mw_lock(&module->binding);
  mw_texture *old = binding->texture;
  binding->texture = texture ? mw_texture_retain(texture) : NULL;
  mw_unlock(&module->binding);
  mw_texture_release(old);
  return MW_SUCCESS;
}

mw_texture *mw_symbol_bound(const mw_symbol *symbol) {
  mw_module *module = symbol->module;
  mw_binding *binding = symbol->info.reference ? binding_of(symbol) : NULL;
  if (!binding) return NULL;
  mw_lock(&module->binding);
  mw_texture *texture = binding->texture ? mw_texture_retain(binding->texture) : NULL;
  mw_unlock(&module->binding);
  return texture;
}

/* ---- launches ---- */

static int fail_unbound(const mw_kernel *kernel, size_t i) {
  const mw_binding *binding = kernel->bindings[i];
  const char *name = binding ? binding->symbol.name : kernel->info->references[i];
  bool surface = binding && binding->symbol.reference->kind == MW_REFERENCE_SURFACE;
  int code =
      fail(MW_INVALID_TEXTURE_BINDING, "%s reads the %s reference '%s', and nothing is bound to it: %s%s = mw.%s",
           kernel->info->name, surface ? "surface" : "texture", name,
           binding ? "assign m."
                   : "a reference has to stand outside of "
                     "functions, for m.",
           name, surface ? "surface(array)" : "texture(array, {...})");
  mw_error_kernel(kernel->info->name, NULL, NULL);
  return code;
}

/* Under the lock. */
static int use_bound(const mw_kernel *kernel, mw_command *command, uint64_t *handles) {
  for (size_t i = 0; i < kernel->info->reference_count; i++) {
    mw_binding *binding = kernel->bindings[i];
    if (!binding || !binding->texture) return fail_unbound(kernel, i);
    int code = mw_texture_use(binding->texture, command, &handles[i]);
    if (code == MW_SUCCESS) continue;
    fail(code, "%s reads the %s reference '%s', and the memory that is bound to it was freed", kernel->info->name,
         binding->texture->is_surface ? "surface" : "texture", binding->symbol.name);
    mw_error_kernel(kernel->info->name, NULL, NULL);
    return code;
  }
  return MW_SUCCESS;
}

int mw_reference_use(const mw_kernel *kernel, mw_command *command, uint64_t *handles) {
  mw_lock(&kernel->module->binding);
  int code = use_bound(kernel, command, handles);
  mw_unlock(&kernel->module->binding);
  return code;
}

/* Under the lock. */
static bool find_bound(const mw_kernel *kernel, size_t i, mw_buffer *buffers[MW_TEXTURE_BUFFERS]) {
  const mw_binding *binding = kernel->bindings[i];
  if (!binding || !binding->texture) return false;
  (void)mw_texture_is_settled(binding->texture, buffers);
  return true;
}

bool mw_reference_hold(const mw_kernel *kernel, mw_buffer **buffers) {
  size_t count = 0, wanted = kernel->info->reference_count;
  mw_lock(&kernel->module->binding);
  for (; count < wanted; count++) {
    const mw_binding *binding = kernel->bindings[count];
    if (!binding || !binding->texture) break;
    mw_texture_hold(binding->texture, buffers + MW_TEXTURE_BUFFERS * count);
  }
  mw_unlock(&kernel->module->binding);
  if (count == wanted) return true;
  for (size_t i = 0; i < MW_TEXTURE_BUFFERS * count; i++) mw_buffer_release(buffers[i]);
  return false;
}

bool mw_reference_is_bound_to(const mw_kernel *kernel, mw_buffer *const *buffers) {
  bool same = true;
  mw_buffer *now[MW_TEXTURE_BUFFERS];
  mw_lock(&kernel->module->binding);
  for (size_t i = 0; i < kernel->info->reference_count && same; i++, buffers += MW_TEXTURE_BUFFERS)
    same = find_bound(kernel, i, now) && now[0] == buffers[0] && now[1] == buffers[1];
  mw_unlock(&kernel->module->binding);
  return same;
}
