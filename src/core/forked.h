/* A driver for devices that a fork has lost. */
#ifndef MW_FORKED_H
#define MW_FORKED_H

#include "core.h"

/* *lost: `driver`, in which whatever would wait for a device of the parent's fails with MW_INITIALIZATION_ERROR. */
void mw_driver_lose(const mw_driver *driver, mw_driver *lost);

#endif
