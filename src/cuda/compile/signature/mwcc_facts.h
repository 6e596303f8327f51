/* What mwcc tells of a source that NVRTC compiled: it is asked for facts and no code (mwcc --emit=facts), and they are
 * taken where they agree with the PTX in names, sizes, alignments and in what is passed as bytes. */
#ifndef MW_CUDA_TOLD_H
#define MW_CUDA_TOLD_H

#include "ptx.h"

/* Write `told`, lines of facts by mwcc, as those of the module whose PTX that is. False, and nothing is written, where
   the two do not agree: then NVRTC has to be asked (describe.h). */
bool cuda_told(const char *told, const ptx_text *ptx, const char *text, mw_text *facts);

#endif
