// Stream: framewire/_sender.py derives the class that programs see.
#include "common.h"

typedef struct {
  PyObject_HEAD fw_stream* handle;  // valid while its sender is
  PyObject* sender;                 // held: a stream ends with its sender
  struct wakes wakes;
} stream_object;

static stream_object* stream_of(PyObject* self) {
  return (stream_object*)self;
}

static fw_stream* handle_of(PyObject* self) {
  const stream_object* stream = stream_of(self);
  if (stream->sender == NULL) {
    return raise_state("the stream was not initialised");
  }
  return sender_handle(stream->sender) == NULL ? NULL : stream->handle;
}

static fw_result wake_stream(void* handle) {
  return fw_stream_wake(handle);
}

static int stream_init(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"sender", "name", "options", NULL};
  stream_object* stream = stream_of(self);
  PyObject* sender = NULL;
  const char* name = NULL;
  PyObject* options = NULL;
  if (stream->sender != NULL) {
    raise_state("a stream is initialised once");
    return -1;
  }
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "O!sO", names, sender_type, &sender, &name, &options)) {
    return -1;
  }
  fw_sender* sender_of_it = sender_handle(sender);
  struct settings settings;
  if (sender_of_it == NULL || !settings_from(&settings, options, sender_log(sender))) {
    return -1;
  }
  const fw_result result = fw_sender_add_stream(sender_of_it, name, &settings.settings, &stream->handle);
  settings_free(&settings);
  if (result != FW_OK) {
    raise_result(result);
    return -1;
  }
  stream->wakes.wake = wake_stream;
  stream->sender = Py_NewRef(sender);
  return 0;
}

static void stream_dealloc(PyObject* self) {
  Py_XDECREF(stream_of(self)->sender);
  free_object(self);
}

enum { CODES = 7 };

// What stream_begin() is given.
struct format_arguments {
  const char* pixel_format;
  struct number width;
  struct number height;
  struct number kept_slots;
  struct number frame_rate[2];
  struct number sample_aspect[2];
  struct number codes[CODES];
};

static char* format_names[] = {"pixel_format",    "width",
                               "height",          "kept_slots",
                               "frame_rate",      "sample_aspect",
                               "colour_matrix",   "colour_range",
                               "colour_transfer", "colour_primaries",
                               "chroma_location", "alpha_mode",
                               "field_order",     NULL};
static const size_t first_code = 6;  // of the names

static struct number number_of_32_bits(const char* name, uint32_t value) {
  return (struct number){.name = name, .most = UINT32_MAX, .value = value};
}

static bool parse_format(struct format_arguments* format, PyObject* arguments, PyObject* keywords) {
  struct number* rate = format->frame_rate;
  struct number* aspect = format->sample_aspect;
  struct number* codes = format->codes;
  format->width = number_of_32_bits("width", 0);
  format->height = number_of_32_bits("height", 0);
  format->kept_slots = number_of_32_bits("kept_slots", 0);
  rate[0] = number_of_32_bits("frame_rate", 0);
  rate[1] = number_of_32_bits("frame_rate", 1);
  aspect[0] = aspect[1] = number_of_32_bits("sample_aspect", 1);
  for (size_t i = 0; i < CODES; ++i) {
    codes[i] = (struct number){.name = format_names[first_code + i], .most = INT32_MAX};
  }
  return PyArg_ParseTupleAndKeywords(arguments, keywords, "sO&O&|$O&(O&O&)(O&O&)O&O&O&O&O&O&O&", format_names,
                                     &format->pixel_format, number_converter, &format->width, number_converter,
                                     &format->height, number_converter, &format->kept_slots, number_converter, &rate[0],
                                     number_converter, &rate[1], number_converter, &aspect[0], number_converter,
                                     &aspect[1], number_converter, &codes[0], number_converter, &codes[1],
                                     number_converter, &codes[2], number_converter, &codes[3], number_converter,
                                     &codes[4], number_converter, &codes[5], number_converter, &codes[6]) != 0;
}

static bool format_from(fw_format* format, const struct format_arguments* given) {
  int32_t pixel_format = 0;
  fw_result result = fw_pixel_format_from_name(given->pixel_format, &pixel_format);
  if (result == FW_OK) {
    result = fw_format_init(format, sizeof *format, pixel_format, (uint32_t)given->width.value,
                            (uint32_t)given->height.value);
  }
  if (result != FW_OK) {
    raise_result(result);
    return false;
  }
  int32_t* const fields[CODES] = {&format->colour_matrix,    &format->colour_range,    &format->colour_transfer,
                                  &format->colour_primaries, &format->chroma_location, &format->alpha_mode,
                                  &format->field_order};
  for (size_t i = 0; i < CODES; ++i) {
    if (given->codes[i].is_given) {
      *fields[i] = (int32_t)given->codes[i].value;
    }
  }
  for (int i = 0; i < 2; ++i) {
    format->frame_rate[i] = (uint32_t)given->frame_rate[i].value;
    format->sample_aspect[i] = (uint32_t)given->sample_aspect[i].value;
  }
  return true;
}

static PyObject* stream_begin(PyObject* self, PyObject* arguments, PyObject* keywords) {
  struct format_arguments given;
  fw_format format = {.struct_size = sizeof format};
  fw_stream* handle = handle_of(self);
  if (handle == NULL || !parse_format(&given, arguments, keywords) || !format_from(&format, &given)) {
    return NULL;
  }
  uint32_t epoch = 0;
  fw_result result = FW_OK;
  Py_BEGIN_ALLOW_THREADS result = fw_stream_begin(handle, &format, (uint32_t)given.kept_slots.value, &epoch);
  Py_END_ALLOW_THREADS return result == FW_OK ? PyLong_FromUnsignedLong(epoch)
                                              : RAISE_UNLESS_CLOSED(result, handle_of(self));
}

static fw_result claim_watched(void* handle, int64_t timeout_ns, void* slot) {
  return fw_stream_claim(handle, timeout_ns, 0, slot);
}

static fw_result claim_unwatched(void* handle, int64_t timeout_ns, void* slot) {
  return fw_stream_claim(handle, timeout_ns, FW_CLAIM_UNWATCHED, slot);
}

// A slot. NULL without an exception: none.
static PyObject* claim(PyObject* self, int64_t timeout_ns, bool unwatched, fw_result* result) {
  fw_stream* handle = handle_of(self);
  if (handle == NULL) {
    *result = FW_ERROR_STATE;
    return NULL;
  }
  fw_slot* slot = NULL;
  *result = wait_in_steps(unwatched ? claim_unwatched : claim_watched, handle, timeout_ns, &slot, KEEPS_GIL,
                          &stream_of(self)->wakes);
  if (*result == FW_OK) {
    return slot_new(slot);
  }
  return *result < 0 ? RAISE_UNLESS_CLOSED(*result, handle_of(self)) : NULL;
}

static PyObject* stream_claim(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"timeout", "unwatched", NULL};
  int64_t timeout_ns = FW_FOR_EVER;
  int unwatched = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|O&$p", names, timeout_converter, &timeout_ns, &unwatched)) {
    return NULL;
  }
  fw_result result = FW_OK;
  PyObject* slot = claim(self, timeout_ns, unwatched != 0, &result);
  return slot != NULL || PyErr_Occurred() ? slot : none_for(result, Py_None);
}

// At the end of the stream, and when wake() was called, NULL without an exception ends the loop.
static PyObject* stream_next(PyObject* self) {
  fw_result result = FW_OK;
  return claim(self, FW_FOR_EVER, false, &result);
}

// For coroutines: a slot; None: there is none now; False: wake() was called. Raises as claim().
static PyObject* stream_take_slot(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_result result = FW_OK;
  PyObject* slot = claim(self, 0, false, &result);
  return slot != NULL || PyErr_Occurred() ? slot : none_for(result, Py_False);
}

static PyObject* stream_begin_wait(PyObject* self, PyObject* unused) {
  (void)unused;
  return begin_wait(&stream_of(self)->wakes);
}

static PyObject* stream_end_wait(PyObject* self, PyObject* unused) {
  (void)unused;
  return end_wait(&stream_of(self)->wakes);
}

static PyObject* stream_wake(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_stream* handle = handle_of(self);
  const fw_result result = handle == NULL ? RAISED : request_wake(&stream_of(self)->wakes, handle);
  if (result < 0) {
    return raise_result(result);
  }
  Py_RETURN_NONE;
}

static PyObject* stream_drop(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_stream* handle = handle_of(self);
  const fw_result result = handle == NULL ? RAISED : fw_stream_drop(handle);
  if (result < 0) {
    return raise_result(result);
  }
  Py_RETURN_NONE;
}

static PyObject* stream_fileno(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_stream* handle = handle_of(self);
  int descriptor = -1;
  const fw_result result = handle == NULL ? RAISED : fw_stream_descriptor(handle, &descriptor);
  if (result < 0) {
    return raise_result(result);
  }
  return PyLong_FromLong(descriptor);
}

static PyObject* stream_counts(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_stream* handle = handle_of(self);
  fw_stream_counts counts = {.struct_size = sizeof counts};
  const fw_result result = handle == NULL ? RAISED : fw_stream_get_counts(handle, &counts, sizeof counts);
  if (result < 0) {
    return raise_result(result);
  }
  return record_of_stream_counts(&counts);
}

static PyObject* stream_send_json(PyObject* self, PyObject* text) {
  fw_stream* handle = handle_of(self);
  const char* json = handle == NULL ? NULL : PyUnicode_AsUTF8AndSize(text, NULL);
  if (json == NULL) {
    return NULL;
  }
  const fw_result result = fw_stream_send(handle, json);
  return result < 0 ? raise_result(result) : PyBool_FromLong(result == FW_OK);
}

static PyObject* stream_take_event(PyObject* self, PyObject* unused) {
  (void)unused;
  fw_stream* handle = handle_of(self);
  if (handle == NULL) {
    return NULL;
  }
  fw_event event = {.struct_size = sizeof event};
  const fw_result result = fw_stream_next_event(handle, &event, sizeof event);
  if (result == FW_OK) {
    return event_to_dictionary(&event);
  }
  return result < 0 ? raise_result(result) : Py_NewRef(Py_None);
}

static PyMethodDef stream_methods[] = {
    {"claim", (PyCFunction)(void (*)(void))stream_claim, METH_VARARGS | METH_KEYWORDS,
     "claim($self, timeout=None, *, unwatched=False)\n--\n\nA slot to fill, once a viewer watches and there is room. "
     "unwatched=True: also without a viewer. None: the timeout (in seconds) has passed, or wake() was called. Raises "
     "EndOfStream or AllHeldError."},
    {"wake", stream_wake, METH_NOARGS,
     "wake($self, /)\n--\n\nMakes one claim() return None, or ends one loop over slots. Any thread may call it."},
    {"drop", stream_drop, METH_NOARGS, "drop($self, /)\n--\n\nCounts a frame that the program had and did not send."},
    {"fileno", stream_fileno, METH_NOARGS,
     "fileno($self, /)\n--\n\nA descriptor for select: readable when next_event() may return something, until it has "
     "returned None; and after a claim(0) that returned None, when another one may succeed."},
    {"counts", stream_counts, METH_NOARGS, "counts($self, /)\n--\n\nStreamCounts."},
    {"_begin", (PyCFunction)(void (*)(void))stream_begin, METH_VARARGS | METH_KEYWORDS, NULL},
    {"_take_slot", stream_take_slot, METH_NOARGS, NULL},
    {"_begin_wait", stream_begin_wait, METH_NOARGS, NULL},
    {"_end_wait", stream_end_wait, METH_NOARGS, NULL},
    {"_send_json", stream_send_json, METH_O, NULL},
    {"_take_event", stream_take_event, METH_NOARGS, NULL},
    {NULL, NULL, 0, NULL}};

static PyType_Slot stream_slots[] = {{Py_tp_init, stream_init},       {Py_tp_dealloc, stream_dealloc},
                                     {Py_tp_methods, stream_methods}, {Py_tp_iter, PyObject_SelfIter},
                                     {Py_tp_iternext, stream_next},   {0, NULL}};

static PyType_Spec stream_spec = {"framewire._framewire.Stream", sizeof(stream_object), 0,
                                  Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, stream_slots};

bool add_stream_type(PyObject* module) {
  return add_type(module, &stream_spec) != NULL;
}
