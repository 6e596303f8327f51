/* Grids: their memory, their order in streams, and when they are finished. See children.h. */
#include "children.h"

#include <stdlib.h>
#include <string.h>

enum { CELL = 640, CELLS_OF_CHUNK = 100, BATCH = 32 };

typedef struct cpu_cell {
  struct cpu_cell *next;
} cpu_cell;

struct cpu_chunk {
  struct cpu_chunk *next;
  _Alignas(64) unsigned char cells[CELLS_OF_CHUNK][CELL];
};

/* ---- memory ---- */

void cpu_cell_free(cpu_pile *pile, void *memory) {
  cpu_cell *cell = memory;
  cell->next = pile->cells;
  if (!pile->cells) pile->last_cell = cell;
  pile->cells = cell;
}

/* Get cells from the family: those that other threads left, or new ones. */
static bool fetch_cells(struct cpu_family *family, cpu_pile *pile) {
  mw_lock(&family->lock);
  for (int i = 0; i < BATCH && family->rest.cells; i++) {
    cpu_cell *cell = family->rest.cells;
    family->rest.cells = cell->next;
    cpu_cell_free(pile, cell);
  }
  mw_unlock(&family->lock);
  if (pile->cells) return true;
  struct cpu_chunk *chunk = aligned_alloc(64, sizeof *chunk);
  if (!chunk) return false;
  for (int i = 0; i < CELLS_OF_CHUNK; i++) cpu_cell_free(pile, chunk->cells[i]);
  mw_lock(&family->lock);
  chunk->next = family->chunks;
  family->chunks = chunk;
  mw_unlock(&family->lock);
  return true;
}

static void *take_cell(struct cpu_family *family, cpu_pile *pile) {
  if (!pile->cells && !fetch_cells(family, pile)) return NULL;
  cpu_cell *cell = pile->cells;
  pile->cells = cell->next;
  return cell;
}

void *cpu_cell_new(struct cpu_family *family, cpu_pile *pile) {
  void *memory = take_cell(family, pile);
  if (memory) memset(memory, 0, CELL);
  return memory;
}

static cpu_grid *new_large(struct cpu_family *family, size_t bytes) {
  cpu_grid *grid = aligned_alloc(64, (bytes + 63) & ~(size_t)63);
  if (!grid) return NULL;
  memset(grid, 0, sizeof *grid);
  grid->is_large = true;
  mw_lock(&family->lock);
  grid->large_next = family->large;
  if (family->large) family->large->large_previous = grid;
  family->large = grid;
  mw_unlock(&family->lock);
  return grid;
}

static void free_large(struct cpu_family *family, cpu_grid *grid) {
  mw_lock(&family->lock);
  if (grid->large_next) grid->large_next->large_previous = grid->large_previous;
  if (grid->large_previous)
    grid->large_previous->large_next = grid->large_next;
  else
    family->large = grid->large_next;
  mw_unlock(&family->lock);
  free(grid);
}

cpu_grid *cpu_grid_new(struct cpu_family *family, cpu_pile *pile, size_t param_bytes) {
  _Static_assert(sizeof(cpu_scope) <= CELL && sizeof(cpu_grid) + 128 <= CELL, "they are kept in cells");
  if (sizeof(cpu_grid) + param_bytes > CELL) return new_large(family, sizeof(cpu_grid) + param_bytes);
  cpu_grid *grid = take_cell(family, pile);
  if (grid) memset(grid, 0, sizeof *grid);
  return grid;
}

static void free_grid(struct cpu_family *family, cpu_pile *pile, cpu_grid *grid) {
  if (grid->is_large)
    free_large(family, grid);
  else
    cpu_cell_free(pile, grid);
}

void cpu_scope_drop(cpu_pile *pile, cpu_scope *scope) {
  if (scope && atomic_fetch_sub(&scope->users, 1) == 1) cpu_cell_free(pile, scope);
}

void cpu_cells_free(struct cpu_family *family) {
  for (struct cpu_chunk *chunk = family->chunks, *next; chunk; chunk = next) {
    next = chunk->next;
    free(chunk);
  }
  for (cpu_grid *grid = family->large, *next; grid; grid = next) {
    next = grid->large_next;
    free(grid);
  }
}

void cpu_pile_join(cpu_pile *to, const cpu_pile *from) {
  if (!from->cells) return;
  from->last_cell->next = to->cells;
  if (!to->cells) to->last_cell = from->last_cell;
  to->cells = from->cells;
}

/* ---- order ---- */

void cpu_grid_ready(cpu_pile *pile, cpu_grid *grid) {
  grid->next = pile->ready;
  pile->ready = grid;
}

void cpu_grid_queue(cpu_pile *pile, cpu_grid *grid, cpu_queue *queue) {
  bool first = true;
  grid->queue = queue;
  if (queue) {
    cpu_spin_take(&queue->lock);
    first = !queue->first;
    if (first)
      queue->first = grid;
    else
      queue->last->follower = grid;
    queue->last = grid;
    cpu_spin_give(&queue->lock);
  }
  if (first) cpu_grid_ready(pile, grid);
}

/* The stream's first grid is finished: the next one, which can start. */
static cpu_grid *advance(cpu_pile *pile, cpu_queue *queue) {
  cpu_spin_take(&queue->lock);
  cpu_grid *next = queue->first->follower;
  queue->first = next;
  bool unused = !next && queue->destroyed;
  cpu_spin_give(&queue->lock);
  if (unused) cpu_cell_free(pile, queue);
  return next;
}

/* The next of the grid's tail launches, if any. Nothing else of the grid's runs. */
static cpu_grid *take_tail(cpu_grid *grid) {
  cpu_grid *tail = grid->tail_first;
  if (tail) grid->tail_first = tail->follower;
  return tail;
}

cpu_grid *cpu_grid_settle(struct cpu_family *family, cpu_pile *pile, cpu_grid *grid) {
  cpu_grid *successor = NULL;
  for (bool given = true; atomic_fetch_sub(&grid->pending, 1) == 1; given = false) {
    cpu_grid *tail = take_tail(grid), *parent = grid->parent;
    if (tail) {
      atomic_store(&grid->pending, 1);
      cpu_grid_ready(pile, tail);
      break;
    }
    if (!parent) break; /* the host's launch */
    cpu_grid *next = grid->queue ? advance(pile, grid->queue) : NULL;
    if (next && given)
      successor = next;
    else if (next)
      cpu_grid_ready(pile, next);
    if (grid->scope) atomic_fetch_sub(&grid->scope->unfinished, 1);
    cpu_scope_drop(pile, grid->scope);
    free_grid(family, pile, grid);
    grid = parent;
  }
  return successor;
}
