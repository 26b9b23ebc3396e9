// Receiver: framewire/_receiver.py derives the class that programs see.
#include <string.h>

#include "common.h"

typedef struct {
  PyObject_HEAD fw_receiver* handle;  // NULL: closed
  struct log_queue* log;
  enum first_call first_call;
  struct wakes wakes;
} receiver_object;

static receiver_object* receiver_of(PyObject* self) {
  return (receiver_object*)self;
}

static fw_receiver* handle_of(PyObject* self) {
  fw_receiver* handle = receiver_of(self)->handle;
  return handle != NULL ? handle : raise_state("the receiver is closed");
}

// With read="caller" acquire() also reads from the network, which may take as long as a frame does.
static bool reads_itself(const fw_settings* settings) {
  bool is_caller = false;
  for (size_t i = 0; i < settings->option_count; ++i) {
    const fw_option* option = &settings->options[i];
    if (strcmp(option->name, "read") == 0) {
      is_caller = strcmp(option->value, "caller") == 0;
    }
  }
  return is_caller;
}

static fw_result wake_receiver(void* handle) {
  return fw_receiver_wake(handle);
}

static int receiver_init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"source", "options", NULL};
  receiver_object* receiver = receiver_of(self);
  const char* source = NULL;
  PyObject* options = NULL;
  if (receiver->log != NULL) {
    raise_state("a receiver is initialised once");
    return -1;
  }
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "zO", names, &source, &options)) {
    return -1;
  }
  receiver->log = log_queue_new();
  struct settings settings;
  if (receiver->log == NULL || !settings_from(&settings, options, receiver->log)) {
    return -1;
  }
  receiver->first_call = reads_itself(&settings.settings) ? RELEASES_GIL : KEEPS_GIL;
  receiver->wakes.wake = wake_receiver;
  fw_result result = FW_OK;
  Py_BEGIN_ALLOW_THREADS result = fw_receiver_create(source, &settings.settings, &receiver->handle);
  Py_END_ALLOW_THREADS settings_free(&settings);
  if (result != FW_OK) {
    receiver->handle = NULL;
    raise_result(result);
    return -1;
  }
  return 0;
}

static void end_handle(PyObject* self) {
  fw_receiver* handle = receiver_of(self)->handle;
  receiver_of(self)->handle = NULL;
  if (handle != NULL) {
    Py_BEGIN_ALLOW_THREADS fw_receiver_destroy(handle);
    Py_END_ALLOW_THREADS
  }
}

static void receiver_dealloc(PyObject* self) {
  end_handle(self);
  log_queue_unref(receiver_of(self)->log);
  free_object(self);
}

static PyObject* receiver_close(PyObject* self, PyObject* unused) {
  (void)unused;
  end_handle(self);
  Py_RETURN_NONE;
}

static fw_result acquire_step(void* handle, int64_t timeout_ns, void* frame) {
  return fw_receiver_acquire(handle, timeout_ns, frame);
}

// A frame. NULL without an exception: none.
static PyObject* acquire(PyObject* self, int64_t timeout_ns, fw_result* result) {
  fw_receiver* handle = handle_of(self);
  if (handle == NULL) {
    *result = FW_ERROR_STATE;
    return NULL;
  }
  fw_frame* frame = NULL;
  receiver_object* receiver = receiver_of(self);
  *result = wait_in_steps(acquire_step, handle, timeout_ns, &frame, receiver->first_call, &receiver->wakes);
  if (*result == FW_OK) {
    return frame_new(frame);
  }
  return *result < 0 ? RAISE_UNLESS_CLOSED(*result, handle_of(self)) : NULL;
}

// Its one argument is parsed here, and not by PyArg_ParseTupleAndKeywords(): this is done for every frame.
static bool parse_timeout(PyObject* const* arguments, Py_ssize_t count, PyObject* names, int64_t* timeout_ns) {
  const Py_ssize_t named = names == NULL ? 0 : PyTuple_Size(names);
  if (count + named > 1) {
    PyErr_SetString(PyExc_TypeError, "acquire() takes one argument, timeout");
    return false;
  }
  if (named == 1 && PyUnicode_CompareWithASCIIString(PyTuple_GetItem(names, 0), "timeout") != 0) {
    PyErr_Format(PyExc_TypeError, "acquire() takes timeout, not %R", PyTuple_GetItem(names, 0));
    return false;
  }
  return count + named == 0 || timeout_converter(arguments[0], timeout_ns) != 0;
}

static PyObject* receiver_acquire(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* names) {
  int64_t timeout_ns = FW_FOR_EVER;
  if (!parse_timeout(arguments, count, names, &timeout_ns)) {
    return NULL;
  }
  fw_result result = FW_OK;
  PyObject* frame = acquire(self, timeout_ns, &result);
  return frame != NULL || PyErr_Occurred() ? frame : none_for(result, Py_None);
}

// At the end of the stream, and when wake() was called, NULL without an exception ends the loop.
static PyObject* receiver_next(PyObject* self) {
  fw_result result = FW_OK;
  return acquire(self, FW_FOR_EVER, &result);
}

// For coroutines: a frame; None: there is none now; False: wake() was called. Raises as acquire().
static PyObject* receiver_take_frame(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_result result = FW_OK;
  PyObject* frame = acquire(self, 0, &result);
  return frame != NULL || PyErr_Occurred() ? frame : none_for(result, Py_False);
}

static PyObject* receiver_begin_wait(PyObject* self, PyObject* unused) {
  (void)unused;
  return begin_wait(&receiver_of(self)->wakes);
}

static PyObject* receiver_end_wait(PyObject* self, PyObject* unused) {
  (void)unused;
  return end_wait(&receiver_of(self)->wakes);
}

static PyObject* receiver_wake(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_receiver* handle = handle_of(self);
  const fw_result result = handle == NULL ? RAISED : request_wake(&receiver_of(self)->wakes, handle);
  if (result < 0) {
    return raise_result(result);
  }
  Py_RETURN_NONE;
}

static PyObject* receiver_port(PyObject* self, void* unused) {
  (void)unused;
  fw_receiver* handle = handle_of(self);
  uint16_t port = 0;
  const fw_result result = handle == NULL ? RAISED : fw_receiver_port(handle, &port);
  if (result < 0) {
    return raise_result(result);
  }
  return PyLong_FromLong(port);
}

static PyObject* receiver_fileno(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_receiver* handle = handle_of(self);
  int descriptor = -1;
  const fw_result result = handle == NULL ? RAISED : fw_receiver_descriptor(handle, &descriptor);
  if (result < 0) {
    return raise_result(result);
  }
  return PyLong_FromLong(descriptor);
}

static PyObject* receiver_state(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_receiver* handle = handle_of(self);
  int32_t state = 0;
  char text[1024] = "";
  const fw_result result = handle == NULL ? RAISED : fw_receiver_state(handle, &state, text, sizeof text);
  if (result < 0) {
    return raise_result(result);
  }
  return Py_BuildValue("(sN)", state_name(state), PyUnicode_DecodeUTF8(text, (Py_ssize_t)strlen(text), "replace"));
}

static PyObject* receiver_clock_offset(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_receiver* handle = handle_of(self);
  int64_t offset_ns = 0;
  int64_t uncertainty_ns = 0;
  const fw_result result = handle == NULL ? RAISED : fw_receiver_clock_offset(handle, &offset_ns, &uncertainty_ns);
  if (result < 0) {
    return raise_result(result);
  }
  return Py_BuildValue("(LL)", (long long)offset_ns, (long long)uncertainty_ns);
}

static PyObject* receiver_counts(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_receiver* handle = handle_of(self);
  fw_receiver_counts counts = {.struct_size = sizeof counts};
  const fw_result result = handle == NULL ? RAISED : fw_receiver_get_counts(handle, &counts, sizeof counts);
  if (result < 0) {
    return raise_result(result);
  }
  return record_of_receiver_counts(&counts);
}

static PyObject* receiver_send_json(PyObject* self, PyObject* text) {
  fw_receiver* handle = handle_of(self);
  const char* json = handle == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, NULL);
  if (json == NULL) {
    return NULL;
  }
  const fw_result result = fw_receiver_send(handle, json);
  return result < 0 ? raise_result(result) : PyBool_FromLong(result == FW_OK);
}

static PyObject* receiver_take_event(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_receiver* handle = handle_of(self);
  if (handle == NULL) {
    return NULL;
  }
  fw_event event = {.struct_size = sizeof event};
  const fw_result result = fw_receiver_next_event(handle, &event, sizeof event);
  if (result == FW_OK) {
    return event_to_dictionary(&event);
  }
  return result < 0 ? raise_result(result) : Py_NewRef(Py_None);
}

static PyObject* receiver_give_event(PyObject* self, PyObject* fields) {
  fw_receiver* handle = handle_of(self);
  fw_event event;
  if (handle == NULL || !event_from_dictionary(&event, fields)) {
    return NULL;
  }
  const fw_result result = fw_receiver_send_event(handle, &event);
  return result < 0 ? raise_result(result) : PyBool_FromLong(result == FW_OK);
}

static PyObject* receiver_log_lines(PyObject* self, PyObject* unused) {
  (void)unused;
  struct log_queue* log = receiver_of(self)->log;
  return log == NULL ? PyList_New(0) : log_queue_take(log);
}

static PyObject* receiver_closed(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(receiver_of(self)->handle == NULL);
}

static PyMethodDef receiver_methods[] = {
    {"acquire", (PyCFunction)(void (*)(void))receiver_acquire, METH_FASTCALL | METH_KEYWORDS,
     "acquire($self, timeout=None)\n--\n\nThe next frame. None: there was none for `timeout` seconds, or wake() was "
     "called. "
     "Raises EndOfStream, AllHeldError, RefusedError or LostError."},
    {"wake", receiver_wake, METH_NOARGS,
     "wake($self, /)\n--\n\nMakes one acquire() return None, or ends one loop over frames. Any thread may call it."},
    {"fileno", receiver_fileno, METH_NOARGS,
     "fileno($self, /)\n--\n\nA descriptor for select: readable when acquire(0) or next_event() may return something, "
     "until both have returned None."},
    {"state", receiver_state, METH_NOARGS,
     "state($self, /)\n--\n\n('waiting' | 'connected' | 'lost' | 'ended' | 'failed', a line about it)."},
    {"clock_offset", receiver_clock_offset, METH_NOARGS,
     "clock_offset($self, /)\n--\n\n(offset, uncertainty) in ns: subtract the offset from a time of the sender's "
     "clock."},
    {"counts", receiver_counts, METH_NOARGS, "counts($self, /)\n--\n\nReceiverCounts."},
    {"close", receiver_close, METH_NOARGS,
     "close($self, /)\n--\n\nEnds the session. Frames that are held stay valid and unchanged."},
    {"log_lines", receiver_log_lines, METH_NOARGS,
     "log_lines($self, /)\n--\n\nTakes the lines about sessions: (level, text); level 0 is an error, 3 a detail. The "
     "last 256 "
     "are kept."},
    {"_take_frame", receiver_take_frame, METH_NOARGS, NULL},
    {"_begin_wait", receiver_begin_wait, METH_NOARGS, NULL},
    {"_end_wait", receiver_end_wait, METH_NOARGS, NULL},
    {"_send_json", receiver_send_json, METH_O, NULL},
    {"_take_event", receiver_take_event, METH_NOARGS, NULL},
    {"_give_event", receiver_give_event, METH_O, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef receiver_attributes[] = {
    {"port", receiver_port, NULL, "The port that it listens on; 0 if it dials.", NULL},
    {"closed", receiver_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot receiver_slots[] = {{Py_tp_init, receiver_init},
                                       {Py_tp_dealloc, receiver_dealloc},
                                       {Py_tp_methods, receiver_methods},
                                       {Py_tp_getset, receiver_attributes},
                                       {Py_tp_iter, PyObject_SelfIter},
                                       {Py_tp_iternext, receiver_next},
                                       {0, NULL}};

static PyType_Spec receiver_spec = {"framewire._framewire.Receiver", sizeof(receiver_object), 0,
                                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, receiver_slots};

bool add_receiver_type(PyObject* module) {
  return add_type(module, &receiver_spec) != NULL;
}
