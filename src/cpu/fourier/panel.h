/* Panels of columns, copied to lines of scratch memory and back: how transforms along an axis whose elements are not
 * neighbours read and write memory in order. FFTW's own plans for strided transforms, made without measuring, took 8
 * times as long for 2048 x 2048 numbers. */
#ifndef CPU_PANEL_H
#define CPU_PANEL_H

#include <stddef.h>

/* Elements of 4, 8 or 16 bytes: `rows` of them in each of `columns`. In memory the columns are neighbours, and rows are
   `stride` elements apart; in scratch memory a column is a line, and lines are `line` elements apart. */
typedef struct cpu_panel {
  size_t size, rows, columns, stride, line;
} cpu_panel;

/* The distance of lines of n elements: whole cache lines, which lie in different sets. */
size_t cpu_panel_line(size_t n, size_t size);
void cpu_panel_gather(const cpu_panel *panel, const void *columns, void *lines);
void cpu_panel_scatter(const cpu_panel *panel, const void *lines, void *columns);

#endif
