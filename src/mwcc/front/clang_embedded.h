/* clang as a part of mwcc (clang_embedded.cc), if the build had clang's static libraries. Otherwise the function's
 * address is NULL, and the program `clang` is run. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Takes the arguments of `clang -cc1 …`, including the program's name and -cc1. Returns clang's exit status. */
__attribute__((weak)) int mwcc_clang_inside(int count, const char *const *arguments);

#ifdef __cplusplus
}
#endif
