/* One opened .mwo file: checked bytes, and the shared object that the dynamic linker made of them. */
#ifndef MW_CPU_OBJECT_H
#define MW_CPU_OBJECT_H

#include "base/base.h"
#include "elf.h"
#include "mwo.h"

typedef struct cpu_object {
  mw_refs refs; /* changed under object.c's lock only */
  struct cpu_object *next;
  elf_bytes elf; /* the file without its trailer: stays when the file is gone */
  mw_trailer trailer;
  uint64_t device, inode; /* of the file that the dynamic linker was given */
  void *library;
  uintptr_t base;        /* an address in the file + base = an address in this process */
  uintptr_t first, last; /* the address range that it takes */
  const mw_mwo *image;
} cpu_object;

/* Open the file at `path`, or find it open: objects hold no state, so that equal files share one. What the file says of
   itself has been checked: tables, names and types lie inside it. The file may be changed or deleted afterwards.
   MW_FILE_NOT_FOUND, MW_INVALID_KERNEL_IMAGE, MW_NO_KERNEL_IMAGE_FOR_DEVICE. */
int object_open(const char *path, cpu_object **out);
void object_close(cpu_object *object);

/* The files that the .mwo at `path` was made of, "size mtime_ns path" a line, without loading it: its checksum holds and
   it is for this processor, else false. */
bool object_dependencies(const char *path, mw_text *out);

/* verify.c: NULL if all pointers of the image lead to where they should, else what does not. */
const char *object_inspect(const cpu_object *object);

#endif
