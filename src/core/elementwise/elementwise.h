/* Elementwise functions: one kernel applied to all elements of arrays whose shapes are equal or broadcast.
 *
 *   elementwise.c   the object, its compiled kernels, and running it
 *   layout.c        broadcasting, and merging of dimensions
 *   source.c        the kernels' CUDA C
 *   copy.c          copies between strided arrays, by functions that each device owns
 *
 * A kernel is compiled for a layout class, never for a shape: either all arrays are contiguous (*flat*), or elements
 * are traversed row by row; the class then is the number of dimensions and each array's step along the innermost one.
 */
#ifndef MW_ELEMENTWISE_H
#define MW_ELEMENTWISE_H

#include "core/array/array.h"

#define MW_MAX_OPERANDS 32

/* An operand's step along the innermost dimension. */
typedef enum mw_step_class {
  MW_STEP_NEXT, /* to the next element in memory */
  MW_STEP_STAY, /* none: the element is repeated */
  MW_STEP_ANY
} mw_step_class;

/* The layout class that a kernel is compiled for. */
typedef struct mw_layout_class {
  int rank;                                /* 0: flat */
  bool wide;                               /* the count exceeds 32 bits */
  bool short_rows;                         /* blocks are 32 x 8 threads, instead of 256 of one row */
  unsigned char step[MW_MAX_OPERANDS + 1]; /* mw_step_class of each operand, and of the index */
} mw_layout_class;

/* A traversal of the elements: rank dimensions, the innermost last, with the operands' strides in bytes. */
typedef struct mw_layout {
  int rank;
  size_t extent[MW_MAX_RANK], count;
  int64_t step[MW_MAX_OPERANDS + 1][MW_MAX_RANK];
} mw_layout;

typedef struct mw_elementwise_variant {
  struct mw_elementwise_variant *next;
  mw_layout_class class;
  mw_launch *launch;
} mw_elementwise_variant;

struct mw_elementwise {
  mw_refs refs;
  mw_device *device;
  bool owned;                                   /* by the device, and so without a reference to it */
  char *name, *kernel, *preamble, *body, *file; /* kernel: its name, which may be no function of CUDA C */
  int line;
  char **options;
  size_t option_count;
  mw_operand *operands;
  size_t operand_count;
  bool uses_index;
  pthread_mutex_t lock; /* guards the variants, and preparing a launch of one */
  mw_elementwise_variant *variants;
};

/* The broadcast shape of the IN and OUT operands' arrays; MW_INVALID_VALUE if their shapes do not broadcast, or if an
   output is smaller. rank 0: there is no array. */
int mw_broadcast_shape(const mw_elementwise *f, const mw_operand_value *values, int *rank, size_t shape[MW_MAX_RANK]);
void mw_layout_of(const mw_elementwise *f, const mw_operand_value *values, int rank, const size_t *shape,
                  mw_layout *layout);
mw_layout_class mw_layout_classify(const mw_elementwise *f, const mw_operand_value *values, const mw_layout *layout);
/* The text of the kernel for a class; *line_of_body is the line, from 1, on which the body begins. Yours: free. */
char *mw_elementwise_kernel_text(const mw_elementwise *f, const mw_layout_class *class, int *line_of_body);

/* Whether the operand is an array that is traversed element by element. */
static inline bool mw_is_walked(const mw_operand *operand) {
  return operand->kind == MW_OPERAND_OUT || operand->kind == MW_OPERAND_IN;
}

/* Whether elements of a type are moved as they are: structs, where no preamble can declare them. */
static inline bool mw_is_opaque(const mw_elementwise *f, const mw_type *type) {
  return type->kind == MW_TYPE_STRUCT && !(f->preamble && *f->preamble);
}

#endif
