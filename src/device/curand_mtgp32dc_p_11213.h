/* MTGP32's parameters are for the host; kernels use moonwarp/random/mtgp32_init.h. */
#pragma once

#include "moonwarp/random/mtgp32.h"
