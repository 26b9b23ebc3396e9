// What the files of the extension share. Everything here runs with the GIL held, unless it is said otherwise.
#ifndef FRAMEWIRE_PYTHON_COMMON_H
#define FRAMEWIRE_PYTHON_COMMON_H

#define Py_LIMITED_API 0x030B0000  // 3.11: the buffer protocol is in the stable ABI from there on
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <framewire/framewire.h>
#include <stdatomic.h>
#include <stdbool.h>

// ---- errors.c ----

bool add_exceptions(PyObject* module);
// Raises the exception of an error, or of FW_ENDED, with fw_message(). Returns NULL.
void* raise_result(fw_result result);
// The same, after a call without the GIL. If another thread has closed the object meanwhile, `handle`, an expression,
// raises what says so, and is NULL.
#define RAISE_UNLESS_CLOSED(result, handle) \
  ((result) == FW_ERROR_ARGUMENT && (handle) == NULL ? NULL : raise_result(result))
// Raises StateError. Returns NULL.
void* raise_state(const char* message);

// ---- wait.c ----

// Not a result of the library: an exception is raised already.
#define RAISED INT32_MIN

typedef fw_result (*wait_function)(void* handle, int64_t timeout_ns, void* output);

// What the first call does, which hardly waits, but for the end of a stream. Another thread may not give the GIL back
// for 5 ms, which is long for a frame that is there.
enum first_call { KEEPS_GIL, RELEASES_GIL };

// What waits for one object, and how many of that wake() is to end. The library counts both, too, but only calls that
// are in it at that moment: no coroutines, and not what is between two steps.
struct wakes {
  fw_result (*wake)(void* handle);  // the library's
  size_t waiting;
  size_t requested;
};

// wake(): ends one wait more of those that have begun; if there are none, the next one. It returns what the library
// does.
fw_result request_wake(struct wakes* wakes, void* handle);
// For coroutines, which wait by calls that do not.
PyObject* begin_wait(struct wakes* wakes);
PyObject* end_wait(struct wakes* wakes);

// Calls `wait` in short steps, without the GIL, and lets Python handle signals between them. `timeout_ns` as in
// framewire.h.
fw_result wait_in_steps(wait_function wait, void* handle, int64_t timeout_ns, void* output, enum first_call first,
                        struct wakes* wakes);
// What a call returns that has no item: None, `woken` after wake(), or at the stream's end an exception.
PyObject* none_for(fw_result result, PyObject* woken);
// A converter for "O&": seconds as a number, or None for ever, to int64_t nanoseconds.
int timeout_converter(PyObject* object, void* output);

// ---- numbers.c ----

struct number {
  const char* name;
  int64_t least;
  uint64_t most;
  uint64_t value;  // of a negative one its 64 bits
  bool is_given;
};

// A converter for "O&", to a struct number whose name and range are set. ValueError: it is out of the range.
int number_converter(PyObject* object, void* output);

// ---- memory.c ----

enum memory_kind { MEMORY_FRAME, MEMORY_SLOT, MEMORY_COPY };

// One reference of a frame or slot, or a copy, shared by all that shows it: objects, buffers and DLPack capsules.
struct shared_memory {
  atomic_int references;
  atomic_bool read_only;
  enum memory_kind kind;
  void* handle;  // fw_frame*, fw_slot*, or what free() takes
};

// Takes over the reference that `handle` is. NULL, with MemoryError, and without the reference, if there is no memory.
struct shared_memory* shared_memory_new(void* handle, enum memory_kind kind, bool read_only);
// Any thread, with or without the GIL.
struct shared_memory* shared_memory_ref(struct shared_memory* memory);
void shared_memory_unref(struct shared_memory* memory);
// Memory of `size` bytes, counted as a copy.
struct shared_memory* shared_memory_copy(size_t size);
// How many copies there were.
unsigned long long shared_memory_copies(void);

// ---- array.c ----

enum { MAX_DIMENSIONS = 3 };

struct item_type {
  const char* name;  // NumPy's
  const char* code;  // struct's
  int bytes;
  int dlpack_code;
};

// Where the elements of an array lie. It owns a reference of its memory.
struct array {
  struct shared_memory* memory;
  char* data;
  const struct item_type* item;
  int ndim;
  Py_ssize_t shape[MAX_DIMENSIONS];
  Py_ssize_t strides[MAX_DIMENSIONS];  // in bytes
  bool is_copy;
};

// The array of a view's plane; a copy if its rows do not lie at whole items. False: an exception is raised.
bool array_of_plane(struct array* array, struct shared_memory* memory, const fw_view* view, uint32_t plane);
// A packed, writable copy, counted.
bool array_copy(struct array* copy, const struct array* array);
Py_ssize_t array_items(const struct array* array);
bool array_is_packed(const struct array* array);
// NULL, with ValueError: there is no such type.
const struct item_type* item_type_named(const char* name);

// ---- the types ----

extern PyTypeObject* plane_type;
extern PyTypeObject* frame_type;
extern PyTypeObject* slot_type;

bool add_plane_type(PyObject* module);
bool add_picture_types(PyObject* module);
bool add_receiver_type(PyObject* module);
bool add_sender_type(PyObject* module);
bool add_stream_type(PyObject* module);

// `array` becomes the plane's, also if it fails.
PyObject* plane_new(struct array* array);
// The handle becomes the object's, also if it fails.
PyObject* frame_new(fw_frame* frame);
PyObject* slot_new(fw_slot* slot);

// Creates a heap type and adds it to the module. NULL: failed.
PyTypeObject* add_type(PyObject* module, PyType_Spec* spec);
// Frees an object of a heap type.
void free_object(PyObject* self);

// ---- dlpack.c ----

// __dlpack__(*, stream=None, max_version=None, dl_device=None, copy=None)
PyObject* dlpack_capsule(const struct array* array, PyObject* arguments, PyObject* keywords);
PyObject* dlpack_device(void);

// ---- settings.c ----

struct log_queue;

// Settings for the library, from a list of pairs of strings.
struct settings {
  fw_settings settings;
  fw_option* options;
  PyObject* strings;
};

struct log_queue* log_queue_new(void);
struct log_queue* log_queue_ref(struct log_queue* queue);
void log_queue_unref(struct log_queue* queue);
// Takes the lines out: a list of (level, text).
PyObject* log_queue_take(struct log_queue* queue);
bool settings_from(struct settings* settings, PyObject* pairs, struct log_queue* log);
void settings_free(struct settings* settings);

// ---- records.c ----

PyObject* record_of_format(const fw_format* format);
PyObject* record_of_receiver_counts(const fw_receiver_counts* counts);
PyObject* record_of_stream_counts(const fw_stream_counts* counts);

// ---- events.c ----

// A dictionary of an event's fields.
PyObject* event_to_dictionary(const fw_event* event);
bool event_from_dictionary(fw_event* event, PyObject* dictionary);
const char* state_name(int32_t state);

// ---- stream.c needs it of sender.c ----

fw_sender* sender_handle(PyObject* sender);
struct log_queue* sender_log(PyObject* sender);
extern PyTypeObject* sender_type;

#endif
