/* The functions of libmpi that moonwarp calls, and the constants of each binary interface: F(name, parameters). All
 * return an int, and their names begin with MPI_.
 *
 * Handles. In Open MPI's interface and in MPI 5's a handle is a pointer, in MPICH's an int. Both are passed here as a
 * mpi_handle, an unsigned integer as wide as a pointer: the calling conventions of x86-64 and AArch64 pass an int in the
 * low half of the same register or stack slot, and its callee ignores the upper half. A handle that a function writes is
 * zero before, so that the 4 bytes of an int are its value (both processors are little-endian). No function with an array
 * of handles is called. MPI_Aint is intptr_t and MPI_Offset int64_t in all three. */
#ifndef MW_MPI_FUNCTIONS_H
#define MW_MPI_FUNCTIONS_H

#include <stdint.h>

typedef uintptr_t mpi_handle;

/* clang-format off */
#define MW_MPI_FUNCTIONS(F)                                                                                             \
  F(Init_thread,          (int *, char ***, int, int *))                                                                \
  F(Initialized,          (int *))                                                                                      \
  F(Finalized,            (int *))                                                                                      \
  F(Finalize,             (void))                                                                                       \
  F(Abort,                (mpi_handle, int))                                                                            \
  F(Error_string,         (int, char *, int *))                                                                         \
  F(Get_library_version,  (char *, int *))                                                                              \
  F(Comm_rank,            (mpi_handle, int *))                                                                          \
  F(Comm_size,            (mpi_handle, int *))                                                                          \
  F(Comm_dup,             (mpi_handle, mpi_handle *))                                                                   \
  F(Comm_split,           (mpi_handle, int, int, mpi_handle *))                                                         \
  F(Comm_split_type,      (mpi_handle, int, int, mpi_handle, mpi_handle *))                                             \
  F(Comm_free,            (mpi_handle *))                                                                               \
  F(Comm_set_errhandler,  (mpi_handle, mpi_handle))                                                                     \
  F(Cart_create,          (mpi_handle, int, const int *, const int *, int, mpi_handle *))                               \
  F(Dims_create,          (int, int, int *))                                                                            \
  F(Isend,                (const void *, int, mpi_handle, int, int, mpi_handle, mpi_handle *))                          \
  F(Irecv,                (void *, int, mpi_handle, int, int, mpi_handle, mpi_handle *))                                \
  F(Test,                 (mpi_handle *, int *, void *))                                                                \
  F(Iprobe,               (int, int, mpi_handle, int *, void *))                                                        \
  F(Type_contiguous,      (int, mpi_handle, mpi_handle *))                                                              \
  F(Type_commit,          (mpi_handle *))                                                                               \
  F(Type_free,            (mpi_handle *))                                                                               \
  F(Iallreduce,           (const void *, void *, int, mpi_handle, mpi_handle, mpi_handle, mpi_handle *))                \
  F(Ibarrier,             (mpi_handle, mpi_handle *))                                                                   \
  F(Bcast,                (void *, int, mpi_handle, int, mpi_handle))                                                   \
  F(Reduce,               (const void *, void *, int, mpi_handle, mpi_handle, int, mpi_handle))                         \
  F(Allreduce,            (const void *, void *, int, mpi_handle, mpi_handle, mpi_handle))                              \
  F(Scan,                 (const void *, void *, int, mpi_handle, mpi_handle, mpi_handle))                              \
  F(Exscan,               (const void *, void *, int, mpi_handle, mpi_handle, mpi_handle))                              \
  F(Allgather,            (const void *, int, mpi_handle, void *, int, mpi_handle, mpi_handle))                         \
  F(Gatherv,              (const void *, int, mpi_handle, void *, const int *, const int *, mpi_handle, int,            \
                           mpi_handle))                                                                                 \
  F(Scatterv,             (const void *, const int *, const int *, mpi_handle, void *, int, mpi_handle, int,            \
                           mpi_handle))                                                                                 \
  F(Allgatherv,           (const void *, int, mpi_handle, void *, const int *, const int *, mpi_handle, mpi_handle))    \
  F(Alltoall,             (const void *, int, mpi_handle, void *, int, mpi_handle, mpi_handle))                         \
  F(Alltoallv,            (const void *, const int *, const int *, mpi_handle, void *, const int *, const int *,        \
                           mpi_handle, mpi_handle))                                                                     \
  F(Reduce_scatter,       (const void *, void *, const int *, mpi_handle, mpi_handle, mpi_handle))                      \
  F(Ibcast,               (void *, int, mpi_handle, int, mpi_handle, mpi_handle *))                                     \
  F(Ireduce,              (const void *, void *, int, mpi_handle, mpi_handle, int, mpi_handle, mpi_handle *))           \
  F(Iscan,                (const void *, void *, int, mpi_handle, mpi_handle, mpi_handle, mpi_handle *))                \
  F(Iexscan,              (const void *, void *, int, mpi_handle, mpi_handle, mpi_handle, mpi_handle *))                \
  F(Iallgather,           (const void *, int, mpi_handle, void *, int, mpi_handle, mpi_handle, mpi_handle *))           \
  F(Igatherv,             (const void *, int, mpi_handle, void *, const int *, const int *, mpi_handle, int,            \
                           mpi_handle, mpi_handle *))                                                                   \
  F(Iscatterv,            (const void *, const int *, const int *, mpi_handle, void *, int, mpi_handle, int,            \
                           mpi_handle, mpi_handle *))                                                                   \
  F(Iallgatherv,          (const void *, int, mpi_handle, void *, const int *, const int *, mpi_handle, mpi_handle,     \
                           mpi_handle *))                                                                               \
  F(Ialltoall,            (const void *, int, mpi_handle, void *, int, mpi_handle, mpi_handle, mpi_handle *))           \
  F(Ialltoallv,           (const void *, const int *, const int *, mpi_handle, void *, const int *, const int *,        \
                           mpi_handle, mpi_handle, mpi_handle *))                                                       \
  F(Ireduce_scatter,      (const void *, void *, const int *, mpi_handle, mpi_handle, mpi_handle, mpi_handle *))        \
  F(Comm_group,           (mpi_handle, mpi_handle *))                                                                   \
  F(Group_incl,           (mpi_handle, int, const int *, mpi_handle *))                                                 \
  F(Group_free,           (mpi_handle *))                                                                               \
  F(Win_create,           (void *, intptr_t, int, mpi_handle, mpi_handle, mpi_handle *))                                \
  F(Win_free,             (mpi_handle *))                                                                               \
  F(Win_set_errhandler,   (mpi_handle, mpi_handle))                                                                     \
  F(Win_fence,            (int, mpi_handle))                                                                            \
  F(Win_lock,             (int, int, int, mpi_handle))                                                                  \
  F(Win_unlock,           (int, mpi_handle))                                                                            \
  F(Win_lock_all,         (int, mpi_handle))                                                                            \
  F(Win_unlock_all,       (mpi_handle))                                                                                 \
  F(Win_flush,            (int, mpi_handle))                                                                            \
  F(Win_flush_all,        (mpi_handle))                                                                                 \
  F(Win_sync,             (mpi_handle))                                                                                 \
  F(Win_start,            (mpi_handle, int, mpi_handle))                                                                \
  F(Win_complete,         (mpi_handle))                                                                                 \
  F(Win_post,             (mpi_handle, int, mpi_handle))                                                                \
  F(Win_test,             (mpi_handle, int *))                                                                          \
  F(Put,                  (const void *, int, mpi_handle, int, intptr_t, int, mpi_handle, mpi_handle))                  \
  F(Get,                  (void *, int, mpi_handle, int, intptr_t, int, mpi_handle, mpi_handle))                        \
  F(Accumulate,           (const void *, int, mpi_handle, int, intptr_t, int, mpi_handle, mpi_handle, mpi_handle))      \
  F(Get_accumulate,       (const void *, int, mpi_handle, void *, int, mpi_handle, int, intptr_t, int, mpi_handle,      \
                           mpi_handle, mpi_handle))                                                                     \
  F(Fetch_and_op,         (const void *, void *, mpi_handle, int, intptr_t, mpi_handle, mpi_handle))                    \
  F(Compare_and_swap,     (const void *, const void *, void *, mpi_handle, int, intptr_t, mpi_handle))                  \
  F(Type_create_subarray, (int, const int *, const int *, const int *, int, mpi_handle, mpi_handle *))                  \
  F(Reduce_local,         (const void *, void *, int, mpi_handle, mpi_handle))                                          \
  F(Get_count,            (const void *, mpi_handle, int *))                                                            \
  F(File_open,            (mpi_handle, const char *, int, mpi_handle, mpi_handle *))                                    \
  F(File_close,           (mpi_handle *))                                                                               \
  F(File_set_errhandler,  (mpi_handle, mpi_handle))                                                                     \
  F(File_get_size,        (mpi_handle, int64_t *))                                                                      \
  F(File_set_size,        (mpi_handle, int64_t))                                                                        \
  F(File_sync,            (mpi_handle))                                                                                 \
  F(File_set_view,        (mpi_handle, int64_t, mpi_handle, mpi_handle, const char *, mpi_handle))                      \
  F(File_read_at,         (mpi_handle, int64_t, void *, int, mpi_handle, void *))                                       \
  F(File_read_at_all,     (mpi_handle, int64_t, void *, int, mpi_handle, void *))                                       \
  F(File_read_shared,     (mpi_handle, void *, int, mpi_handle, void *))                                                \
  F(File_read_ordered,    (mpi_handle, void *, int, mpi_handle, void *))                                                \
  F(File_write_at,        (mpi_handle, int64_t, const void *, int, mpi_handle, void *))                                 \
  F(File_write_at_all,    (mpi_handle, int64_t, const void *, int, mpi_handle, void *))                                 \
  F(File_write_shared,    (mpi_handle, const void *, int, mpi_handle, void *))                                          \
  F(File_write_ordered,   (mpi_handle, const void *, int, mpi_handle, void *))

/* Predefined handles: H(name, Open MPI's object, MPICH's number, MPI 5's number). */
#define MW_MPI_HANDLES(H)                                                    \
  H(comm_world,    "ompi_mpi_comm_world",     0x44000000, 0x101)             \
  H(comm_null,     "ompi_mpi_comm_null",      0x04000000, 0x100)             \
  H(info_null,     "ompi_mpi_info_null",      0x1c000000, 0x130)             \
  H(errors_return, "ompi_mpi_errors_return",  0x54000001, 0x142)             \
  H(byte,          "ompi_mpi_byte",           0x4c00010d, 0x247)             \
  H(int8,          "ompi_mpi_int8_t",         0x4c000137, 0x240)             \
  H(uint8,         "ompi_mpi_uint8_t",        0x4c00013b, 0x241)             \
  H(int16,         "ompi_mpi_int16_t",        0x4c000238, 0x248)             \
  H(uint16,        "ompi_mpi_uint16_t",       0x4c00023c, 0x249)             \
  H(int32,         "ompi_mpi_int32_t",        0x4c000439, 0x250)             \
  H(uint32,        "ompi_mpi_uint32_t",       0x4c00043d, 0x251)             \
  H(int64,         "ompi_mpi_int64_t",        0x4c00083a, 0x258)             \
  H(uint64,        "ompi_mpi_uint64_t",       0x4c00083e, 0x259)             \
  H(float32,       "ompi_mpi_float",          0x4c00040a, 0x210)             \
  H(float64,       "ompi_mpi_double",         0x4c00080b, 0x214)             \
  H(complex64,     "ompi_mpi_c_float_complex",  0x4c000840, 0x212)           \
  H(complex128,    "ompi_mpi_c_double_complex", 0x4c001041, 0x216)           \
  H(sum,           "ompi_mpi_op_sum",         0x58000003, 0x21)              \
  H(prod,          "ompi_mpi_op_prod",        0x58000004, 0x24)              \
  H(max,           "ompi_mpi_op_max",         0x58000001, 0x23)              \
  H(min,           "ompi_mpi_op_min",         0x58000002, 0x22)              \
  H(land,          "ompi_mpi_op_land",        0x58000005, 0x30)              \
  H(lor,           "ompi_mpi_op_lor",         0x58000007, 0x31)              \
  H(lxor,          "ompi_mpi_op_lxor",        0x58000009, 0x32)              \
  H(band,          "ompi_mpi_op_band",        0x58000006, 0x28)              \
  H(bor,           "ompi_mpi_op_bor",         0x58000008, 0x29)              \
  H(bxor,          "ompi_mpi_op_bxor",        0x5800000a, 0x2a)              \
  H(replace,       "ompi_mpi_op_replace",     0x5800000d, 0x3c)              \
  H(no_op,         "ompi_mpi_op_no_op",       0x5800000e, 0x3d)

/* Numbers: N(name, Open MPI's, MPICH's, MPI 5's). Places in a status are in ints. */
#define MW_MPI_NUMBERS(N)                \
  N(any_source,      -1,     -2,     -1) \
  N(any_tag,         -1,     -1,     -2) \
  N(undefined,       -32766, -32766, -32766) \
  N(status_source,   0,      2,      0)  \
  N(status_tag,      1,      3,      1)  \
  N(in_place,        1,      -1,     1)  \
  N(type_shared,     0,      1,      221)  \
  N(thread_funneled, 1,      1,      1024)  \
  N(lock_exclusive,  1,      234,    301)   \
  N(lock_shared,     2,      235,    302)   \
  N(mode_nosucceed,  16,     16384,  16384) \
  N(order_c,         0,      56,     12)    \
  N(mode_create,     1,      1,      2)     \
  N(mode_rdonly,     2,      2,      16)    \
  N(mode_wronly,     4,      4,      256)   \
  N(mode_rdwr,       8,      8,      32)    \
  N(mode_excl,       64,     64,     8)
/* clang-format on */

#endif
