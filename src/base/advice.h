/* Advice for users who know CUDA or C++: what to write in kernels and scripts instead of what they wrote. */
#ifndef MW_ADVICE_H
#define MW_ADVICE_H

#include "base.h"

/* For host code: the text between what the user wrote and what to write instead. */
#define MW_HOST_CODE " is host code, which is the script's job here: "

/* The parts of a compiler's error that determine the advice. */
typedef struct mw_complaint {
  const char *message; /* the compiler's message */
  const char *code;    /* the line of code that it refers to, or "" */
  size_t column;       /* the column in the line, from 0 */
  const char *notes;   /* the messages of its notes, one on each line */
} mw_complaint;

/* A sentence that is more helpful than the message, yours to free; NULL if there is none. *host: it is about host code,
   which kernels' sources need not contain. */
char *mw_advice_find(const mw_complaint *complaint, bool *host);

#endif
