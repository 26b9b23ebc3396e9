// Exceptions: one for each error of the library.
#include "common.h"

#include <string.h>

struct exception {
  fw_result result;
  const char* name;
  const char* doc;
  PyObject** second_base;  // of Python's own
  PyObject* type;
};

static PyObject* base_error;

static struct exception exceptions[] = {
    {FW_ERROR_ARGUMENT, "ArgumentError", "An argument or an option is wrong.", &PyExc_ValueError, NULL},
    {FW_ERROR_STATE, "StateError", "The call is out of order, or another thread is in such a call.",
     &PyExc_RuntimeError, NULL},
    {FW_ERROR_ALL_HELD, "AllHeldError", "This program holds every slot: it must release frames first.", NULL, NULL},
    {FW_ERROR_MEMORY, "OutOfMemoryError", "There is not enough memory.", &PyExc_MemoryError, NULL},
    {FW_ERROR_REFUSED, "RefusedError", "The peer refuses: wrong key, no such stream, too many viewers.",
     &PyExc_ConnectionError, NULL},
    {FW_ERROR_LOST, "LostError", "The peer is gone, and the options forbid to wait for it longer.",
     &PyExc_ConnectionError, NULL},
    {FW_ERROR_UNSUPPORTED, "UnsupportedError", "This version, or this machine, cannot do it.", NULL, NULL},
    {FW_ERROR_FORKED, "ForkedError", "The object belongs to the process that this one was forked from.",
     &PyExc_RuntimeError, NULL},
    {FW_ERROR_FAILED, "FailedError", "The system refused: port in use, no permission, no descriptors.", &PyExc_OSError,
     NULL},
    {FW_ERROR_INTERNAL, "InternalError", "A fault of the library; please report the message.", NULL, NULL},
};
static const size_t exception_count = sizeof exceptions / sizeof *exceptions;

static struct exception end_of_stream = {FW_ENDED, "EndOfStream",
                                         "The stream has ended, and no frame is left. Loops end by themselves.",
                                         &PyExc_EOFError, NULL};

static bool add_exception(PyObject* module, struct exception* exception, PyObject* first_base) {
  char name[64];
  PyOS_snprintf(name, sizeof name, "framewire.%s", exception->name);
  PyObject* second_base = exception->second_base == NULL ? NULL : *exception->second_base;
  PyObject* bases = NULL;
  if (first_base == NULL || second_base == NULL) {
    bases = PyTuple_Pack(1, first_base == NULL ? second_base : first_base);
  } else {
    bases = PyTuple_Pack(2, first_base, second_base);
  }
  if (bases == NULL) {
    return false;
  }
  exception->type = PyErr_NewExceptionWithDoc(name, exception->doc, bases, NULL);
  Py_DECREF(bases);
  return exception->type != NULL && PyModule_AddObjectRef(module, exception->name, exception->type) == 0;
}

bool add_exceptions(PyObject* module) {
  base_error = PyErr_NewExceptionWithDoc("framewire.Error", "What the library refuses, or could not do.", NULL, NULL);
  if (base_error == NULL || PyModule_AddObjectRef(module, "Error", base_error) < 0) {
    return false;
  }
  for (size_t i = 0; i < exception_count; ++i) {
    if (!add_exception(module, &exceptions[i], base_error)) {
      return false;
    }
  }
  return add_exception(module, &end_of_stream, NULL);
}

// How long the name of a function of the library is that `text` begins with, as in "fw_sender_start()"; 0: none.
static size_t function_length(const char* text) {
  const size_t name = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
  return strncmp(text, "fw_", 3) == 0 && strncmp(text + name, "()", 2) == 0 ? name + 2 : 0;
}

// The function that failed has another name in Python, where the traceback shows it. What else the message names is a
// method here: "call fw_sender_start() first" becomes "call start() first".
static void raise_message(PyObject* type) {
  char words[1024];  // no message of the library is longer
  size_t size = 0;
  const char* text = fw_message();
  const size_t failed = function_length(text);
  if (failed > 0 && strncmp(text + failed, ": ", 2) == 0) {
    text += failed + 2;
  }
  while (*text != '\0' && size + 1 < sizeof words) {
    const size_t length = function_length(text);
    const char* method = length > 0 ? memchr(text + 3, '_', length - 3) : NULL;
    if (method != NULL) {
      text = method + 1;
    }
    words[size++] = *text++;
  }
  words[size] = '\0';
  PyErr_SetString(type, words);
}

void* raise_result(fw_result result) {
  if (result == RAISED) {
    return NULL;
  }
  if (result == FW_ENDED) {
    PyErr_SetString(end_of_stream.type, "the stream has ended");
    return NULL;
  }
  PyObject* type = base_error;
  for (size_t i = 0; i < exception_count; ++i) {
    if (exceptions[i].result == result) {
      type = exceptions[i].type;
    }
  }
  if (result == FW_ERROR_ALL_HELD) {
    // The library speaks of references; here they are frames, and arrays that were made of them.
    PyErr_SetString(type, "this program holds every slot: release frames, and drop the arrays made of them, first");
  } else if (result < 0) {
    raise_message(type);
  } else {
    PyErr_Format(type, "unexpected result %s", fw_result_name(result));
  }
  return NULL;
}

void* raise_state(const char* message) {
  for (size_t i = 0; i < exception_count; ++i) {
    if (exceptions[i].result == FW_ERROR_STATE) {
      PyErr_SetString(exceptions[i].type, message);
    }
  }
  return NULL;
}
