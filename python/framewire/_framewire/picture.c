// What frames and slots have in common.
#include "picture.h"

#include <stddef.h>

static struct picture* picture_of(PyObject* self) {
  return (struct picture*)self;
}

static fw_result get_view(struct shared_memory* memory, fw_view* view) {
  view->struct_size = sizeof *view;
  return memory->kind == MEMORY_FRAME ? fw_frame_view(memory->handle, view, sizeof *view)
                                      : fw_slot_view(memory->handle, view, sizeof *view);
}

PyObject* picture_new(PyTypeObject* type, struct shared_memory* memory) {
  PyObject* self = PyType_GenericAlloc(type, 0);
  if (self == NULL) {
    shared_memory_unref(memory);
    return NULL;
  }
  picture_of(self)->memory = memory;
  const fw_result result = get_view(memory, &picture_of(self)->view);
  if (result != FW_OK) {
    Py_DECREF(self);
    return raise_result(result);
  }
  return self;
}

void picture_release(struct picture* picture) {
  struct shared_memory* memory = picture->memory;
  picture->memory = NULL;
  Py_CLEAR(picture->planes);
  shared_memory_unref(memory);
}

void picture_dealloc(PyObject* self) {
  picture_release(picture_of(self));
  free_object(self);
}

struct shared_memory* picture_memory(struct picture* picture) {
  return picture->memory != NULL ? picture->memory : raise_state("it was released");
}

PyObject* picture_enter(PyObject* self, PyObject* unused) {
  (void)unused;
  return Py_NewRef(self);
}

static PyObject* make_planes(const struct picture* picture, struct shared_memory* memory) {
  const uint32_t count = picture->view.plane_count;
  PyObject* planes = PyTuple_New((Py_ssize_t)count);
  for (uint32_t i = 0; planes != NULL && i < count; ++i) {
    struct array array;
    PyObject* plane = array_of_plane(&array, memory, &picture->view, i) ? plane_new(&array) : NULL;
    if (plane == NULL || PyTuple_SetItem(planes, (Py_ssize_t)i, plane) < 0) {
      Py_CLEAR(planes);
    }
  }
  return planes;
}

// A new reference of the tuple of planes. Other threads run while a plane is copied: they may release the picture, or
// make its planes, too.
static PyObject* planes_of(struct picture* picture) {
  struct shared_memory* memory = picture_memory(picture);
  if (memory == NULL || picture->planes != NULL) {
    return memory == NULL ? NULL : Py_NewRef(picture->planes);
  }
  shared_memory_ref(memory);
  PyObject* planes = make_planes(picture, memory);
  if (planes != NULL && picture_memory(picture) == NULL) {
    Py_CLEAR(planes);
  } else if (planes != NULL && picture->planes != NULL) {
    Py_DECREF(planes);
    planes = Py_NewRef(picture->planes);
  } else {
    picture->planes = Py_XNewRef(planes);
  }
  shared_memory_unref(memory);
  return planes;
}

// A new reference of the only plane. NULL, with BufferError: there are several.
static PyObject* only_plane(PyObject* self) {
  struct picture* picture = picture_of(self);
  if (picture->view.plane_count != 1) {
    return PyErr_Format(PyExc_BufferError, "%s has %u planes: take planes[0] to planes[%u]",
                        fw_pixel_format_name(picture->view.pixel_format), picture->view.plane_count,
                        picture->view.plane_count - 1);
  }
  PyObject* planes = planes_of(picture);
  if (planes == NULL) {
    return NULL;
  }
  PyObject* plane = Py_XNewRef(PyTuple_GetItem(planes, 0));
  Py_DECREF(planes);
  return plane;
}

static PyObject* call_plane(PyObject* self, const char* name, PyObject* arguments, PyObject* keywords) {
  PyObject* plane = only_plane(self);
  PyObject* method = plane == NULL ? NULL : PyObject_GetAttrString(plane, name);
  PyObject* result = method == NULL ? NULL : PyObject_Call(method, arguments, keywords);
  Py_XDECREF(method);
  Py_XDECREF(plane);
  return result;
}

PyObject* picture_numpy(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return call_plane(self, "numpy", arguments, keywords);
}

PyObject* picture_dlpack(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return call_plane(self, "__dlpack__", arguments, keywords);
}

PyObject* picture_view(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return call_plane(self, "view", arguments, keywords);
}

PyObject* picture_copy(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return call_plane(self, "copy", arguments, keywords);
}

PyObject* picture_dlpack_device(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return dlpack_device();
}

int picture_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  PyObject* plane = only_plane(self);
  if (plane == NULL) {
    view->obj = NULL;
    return -1;
  }
  const int result = PyObject_GetBuffer(plane, view, flags);  // the buffer holds the plane
  Py_DECREF(plane);
  return result;
}

static PyObject* get_planes(PyObject* self, void* unused) {
  (void)unused;
  return planes_of(picture_of(self));
}

static PyObject* get_released(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(picture_of(self)->memory == NULL);
}

static PyObject* get_pixel_format(PyObject* self, void* unused) {
  (void)unused;
  return PyUnicode_FromString(fw_pixel_format_name(picture_of(self)->view.pixel_format));
}

static const void* field(PyObject* self, void* offset) {
  return (const char*)&picture_of(self)->view + (uintptr_t)offset;
}

static PyObject* get_u32(PyObject* self, void* offset) {
  return PyLong_FromUnsignedLong(*(const uint32_t*)field(self, offset));
}

static PyObject* get_u64(PyObject* self, void* offset) {
  return PyLong_FromUnsignedLongLong(*(const uint64_t*)field(self, offset));
}

static PyObject* get_i64(PyObject* self, void* offset) {
  return PyLong_FromLongLong(*(const int64_t*)field(self, offset));
}

#define FIELD(name) (void*)offsetof(fw_view, name)
PyGetSetDef picture_attributes[] = {
    {"planes", get_planes, NULL, "Its planes, a tuple of Plane.", NULL},
    {"released", get_released, NULL, "Whether it was released.", NULL},
    {"pixel_format", get_pixel_format, NULL, "FFmpeg's name of its format, such as 'nv12'; or 'bytes'.", NULL},
    {"width", get_u32, NULL, "In pixels; of 'bytes' in bytes.", FIELD(width)},
    {"height", get_u32, NULL, "In pixels.", FIELD(height)},
    {"size_bytes", get_u64, NULL, "All bytes, with padding.", FIELD(size_bytes)},
    {"sequence", get_u64, NULL, "The number of the frame in its stream, from 0.", FIELD(sequence)},
    {"epoch", get_u32, NULL, "Counts formats from 1: of a slot its stream's, of a frame those that its receiver saw.",
     FIELD(epoch)},
    {"tag", get_u64, NULL, "The number that the sender gave it.", FIELD(tag)},
    {"pts_ns", get_i64, NULL, "Presentation time from the start of the stream, in nanoseconds.", FIELD(pts_ns)},
    {"begun_ns", get_i64, NULL, "When the sender began it, by the sender's clock.", FIELD(begun_ns)},
    {"completed_ns", get_i64, NULL, "When it was published, by the sender's clock.", FIELD(completed_ns)},
    {"received_ns", get_i64, NULL, "When its last byte was here, in time.monotonic_ns().", FIELD(received_ns)},
    {NULL, NULL, NULL, NULL, NULL}};
