/* Tables of jumps are where their generators are: moonwarp/random/xorwow_jumps.h, mrg32k3a_jumps.h. */
#pragma once
