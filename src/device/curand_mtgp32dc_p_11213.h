/* MTGP32's parameters are for the host; kernels use moonwarp/random/mtgp32_begin.h. */
#pragma once

#include "moonwarp/random/mtgp32.h"
