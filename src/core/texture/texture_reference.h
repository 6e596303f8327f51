/* Texture and surface references of a module: the interface for module.c, kernel.c and launch.c. */
#ifndef MW_REFERENCE_H
#define MW_REFERENCE_H

#include "core/launch/command.h"
#include "core/module/module.h"

/* The binding of one reference. Made when its unit is entered; does not move while the module lives. */
typedef struct mw_binding {
  mw_symbol_info symbol;
  mw_texture *texture; /* retained, or NULL; under the module's `binding` lock */
} mw_binding;

/* Enter the reference `symbol`. Under the module's lock. */
void mw_reference_enter(mw_module *module, const mw_symbol_info *symbol);
/* The bindings of the references that the kernel may read, NULL for one that hosts cannot bind: an array of
   info->reference_count, yours to free, or NULL if there are none. Under the module's lock. */
mw_binding **mw_reference_list(const mw_module *module, const mw_kernel_info *info);
/* Release all bindings, when the last handle of the module is released. */
void mw_reference_unbind_all(mw_module *module);
void mw_reference_free(mw_module *module);

/* Take uses for a command, at most MW_TEXTURE_BUFFERS for each of the kernel's references, of the bound textures, and
   write their handles. Fails if a reference is unbound. */
int mw_reference_use(const mw_kernel *kernel, mw_command *command, uint64_t *handles);

/* The bound textures of the kernel's references, as the buffers that mw_reference_use uses, the first being the
   handle's: MW_TEXTURE_BUFFERS for each reference, retained. False, with none retained, if a reference is unbound. */
bool mw_reference_hold(const mw_kernel *kernel, mw_buffer **buffers);
/* Whether these are the current bindings. */
bool mw_reference_is_bound_to(const mw_kernel *kernel, mw_buffer *const *buffers);

#endif
