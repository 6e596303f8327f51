/* PNG through libpng.
 *
 * libpng reports errors by longjmp. Both directions keep all their state in a job that outlives the jump, allocate
 * nothing that only a local variable knows, and clean up in one place after it. */
#include "image.h"

#ifdef MW_HAVE_PNG

#include <png.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct png_job {
  png_structp png;
  png_infop info;
  png_bytepp rows;
  char message[160]; /* of the error that ended it */
  bool no_memory;    /* which was the reason */
  const mw_text *file;
  size_t position; /* in file */
  mw_picture picture;
  mw_text *out;
} png_job;

static PNG_NORETURN void on_error(png_structp png, png_const_charp message) {
  png_job *job = png_get_error_ptr(png);
  snprintf(job->message, sizeof job->message, "%s", message);
  png_longjmp(png, 1);
}

static void on_warning(png_structp png, png_const_charp message) {
  (void)png;
  (void)message;
}

/* libpng reports exhausted memory in the same way as a damaged picture, so no_memory tells them apart. */
static png_voidp allocate(png_structp png, png_alloc_size_t bytes) {
  png_job *job = png_get_mem_ptr(png);
  void *memory = malloc(bytes);
  if (!memory) job->no_memory = true;
  return memory;
}

static void release(png_structp png, png_voidp memory) {
  (void)png;
  free(memory);
}

/* Rows as libpng wants them, pointing into the picture. */
static bool point_rows(png_job *job) {
  size_t row = (size_t)job->picture.width * (size_t)job->picture.channels;
  job->rows = malloc((size_t)job->picture.height * sizeof *job->rows);
  for (int y = 0; job->rows && y < job->picture.height; y++) job->rows[y] = job->picture.pixels + (size_t)y * row;
  return job->rows != NULL;
}

static int fail_memory(void) { return fail(MW_MEMORY_ALLOCATION, "the host has no memory for the rows of a picture"); }

static int fail_start(const png_job *job) {
  if (job->no_memory) return fail_memory();
  return fail(MW_NOT_SUPPORTED, "libpng cannot be used: its version is not the one that moonwarp was built with");
}

/* ---- reading ---- */

static void read_bytes(png_structp png, png_bytep target, size_t length) {
  png_job *job = png_get_io_ptr(png);
  if (length > job->file->length - job->position) png_error(png, "the file is cut off");
  memcpy(target, job->file->data + job->position, length);
  job->position += length;
}

/* Deflate makes at most 1032 bytes of one: a header that promises more than that is not worth allocating for. */
static bool is_credible(const png_job *job) {
  size_t row = png_get_rowbytes(job->png, job->info);
  return png_get_image_height(job->png, job->info) <= job->file->length * 1032 / (row + 1) + 1;
}

/* To 8 bits per channel, and 1 (grey), 3 or 4 of them. */
static void convert_samples(png_job *job) {
  bool transparent = png_get_valid(job->png, job->info, PNG_INFO_tRNS) != 0;
  int color = png_get_color_type(job->png, job->info);
  png_set_scale_16(job->png);
  png_set_expand(job->png);
  if (!(color & PNG_COLOR_MASK_COLOR) && (transparent || (color & PNG_COLOR_MASK_ALPHA))) png_set_gray_to_rgb(job->png);
  png_set_interlace_handling(job->png);
  png_read_update_info(job->png, job->info);
}

/* MW_INVALID_VALUE is libpng's failure, still to be reported; other codes have been. */
static int decode(png_job *job, const char *path) {
  if (setjmp(png_jmpbuf(job->png))) return MW_INVALID_VALUE;
  png_set_read_fn(job->png, job, read_bytes);
  png_set_user_limits(job->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_read_info(job->png, job->info);
  if (!is_credible(job)) png_error(job->png, "it has fewer bytes than a picture of its size can have");
  convert_samples(job);
  job->picture.width = (int)png_get_image_width(job->png, job->info);
  job->picture.height = (int)png_get_image_height(job->png, job->info);
  job->picture.channels = png_get_channels(job->png, job->info);
  int code = mw_picture_alloc(path, &job->picture);
  if (code != MW_SUCCESS) return code;
  if (!point_rows(job)) return fail_memory();
  png_read_image(job->png, job->rows);
  png_read_end(job->png, NULL);
  return MW_SUCCESS;
}

static int fail_reading(const png_job *job, const char *path) {
  if (job->no_memory)
    return fail(MW_MEMORY_ALLOCATION, "cannot read the picture '%s': the host is out of memory", path);
  return fail(MW_INVALID_VALUE, "the picture '%s' is damaged: %s", path, job->message);
}

int mw_png_decode(const char *path, const mw_text *file, mw_picture *out) {
  png_job job = {.file = file};
  job.png = png_create_read_struct_2(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning, &job, allocate, release);
  job.info = job.png ? png_create_info_struct(job.png) : NULL;
  int code = job.info ? decode(&job, path) : fail_start(&job);
  if (code == MW_INVALID_VALUE) code = fail_reading(&job, path);
  png_destroy_read_struct(&job.png, &job.info, NULL);
  free(job.rows);
  if (code != MW_SUCCESS)
    free(job.picture.pixels);
  else
    *out = job.picture;
  return code;
}

/* ---- writing ---- */

static void write_bytes(png_structp png, png_bytep data, size_t length) {
  png_job *job = png_get_io_ptr(png);
  job->no_memory = !mw_text_reserve(job->out, length, "a picture's file");
  if (job->no_memory) png_error(png, "the host is out of memory");
  mw_text_add(job->out, data, length);
}

static void flush(png_structp png) { (void)png; }

/* As decode. */
static int encode(png_job *job) {
  static const int colors[] = {[1] = PNG_COLOR_TYPE_GRAY, [3] = PNG_COLOR_TYPE_RGB, [4] = PNG_COLOR_TYPE_RGBA};
  const mw_picture *picture = &job->picture;
  if (setjmp(png_jmpbuf(job->png))) return MW_INVALID_VALUE;
  png_set_write_fn(job->png, job, write_bytes, flush);
  png_set_user_limits(job->png, PNG_UINT_31_MAX, PNG_UINT_31_MAX);
  png_set_IHDR(job->png, job->info, (png_uint_32)picture->width, (png_uint_32)picture->height, 8,
               colors[picture->channels], PNG_INTERLACE_NONE, PNG_COMPRESSION_TYPE_DEFAULT, PNG_FILTER_TYPE_DEFAULT);
  if (!point_rows(job)) return fail_memory();
  png_set_rows(job->png, job->info, job->rows);
  png_write_png(job->png, job->info, PNG_TRANSFORM_IDENTITY, NULL);
  return MW_SUCCESS;
}

int mw_png_encode(const char *path, const mw_picture *picture, mw_text *out) {
  png_job job = {.picture = *picture, .out = out};
  job.png = png_create_write_struct_2(PNG_LIBPNG_VER_STRING, &job, on_error, on_warning, &job, allocate, release);
  job.info = job.png ? png_create_info_struct(job.png) : NULL;
  int code = job.info ? encode(&job) : fail_start(&job);
  if (code == MW_INVALID_VALUE) {
    code = job.no_memory ? MW_MEMORY_ALLOCATION : code;
    fail(code, "cannot write the picture '%s': %s", path, job.message);
  }
  png_destroy_write_struct(&job.png, &job.info);
  free(job.rows);
  return code;
}

#else

static int refuse(const char *path) {
  return fail(MW_NOT_SUPPORTED, "'%s' is a PNG picture, and this moonwarp was built without libpng: use .pgm or .ppm",
              path);
}

int mw_png_decode(const char *path, const mw_text *file, mw_picture *out) {
  (void)file;
  (void)out;
  return refuse(path);
}

int mw_png_encode(const char *path, const mw_picture *picture, mw_text *out) {
  (void)picture;
  (void)out;
  return refuse(path);
}

#endif
