// What frames and slots have in common: a view, its planes, and a reference that both share.
#ifndef FRAMEWIRE_PYTHON_PICTURE_H
#define FRAMEWIRE_PYTHON_PICTURE_H

#include "common.h"

struct picture {
  PyObject_HEAD struct shared_memory* memory;  // NULL: it was released
  PyObject* planes;                            // a tuple, made when it is first asked for; or NULL
  fw_view view;
  bool is_published;  // of a slot
};

// Takes over the memory.
PyObject* picture_new(PyTypeObject* type, struct shared_memory* memory);
void picture_dealloc(PyObject* self);
int picture_get_buffer(PyObject* self, Py_buffer* view, int flags);
void picture_release(struct picture* picture);
// NULL, with StateError: it was released.
struct shared_memory* picture_memory(struct picture* picture);
PyObject* picture_enter(PyObject* self, PyObject* unused);

extern PyGetSetDef picture_attributes[];

// What a picture of one plane can do as its plane can.
PyObject* picture_numpy(PyObject* self, PyObject* arguments, PyObject* keywords);
PyObject* picture_dlpack(PyObject* self, PyObject* arguments, PyObject* keywords);
PyObject* picture_view(PyObject* self, PyObject* arguments, PyObject* keywords);
PyObject* picture_copy(PyObject* self, PyObject* arguments, PyObject* keywords);
PyObject* picture_dlpack_device(PyObject* self, PyObject* unused);

#define PICTURE_METHOD(function) (PyCFunction)(void (*)(void))(function), METH_VARARGS | METH_KEYWORDS
#define PICTURE_METHODS                                                                                           \
  {"numpy", PICTURE_METHOD(picture_numpy),                                                                        \
   "numpy($self, *, writable=False)\n--\n\nThe NumPy array of the only plane; see Plane.numpy()."},               \
      {"view", PICTURE_METHOD(picture_view),                                                                      \
       "view($self, dtype, /)\n--\n\nThe only plane as other items; see Plane.view()."},                          \
      {"copy", PICTURE_METHOD(picture_copy), "copy($self, /)\n--\n\nA packed, writable copy of the only plane."}, \
      {"__dlpack__", PICTURE_METHOD(picture_dlpack),                                                              \
       "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nSee "               \
       "Plane.__dlpack__()."},                                                                                    \
      {"__dlpack_device__", picture_dlpack_device, METH_NOARGS,                                                   \
       "__dlpack_device__($self, /)\n--\n\n(1, 0): the processor."},                                              \
  {                                                                                                               \
    "__enter__", picture_enter, METH_NOARGS, NULL                                                                 \
  }

#endif
