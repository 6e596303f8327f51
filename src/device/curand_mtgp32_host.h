/* MTGP32's host functions are not available in kernels, which use moonwarp/random/mtgp32_init.h instead. */
#pragma once

#include "moonwarp/random/mtgp32.h"
