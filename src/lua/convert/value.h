/* What the files that convert values share: value.c (numbers and the choice by type), vector.c, compound.c. */
#ifndef MWL_VALUE_H
#define MWL_VALUE_H

#include "lua/binding.h"

#define MWL_PLACE 512 /* bytes for a place's text */

/* "parameter 2 'view'.rows[3]", written into `out` of MWL_PLACE bytes. */
const char *mwl_place_text(const mwl_place *place, char *out);
/* Push the sentence of the core's last failure and return false, for `return mwl_refused(L);` */
bool mwl_refused(lua_State *L);
/* Refuse the value at `index` as one that the type does not take. */
bool mwl_refuse(lua_State *L, mwl_state *state, int index, const mw_type *type, const mwl_place *place);
/* The same for a number as well, that mwl_pack_number did not take. */
bool mwl_refuse_number(lua_State *L, mwl_state *state, int index, const mw_type *type, const mwl_place *place);

/* mwl_pack and mwl_push for one kind of type. */
bool mwl_pack_vector(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                     const mwl_place *place);
void mwl_push_vector(lua_State *L, const mw_type *type, const unsigned char *bytes);
bool mwl_pack_struct(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                     const mwl_place *place, const mwl_keeper *keeper);
void mwl_push_struct(lua_State *L, const mw_type *type, const unsigned char *bytes);
bool mwl_pack_array(lua_State *L, mwl_state *state, int index, const mw_type *type, unsigned char *out,
                    const mwl_place *place, const mwl_keeper *keeper);
bool mwl_pack_pointer(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
                      const mwl_keeper *keeper);

/* The handle of a texture or surface, or a refusal (texture.c). */
bool mwl_pack_texture(lua_State *L, mwl_state *state, int index, const mw_type *type, void *out, const mwl_place *place,
                      const mwl_keeper *keeper);

/* Add the metatables of vector values and of complex numbers to the raw table. */
void mwl_open_vector(lua_State *L, mwl_state *state);

#endif
