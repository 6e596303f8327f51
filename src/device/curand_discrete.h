/* Tables of discrete distributions: moonwarp/random/discrete.h. */
#pragma once

#include "moonwarp/random/discrete.h"
