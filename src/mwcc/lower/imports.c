/* The functions that an object may import. */
#include "mwcc/mwcc.h"
#include "lower.h"

#include <string.h>

/* The object may import functions of libm, and the memory functions that code generation itself calls. */
bool is_importable(const char *name) {
  static const char *const roots[] = {
      "acos",  "acosh",   "asin",   "asinh",  "atan",      "atan2",     "atanh", "cbrt",      "ceil",   "copysign",
      "cos",   "cosh",    "erf",    "erfc",   "exp",       "exp10",     "exp2",  "expm1",     "fabs",   "fdim",
      "floor", "fma",     "fmax",   "fmin",   "fmod",      "frexp",     "hypot", "ilogb",     "j0",     "j1",
      "jn",    "ldexp",   "lgamma", "llrint", "llround",   "log",       "log10", "log1p",     "log2",   "logb",
      "lrint", "lround",  "modf",   "nan",    "nearbyint", "nextafter", "pow",   "remainder", "remquo", "rint",
      "round", "scalbln", "scalbn", "sin",    "sincos",    "sinh",      "sqrt",  "tan",       "tanh",   "tgamma",
      "trunc", "y0",      "y1",     "yn"};
  static const char *const memory[] = {"memcpy", "memmove", "memset", "memcmp", "strlen", "strcmp"};
  size_t length = strlen(name);
  for (size_t i = 0; i < MW_COUNT(memory); i++)
    if (strcmp(name, memory[i]) == 0) return true;
  for (size_t i = 0; i < MW_COUNT(roots); i++) {
    size_t root = strlen(roots[i]);
    if (strncmp(name, roots[i], root) == 0 && (length == root || (length == root + 1 && name[root] == 'f')))
      return true;
  }
  return false;
}
