/* An open .mwo file: checked bytes, and the shared object that the dynamic linker loaded from them. */
#ifndef MW_CPU_OBJECT_H
#define MW_CPU_OBJECT_H

#include "base/base.h"
#include "elf.h"
#include "mwo.h"

typedef struct cpu_object {
  mw_refs refs; /* changed only under object.c's lock */
  struct cpu_object *next;
  elf_bytes elf; /* the file without its trailer: remains when the file is deleted */
  mw_trailer trailer;
  uint64_t device, inode; /* of the file that was passed to the dynamic linker */
  void *library;
  uintptr_t base;        /* an address in the file + base = an address in this process */
  uintptr_t first, last; /* its address range */
  const mw_mwo *image;
} cpu_object;

/* Open the file at `path`, or find it open: objects are stateless, so equal files share one. The contents have been
   checked: tables, names and types lie inside the file. The file may be changed or deleted afterwards.
   MW_FILE_NOT_FOUND, MW_INVALID_KERNEL_IMAGE, MW_NO_KERNEL_IMAGE_FOR_DEVICE. */
int object_open(const char *path, cpu_object **out);
void object_close(cpu_object *object);

/* The files that the .mwo at `path` was compiled from, a line "size mtime_ns path" for each, without loading it. False
   unless its checksum is right and it is for this processor. */
bool object_dependencies(const char *path, mw_text *out);

/* verify.c: NULL if all pointers of the image are valid, else a message about the first that is not. */
const char *object_inspect(const cpu_object *object);

#endif
