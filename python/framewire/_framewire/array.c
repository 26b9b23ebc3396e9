// Shapes: which items each format's planes have, and where they lie.
#include <string.h>

#include "common.h"

enum { UINT8, INT8, UINT16, INT16, FLOAT16, UINT32, INT32, FLOAT32 };

static const struct item_type types[] = {
    // the last column: DLDataTypeCode of DLPack
    [UINT8] = {"uint8", "B", 1, 1}, [INT8] = {"int8", "b", 1, 0},       [UINT16] = {"uint16", "H", 2, 1},
    [INT16] = {"int16", "h", 2, 0}, [FLOAT16] = {"float16", "e", 2, 2}, [UINT32] = {"uint32", "I", 4, 1},
    [INT32] = {"int32", "i", 4, 0}, [FLOAT32] = {"float32", "f", 4, 2},
};

const struct item_type* item_type_named(const char* name) {
  for (size_t i = 0; i < sizeof types / sizeof *types; ++i) {
    if (strcmp(types[i].name, name) == 0) {
      return &types[i];
    }
  }
  PyErr_Format(PyExc_ValueError,
               "there is no item type '%s'; there are uint8, int8, uint16, int16, float16, uint32, "
               "int32 and float32",
               name);
  return NULL;
}

// The items of a plane: their type, and how many stand together in the last dimension; 1: there is none.
struct plane_items {
  int type;  // of `types`
  int together;
};

static struct plane_items items_of(int32_t pixel_format, uint32_t plane) {
  switch (pixel_format) {
    case FW_PIXEL_RGBA:
    case FW_PIXEL_BGRA:
    case FW_PIXEL_RGB0:
    case FW_PIXEL_BGR0:
    case FW_PIXEL_UYVY422:  // two pixels
    case FW_PIXEL_YUYV422:
      return (struct plane_items){UINT8, 4};
    case FW_PIXEL_RGB24:
    case FW_PIXEL_BGR24:
      return (struct plane_items){UINT8, 3};
    case FW_PIXEL_NV12:
      return (struct plane_items){UINT8, plane == 0 ? 1 : 2};
    case FW_PIXEL_P010LE:
      return (struct plane_items){UINT16, plane == 0 ? 1 : 2};
    case FW_PIXEL_YUV420P10LE:
    case FW_PIXEL_YUV422P10LE:
      return (struct plane_items){UINT16, 1};
    case FW_PIXEL_RGBA_GRAYF32LE:
      return plane == 0 ? (struct plane_items){UINT8, 4} : (struct plane_items){FLOAT32, 1};
    default:  // single bytes, also of a format that this version does not know
      return (struct plane_items){UINT8, 1};
  }
}

Py_ssize_t array_items(const struct array* array) {
  Py_ssize_t items = 1;
  for (int i = 0; i < array->ndim; ++i) {
    items *= array->shape[i];
  }
  return items;
}

bool array_is_packed(const struct array* array) {
  Py_ssize_t packed = array->item->bytes;
  for (int i = array->ndim - 1; i >= 0; --i) {
    if (array->shape[i] > 1 && array->strides[i] != packed) {
      return false;
    }
    packed *= array->shape[i];
  }
  return true;
}

static void set_packed_strides(struct array* array) {
  Py_ssize_t packed = array->item->bytes;
  for (int i = array->ndim - 1; i >= 0; --i) {
    array->strides[i] = packed;
    packed *= array->shape[i];
  }
}

bool array_copy(struct array* copy, const struct array* array) {
  const size_t size = (size_t)(array_items(array) * array->item->bytes);
  struct shared_memory* memory = shared_memory_copy(size);
  if (memory == NULL) {
    return false;
  }
  *copy = *array;
  copy->memory = memory;
  copy->data = memory->handle;
  copy->is_copy = true;
  set_packed_strides(copy);
  const Py_ssize_t rows = array->ndim == 1 ? 1 : array->shape[0];
  const size_t row_bytes = rows == 0 ? 0 : size / (size_t)rows;
  const Py_ssize_t pitch = array->ndim == 1 ? 0 : array->strides[0];
  Py_BEGIN_ALLOW_THREADS for (Py_ssize_t row = 0; row < rows; ++row) {
    memcpy(copy->data + (size_t)row * row_bytes, array->data + row * pitch, row_bytes);
  }
  Py_END_ALLOW_THREADS return true;
}

// Rows that do not lie at whole items cannot be shown: DLPack counts strides in items.
static bool copy_if_ragged(struct array* array) {
  const uintptr_t bytes = (uintptr_t)array->item->bytes;
  const bool is_ragged = (uintptr_t)array->data % bytes != 0 || (uintptr_t)array->strides[0] % bytes != 0;
  if (!is_ragged) {
    return true;
  }
  struct shared_memory* memory = array->memory;
  if (!atomic_load(&memory->read_only)) {
    PyErr_SetString(PyExc_BufferError, "rows of this slot do not lie at whole items, so no array can show them");
    return false;
  }
  struct array copy;
  if (!array_copy(&copy, array)) {
    return false;
  }
  shared_memory_unref(memory);
  *array = copy;
  atomic_store(&array->memory->read_only, true);  // as any other view of a frame
  return true;
}

bool array_of_plane(struct array* array, struct shared_memory* memory, const fw_view* view, uint32_t plane) {
  const fw_plane* layout = &view->plane[plane];
  if (layout->data == NULL) {
    PyErr_SetString(PyExc_BufferError, "the processor may not touch this memory");
    return false;
  }
  const struct plane_items items = items_of(view->pixel_format, plane);
  *array = (struct array){.data = layout->data, .item = &types[items.type]};
  if (view->pixel_format == FW_PIXEL_BYTES) {
    array->ndim = 1;
    array->shape[0] = (Py_ssize_t)view->size_bytes;
    array->strides[0] = 1;
  } else {
    array->ndim = items.together == 1 ? 2 : 3;
    array->shape[0] = (Py_ssize_t)layout->rows;
    array->shape[1] = (Py_ssize_t)layout->row_bytes / (array->item->bytes * items.together);
    array->shape[2] = items.together;
    array->strides[0] = (Py_ssize_t)layout->pitch_bytes;
    array->strides[1] = (Py_ssize_t)array->item->bytes * items.together;
    array->strides[2] = array->item->bytes;
  }
  array->memory = shared_memory_ref(memory);
  if (!copy_if_ragged(array)) {
    shared_memory_unref(array->memory);
    array->memory = NULL;
    return false;
  }
  return true;
}
