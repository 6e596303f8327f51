/* C's assert.h for device code. It may be included again: then assert follows the current state of NDEBUG. */
#include "moonwarp/assertion.h"
