/* clang as a part of mwcc (clang_embedded.cc), where the build had clang's static libraries; otherwise the functions are
 * not there, and the program clang is run. */
#pragma once

#ifdef __cplusplus
extern "C" {
#endif

/* Arguments as of `clang -cc1 …`, with the program's name and -cc1. Returns clang's exit status. */
__attribute__((weak)) int mwcc_clang_inside(int count, const char *const *arguments);

#ifdef __cplusplus
}
#endif
