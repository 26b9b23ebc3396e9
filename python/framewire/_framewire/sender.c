// Sender: framewire/_sender.py derives the class that programs see.
#include "common.h"

PyTypeObject* sender_type;

typedef struct {
  PyObject_HEAD fw_sender* handle;  // NULL: closed
  struct log_queue* log;
} sender_object;

static sender_object* sender_of(PyObject* self) {
  return (sender_object*)self;
}

fw_sender* sender_handle(PyObject* self) {
  fw_sender* handle = sender_of(self)->handle;
  return handle != NULL ? handle : raise_state("the sender is closed");
}

struct log_queue* sender_log(PyObject* self) {
  return sender_of(self)->log;
}

static int sender_init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"options", NULL};
  sender_object* sender = sender_of(self);
  PyObject* options = NULL;
  if (sender->log != NULL) {
    raise_state("a sender is initialised once");
    return -1;
  }
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O", names, &options)) {
    return -1;
  }
  sender->log = log_queue_new();
  struct settings settings;
  if (sender->log == NULL || !settings_from(&settings, options, sender->log)) {
    return -1;
  }
  const fw_result result = fw_sender_create(&settings.settings, &sender->handle);
  settings_free(&settings);
  if (result != FW_OK) {
    sender->handle = NULL;
    raise_result(result);
    return -1;
  }
  return 0;
}

static void end_handle(PyObject* self) {
  fw_sender* handle = sender_of(self)->handle;
  sender_of(self)->handle = NULL;
  if (handle != NULL) {
    Py_BEGIN_ALLOW_THREADS fw_sender_destroy(handle);
    Py_END_ALLOW_THREADS
  }
}

static void sender_dealloc(PyObject* self) {
  end_handle(self);
  log_queue_unref(sender_of(self)->log);
  free_object(self);
}

static PyObject* sender_close(PyObject* self, PyObject* unused) {
  (void)unused;
  end_handle(self);
  Py_RETURN_NONE;
}

static PyObject* sender_start(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_sender* handle = sender_handle(self);
  if (handle == NULL) {
    return NULL;
  }
  fw_result result = FW_OK;
  Py_BEGIN_ALLOW_THREADS result = fw_sender_start(handle);
  Py_END_ALLOW_THREADS if (result != FW_OK) {
    return RAISE_UNLESS_CLOSED(result, sender_handle(self));
  }
  Py_RETURN_NONE;
}

static PyObject* sender_port(PyObject* self, void* unused) {
  (void)unused;
  fw_sender* handle = sender_handle(self);
  uint16_t port = 0;
  const fw_result result = handle == NULL ? RAISED : fw_sender_port(handle, &port);
  if (result < 0) {
    return raise_result(result);
  }
  return PyLong_FromLong(port);
}

// Waits in one go: at its end the library cuts the viewers that are left. framewire/_sender.py calls it on a thread.
static PyObject* sender_drain(PyObject* self, PyObject* arguments) {
  int64_t timeout_ns = FW_FOR_EVER;
  fw_sender* handle = sender_handle(self);
  if (handle == NULL || !PyArg_ParseTuple(arguments, "O&", timeout_converter, &timeout_ns)) {
    return NULL;
  }
  fw_result result = FW_OK;
  Py_BEGIN_ALLOW_THREADS result = fw_sender_drain(handle, timeout_ns);
  Py_END_ALLOW_THREADS return result < 0 ? RAISE_UNLESS_CLOSED(result, sender_handle(self))
                                         : PyBool_FromLong(result == FW_OK);
}

static PyObject* sender_log_lines(PyObject* self, PyObject* unused) {
  (void)unused;
  struct log_queue* log = sender_of(self)->log;
  return log == NULL ? PyList_New(0) : log_queue_take(log);
}

static PyObject* sender_closed(PyObject* self, void* unused) {
  (void)unused;
  return PyBool_FromLong(sender_of(self)->handle == NULL);
}

static PyMethodDef sender_methods[] = {
    {"start", sender_start, METH_NOARGS,
     "start($self, /)\n--\n\nListens, or dials. Viewers may come from now on. Raises FailedError: the port is in use."},
    {"close", sender_close, METH_NOARGS, "close($self, /)\n--\n\nEnds the sender and its streams at once."},
    {"log_lines", sender_log_lines, METH_NOARGS,
     "log_lines($self, /)\n--\n\nTakes the lines about sessions: (level, text); level 0 is an error, 3 a detail. The "
     "last 256 "
     "are kept."},
    {"_drain", sender_drain, METH_VARARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyGetSetDef sender_attributes[] = {
    {"port", sender_port, NULL, "The port that it listens on; 0 if it dials.", NULL},
    {"closed", sender_closed, NULL, "Whether it was closed.", NULL},
    {NULL, NULL, NULL, NULL, NULL}};

static PyType_Slot sender_slots[] = {{Py_tp_init, sender_init},
                                     {Py_tp_dealloc, sender_dealloc},
                                     {Py_tp_methods, sender_methods},
                                     {Py_tp_getset, sender_attributes},
                                     {0, NULL}};

static PyType_Spec sender_spec = {"framewire._framewire.Sender", sizeof(sender_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, sender_slots};

bool add_sender_type(PyObject* module) {
  sender_type = add_type(module, &sender_spec);
  return sender_type != NULL;
}
