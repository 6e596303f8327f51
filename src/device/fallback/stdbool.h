/* C's stdbool.h, if clang's own headers are not installed: in C++ its words are the language's. */
#pragma once
#define __bool_true_false_are_defined 1
