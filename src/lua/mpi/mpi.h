/* What the files of MPI's binding share. */
#ifndef MWL_MPI_H
#define MWL_MPI_H

#include "../binding.h"

/* A closed object of a class of MPI's, on top of the stack. */
mwl_mpi *mwl_mpi_push(lua_State *L, mwl_state *state, mwl_class which);
/* The object at stack place 1; raises if it is none or closed. */
mw_mpi_comm *mwl_mpi_comm(lua_State *L, mwl_state *state);
/* The number at a stack place, as an int. */
int mwl_mpi_int(lua_State *L, int index);
/* The array at a stack place, or NULL for nil. Work on its device is finished. */
mw_array *mwl_mpi_array(lua_State *L, mwl_state *state, int index, const char *what);

void mwl_open_mpi_messages(lua_State *L, mwl_state *state);
void mwl_open_mpi_collectives(lua_State *L, mwl_state *state);
void mwl_open_mpi_windows(lua_State *L, mwl_state *state);
void mwl_open_mpi_files(lua_State *L, mwl_state *state);

#endif
