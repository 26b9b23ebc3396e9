// Events as dictionaries, from which framewire/_events.py makes objects.
#include <stddef.h>
#include <string.h>

#include "common.h"

struct type_name {
  int32_t type;
  const char* name;
};

static const struct type_name type_names[] = {
    {FW_EVENT_MESSAGE, "message"}, {FW_EVENT_STATE, "state"},     {FW_EVENT_KEY, "key"},
    {FW_EVENT_TEXT, "text"},       {FW_EVENT_POINTER, "pointer"}, {FW_EVENT_BUTTON, "button"},
    {FW_EVENT_WHEEL, "wheel"},     {FW_EVENT_GAMEPAD, "gamepad"}, {FW_EVENT_SIZE, "size"},
    {FW_EVENT_FOCUS, "focus"},
};
static const size_t type_count = sizeof type_names / sizeof *type_names;

static const char* const state_names[] = {"waiting", "connected", "lost", "ended", "failed"};

const char* state_name(int32_t state) {
  const int32_t count = sizeof state_names / sizeof *state_names;
  return state >= 0 && state < count ? state_names[state] : "unknown";
}

enum field_kind { KIND_U8, KIND_U32, KIND_DOUBLE };

struct number_field {
  const char* name;
  size_t offset;
  enum field_kind kind;
};

#define FIELD(name, kind) \
  { #name, offsetof(fw_event, name), kind }
static const struct number_field number_fields[] = {
    FIELD(pressed, KIND_U8), FIELD(repeated, KIND_U8),   FIELD(locked, KIND_U8),   FIELD(usage, KIND_U32),
    FIELD(keysym, KIND_U32), FIELD(modifiers, KIND_U32), FIELD(button, KIND_U32),  FIELD(x, KIND_DOUBLE),
    FIELD(y, KIND_DOUBLE),   FIELD(dx, KIND_DOUBLE),     FIELD(dy, KIND_DOUBLE),   FIELD(width, KIND_U32),
    FIELD(height, KIND_U32), FIELD(number, KIND_U32),    FIELD(buttons, KIND_U32),
};
static const size_t number_count = sizeof number_fields / sizeof *number_fields;

// Takes over the value.
static bool set(PyObject* dictionary, const char* name, PyObject* value) {
  const bool is_set = value != NULL && PyDict_SetItemString(dictionary, name, value) == 0;
  Py_XDECREF(value);
  return is_set;
}

static PyObject* number_of(const fw_event* event, const struct number_field* field) {
  const void* place = (const char*)event + field->offset;
  switch (field->kind) {
    case KIND_U8:
      return PyBool_FromLong(*(const uint8_t*)place);
    case KIND_U32:
      return PyLong_FromUnsignedLong(*(const uint32_t*)place);
    case KIND_DOUBLE:
      return PyFloat_FromDouble(*(const double*)place);
  }
  return NULL;
}

static const char* name_of_type(int32_t type) {
  for (size_t i = 0; i < type_count; ++i) {
    if (type_names[i].type == type) {
      return type_names[i].name;
    }
  }
  return "unknown";
}

PyObject* event_to_dictionary(const fw_event* event) {
  // First: other objects may run the collector, and in it a program that takes the next event, which ends this text.
  const char* bytes = event->text == NULL ? "" : event->text;
  PyObject* text = PyUnicode_DecodeUTF8(bytes, (Py_ssize_t)strlen(bytes), "replace");
  PyObject* dictionary = text == NULL ? NULL : PyDict_New();
  if (dictionary == NULL) {
    Py_XDECREF(text);
    return NULL;
  }
  const float* axes = event->axes;
  bool is_whole =
      set(dictionary, "text", text) && set(dictionary, "type", PyUnicode_FromString(name_of_type(event->type))) &&
      set(dictionary, "state", PyUnicode_FromString(event->type == FW_EVENT_STATE ? state_name(event->state) : "")) &&
      set(dictionary, "viewer_number", PyLong_FromUnsignedLongLong(event->viewer_number)) &&
      set(dictionary, "viewer", PyUnicode_FromString(event->viewer)) &&
      set(dictionary, "epoch", PyLong_FromUnsignedLong(event->epoch)) &&
      set(dictionary, "time_ns", PyLong_FromLongLong(event->time_ns)) &&
      set(dictionary, "axes", Py_BuildValue("(ffffff)", axes[0], axes[1], axes[2], axes[3], axes[4], axes[5]));
  for (size_t i = 0; is_whole && i < number_count; ++i) {
    is_whole = set(dictionary, number_fields[i].name, number_of(event, &number_fields[i]));
  }
  if (!is_whole) {
    Py_CLEAR(dictionary);
  }
  return dictionary;
}

static bool set_number(fw_event* event, const struct number_field* field, PyObject* value) {
  void* place = (char*)event + field->offset;
  if (field->kind == KIND_DOUBLE) {
    *(double*)place = PyFloat_AsDouble(value);
  } else if (field->kind == KIND_U8) {
    *(uint8_t*)place = PyObject_IsTrue(value) > 0;
  } else {
    struct number number = {.name = field->name, .most = UINT32_MAX};
    number_converter(value, &number);
    *(uint32_t*)place = (uint32_t)number.value;
  }
  return !PyErr_Occurred();
}

static bool set_axes(fw_event* event, PyObject* axes) {
  float* a = event->axes;
  PyObject* tuple = PySequence_Tuple(axes);
  const bool is_set =
      tuple != NULL && PyArg_ParseTuple(tuple, "ffffff;axes are six numbers", &a[0], &a[1], &a[2], &a[3], &a[4], &a[5]);
  Py_XDECREF(tuple);
  return is_set;
}

static bool set_type(fw_event* event, PyObject* name) {
  const char* text = PyUnicode_AsUTF8AndSize(name, NULL);
  for (size_t i = 0; text != NULL && i < type_count; ++i) {
    if (strcmp(type_names[i].name, text) == 0) {
      event->type = type_names[i].type;
      return true;
    }
  }
  if (text != NULL) {
    PyErr_Format(PyExc_ValueError, "there are no events of type %R", name);
  }
  return false;
}

static bool set_field(fw_event* event, PyObject* key, PyObject* value) {
  const char* name = PyUnicode_AsUTF8AndSize(key, NULL);
  if (name == NULL) {
    return false;
  }
  if (strcmp(name, "type") == 0) {
    return set_type(event, value);
  }
  if (strcmp(name, "text") == 0) {
    event->text = PyUnicode_AsUTF8AndSize(value, NULL);  // the dictionary holds it
    return event->text != NULL;
  }
  if (strcmp(name, "axes") == 0) {
    return set_axes(event, value);
  }
  for (size_t i = 0; i < number_count; ++i) {
    if (strcmp(number_fields[i].name, name) == 0) {
      return set_number(event, &number_fields[i], value);
    }
  }
  PyErr_Format(PyExc_TypeError, "events have no field %R to send", key);
  return false;
}

bool event_from_dictionary(fw_event* event, PyObject* dictionary) {
  *event = (fw_event){.struct_size = sizeof *event, .text = ""};
  Py_ssize_t position = 0;
  PyObject* key = NULL;
  PyObject* value = NULL;
  while (PyDict_Next(dictionary, &position, &key, &value)) {
    if (!set_field(event, key, value)) {
      return false;
    }
  }
  return true;
}
