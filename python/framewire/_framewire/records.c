// Named tuples of what the library tells in structures.
#include "common.h"

static PyTypeObject* format_record;
static PyTypeObject* receiver_counts_record;
static PyTypeObject* stream_counts_record;

static PyStructSequence_Field format_fields[] = {
    {"pixel_format", "FFmpeg's name, such as 'nv12'; or 'bytes'"},
    {"width", "pixels; of 'bytes' bytes"},
    {"height", "pixels"},
    {"size_bytes", "of a frame, with all padding"},
    {"colour_matrix", "by ITU-T H.273; 0: RGB, 2: unspecified"},
    {"colour_range", "1: limited, 2: full, 0: unspecified"},
    {"colour_transfer", "by ITU-T H.273; 2: unspecified"},
    {"colour_primaries", "by ITU-T H.273; 2: unspecified"},
    {"chroma_location", "as FFmpeg's AVChromaLocation; 0: unspecified"},
    {"alpha_mode", "0: unspecified, 1: premultiplied, 2: straight"},
    {"field_order", "0: unspecified, 1: progressive, others: interlaced"},
    {"sample_aspect", "a pixel's width and height"},
    {"frame_rate", "frames per second, as numerator and denominator; (0, 1): unknown"},
    {NULL, NULL}};

static PyStructSequence_Field receiver_counts_fields[] = {
    {"frames_received", NULL},
    {"bytes_received", NULL},
    {"frames_lost", "that the sender has sent, and that did not arrive"},
    {"frames_skipped", "that the sender dropped for newer ones"},
    {"sessions", NULL},
    {"messages_dropped", "of the sender's, because nobody took them"},
    {"frames_held", "by this program, now"},
    {"slots", "so many it may hold; 0 before the first session"},
    {NULL, NULL}};

static PyStructSequence_Field stream_counts_fields[] = {
    {"frames_published", NULL},
    {"frames_dropped", "by drop(), and slots of an earlier format"},
    {"viewers", "that watch now"},
    {"slots_in_use", "claimed, kept, or held by viewers"},
    {"frames_sent", "of the sessions that have ended, as the next ones"},
    {"frames_skipped", "for newer ones"},
    {"frames_lost", "that the viewer has not reported as received"},
    {"sessions", NULL},
    {"messages_sent", NULL},
    {"messages_dropped", NULL},
    {"events_dropped", NULL},
    {NULL, NULL}};

// Fills the record with the objects, and takes them over. NULL stands for one that could not be made.
static PyObject* record_of(PyTypeObject* type, PyObject** objects, Py_ssize_t count) {
  PyObject* record = PyStructSequence_New(type);
  bool is_whole = record != NULL;
  for (Py_ssize_t i = 0; i < count; ++i) {
    is_whole = is_whole && objects[i] != NULL;
    if (record == NULL) {
      Py_XDECREF(objects[i]);
    } else {
      PyStructSequence_SetItem(record, i, objects[i] != NULL ? objects[i] : Py_NewRef(Py_None));
    }
  }
  if (!is_whole) {
    Py_CLEAR(record);
  }
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
  return record_of(format_record, objects, sizeof objects / sizeof *objects);
}

PyObject* record_of_receiver_counts(const fw_receiver_counts* counts) {
  PyObject* objects[] = {number(counts->frames_received), number(counts->bytes_received),
                         number(counts->frames_lost),     number(counts->frames_skipped),
                         number(counts->sessions),        number(counts->messages_dropped),
                         number(counts->frames_held),     number(counts->slots)};
  return record_of(receiver_counts_record, objects, sizeof objects / sizeof *objects);
}

PyObject* record_of_stream_counts(const fw_stream_counts* counts) {
  PyObject* objects[] = {
      number(counts->frames_published), number(counts->frames_dropped), number(counts->viewers),
      number(counts->slots_in_use),     number(counts->frames_sent),    number(counts->frames_skipped),
      number(counts->frames_lost),      number(counts->sessions),       number(counts->messages_sent),
      number(counts->messages_dropped), number(counts->events_dropped)};
  return record_of(stream_counts_record, objects, sizeof objects / sizeof *objects);
}

static PyTypeObject* add_record(PyObject* module, const char* name, const char* doc, PyStructSequence_Field* fields,
                                int count) {
  char full_name[64];
  PyOS_snprintf(full_name, sizeof full_name, "framewire.%s", name);
  PyStructSequence_Desc description = {full_name, doc, fields, count};
  PyTypeObject* type = PyStructSequence_NewType(&description);
  if (type == NULL || PyModule_AddObjectRef(module, name, (PyObject*)type) < 0) {
    return NULL;
  }
  return type;
}

#define COUNT(fields) ((int)(sizeof(fields) / sizeof *(fields)) - 1)

bool add_record_types(PyObject* module) {
  format_record = add_record(module, "Format", "The format of a frame.", format_fields, COUNT(format_fields));
  receiver_counts_record = add_record(module, "ReceiverCounts", "What a receiver has counted.", receiver_counts_fields,
                                      COUNT(receiver_counts_fields));
  stream_counts_record = add_record(module, "StreamCounts", "What a stream has counted.", stream_counts_fields,
                                    COUNT(stream_counts_fields));
  return format_record != NULL && receiver_counts_record != NULL && stream_counts_record != NULL;
}
