// The memory that arrays show: a reference of a frame or slot, or a copy.
#include <stdlib.h>

#include "common.h"

static atomic_ullong copies;

static void end_handle(void* handle, enum memory_kind kind) {
  switch (kind) {
    case MEMORY_FRAME:
      fw_frame_unref(handle);
      return;
    case MEMORY_SLOT:
      fw_slot_unref(handle);
      return;
    case MEMORY_COPY:
      free(handle);
      return;
  }
}

struct shared_memory* shared_memory_new(void* handle, enum memory_kind kind, bool read_only) {
  struct shared_memory* memory = malloc(sizeof *memory);
  if (memory == NULL) {
    end_handle(handle, kind);
    PyErr_NoMemory();
    return NULL;
  }
  atomic_init(&memory->references, 1);
  atomic_init(&memory->read_only, read_only);
  memory->kind = kind;
  memory->handle = handle;
  return memory;
}

struct shared_memory* shared_memory_ref(struct shared_memory* memory) {
  atomic_fetch_add_explicit(&memory->references, 1, memory_order_relaxed);
  return memory;
}

void shared_memory_unref(struct shared_memory* memory) {
  if (memory != NULL && atomic_fetch_sub_explicit(&memory->references, 1, memory_order_acq_rel) == 1) {
    end_handle(memory->handle, memory->kind);
    free(memory);
  }
}

struct shared_memory* shared_memory_copy(size_t size) {
  const size_t alignment = 64;  // as DLPack recommends
  const size_t rounded = (size + alignment - 1) / alignment * alignment;
  void* block = aligned_alloc(alignment, rounded == 0 ? alignment : rounded);
  if (block == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  atomic_fetch_add_explicit(&copies, 1, memory_order_relaxed);
  return shared_memory_new(block, MEMORY_COPY, false);
}

unsigned long long shared_memory_copies(void) {
  return atomic_load_explicit(&copies, memory_order_relaxed);
}
