/* Normal numbers of all generators: moonwarp/random/normal.h. */
#pragma once

#include "moonwarp/random/normal.h"
