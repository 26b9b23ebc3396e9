// The extension module framewire._framewire.
#include "common.h"

PyTypeObject* add_type(PyObject* module, PyType_Spec* spec) {
  PyObject* type = PyType_FromSpec(spec);
  if (type == NULL || PyModule_AddType(module, (PyTypeObject*)type) < 0) {
    return NULL;
  }
  return (PyTypeObject*)type;
}

void free_object(PyObject* self) {
  PyTypeObject* type = Py_TYPE(self);
  freefunc free_memory = (freefunc)PyType_GetSlot(type, Py_tp_free);
  free_memory(self);
  Py_DECREF(type);
}

static PyObject* copies(PyObject* module, PyObject* unused) {
  (void)module;
  (void)unused;
  return PyLong_FromUnsignedLongLong(shared_memory_copies());
}

static PyMethodDef functions[] = {
    {"copies", copies, METH_NOARGS, "copies($module, /)\n--\n\nHow many copies of frames this process has made here."},
    {NULL, NULL, 0, NULL}};

static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "_framewire", NULL, -1, functions, NULL, NULL, NULL, NULL};

// Format numbers are used one after the other.
static PyObject* pixel_formats(void) {
  PyObject* names = PyList_New(0);
  const char* name = NULL;
  for (int32_t number = FW_PIXEL_BYTES; names != NULL && (name = fw_pixel_format_name(number)) != NULL; ++number) {
    PyObject* text = PyUnicode_FromString(name);
    if (text == NULL || PyList_Append(names, text) < 0) {
      Py_CLEAR(names);
    }
    Py_XDECREF(text);
  }
  PyObject* tuple = names == NULL ? NULL : PySequence_Tuple(names);
  Py_XDECREF(names);
  return tuple;
}

static bool add_constants(PyObject* module) {
  PyObject* formats = pixel_formats();
  const bool is_added = formats != NULL && PyModule_AddObjectRef(module, "pixel_formats", formats) == 0;
  Py_XDECREF(formats);
  return is_added && PyModule_AddStringConstant(module, "version", fw_version()) == 0;
}

PyMODINIT_FUNC PyInit__framewire(void) {
  PyObject* module = PyModule_Create(&definition);
  if (module == NULL) {
    return NULL;
  }
  if (!add_exceptions(module) || !add_plane_type(module) || !add_picture_types(module) || !add_receiver_type(module) ||
      !add_sender_type(module) || !add_stream_type(module) || !add_constants(module)) {
    Py_DECREF(module);
    return NULL;
  }
  return module;
}
