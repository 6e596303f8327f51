/* What people write who know CUDA or C++ from elsewhere, and what to write here instead. */
#ifndef MW_ADVICE_H
#define MW_ADVICE_H

#include "base.h"

/* Stands between what the user wrote and what to write instead, where that is host code. */
#define MW_HOST_CODE " is host code, which is the script's job here: "

/* A compiler's error, as far as advice depends on it. */
typedef struct mw_complaint {
  const char *message; /* what the compiler says, */
  const char *code;    /* the line of code that it says it about, or "", */
  size_t column;       /* where in it, from 0, */
  const char *notes;   /* and the messages of its notes, a line each */
} mw_complaint;

/* The sentence that helps more than the message, yours to free; NULL where none is known. *host: it is about host code,
   which a script's text need not have at all. */
char *mw_advice_find(const mw_complaint *complaint, bool *host);

#endif
