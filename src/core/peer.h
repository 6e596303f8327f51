/* Peers, for the core's files (peer.c). */
#ifndef MW_PEER_H
#define MW_PEER_H

#include "core.h"

/* Whether the device was let reach the other's memory. */
bool mw_device_reaches(const mw_device *device, const mw_device *peer);
/* The device closes: wait for those that reach it, and end all that it is a part of. */
void mw_peers_forget(mw_device *device);

#endif
