/* Texture and surface references of a module, as module.c, kernel.c and launch.c know them. */
#ifndef MW_REFERENCE_H
#define MW_REFERENCE_H

#include "core/launch/command.h"
#include "core/module/module.h"

/* What one reference is bound to. Made when its unit is entered, and stays where it is as long as the module. */
typedef struct mw_binding {
  mw_symbol_info symbol;
  mw_texture *texture; /* retained, or NULL; under the module's `binding` lock */
} mw_binding;

/* Enter the reference that `symbol` is. Under the module's lock. */
void mw_reference_enter(mw_module *module, const mw_symbol_info *symbol);
/* The bindings of the references that the kernel may read, NULL for one that no host can bind; an array of
   info->reference_count, yours to free, or NULL for none. Under the module's lock. */
mw_binding **mw_reference_list(const mw_module *module, const mw_kernel_info *info);
/* Let go of all that is bound: the last handle of the module goes. */
void mw_reference_unbind_all(mw_module *module);
void mw_reference_free(mw_module *module);

/* Take uses for a command, MW_TEXTURE_BUFFERS each at most, of what the kernel's references are bound to, and write their
   handles. Fails where one is bound to nothing. */
int mw_reference_use(const mw_kernel *kernel, mw_command *command, uint64_t *handles);

/* What the kernel's references are bound to, as the buffers that mw_reference_use takes uses of, the first the handle's:
   MW_TEXTURE_BUFFERS each, retained. False, and none are, where one is bound to nothing. */
bool mw_reference_hold(const mw_kernel *kernel, mw_buffer **buffers);
/* Whether that is what they are bound to now. */
bool mw_reference_is_bound_to(const mw_kernel *kernel, mw_buffer *const *buffers);

#endif
