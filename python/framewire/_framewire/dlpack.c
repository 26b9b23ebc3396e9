// DLPack: arrays for other libraries. Deleters need no GIL: consumers call them on any thread.
#include "dlpack.h"

#include <stdlib.h>

#include "common.h"

static const char legacy_name[] = "dltensor";
static const char versioned_name[] = "dltensor_versioned";

// What a capsule points to; which of the first two is meant is clear from its name.
struct export {
  DLManagedTensor legacy;
  DLManagedTensorVersioned versioned;
  struct shared_memory* memory;
  int64_t shape[MAX_DIMENSIONS];
  int64_t strides[MAX_DIMENSIONS];
};

static void end_export(struct export* export) {
  shared_memory_unref(export->memory);
  free(export);
}

static void delete_legacy(DLManagedTensor* self) {
  end_export(self->manager_ctx);
}

static void delete_versioned(DLManagedTensorVersioned* self) {
  end_export(self->manager_ctx);
}

// A consumer renames the capsule, and then calls the deleter itself.
static void end_capsule(PyObject* capsule) {
  if (PyCapsule_IsValid(capsule, legacy_name)) {
    DLManagedTensor* tensor = PyCapsule_GetPointer(capsule, legacy_name);
    tensor->deleter(tensor);
  } else if (PyCapsule_IsValid(capsule, versioned_name)) {
    DLManagedTensorVersioned* tensor = PyCapsule_GetPointer(capsule, versioned_name);
    tensor->deleter(tensor);
  }
}

static void describe(DLTensor* tensor, struct export* export, const struct array* array) {
  for (int i = 0; i < array->ndim; ++i) {
    export->shape[i] = array->shape[i];
    export->strides[i] = array->strides[i] / array->item->bytes;
  }
  tensor->data = array->data;
  tensor->device = (DLDevice){kDLCPU, 0};
  tensor->ndim = array->ndim;
  tensor->dtype = (DLDataType){(uint8_t)array->item->dlpack_code, (uint8_t)(8 * array->item->bytes), 1};
  tensor->shape = export->shape;
  tensor->strides = export->strides;
}

// Takes over the array's memory.
static PyObject* capsule_of(const struct array* array, bool is_versioned) {
  struct export* export = calloc(1, sizeof *export);
  if (export == NULL) {
    shared_memory_unref(array->memory);
    return PyErr_NoMemory();
  }
  export->memory = array->memory;
  PyObject* capsule = NULL;
  if (is_versioned) {
    DLManagedTensorVersioned* tensor = &export->versioned;
    describe(&tensor->dl_tensor, export, array);
    tensor->version.major = DLPACK_MAJOR;
    tensor->version.minor = DLPACK_MINOR;
    tensor->manager_ctx = export;
    tensor->deleter = delete_versioned;
    tensor->flags = (atomic_load(&array->memory->read_only) ? DLPACK_FLAG_BITMASK_READ_ONLY : 0) |
                    (array->is_copy ? DLPACK_FLAG_BITMASK_IS_COPIED : 0);
    capsule = PyCapsule_New(tensor, versioned_name, end_capsule);
  } else {
    describe(&export->legacy.dl_tensor, export, array);
    export->legacy.manager_ctx = export;
    export->legacy.deleter = delete_legacy;
    capsule = PyCapsule_New(&export->legacy, legacy_name, end_capsule);
  }
  if (capsule == NULL) {
    end_export(export);
  }
  return capsule;
}

// -1: an exception is raised.
static int is_version_1(PyObject* max_version) {
  if (max_version == Py_None) {
    return 0;
  }
  int major = 0;
  int minor = 0;
  if (!PyTuple_Check(max_version) || !PyArg_ParseTuple(max_version, "ii", &major, &minor)) {
    PyErr_SetString(PyExc_TypeError, "max_version is a pair (major, minor), or None");
    return -1;
  }
  return major >= 1;
}

static bool is_processor(PyObject* device) {
  int type = 0;
  int number = 0;
  if (device == Py_None) {
    return true;
  }
  if (!PyTuple_Check(device) || !PyArg_ParseTuple(device, "ii", &type, &number)) {
    PyErr_SetString(PyExc_TypeError, "dl_device is a pair (type, number), or None");
    return false;
  }
  if (type != kDLCPU) {
    PyErr_Format(PyExc_BufferError, "frames lie in the processor's memory, device (1, 0), not (%d, %d)", type, number);
    return false;
  }
  return true;
}

PyObject* dlpack_capsule(const struct array* array, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"stream", "max_version", "dl_device", "copy", NULL};
  PyObject* stream = Py_None;
  PyObject* max_version = Py_None;
  PyObject* device = Py_None;
  PyObject* copy = Py_None;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$OOOO", names, &stream, &max_version, &device, &copy)) {
    return NULL;
  }
  const int is_versioned = is_version_1(max_version);
  if (is_versioned < 0 || !is_processor(device)) {
    return NULL;
  }
  if (stream != Py_None) {
    PyErr_SetString(PyExc_BufferError, "the processor's memory has no streams: stream must be None");
    return NULL;
  }
  const int wants_copy = copy == Py_None ? 0 : PyObject_IsTrue(copy);
  if (wants_copy < 0) {
    return NULL;
  }
  // A consumer of an earlier DLPack does not know that memory may be read-only, and would write into it.
  const bool needs_copy = !is_versioned && atomic_load(&array->memory->read_only);
  if (needs_copy && copy != Py_None && !wants_copy) {
    PyErr_SetString(PyExc_BufferError, "a consumer of DLPack before 1.0 gets a copy of what is read-only");
    return NULL;
  }
  struct array exported = *array;
  if (wants_copy || needs_copy) {
    if (!array_copy(&exported, array)) {
      return NULL;
    }
  } else {
    shared_memory_ref(exported.memory);
  }
  return capsule_of(&exported, is_versioned != 0);
}

PyObject* dlpack_device(void) {
  return Py_BuildValue("(ii)", kDLCPU, 0);
}
