/* How blocks of a known size are cut into gangs. */
#include "simt.h"
#include "analysis.h"

unsigned block_size(const program *p, char axis) { return p->options->launch_kernel ? p->block[axis - 'x'] : 0; }

/* ---- cutting ---- */

static bool is_power(unsigned number) { return number && !(number & (number - 1)); }

/* The cut with `together` vectors; its `vectors` is 0 if there is none. */
static cut try_cut(const unsigned block[3], int lanes, int together) {
  unsigned w = (unsigned)lanes, u = (unsigned)together, columns = block[0] / w;
  if (block[0] % w) return (cut){0};
  if (columns % u == 0) return (cut){CUT_ROWS, lanes, together, 1};
  if (is_power(columns) && columns < u && block[1] % (u / columns) == 0)
    return (cut){CUT_PLANE, lanes, together, (int)columns};
  return (cut){0};
}

/* Rows whose length is not a multiple: with more vectors, more lanes are idle at the end of a row. */
static cut cut_rows(const unsigned block[3], int lanes, int together) {
  for (; together > 1; together /= 2) {
    unsigned gang = (unsigned)(lanes * together), whole = (block[0] + gang - 1) / gang * gang;
    if (whole - block[0] < (unsigned)lanes) break;
  }
  return (cut){CUT_ROW, lanes, together, 1};
}

cut cut_block(const unsigned block[3], int lanes, int together) {
  while (lanes > 4 && is_power(block[0]) && block[0] < (unsigned)lanes) lanes /= 2;
  for (int u = together; u > 0; u /= 2) {
    cut c = try_cut(block, lanes, u);
    if (c.vectors) return c;
  }
  return cut_rows(block, lanes, together);
}
