/* Drawing numbers: the launches for each family of streams: columns (XORWOW, MRG32k3a, Philox), MTGP32, MT19937 and
 * Sobol's sequences. The kernels and the order of numbers are described in src/device/moonwarp/random/. */
#include "random.h"

static const char *const names[] = {"bits",      "uniform",          "uniform_double", "normal", "normal_double",
                                    "lognormal", "lognormal_double", "poisson",        "single"};

static bool is_double(random_what what) {
  return what == RANDOM_UNIFORM_DOUBLE || what == RANDOM_NORMAL_DOUBLE || what == RANDOM_LOGNORMAL_DOUBLE;
}

size_t random_size(const random_generator *g, random_what what) {
  return is_double(what) || (what == RANDOM_BITS && g->type->wide) ? 8 : 4;
}

unsigned random_unit(const random_generator *g, random_what what) {
  bool normal = what >= RANDOM_NORMAL && what <= RANDOM_LOGNORMAL_DOUBLE;
  return g->type->pairs && normal ? 2 : g->type->unit;
}

/* The number of columns, or states, in the generator's ordering. */
static unsigned columns_of(const random_generator *g) {
  for (int i = 0; i < 4; i++)
    if (g->type->orderings[i] == g->ordering) return (unsigned)g->type->columns[i];
  return 0;
}

void random_rewind(random_generator *g) {
  random_memory_free(g, g->states);
  random_memory_free(g, g->more);
  g->states = g->more = 0;
  g->begun = false;
}

/* ---- columns ---- */

#define COLUMNS "#include <moonwarp/random/streams/columns.h>\n"

static int columns_begin(random_generator *g, uint64_t offset) {
  unsigned columns = columns_of(g), unit = g->type->unit;
  uint64_t units = offset / unit, rows = 0;
  uint64_t *row = malloc(columns * sizeof *row);
  if (!row) abort();
  for (unsigned i = 0; i < columns; i++) row[i] = (units / columns + (i < units % columns)) * unit;
  g->column = (unsigned)(units % columns);
  g->skip = (unsigned)(offset % unit);
  /* Two additional words, in which random_draw saves a column. */
  int code = random_memory_new(g, (g->type->words * (size_t)columns + 4) * 4, &g->states);
  if (code == MW_SUCCESS) code = random_memory_new(g, columns * sizeof *row, &rows);
  if (code == MW_SUCCESS) code = random_copy(g, rows, host_address(row), columns * sizeof *row);
  free(row);
  char text[128];
  snprintf(text, sizeof text, COLUMNS "MW_COLUMNS_BEGIN(%s)\n", g->type->kind);
  unsigned low = (unsigned)g->seed, high = (unsigned)(g->seed >> 32);
  unsigned long long step = g->ordering == CURAND_ORDERING_PSEUDO_SEEDED ? 3133713 : 0;
  uint64_t no_pairs = 0;
  void *arguments[] = {&low, &high, &step, &columns, &rows, &no_pairs, &g->states};
  if (code == MW_SUCCESS) code = random_launch(g, text, "begin", (columns + 127) / 128, 1, 128, arguments);
  random_memory_free(g, rows);
  return code;
}

/* The words that a unit of XORWOW's or MRG32k3a's takes; 0 if that differs. */
static int words_of(const random_generator *g, random_what what) {
  if (what == RANDOM_SINGLE) return 0;
  bool two = is_double(what) && g->type->kind[0] == 'x';
  return (int)random_unit(g, what) * (two ? 2 : 1);
}

/* How many threads of a GPU share a column that draws many words, and the rounds of each;
 * lua/moonwarp/random/columns.lua has the same. */
static unsigned shares(random_what what, int rounds, int words, int *span) {
  const int least = 1024;
  int most = what <= RANDOM_UNIFORM_DOUBLE ? 4 : 16, drawn = rounds * words, count = drawn / least, unit = 1;
  *span = rounds;
  if (count > most) count = most;
  if (count < 2) return 1;
  int part = (drawn + count - 1) / count;
  while (unit * 256 <= part) unit *= 16;
  *span = (part + unit - 1) / unit * unit / words;
  return (unsigned)((rounds + *span - 1) / *span);
}

/* Makes whole units, at an address that is a multiple of a unit's size. */
static int columns_fill(random_generator *g, random_what what, uint64_t out, size_t units, double a, double b) {
  enum { MOST = 1 << 28 };
  unsigned columns = columns_of(g);
  size_t size = random_unit(g, what) * random_size(g, what);
  bool on_gpu = random_on_gpu(g), pairs = g->type->pairs, halves = on_gpu && !pairs && is_double(what);
  char text[128], name[32];
  if (halves)
    snprintf(text, sizeof text, COLUMNS "MW_COLUMNS_FILL_HALVES(%s)\n", names[what]);
  else
    snprintf(text, sizeof text, COLUMNS "MW_COLUMNS_FILL(%s, %s)\n", g->type->kind, names[what]);
  snprintf(name, sizeof name, "%s%s", names[what], halves ? "_halves" : "");
  int code = MW_SUCCESS;
  while (units > 0 && code == MW_SUCCESS) {
    int some = units < MOST ? (int)units : MOST, span = 0, taken = pairs ? words_of(g, what) : 0;
    unsigned threads = (unsigned)some < columns ? (unsigned)some : columns;
    if (halves) {
      void *arguments[] = {&g->states, &columns, &g->column, &some, &a, &b, &out};
      code = random_launch(g, text, name, (threads + 63) / 64, 1, 128, arguments);
    } else {
      unsigned count = on_gpu && taken > 0 ? shares(what, some / (int)columns, taken, &span) : 1;
      unsigned width = count > 1 ? 32 : 128;
      void *arguments[] = {&g->states, &columns, &g->column, &some, &span, &taken, &a, &b, &out};
      const host_geometry geometry = {.grid = {(threads + width - 1) / width, 1, 1}, .block = {width, count, 1}};
      code = random_launch_in(g, text, name, &geometry, arguments);
    }
    g->column = (unsigned)((g->column + (size_t)some) % columns);
    out += (size_t)some * size;
    units -= (size_t)some;
  }
  return code;
}

/* Saves the counter of Philox's column in two words after the states, or restores it. */
static int save_column(random_generator *g, unsigned column, bool back) {
  unsigned columns = columns_of(g);
  int code = MW_SUCCESS;
  for (unsigned word = 0; word < 2 && code == MW_SUCCESS; word++) {
    uint64_t own = g->states + 4 * ((uint64_t)word * columns + column);
    uint64_t saved = g->states + 4 * ((uint64_t)g->type->words * columns + word);
    code = back ? random_copy(g, own, saved, 4) : random_copy(g, saved, own, 4);
  }
  return code;
}

/* A unit of which only some numbers are requested is made separately, and its column restored: the next call makes it
   again, for whatever it draws. */
static int columns_draw(random_generator *g, random_what what, uint64_t out, size_t count, double a, double b) {
  unsigned unit = random_unit(g, what), head = g->skip;
  size_t size = random_size(g, what), units = (head + count) / unit, rest = (head + count) % unit;
  if (head == 0 && rest == 0 && out % (unit * size) == 0) return columns_fill(g, what, out, units, a, b);
  uint64_t made = 0;
  int code = random_memory_new(g, (units + (rest > 0)) * unit * size, &made);
  if (code == MW_SUCCESS) code = columns_fill(g, what, made, units, a, b);
  if (code == MW_SUCCESS && rest > 0) {
    unsigned column = g->column;
    code = save_column(g, column, false);
    if (code == MW_SUCCESS) code = columns_fill(g, what, made + units * unit * size, 1, a, b);
    if (code == MW_SUCCESS) code = save_column(g, column, true);
    g->column = column;
  }
  if (code == MW_SUCCESS) code = random_copy(g, out, made + head * size, count * size);
  g->skip = (unsigned)rest;
  random_memory_free(g, made);
  return code;
}

/* ---- MTGP32 ---- */

#define MTGP "#include <moonwarp/random/streams/mtgp32.h>\n"

enum { TURN_WORDS = 256, STATE_BYTES = 4112, PARAMETER_BYTES = 40808 };

static int mtgp_begin(random_generator *g) {
  int states = (int)columns_of(g);
  unsigned low = (unsigned)g->seed, high = (unsigned)(g->seed >> 32);
  int code = random_memory_new(g, (size_t)states * STATE_BYTES, &g->states);
  if (code == MW_SUCCESS) code = random_memory_new(g, PARAMETER_BYTES, &g->more);
  void *parameters[] = {&g->more}, *arguments[] = {&low, &high, &states, &g->more, &g->states};
  if (code == MW_SUCCESS) code = random_launch(g, MTGP "MW_MTGP_BEGIN\n", "begin_parameters", 2, 1, 128, parameters);
  if (code == MW_SUCCESS)
    code = random_launch(g, MTGP "MW_MTGP_BEGIN\n", "begin_states", (size_t)(states + 63) / 64, 1, 64, arguments);
  g->at = 0;
  return code;
}

static int mtgp_draw(random_generator *g, random_what what, uint64_t out, size_t count, double a, double b) {
  enum { MOST = 1 << 28 };
  uint64_t turn = (uint64_t)columns_of(g) * TURN_WORDS;
  char text[128];
  snprintf(text, sizeof text, MTGP "MW_MTGP_FILL(%s)\n", names[what]);
  int code = MW_SUCCESS;
  while (count > 0 && code == MW_SUCCESS) {
    size_t some = count < MOST ? count : MOST;
    long long from = (long long)(g->at % turn), end = from + (long long)some;
    int turns = (int)((end + (long long)turn - 1) / (long long)turn), partial = end % (long long)turn > 0;
    void *arguments[] = {&g->states, &g->more, &turns, &partial, &from, &end, &a, &b, &out};
    code = random_launch(g, text, names[what], columns_of(g), 1, random_on_gpu(g) ? TURN_WORDS : TURN_WORDS / 4,
                         arguments);
    g->at += some;
    out += some * random_size(g, what);
    count -= some;
  }
  return code;
}

/* ---- MT19937 ---- */

#define MT "#include <moonwarp/random/streams/mt19937.h>\n"

enum { MT_STATES = 8192, MT_WORDS = 624, MT_STRETCH = 20568, MT_SIDE_BY_SIDE = 64, MT_THREADS = 640, MT_WARPS = 4 };

/* The first state is the seed's. Jumps of 1, 8, 64, … states make 8 times as many each. */
static int mt_begin(random_generator *g) {
  unsigned seed = (unsigned)g->seed;
  uint64_t starts = 0, places = 0, stretches = 0;
  int code = random_memory_new(g, (size_t)MT_STATES * MT_WORDS * 4, &g->states);
  if (code == MW_SUCCESS) code = random_memory_new(g, 257 * 4, &starts);
  if (code == MW_SUCCESS) code = random_memory_new(g, MT_STRETCH / 8 * 4, &places);
  if (code == MW_SUCCESS) code = random_memory_new(g, (size_t)MT_SIDE_BY_SIDE * MT_STRETCH * 4, &stretches);
  void *first_state[] = {&seed, &g->states};
  if (code == MW_SUCCESS) code = random_launch(g, MT "MW_MT_BEGIN\n", "begin", 1, 1, 1, first_state);
  for (int by = 1, digit = 0; by < MT_STATES && code == MW_SUCCESS; by *= 8, digit++) {
    void *sorted[] = {&digit, &starts, &places};
    code = random_launch(g, MT "MW_MT_BEGIN\n", "sort", 1, 1, 1, sorted);
    for (int first = by; first < 8 * by && first < MT_STATES && code == MW_SUCCESS; first += by) {
      void *jumped[] = {&starts, &places, &first, &by, &by, &g->states, &stretches};
      size_t blocks = by < MT_SIDE_BY_SIDE ? (size_t)by : MT_SIDE_BY_SIDE;
      code = random_launch(g, MT "MW_MT_BEGIN\n", "jump", blocks, 1, MT_THREADS, jumped);
    }
  }
  random_memory_free(g, starts);
  random_memory_free(g, places);
  random_memory_free(g, stretches);
  g->at = g->turn = 0;
  g->fresh = true;
  return code;
}

/* The states stand at the turn that was drawn from last; before the first call, one turn before it. */
static int mt_draw(random_generator *g, random_what what, uint64_t out, size_t count, double a, double b) {
  enum { MOST = 1 << 28 };
  const uint64_t turn_words = (uint64_t)MT_STATES * MT_WORDS;
  char text[128];
  snprintf(text, sizeof text, MT "MW_MT_FILL(%s)\n", names[what]);
  int code = MW_SUCCESS;
  while (count > 0 && code == MW_SUCCESS) {
    size_t some = count < MOST ? count : MOST;
    uint64_t turn = g->at / turn_words, from_turn = g->at % turn_words;
    int advances = (int)(turn - g->turn) + g->fresh, turns = (int)((from_turn + some + turn_words - 1) / turn_words);
    long long from = (long long)from_turn, end = from + (long long)some;
    void *arguments[] = {&g->states, &advances, &turns, &from, &end, &a, &b, &out};
    bool on_gpu = random_on_gpu(g); /* a warp has four states there */
    const host_geometry geometry = {.grid = {on_gpu ? MT_STATES / (4 * MT_WARPS) : MT_STATES / 32, 1, 1},
                                    .block = {32, on_gpu ? MT_WARPS : 1, 1}};
    code = random_launch_in(g, text, names[what], &geometry, arguments);
    g->fresh = false;
    g->turn = turn + (uint64_t)turns - 1;
    g->at += some;
    out += some * random_size(g, what);
    count -= some;
  }
  return code;
}

/* ---- Sobol's sequences ---- */

enum { SOBOL_THREADS = 128 }; /* of a block */

/* How many blocks share the points of a dimension, and the kernel's parameter for it: on GPUs the logarithm to the base 2
 * of a dimension's threads, of which all dimensions have some 2^17; on the CPU device a block's elements. */
static unsigned sobol_spread(const random_generator *g, int points, int *parameter) {
  if (!random_on_gpu(g)) {
    int each = points / 32, unit = 4 * SOBOL_THREADS;
    each = each < 2048 ? 2048 : each < 1 << 17 ? (each + unit - 1) / unit * unit : 1 << 17;
    *parameter = each;
    return points > 0 ? (unsigned)((points - 1) / each + 1) : 1;
  }
  int k = 17;
  for (unsigned dimensions = 1; k > 10 && dimensions < g->dimensions; dimensions *= 2) k--;
  while (k > 7 && points <= 1 << (k - 1)) k--;
  *parameter = k;
  return (1u << k) / SOBOL_THREADS;
}

static int sobol_draw(random_generator *g, random_what what, uint64_t out, size_t count, double a, double b) {
  if (count / g->dimensions > 1u << 30)
    return host_fail(MW_INVALID_VALUE, "more than 2^30 points of a Sobol sequence in one call");
  unsigned first = (unsigned)g->at;
  int points = (int)(count / g->dimensions), parameter;
  unsigned blocks = sobol_spread(g, points, &parameter);
  char text[128];
  snprintf(text, sizeof text, "#include <moonwarp/random/streams/sobol.h>\nMW_SOBOL_FILL(%s, %s)\n", g->type->kind,
           names[what]);
  void *at = g->type->wide ? (void *)&g->at : &first;
  void *arguments[] = {&g->states, &g->more, &parameter, at, &points, &a, &b, &out};
  int code = random_launch(g, text, names[what], blocks, g->dimensions, SOBOL_THREADS, arguments);
  g->at += (uint64_t)points;
  return code;
}

/* ---- all ---- */

static int begin(random_generator *g) {
  uint64_t offset = g->position > 0 ? g->position : g->beyond;
  switch (g->type->family) {
  case RANDOM_COLUMNS: return columns_begin(g, offset);
  case RANDOM_MTGP: return mtgp_begin(g);
  case RANDOM_MT: return mt_begin(g);
  case RANDOM_SOBOL: g->at = offset; return random_vectors(g, &g->states, &g->more);
  }
  return MW_INVALID_VALUE;
}

int random_draw(random_generator *g, random_what what, uint64_t out, size_t count, double a, double b) {
  int code = g->begun ? MW_SUCCESS : begin(g);
  if (code != MW_SUCCESS) {
    random_rewind(g);
    return code;
  }
  g->begun = true;
  switch (g->type->family) {
  case RANDOM_COLUMNS: return columns_draw(g, what, out, count, a, b);
  case RANDOM_MTGP: return mtgp_draw(g, what, out, count, a, b);
  case RANDOM_MT: return mt_draw(g, what, out, count, a, b);
  case RANDOM_SOBOL: return sobol_draw(g, what, out, count, a, b);
  }
  return MW_INVALID_VALUE;
}
