/* MTGP32's parameters are a host's affair; kernels have moonwarp/random/mtgp32_begin.h. */
#pragma once

#include "moonwarp/random/mtgp32.h"
