/* Tables of discrete distributions: moonwarp/random/distributions/discrete.h. */
#pragma once

#include "moonwarp/random/distributions/discrete.h"
