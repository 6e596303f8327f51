/* Handles of streams and events of device code: numbers, since kernels may pass anything. A number's low bits say what it
 * stands for; the others index a table of the family's. 0 to 4 are CUDA's own streams. */
#include "children.h"

#include <stdlib.h>

typedef enum object_kind { OBJECT_STREAM = 8, OBJECT_EVENT = 9 } object_kind;

struct cpu_object {
  void *memory; /* NULL: unused */
  object_kind kind;
  size_t next; /* unused: the next unused one, plus 1 */
};

enum { KIND_BITS = 4, KIND = (1 << KIND_BITS) - 1 };

static uint64_t add(struct cpu_family *family, void *memory, object_kind kind) {
  if (!memory) return 0;
  mw_lock(&family->lock);
  size_t index = family->object_free ? family->object_free - 1 : family->object_count;
  if (family->object_free) {
    family->object_free = family->objects[index].next;
  } else {
    if (index == family->object_capacity) {
      family->object_capacity = index * 2 + 16;
      family->objects = mw_realloc(family->objects, family->object_capacity * sizeof *family->objects);
    }
    family->object_count++;
  }
  family->objects[index] = (struct cpu_object){memory, kind, 0};
  mw_unlock(&family->lock);
  return (uint64_t)(index + 1) << KIND_BITS | kind;
}

/* What the handle stands for, or NULL. takes: the handle ends. */
static void *find(struct cpu_family *family, uint64_t handle, object_kind kind, bool takes) {
  uint64_t number = handle >> KIND_BITS;
  void *memory = NULL;
  if (number == 0 || (handle & KIND) != kind) return NULL;
  mw_lock(&family->lock);
  if (number <= family->object_count && family->objects[number - 1].kind == kind) {
    struct cpu_object *object = &family->objects[number - 1];
    memory = object->memory;
    if (takes && memory) {
      *object = (struct cpu_object){.next = family->object_free, .kind = kind};
      family->object_free = number;
    }
  }
  mw_unlock(&family->lock);
  return memory;
}

uint64_t cpu_queue_open(struct cpu_family *family, cpu_pile *pile) {
  return add(family, cpu_cell_new(family, pile), OBJECT_STREAM);
}

cpu_queue *cpu_queue_find(struct cpu_family *family, uint64_t handle) {
  return find(family, handle, OBJECT_STREAM, false);
}

bool cpu_queue_close(struct cpu_family *family, cpu_pile *pile, uint64_t handle) {
  cpu_queue *queue = find(family, handle, OBJECT_STREAM, true);
  if (!queue) return false;
  cpu_spin_take(&queue->lock);
  bool empty = !queue->first;
  queue->destroyed = true;
  cpu_spin_give(&queue->lock);
  if (empty) cpu_cell_free(pile, queue);
  return true;
}

uint64_t cpu_event_open(struct cpu_family *family, cpu_pile *pile) {
  cpu_event *event = cpu_cell_new(family, pile);
  if (event) atomic_init(&event->users, 1);
  return add(family, event, OBJECT_EVENT);
}

cpu_event *cpu_event_find(struct cpu_family *family, uint64_t handle) {
  return find(family, handle, OBJECT_EVENT, false);
}

void cpu_event_drop(cpu_pile *pile, cpu_event *event) {
  if (atomic_fetch_sub(&event->users, 1) == 1) cpu_cell_free(pile, event);
}

bool cpu_event_close(struct cpu_family *family, cpu_pile *pile, uint64_t handle) {
  cpu_event *event = find(family, handle, OBJECT_EVENT, true);
  if (event) cpu_event_drop(pile, event);
  return event != NULL;
}
