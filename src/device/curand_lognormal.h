/* Log-normal numbers of all generators: moonwarp/random/distributions/lognormal.h. */
#pragma once

#include "moonwarp/random/distributions/lognormal.h"
