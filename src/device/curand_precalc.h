/* Tables for jumps are next to their generators: moonwarp/random/xorwow_jumps.h, mrg32k3a_jumps.h. */
#pragma once
