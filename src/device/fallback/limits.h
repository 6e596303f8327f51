/* C's limits.h, if clang's own headers are not installed: the C library's includes a compiler's, whose constants are
 * built in here. */
