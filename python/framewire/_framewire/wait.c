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

fw_result request_wake(struct wakes* wakes, void* handle) {
  const size_t most = wakes->waiting > 1 ? wakes->waiting : 1;
  wakes->requested = wakes->requested < most ? wakes->requested + 1 : most;
  return wakes->wake(handle);
}

PyObject* begin_wait(struct wakes* wakes) {
  ++wakes->waiting;
  Py_RETURN_NONE;
}

PyObject* end_wait(struct wakes* wakes) {
  wakes->waiting -= wakes->waiting > 0 ? 1 : 0;
  Py_RETURN_NONE;
}

// False: every request has ended its wait already, because the library was told of one more than once.
static bool take_wake(struct wakes* wakes, void* handle) {
  if (wakes->requested == 0) {
    return false;
  }
  if (--wakes->requested > 0) {
    wakes->wake(handle);  // the library may have counted fewer
  }
  return true;
}

static fw_result wait_once(wait_function wait, void* handle, int64_t timeout_ns, void* output, enum first_call call,
                           struct wakes* wakes) {
  for (;;) {
    const fw_result result =
        call == KEEPS_GIL ? wait(handle, timeout_ns, output) : without_gil(wait, handle, timeout_ns, output);
    if (result != FW_WOKEN || take_wake(wakes, handle)) {
      return result;
    }
  }
}

static fw_result wait_counted(wait_function wait, void* handle, int64_t timeout_ns, void* output, enum first_call first,
                              struct wakes* wakes) {
  // 0 would prepare the descriptor, which takes system calls.
  const int64_t first_ns = timeout_ns == 0 ? 0 : 1;
  fw_result result = wait_once(wait, handle, first_ns, output, first, wakes);
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
    result = wait_once(wait, handle, this_step_ns, output, RELEASES_GIL, wakes);
    if (!has_nothing(result)) {
      return result;
    }
    if (PyErr_CheckSignals() < 0) {
      return RAISED;
    }
  }
}

fw_result wait_in_steps(wait_function wait, void* handle, int64_t timeout_ns, void* output, enum first_call first,
                        struct wakes* wakes) {
  const size_t waits = timeout_ns == 0 ? 0 : 1;
  wakes->waiting += waits;
  const fw_result result = wait_counted(wait, handle, timeout_ns, output, first, wakes);
  wakes->waiting -= waits;
  return result;
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
