/* Facts by mwcc for a source that NVRTC compiled: mwcc --emit=facts generates no code, and its facts are accepted if
 * they agree with the PTX in names, sizes, alignments and in which parameters are passed as bytes. */
#ifndef MW_CUDA_MWCC_FACTS_H
#define MW_CUDA_MWCC_FACTS_H

#include "ptx.h"

/* Writes `lines`, facts by mwcc, as the facts of the module whose PTX that is. False, and nothing is written, if the
   two disagree: then NVRTC must be queried (describe.h). */
bool cuda_match_facts(const char *lines, const ptx_text *ptx, const char *text, mw_text *facts);

#endif
