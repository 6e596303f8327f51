/* What libmpi reads and writes: host memory, device memory where libmpi takes that, else pinned memory in its place; for
 * a strided view its elements without gaps. */
#include "mpi/mpi.h"

#include <stdlib.h>

static int open_packed(mpi_operand *operand, mw_array *array, bool reads) {
  operand->address = operand->packed = mw_try_alloc(operand->bytes, "a message");
  if (!operand->packed) return MW_MEMORY_ALLOCATION;
  return reads ? mw_array_read(array, 0, mw_array_count(array), operand->packed) : MW_SUCCESS;
}

int mpi_operand_open(mpi_operand *operand, mw_array *array, bool reads, bool writes) {
  *operand = (mpi_operand){.writes = writes, .bytes = mw_array_bytes(array)};
  if (writes && mw_array_is_read_only(array))
    return fail(MW_INVALID_VALUE, "a view whose elements share memory cannot receive");
  int code = mw_array_use(array);
  if (code != MW_SUCCESS) return code;
  code = mw_array_is_contiguous(array) ? mw_array_host(array, &operand->address) : open_packed(operand, array, reads);
  if (code == MW_NOT_SUPPORTED) {
    mw_error_clear();
    mw_buffer *buffer = mw_array_buffer(array);
    mw_device *device = mw_buffer_device(buffer);
    code = mw_device_synchronize(device);
    if (code == MW_SUCCESS && mpi.takes_device) {
      operand->address = (void *)(uintptr_t)(mw_buffer_address(buffer) + mw_array_offset(array));
      operand->is_device = true;
    } else if (code == MW_SUCCESS) {
      code = mw_buffer_new_kind(device, MW_MEMORY_PINNED, operand->bytes, &operand->staging);
      if (code == MW_SUCCESS) operand->address = mw_buffer_host(operand->staging);
      if (code == MW_SUCCESS && reads) code = mw_array_read(array, 0, mw_array_count(array), operand->address);
    }
  }
  if (code != MW_SUCCESS) {
    mw_buffer_release(operand->staging);
    operand->staging = NULL;
    free(operand->packed);
    operand->packed = NULL;
    mw_array_unuse(array);
    return code;
  }
  operand->array = mw_array_retain(array);
  return MW_SUCCESS;
}

int mpi_operand_close(mpi_operand *operand) {
  int code = MW_SUCCESS;
  if ((operand->staging || operand->packed) && operand->writes)
    code = mw_array_write(operand->array, 0, mw_array_count(operand->array), operand->address);
  mw_buffer_release(operand->staging);
  free(operand->packed);
  if (operand->array) mw_array_unuse(operand->array);
  mw_array_release(operand->array);
  *operand = (mpi_operand){0};
  return code;
}

mpi_handle mpi_reduced_type(const mw_type *dtype) {
  if (mw_type_is_complex(dtype)) return dtype->size == 8 ? mpi.complex64 : mpi.complex128;
  const mpi_handle of_int[] = {mpi.int8, mpi.int16, mpi.int32, mpi.int64};
  const mpi_handle of_uint[] = {mpi.uint8, mpi.uint16, mpi.uint32, mpi.uint64};
  int power = dtype->size == 1 ? 0 : dtype->size == 2 ? 1 : dtype->size == 4 ? 2 : 3;
  switch (dtype->kind) {
  case MW_TYPE_INT: return of_int[power];
  case MW_TYPE_UINT: return of_uint[power];
  case MW_TYPE_FLOAT: return dtype->size == 4 ? mpi.float32 : dtype->size == 8 ? mpi.float64 : 0;
  default: return 0;
  }
}

enum { KNOWN = 16 };
static size_t sizes[KNOWN]; /* of the types that were made last; 0: none */
static mpi_handle types[KNOWN];

int mpi_block_type(size_t bytes, mpi_handle *out) {
  static int next;
  if (bytes == 1) return *out = mpi.byte, MW_SUCCESS;
  for (int i = 0; i < KNOWN; i++)
    if (sizes[i] == bytes) return *out = types[i], MW_SUCCESS;
  int place = next++ % KNOWN, code = 0;
  if (sizes[place]) code = mpi.Type_free(&types[place]);
  sizes[place] = 0;
  types[place] = 0;
  if (code == 0) code = mpi.Type_contiguous((int)bytes, mpi.byte, &types[place]);
  if (code == 0) code = mpi.Type_commit(&types[place]);
  if (code != 0) return mpi_failed("MPI_Type_contiguous", code);
  sizes[place] = bytes;
  *out = types[place];
  return MW_SUCCESS;
}

void mpi_free_types(void) {
  for (int i = 0; i < KNOWN; i++)
    if (sizes[i]) mpi.Type_free(&types[i]);
}
