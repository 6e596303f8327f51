/* Peer access, for the core's files (peer.c). */
#ifndef MW_PEER_H
#define MW_PEER_H

#include "core.h"

/* Whether the device has access to the other's memory. */
bool mw_device_reaches(const mw_device *device, const mw_device *peer);
/* The device is being closed: wait for those that have access to it, and end its peer access in both directions. */
void mw_peers_forget(mw_device *device);

#endif
