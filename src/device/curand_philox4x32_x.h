/* The generator Philox4_32_10: moonwarp/random/philox4_32_10.h. */
#pragma once

#include "moonwarp/random/philox4_32_10.h"
