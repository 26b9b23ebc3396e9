// Waits that Ctrl-C ends: in steps, between which Python handles signals.
#include <math.h>
#include <time.h>

#include "common.h"

static const int64_t step_ns = 50000000;  // Ctrl-C ends a wait within 100 ms

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool has_nothing(fw_result result) {
  return result == FW_NOTHING || result == FW_NOBODY;
}

static fw_result without_gil(wait_function wait, void* handle, int64_t timeout_ns, void* output) {
  fw_result result = FW_OK;
  Py_BEGIN_ALLOW_THREADS result = wait(handle, timeout_ns, output);
  Py_END_ALLOW_THREADS return result;
}

fw_result wait_in_steps(wait_function wait, void* handle, int64_t timeout_ns, void* output, enum first_call first) {
  // 0 would prepare the descriptor, which takes system calls.
  const int64_t first_ns = timeout_ns == 0 ? 0 : 1;
  fw_result result = first == KEEPS_GIL ? wait(handle, first_ns, output) : without_gil(wait, handle, first_ns, output);
  if (!has_nothing(result) || timeout_ns == 0) {
    return result;
  }
  const int64_t begin_ns = now_ns();
  for (;;) {
    int64_t this_step_ns = step_ns;
    if (timeout_ns >= 0) {
      const int64_t rest_ns = timeout_ns - (now_ns() - begin_ns);
      if (rest_ns <= 0) {
        return result;
      }
      this_step_ns = rest_ns < step_ns ? rest_ns : step_ns;
    }
    result = without_gil(wait, handle, this_step_ns, output);
    if (!has_nothing(result)) {
      return result;
    }
    if (PyErr_CheckSignals() < 0) {
      return RAISED;
    }
  }
}

PyObject* none_for(fw_result result, PyObject* woken) {
  return result == FW_ENDED ? raise_result(result) : Py_NewRef(result == FW_WOKEN ? woken : Py_None);
}

int timeout_converter(PyObject* object, void* output) {
  int64_t* timeout_ns = output;
  if (object == Py_None) {
    *timeout_ns = FW_FOR_EVER;
    return 1;
  }
  const double seconds = PyFloat_AsDouble(object);
  if (seconds == -1.0 && PyErr_Occurred()) {
    return 0;
  }
  if (isnan(seconds) || seconds < 0) {
    PyErr_Format(PyExc_ValueError, "a timeout is a number of seconds, at least 0, or None for ever; it is %R", object);
    return 0;
  }
  const double most_ns = 9e18;  // 285 years
  const double timeout = ceil(seconds * 1e9);
  *timeout_ns = timeout > most_ns ? FW_FOR_EVER : (int64_t)timeout;
  return 1;
}
