// Named tuples of what the library tells in structures.
#include "common.h"

// Calls the class of framewire/_records.py with the objects, and takes them over. NULL stands for one that could not be
// made.
static PyObject* record_of(const char* name, PyObject** objects, Py_ssize_t count) {
  PyObject* fields = PyTuple_New(count);
  bool is_whole = fields != NULL;
  for (Py_ssize_t i = 0; i < count; ++i) {
    if (is_whole && objects[i] != NULL) {
      PyTuple_SetItem(fields, i, objects[i]);
    } else {
      Py_XDECREF(objects[i]);
      is_whole = false;
    }
  }
  PyObject* module = is_whole ? PyImport_ImportModule("framewire._records") : NULL;
  PyObject* type = module == NULL ? NULL : PyObject_GetAttrString(module, name);
  PyObject* record = type == NULL ? NULL : PyObject_CallObject(type, fields);
  Py_XDECREF(type);
  Py_XDECREF(module);
  Py_XDECREF(fields);
  return record;
}

static PyObject* number(uint64_t value) {
  return PyLong_FromUnsignedLongLong(value);
}

static PyObject* code(int32_t value) {
  return PyLong_FromLong(value);
}

static PyObject* ratio(const uint32_t* terms) {
  return Py_BuildValue("(II)", terms[0], terms[1]);
}

PyObject* record_of_format(const fw_format* format) {
  PyObject* objects[] = {PyUnicode_FromString(fw_pixel_format_name(format->pixel_format)),
                         number(format->width),
                         number(format->height),
                         number(format->size_bytes),
                         code(format->colour_matrix),
                         code(format->colour_range),
                         code(format->colour_transfer),
                         code(format->colour_primaries),
                         code(format->chroma_location),
                         code(format->alpha_mode),
                         code(format->field_order),
                         ratio(format->sample_aspect),
                         ratio(format->frame_rate)};
  return record_of("Format", objects, sizeof objects / sizeof *objects);
}

PyObject* record_of_receiver_counts(const fw_receiver_counts* counts) {
  PyObject* objects[] = {number(counts->frames_received), number(counts->bytes_received),
                         number(counts->frames_lost),     number(counts->frames_skipped),
                         number(counts->sessions),        number(counts->messages_dropped),
                         number(counts->frames_held),     number(counts->slots)};
  return record_of("ReceiverCounts", objects, sizeof objects / sizeof *objects);
}

PyObject* record_of_stream_counts(const fw_stream_counts* counts) {
  PyObject* objects[] = {
      number(counts->frames_published), number(counts->frames_dropped), number(counts->viewers),
      number(counts->slots_in_use),     number(counts->frames_sent),    number(counts->frames_skipped),
      number(counts->frames_lost),      number(counts->sessions),       number(counts->messages_sent),
      number(counts->messages_dropped), number(counts->events_dropped)};
  return record_of("StreamCounts", objects, sizeof objects / sizeof *objects);
}
