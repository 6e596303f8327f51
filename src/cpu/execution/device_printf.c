/* printf and assert in kernels.
 *
 * Output is written through the C library's stdout at once, so that it is in order with the host's own output before
 * the launch and after synchronising, and so that debugging output appears even if the kernel never ends. Or it is
 * buffered for the host program (printf_capture.c). The text of one call stays together; calls of different threads are
 * in any order.
 *
 * Each service has two halves. The first runs on the kernel's stack and copies the arguments from the kernel's memory;
 * a bad address may end it at any read. The second runs on the host's stack, writes the copy, and does not access the
 * kernel's memory. */
#include "worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The worker's service buffer while it prints. */
enum { PRINT_MOST = 128 }; /* arguments of one call, widths and precisions included; CUDA allows 32 */
typedef struct print_copy {
  uint64_t values[PRINT_MOST];                                   /* a string's is its place in text */
  char text[CPU_SERVICE_BUFFER - PRINT_MOST * sizeof(uint64_t)]; /* the format, then the strings */
} print_copy;

/* ---- one conversion of a format ---- */

typedef struct conversion {
  const char *start, *end; /* from the percent sign to the end of the letter */
  char flags[8];
  bool star_width, star_precision;
  int width, precision; /* precision -1: none given */
  int size;             /* bytes of an integer argument before it was promoted */
  char letter;          /* 'd': signed; 'u' 'o' 'x' 'X': unsigned; 'f' …: double; 'c' 's' 'p' '%'; 0: unknown */
} conversion;

static int read_number(const char **at) {
  int value = 0;
  for (; **at >= '0' && **at <= '9'; ++*at) {
    if (value < 1000000) value = value * 10 + (**at - '0');
  }
  return value;
}

static void read_flags(const char **at, char flags[8]) {
  size_t count = 0;
  for (; **at && strchr("-+ #0", **at); ++*at) {
    if (count < 6 && !memchr(flags, **at, count)) flags[count++] = **at;
  }
  flags[count] = '\0';
}

/* hh h l ll, and C99's z j t; L has no effect, since there is no long double. */
static int read_size(const char **at) {
  int size = 4;
  for (; **at && strchr("hlzjtL", **at); ++*at) size = **at != 'h' ? 8 : size == 2 ? 1 : 2;
  return size;
}

/* The next conversion at or after *at, which is advanced past it; false at the end of the format. */
static bool next_conversion(const char **at, conversion *out) {
  const char *cursor = strchr(*at, '%');
  if (!cursor) return false;
  *out = (conversion){.start = cursor++, .precision = -1};
  read_flags(&cursor, out->flags);
  out->star_width = *cursor == '*';
  if (out->star_width)
    cursor++;
  else
    out->width = read_number(&cursor);
  if (*cursor == '.') {
    cursor++;
    out->star_precision = *cursor == '*';
    if (out->star_precision)
      cursor++;
    else
      out->precision = read_number(&cursor);
  }
  out->size = read_size(&cursor);
  out->letter = *cursor == 'i' ? 'd' : *cursor;
  if (!out->letter || !strchr("duoxXcspfFeEgGaA%", out->letter)) out->letter = '\0';
  out->end = *at = *cursor ? cursor + 1 : cursor;
  return true;
}

static bool is_floating(char letter) { return strchr("fFeEgGaA", letter) != NULL; }

/* The size of the promoted argument: types below 64 bits were promoted to int. */
static size_t argument_bytes(const conversion *c) {
  bool wide = c->size == 8 || c->letter == 's' || c->letter == 'p' || is_floating(c->letter);
  return wide && c->letter != 'c' ? 8 : 4;
}

/* ---- printf: the kernel's half ---- */

typedef struct argument_reader {
  const unsigned char *arguments;
  size_t offset;
  print_copy *copy;
  size_t count; /* values so far */
  size_t used;  /* bytes of copy->text */
} argument_reader;

static uint64_t read_value(argument_reader *r, size_t bytes) {
  uint64_t value = 0;
  r->offset = (r->offset + bytes - 1) / bytes * bytes;
  memcpy(&value, r->arguments + r->offset, bytes);
  r->offset += bytes;
  return value;
}

/* Copy a string of the kernel's, at most `most` bytes and what there is room for. Byte by byte: the string may end
   right before memory that is not there. */
static uint64_t copy_string(argument_reader *r, const char *string, size_t most) {
  char *text = r->copy->text;
  size_t start = r->used, room = sizeof r->copy->text - start;
  if (!string) string = "(null)";
  while (most > 0 && room > 1 && *string) {
    text[r->used++] = *string++;
    most--;
    room--;
  }
  text[r->used] = '\0';
  if (room > 1) r->used++;
  return start;
}

static void read_argument(argument_reader *r, const conversion *c) {
  int64_t precision = c->precision;
  if (c->star_width) r->copy->values[r->count++] = read_value(r, 4);
  if (c->star_precision) precision = (int32_t)(r->copy->values[r->count++] = read_value(r, 4));
  uint64_t value = read_value(r, argument_bytes(c));
  if (c->letter == 's')
    value = copy_string(r, (const char *)(uintptr_t)value, precision >= 0 ? (size_t)precision : SIZE_MAX);
  r->copy->values[r->count++] = value;
}

/* Returns the number of arguments that the format takes. A format with too many arguments is truncated. */
static int32_t copy_arguments(argument_reader *r) {
  int32_t taken = 0;
  conversion c;
  for (const char *at = r->copy->text; next_conversion(&at, &c);) {
    if (!c.letter || c.letter == '%') continue;
    if (r->count + 3 > PRINT_MOST) {
      r->copy->text[c.start - r->copy->text] = '\0';
      break;
    }
    taken += 1 + c.star_width + c.star_precision;
    read_argument(r, &c);
  }
  return taken;
}

/* ---- printf: the host's half ---- */

/* The value of an integer argument, cut to the size that the format says and extended again. */
static uint64_t integer(const conversion *c, uint64_t value) {
  bool negative = c->letter == 'd';
  switch (c->size) {
  case 1: return negative ? (uint64_t)(int8_t)value : (uint8_t)value;
  case 2: return negative ? (uint64_t)(int16_t)value : (uint16_t)value;
  case 4: return negative ? (uint64_t)(int32_t)value : (uint32_t)value;
  default: return value;
  }
}

/* The C library's printf does one conversion; its format is composed of checked parts. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
#pragma GCC diagnostic ignored "-Wformat-security"
static void write_conversion(FILE *out, const conversion *c, const print_copy *copy, const uint64_t **values) {
  int width = c->star_width ? (int)*(*values)++ : c->width;
  int precision = c->star_precision ? (int)*(*values)++ : c->precision;
  uint64_t value = *(*values)++;
  char format[32];
  const char *modifier = strchr("duoxX", c->letter) ? "j" : "";
  bool has_precision = c->letter != 'c' && c->letter != 'p';
  snprintf(format, sizeof format, "%%%s*%s%s%c", c->flags, has_precision ? ".*" : "", modifier, c->letter);
  if (c->letter == 'c') {
    fprintf(out, format, width, (int)(unsigned char)value);
  } else if (c->letter == 'p') {
    fprintf(out, format, width, (void *)(uintptr_t)value);
  } else if (c->letter == 's') {
    fprintf(out, format, width, precision, copy->text + value);
  } else if (is_floating(c->letter)) {
    double number;
    memcpy(&number, &value, sizeof number);
    fprintf(out, format, width, precision, number);
  } else {
    fprintf(out, format, width, precision, (uintmax_t)integer(c, value));
  }
}
#pragma GCC diagnostic pop

static void write_text(FILE *out, const print_copy *copy) {
  const uint64_t *values = copy->values;
  const char *at = copy->text, *from = at;
  conversion c;
  for (; next_conversion(&at, &c); from = c.end) {
    fwrite(from, 1, (size_t)(c.start - from), out);
    if (c.letter == '%')
      putc('%', out);
    else if (c.letter)
      write_conversion(out, &c, copy, &values);
    else
      fwrite(c.start, 1, (size_t)(c.end - c.start), out);
  }
  fputs(from, out);
}

typedef struct print_call {
  const print_copy *copy;
  cpu_device *device;
} print_call;

static void write_call(void *argument) {
  const print_call *call = argument;
  char *text = NULL;
  size_t length = 0;
  FILE *kept = cpu_printed_is_kept(call->device) ? open_memstream(&text, &length) : NULL;
  if (kept) {
    write_text(kept, call->copy);
    fclose(kept);
    cpu_printed_add(call->device, text, length);
    free(text);
  } else {
    flockfile(stdout);
    write_text(stdout, call->copy);
    funlockfile(stdout);
  }
}

int32_t cpu_services_print(mw_worker *worker, const char *format, const void *arguments) {
  CPU_SERVICE_ENTER(worker);
  if (!format) return -1;
  print_copy *copy = (print_copy *)cpu_service_buffer(worker);
  argument_reader reader = {.arguments = arguments, .copy = copy};
  copy_string(&reader, format, sizeof copy->text / 2);
  int32_t taken = copy_arguments(&reader);
  print_call call = {copy, cpu_worker_device(worker)};
  cpu_service_call(worker, write_call, &call);
  return taken;
}

/* ---- assert ---- */

enum { ASSERT_MOST = 1024 }; /* bytes of each text */
typedef struct assert_copy {
  char message[ASSERT_MOST], file[ASSERT_MOST], function[ASSERT_MOST];
  const char *place; /* the file's name for messages */
  int line;
  unsigned block[3], thread[3];
  bool has_thread;
} assert_copy;

static void copy_text(char out[ASSERT_MOST], const char *text) {
  size_t length = 0;
  while (text && text[length] && length < ASSERT_MOST - 1) {
    out[length] = text[length];
    length++;
  }
  out[length] = '\0';
}

/* The line as CUDA prints it. */
static void write_assert(void *argument) {
  const assert_copy *a = argument;
  char thread[48] = "";
  if (a->has_thread) snprintf(thread, sizeof thread, ", thread: [%u,%u,%u]", a->thread[0], a->thread[1], a->thread[2]);
  fprintf(stderr, "%s:%d: %s: block: [%u,%u,%u]%s Assertion `%s` failed.\n", a->place, a->line, a->function,
          a->block[0], a->block[1], a->block[2], thread, a->message);
}

void cpu_services_assert(mw_worker *worker, const char *message, const char *file, uint32_t line,
                         const char *function) {
  CPU_SERVICE_ENTER(worker);
  assert_copy *a = (assert_copy *)cpu_service_buffer(worker);
  const mw_frame *frame = &((const cpu_worker *)worker)->work->frame;
  copy_text(a->message, message);
  copy_text(a->file, file);
  copy_text(a->function, function);
  a->line = (int)line;
  a->place = cpu_place_of(cpu_worker_kernel(worker)->unit, a->file, &a->line);
  a->has_thread = worker->thread != ~0u;
  cpu_unfold(worker->block, frame->grid, a->block);
  if (a->has_thread) cpu_unfold(worker->thread, frame->block, a->thread);
  cpu_service_call(worker, write_assert, a);
  /* `place` points into the service buffer, which stays unchanged until the failure is reported: the worker does
     nothing else before that. */
  char what[ASSERT_MOST + 64];
  snprintf(what, sizeof what, "failed the assertion '%s'", a->message);
  cpu_service_fail(worker, MW_ASSERT, a->place, a->line, what);
}
