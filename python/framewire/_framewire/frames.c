// Frame and Slot.
#include "picture.h"

PyTypeObject* frame_type;
PyTypeObject* slot_type;

static struct picture* picture_of(PyObject* self) {
  return (struct picture*)self;
}

PyObject* frame_new(fw_frame* frame) {
  struct shared_memory* memory = shared_memory_new(frame, MEMORY_FRAME, true);
  return memory == NULL ? NULL : picture_new(frame_type, memory);
}

PyObject* slot_new(fw_slot* slot) {
  struct shared_memory* memory = shared_memory_new(slot, MEMORY_SLOT, false);
  return memory == NULL ? NULL : picture_new(slot_type, memory);
}

static PyObject* release(PyObject* self, PyObject* unused) {
  (void)unused;
  picture_release(picture_of(self));
  Py_RETURN_NONE;
}

static PyObject* frame_exit(PyObject* self, PyObject* arguments) {
  (void)arguments;
  return release(self, NULL);
}

static PyObject* frame_format(PyObject* self, PyObject* unused) {
  (void)unused;
  struct shared_memory* memory = picture_memory(picture_of(self));
  if (memory == NULL) {
    return NULL;
  }
  fw_format format = {.struct_size = sizeof format};
  const fw_result result = fw_frame_format(memory->handle, &format, sizeof format);
  return result == FW_OK ? record_of_format(&format) : raise_result(result);
}

static PyObject* frame_check(PyObject* self, PyObject* unused) {
  (void)unused;
  struct shared_memory* memory = picture_memory(picture_of(self));
  if (memory == NULL) {
    return NULL;
  }
  const fw_result result = fw_frame_check(memory->handle);
  return result < 0 ? raise_result(result) : PyBool_FromLong(result == FW_OK);
}

static PyObject* frame_repr(PyObject* self) {
  const fw_view* view = &picture_of(self)->view;
  return PyUnicode_FromFormat("<framewire.Frame %lu %s %ux%u%s>", (unsigned long)view->sequence,
                              fw_pixel_format_name(view->pixel_format), view->width, view->height,
                              picture_of(self)->memory == NULL ? ", released" : "");
}

static PyMethodDef frame_methods[] = {
    PICTURE_METHODS,
    {"__exit__", frame_exit, METH_VARARGS, NULL},
    {"release", release, METH_NOARGS,
     "release($self, /)\n--\n\nGives the frame back, once no array of it is left. `with frame:` does so at its end."},
    {"format", frame_format, METH_NOARGS, "format($self, /)\n--\n\nEverything about its format."},
    {"check", frame_check, METH_NOARGS,
     "check($self, /)\n--\n\nWhether the frame is still whole. False: its session was cut while it was held, and it "
     "lies in "
     "memory that the sender may use again."},
    {NULL, NULL, 0, NULL}};

static PyObject* publish(struct picture* picture, const fw_frame_info* info, bool keep) {
  struct shared_memory* memory = picture_memory(picture);
  if (memory == NULL) {
    return NULL;
  }
  shared_memory_ref(memory);  // another thread may release the slot meanwhile
  fw_result result = FW_OK;
  Py_BEGIN_ALLOW_THREADS result = fw_slot_publish(memory->handle, info);
  Py_END_ALLOW_THREADS if (result < 0) {
    raise_result(result);
    shared_memory_unref(memory);
    return NULL;
  }
  picture->is_published = true;
  if (result == FW_OK) {  // it has the frame's number now
    fw_slot_view(memory->handle, &picture->view, sizeof picture->view);
  }
  atomic_store(&memory->read_only, true);
  shared_memory_unref(memory);
  if (!keep) {
    picture_release(picture);
  }
  return PyBool_FromLong(result == FW_OK);
}

static PyObject* slot_publish(PyObject* self, PyObject* arguments, PyObject* keywords) {
  static char* names[] = {"pts_ns", "tag", "begun_ns", "size_bytes", "keep", NULL};
  fw_frame_info info = {.struct_size = sizeof info};
  struct number pts_ns = {.name = "pts_ns", .least = INT64_MIN, .most = INT64_MAX};
  struct number tag = {.name = "tag", .most = UINT64_MAX};
  struct number begun_ns = {.name = "begun_ns", .least = INT64_MIN, .most = INT64_MAX};
  struct number size_bytes = {.name = "size_bytes", .most = UINT64_MAX};
  int keep = 0;
  if (!PyArg_ParseTupleAndKeywords(arguments, keywords, "|$O&O&O&O&p", names, number_converter, &pts_ns,
                                   number_converter, &tag, number_converter, &begun_ns, number_converter, &size_bytes,
                                   &keep)) {
    return NULL;
  }
  info.pts_ns = (int64_t)pts_ns.value;
  info.tag = tag.value;
  info.begun_ns = (int64_t)begun_ns.value;
  info.size_bytes = size_bytes.value;
  return publish(picture_of(self), &info, keep != 0);
}

// Publishes, unless an exception ends the block or it was published or released inside.
static PyObject* slot_exit(PyObject* self, PyObject* arguments) {
  PyObject* exception = NULL;
  PyObject* value = NULL;
  PyObject* traceback = NULL;
  if (!PyArg_UnpackTuple(arguments, "__exit__", 3, 3, &exception, &value, &traceback)) {
    return NULL;
  }
  struct picture* picture = picture_of(self);
  if (exception == Py_None && picture->memory != NULL && !picture->is_published) {
    PyObject* result = publish(picture, NULL, false);
    if (result == NULL) {
      return NULL;
    }
    Py_DECREF(result);
  }
  return release(self, NULL);
}

static PyObject* slot_repr(PyObject* self) {
  const fw_view* view = &picture_of(self)->view;
  const bool is_released = picture_of(self)->memory == NULL;
  return PyUnicode_FromFormat("<framewire.Slot %s %ux%u%s%s>", fw_pixel_format_name(view->pixel_format), view->width,
                              view->height, picture_of(self)->is_published ? ", published" : "",
                              is_released ? ", released" : "");
}

static PyMethodDef slot_methods[] = {
    PICTURE_METHODS,
    {"__exit__", slot_exit, METH_VARARGS, NULL},
    {"publish", (PyCFunction)(void (*)(void))slot_publish, METH_VARARGS | METH_KEYWORDS,
     "publish($self, *, pts_ns=0, tag=0, begun_ns=0, size_bytes=0, keep=False)\n--\n\nGives the frame to all viewers. "
     "Do not "
     "write to arrays of the slot any more. False: it was dropped, because the format has changed or the stream has "
     "ended. keep=True: the slot stays readable until release()."},
    {"release", release, METH_NOARGS,
     "release($self, /)\n--\n\nGives the slot back, once no array of it is left. What was not published is dropped."},
    {NULL, NULL, 0, NULL}};

static PyType_Slot frame_slots[] = {
    {Py_tp_dealloc, picture_dealloc},
    {Py_tp_repr, frame_repr},
    {Py_tp_methods, frame_methods},
    {Py_tp_getset, picture_attributes},
    {Py_bf_getbuffer, picture_get_buffer},
    {Py_tp_doc, "A frame, read-only. A frame of one plane is an array; of others take planes[i]."},
    {0, NULL}};

static PyType_Slot slot_slots[] = {{Py_tp_dealloc, picture_dealloc},
                                   {Py_tp_repr, slot_repr},
                                   {Py_tp_methods, slot_methods},
                                   {Py_tp_getset, picture_attributes},
                                   {Py_bf_getbuffer, picture_get_buffer},
                                   {Py_tp_doc, "Memory for a frame, to fill in place and to publish."},
                                   {0, NULL}};

static PyType_Spec frame_spec = {"framewire.Frame", sizeof(struct picture), 0,
                                 Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, frame_slots};
static PyType_Spec slot_spec = {"framewire.Slot", sizeof(struct picture), 0,
                                Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slot_slots};

bool add_picture_types(PyObject* module) {
  frame_type = add_type(module, &frame_spec);
  slot_type = add_type(module, &slot_spec);
  return frame_type != NULL && slot_type != NULL;
}
