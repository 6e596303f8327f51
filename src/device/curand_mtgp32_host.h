/* What a host does for MTGP32; kernels have moonwarp/random/mtgp32_begin.h instead. */
#pragma once

#include "moonwarp/random/mtgp32.h"
