/* Inline PTX: clusters of blocks, their registers, their barrier, and addresses in the shared memory of other blocks (PTX ISA
 * 8.0, chapters 9.7.8.22 and 9.7.13.3, 10.10 to 10.14).
 *
 * Functions of the device headers do the work (moonwarp/sync/ptx_cluster.h); addresses of 32 bits are computed as
 * such. */
#include "ptx.h"

#include <stdio.h>
#include <string.h>

LLVMValueRef ptx_cluster_register(ptx_statement *s, const char *name) {
  static const char *const registers[] = {
      "cluster_ctaid.x",  "cluster_ctaid.y", "cluster_ctaid.z", "cluster_nctaid.x", "cluster_nctaid.y",
      "cluster_nctaid.z", "clusterid.x",     "clusterid.y",     "clusterid.z",      "nclusterid.x",
      "nclusterid.y",     "nclusterid.z",    "cluster_ctarank", "cluster_nctarank", "is_explicit_cluster"};
  ptx_source x = {.s = s};
  char function[64];
  for (size_t n = 0; n < MW_COUNT(registers); n++) {
    if (strcmp(name + 1, registers[n]) != 0) continue;
    snprintf(function, sizeof function, "%s", registers[n]);
    for (char *c = function; *c; c++)
      if (*c == '.') *c = '_';
    return ptx_call(&x, function, NULL, 0);
  }
  return NULL;
}

static bool is(const ptx_instruction *i, int word, const char *text) {
  return word < i->word_count && strcmp(i->words[word], text) == 0;
}

/* mapa{.shared::cluster}.u32 d, a, rank and getctarank{.shared::cluster}.u32 d, a */
static bool translate_map(const ptx_source *x) {
  program *p = x->s->p;
  bool maps = is(x->i, 0, "mapa"), in_window = ptx_has_modifier(x->i, "shared::cluster");
  bool wide = is(x->i, x->i->word_count - 1, "u64");
  if (x->i->operand_count != (maps ? 3 : 2) || (!wide && !is(x->i, x->i->word_count - 1, "u32"))) return false;
  LLVMTypeRef type = in_window && !wide ? p->i32 : p->i64;
  LLVMValueRef address = LLVMBuildZExt(x->s->b, ptx_read(x->s, x->i->operands[1], type), p->i64, "");
  LLVMValueRef arguments[] = {address, maps ? ptx_read(x->s, x->i->operands[2], p->i32) : NULL};
  LLVMValueRef result = ptx_call(x, maps ? "mapa" : "getctarank", arguments, maps ? 2 : 1);
  if (!result) return false;
  if (maps && type == p->i32) result = LLVMBuildTrunc(x->s->b, result, p->i32, "");
  ptx_write(x->s, x->i->operands[0], result);
  return true;
}

bool ptx_translate_cluster(ptx_statement *s, const ptx_instruction *i) {
  ptx_source x = {.s = s, .i = i};
  if (is(i, 0, "mapa") || is(i, 0, "getctarank")) return translate_map(&x);
  if (!is(i, 0, "barrier") || !is(i, 1, "cluster") || i->operand_count != 0) return false;
  if (is(i, 2, "arrive")) return true; /* the wait arrives as well */
  return is(i, 2, "wait") && ptx_call(&x, "barrier_cluster_wait", NULL, 0) != NULL;
}
