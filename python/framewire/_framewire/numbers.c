// Whole numbers of programs, within the range of what they are for. PyArg_Parse*() would cut them without a word.
#include "common.h"

static bool take_number(PyObject* integer, struct number* number) {
  int overflow = 0;
  const long long value = PyLong_AsLongLongAndOverflow(integer, &overflow);
  if (overflow == 0) {
    number->value = (uint64_t)value;
    return value >= number->least && (value < 0 || (uint64_t)value <= number->most);
  }
  if (overflow < 0) {
    return false;
  }
  number->value = PyLong_AsUnsignedLongLong(integer);
  if (PyErr_Occurred()) {
    PyErr_Clear();
    return false;
  }
  return number->value <= number->most;
}

int number_converter(PyObject* object, void* output) {
  struct number* number = output;
  PyObject* integer = PyNumber_Index(object);
  if (integer == NULL) {
    return 0;
  }
  number->is_given = take_number(integer, number);
  if (!number->is_given) {
    PyErr_Format(PyExc_ValueError, "%s is a whole number from %lld to %llu; it is %S", number->name,
                 (long long)number->least, (unsigned long long)number->most, integer);
  }
  Py_DECREF(integer);
  return number->is_given;
}
