/* Panels of columns: panel.h. Tiles of TILE rows are copied column by column, so that a tile's cache lines are used up
 * while they are in the first-level cache. */
#include "panel.h"

#include <string.h>

enum { TILE = 8, CACHE_LINE = 64 };

size_t cpu_panel_line(size_t n, size_t size) {
  size_t each = CACHE_LINE / size;
  return ((n + each - 1) / each | 1) * each;
}

/* One function for each size: the compiler makes single moves of memcpy. */
#define COPIES(bytes)                                                                                                  \
  static void gather_##bytes(const cpu_panel *p, const char *from, char *to) {                                         \
    for (size_t first = 0; first < p->rows; first += TILE) {                                                           \
      size_t end = first + TILE < p->rows ? first + TILE : p->rows;                                                    \
      for (size_t c = 0; c < p->columns; c++)                                                                          \
        for (size_t r = first; r < end; r++)                                                                           \
          memcpy(to + (c * p->line + r) * (bytes), from + (r * p->stride + c) * (bytes), bytes);                       \
    }                                                                                                                  \
  }                                                                                                                    \
  static void scatter_##bytes(const cpu_panel *p, const char *from, char *to) {                                        \
    for (size_t first = 0; first < p->rows; first += TILE) {                                                           \
      size_t end = first + TILE < p->rows ? first + TILE : p->rows;                                                    \
      for (size_t r = first; r < end; r++)                                                                             \
        for (size_t c = 0; c < p->columns; c++)                                                                        \
          memcpy(to + (r * p->stride + c) * (bytes), from + (c * p->line + r) * (bytes), bytes);                       \
    }                                                                                                                  \
  }
COPIES(4)
COPIES(8)
COPIES(16)

void cpu_panel_gather(const cpu_panel *panel, const void *columns, void *lines) {
  if (panel->size == 4)
    gather_4(panel, columns, lines);
  else if (panel->size == 8)
    gather_8(panel, columns, lines);
  else
    gather_16(panel, columns, lines);
}

void cpu_panel_scatter(const cpu_panel *panel, const void *lines, void *columns) {
  if (panel->size == 4)
    scatter_4(panel, lines, columns);
  else if (panel->size == 8)
    scatter_8(panel, lines, columns);
  else
    scatter_16(panel, lines, columns);
}
