/* The generator MTGP32: moonwarp/random/mtgp32.h. */
#pragma once

#include "moonwarp/random/mtgp32.h"
