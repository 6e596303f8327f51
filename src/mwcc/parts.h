/* Which parts of the device headers a source can do without. */
#ifndef MWCC_PARTS_H
#define MWCC_PARTS_H

#include "mwcc.h"

/* Append a -DMOONWARP_WITHOUT_… for each part of the device headers (in the folder `device`) whose names the source does
   not mention. Appends nothing when that cannot be told from `source` and the -D options alone: it pastes tokens or
   includes files of its own. Returns how many were appended: a source that fails to compile without them should be tried
   with all, since its errors may then be others, or none. */
size_t leave_out_parts(const options *o, const mw_text *source, const char *device, strings *arguments);

#endif
