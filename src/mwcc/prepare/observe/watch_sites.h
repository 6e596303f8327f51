/* The table of watched sites (watch_sites.c); each function returns the number of a new site, for the instruction's
 * position in `function`. */
#ifndef MWCC_WATCH_SITES_H
#define MWCC_WATCH_SITES_H

#include "mwcc/prepare/prepare.h"
#include "mwcc/analysis/watched_site.h"

/* The function that markers of this name (WATCH_…) call with a site's number and a word; its type. */
LLVMValueRef declare_marker(program *p, const char *name, LLVMTypeRef word, LLVMTypeRef *type);

/* A load, store or atomic operation, of which a lane accesses so many bytes. */
size_t add_access_site(program *p, LLVMValueRef function, LLVMValueRef access, uint64_t bytes);
/* One side of a copy of so many bytes, which is a call. */
size_t add_copy_site(program *p, LLVMValueRef function, LLVMValueRef copy, mw_site_kind kind, uint64_t bytes);
/* A call that accesses so many bytes at the address. */
size_t add_call_site(program *p, LLVMValueRef function, LLVMValueRef call, mw_site_kind kind, LLVMValueRef address,
                     uint64_t bytes);
/* A texture or surface function. */
size_t add_texture_site(program *p, LLVMValueRef function, LLVMValueRef call, mw_site_kind kind);
size_t add_event_site(program *p, LLVMValueRef function, LLVMValueRef at, mw_site_kind kind, unsigned detail);
/* For a shuffle: its operand that divides the warp into segments. */
void note_segments(program *p, size_t number, LLVMValueRef segments);
/* A site of MW_SITE_CODE for the basic block that ends so, and those of MW_SITE_WORK that follow it, for these of its
   instructions. */
size_t add_code_sites(program *p, LLVMValueRef function, LLVMValueRef end, const instructions *block);

/* predication.c: where nvcc would issue the accesses of block n: with those of the block that decides whether lanes enter
   it, whose code site is returned, or (NO_SITE) where lanes do enter it. */
#define NO_SITE UINT32_MAX
size_t issuing_site(const LLVMBasicBlockRef *blocks, const size_t *codes, size_t count, size_t n);

#endif
