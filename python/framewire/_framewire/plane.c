// Plane: an array of a frame's or slot's memory, by the buffer protocol and DLPack.
#include <string.h>

#include "common.h"

PyTypeObject* plane_type;

typedef struct {
  PyObject_HEAD struct array array;
} plane_object;

static struct array* array_of(PyObject* self) {
  return &((plane_object*)self)->array;
}

PyObject* plane_new(struct array* array) {
  PyObject* self = PyType_GenericAlloc(plane_type, 0);
  if (self == NULL) {
    shared_memory_unref(array->memory);
    return NULL;
  }
  *array_of(self) = *array;
  return self;
}

static void plane_dealloc(PyObject* self) {
  shared_memory_unref(array_of(self)->memory);
  free_object(self);
}

static int plane_get_buffer(PyObject* self, Py_buffer* view, int flags) {
  struct array* array = array_of(self);
  const bool is_read_only = atomic_load(&array->memory->read_only);
  const bool is_packed = array_is_packed(array);
  view->obj = NULL;
  if ((flags & PyBUF_WRITABLE) != 0 && is_read_only) {
    PyErr_SetString(PyExc_BufferError, "frames are read-only; copy() or numpy(writable=True) copies");
    return -1;
  }
  const bool takes_strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES;
  const bool wants_c =
      (flags & PyBUF_C_CONTIGUOUS) == PyBUF_C_CONTIGUOUS || (flags & PyBUF_ANY_CONTIGUOUS) == PyBUF_ANY_CONTIGUOUS;
  const bool wants_fortran = (flags & PyBUF_F_CONTIGUOUS) == PyBUF_F_CONTIGUOUS;
  if (((!takes_strides || wants_c) && !is_packed) || (wants_fortran && array->ndim > 1)) {
    PyErr_SetString(PyExc_BufferError, "the rows of this plane have padding; copy() packs them");
    return -1;
  }
  const bool takes_shape = (flags & PyBUF_ND) == PyBUF_ND;
  view->buf = array->data;
  view->len = array_items(array) * array->item->bytes;
  view->readonly = is_read_only;
  view->itemsize = array->item->bytes;
  view->format = (flags & PyBUF_FORMAT) != 0 ? (char*)array->item->code : NULL;
  view->ndim = takes_shape ? array->ndim : 1;
  view->shape = takes_shape ? array->shape : NULL;
  view->strides = takes_strides ? array->strides : NULL;
  view->suboffsets = NULL;
  view->internal = NULL;
  view->obj = Py_NewRef(self);
  return 0;
}

static PyObject* plane_copy(PyObject* self, PyObject* unused) {
  (void)unused;
  struct array copy;
  return array_copy(&copy, array_of(self)) ? plane_new(&copy) : NULL;
}

// "int16" of the string, of numpy.int16, or of numpy.dtype("int16").
static PyObject* item_name(PyObject* type) {
  if (PyUnicode_Check(type)) {
    return Py_NewRef(type);
  }
  PyObject* name = PyObject_GetAttrString(type, PyType_Check(type) ? "__name__" : "name");
  if (name == NULL || !PyUnicode_Check(name)) {
    Py_XDECREF(name);
    PyErr_Format(PyExc_TypeError, "%R is no item type; give its name, such as 'int16'", type);
    return NULL;
  }
  return name;
}

static PyObject* plane_view(PyObject* self, PyObject* type) {
  PyObject* name = item_name(type);
  const char* text = name == NULL ? NULL : PyUnicode_AsUTF8AndSize(name, NULL);
  const struct item_type* item = text == NULL ? NULL : item_type_named(text);
  Py_XDECREF(name);
  if (item == NULL) {
    return NULL;
  }
  struct array view = *array_of(self);
  if (item->bytes != view.item->bytes) {
    return PyErr_Format(PyExc_ValueError, "%s has %d bytes, and an item of this plane, %s, has %d", item->name,
                        item->bytes, view.item->name, view.item->bytes);
  }
  view.item = item;
  shared_memory_ref(view.memory);
  return plane_new(&view);
}

// numpy.asarray, which is imported at the first use. Borrowed: it is kept for ever.
static PyObject* numpy_asarray(void) {
  static PyObject* asarray;
  if (asarray == NULL) {
    PyObject* numpy = PyImport_ImportModule("numpy");
    asarray = numpy == NULL ? NULL : PyObject_GetAttrString(numpy, "asarray");
    Py_XDECREF(numpy);
  }
  return asarray;
}

static PyObject* plane_numpy(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"writable", NULL};
  int writable = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$p", names, &writable)) {
    return NULL;
  }
  PyObject* asarray = numpy_asarray();
  if (asarray == NULL) {
    return NULL;
  }
  if (!writable || !atomic_load(&array_of(self)->memory->read_only)) {
    return PyObject_CallFunctionObjArgs(asarray, self, NULL);
  }
  PyObject* copy = plane_copy(self, NULL);
  PyObject* array = copy == NULL ? NULL : PyObject_CallFunctionObjArgs(asarray, copy, NULL);
  Py_XDECREF(copy);
  return array;
}

static PyObject* plane_dlpack(PyObject* self, PyObject* arguments, PyObject* keywords) {
  return dlpack_capsule(array_of(self), arguments, keywords);
}

static PyObject* plane_dlpack_device(PyObject* self, PyObject* unused) {
  (void)self;
  (void)unused;
  return dlpack_device();
}

static PyObject* sizes_tuple(const Py_ssize_t* sizes, int count) {
  PyObject* tuple = PyTuple_New(count);
  for (int i = 0; tuple != NULL && i < count; ++i) {
    PyObject* size = PyLong_FromSsize_t(sizes[i]);
    if (size == NULL || PyTuple_SetItem(tuple, i, size) < 0) {
      Py_CLEAR(tuple);
    }
  }
  return tuple;
}

static PyObject* plane_shape(PyObject* self, void* unused) {
  (void)unused;
  return sizes_tuple(array_of(self)->shape, array_of(self)->ndim);
}

static PyObject* plane_strides(PyObject* self, void* unused) {
  (void)unused;
  return sizes_tuple(array_of(self)->strides, array_of(self)->ndim);
}

static PyObject* plane_dtype(PyObject* self, void* unused) {
  (void)unused;
  return PyUnicode_FromString(array_of(self)->item->name);
}

static PyObject* plane_read_only(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(atomic_load(&array_of(self)->memory->read_only));
}

static PyObject* plane_is_copy(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(array_of(self)->is_copy);
}

static PyObject* plane_repr(PyObject* self) {
  PyObject* shape = plane_shape(self, NULL);
  if (shape == NULL) {
    return NULL;
  }
  PyObject* text = PyUnicode_FromFormat("<framewire.Plane %R %s>", shape, array_of(self)->item->name);
  Py_DECREF(shape);
  return text;
}

static PyMethodDef plane_methods[] = {
    {"numpy", (PyCFunction)(void (*)(void))plane_numpy, METH_VARARGS | METH_KEYWORDS,
     "numpy($self, *, writable=False)\n--\n\nThe NumPy array of this memory, without a copy. It is read-only if the "
     "plane is; "
     "writable=True then copies."},
    {"view", plane_view, METH_O,
     "view($self, dtype, /)\n--\n\nThe same memory as items of another type of the same size, such as 'int16'."},
    {"copy", plane_copy, METH_NOARGS, "copy($self, /)\n--\n\nA packed, writable copy."},
    {"__dlpack__", (PyCFunction)(void (*)(void))plane_dlpack, METH_VARARGS | METH_KEYWORDS,
     "__dlpack__($self, *, stream=None, max_version=None, dl_device=None, copy=None)\n--\n\nDLPack's capsule. With "
     "max_version >= (1, 0) it has the read-only flag; without, read-only memory is copied."},
    {"__dlpack_device__", plane_dlpack_device, METH_NOARGS,
     "__dlpack_device__($self, /)\n--\n\n(1, 0): the processor."},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef plane_attributes[] = {
    {"shape", plane_shape, NULL, "The sizes: rows, columns, and what stands together.", NULL},
    {"strides", plane_strides, NULL, "The distances of neighbours in each dimension, in bytes.", NULL},
    {"dtype", plane_dtype, NULL, "The type of the items, by NumPy's name.", NULL},
    {"read_only", plane_read_only, NULL, "Whether it must not be written.", NULL},
    {"is_copy", plane_is_copy, NULL, "Whether it is a copy of the frame.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot plane_slots[] = {{Py_tp_dealloc, plane_dealloc},
                                    {Py_tp_repr, plane_repr},
                                    {Py_tp_methods, plane_methods},
                                    {Py_tp_getset, plane_attributes},
                                    {Py_bf_getbuffer, plane_get_buffer},
                                    {Py_tp_doc, "An array in the memory of a frame or slot, which it holds."},
                                    {0, NULL}};

static PyType_Spec plane_spec = {"framewire.Plane", sizeof(plane_object), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, plane_slots};

bool add_plane_type(PyObject* module) {
  plane_type = add_type(module, &plane_spec);
  return plane_type != NULL;
}
