/* Log-normal numbers of all generators: moonwarp/random/lognormal.h. */
#pragma once

#include "moonwarp/random/lognormal.h"
