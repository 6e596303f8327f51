/* Normal numbers of all generators: moonwarp/random/distributions/normal.h. */
#pragma once

#include "moonwarp/random/distributions/normal.h"
