// Options for the library, and the lines that it logs.
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

enum { MOST_LINES = 256 };

// The library's threads write here, and never call Python: it may be ending.
struct log_queue {
  atomic_int references;
  pthread_mutex_t mutex;
  size_t first;
  size_t count;
  int32_t levels[MOST_LINES];
  char* lines[MOST_LINES];
};

struct log_queue* log_queue_new(void) {
  struct log_queue* queue = calloc(1, sizeof *queue);
  if (queue == NULL) {
    PyErr_NoMemory();
    return NULL;
  }
  atomic_init(&queue->references, 1);
  pthread_mutex_init(&queue->mutex, NULL);
  return queue;
}

struct log_queue* log_queue_ref(struct log_queue* queue) {
  atomic_fetch_add(&queue->references, 1);
  return queue;
}

static char* take_first(struct log_queue* queue, int32_t* level) {
  const size_t first = queue->first;
  *level = queue->levels[first];
  queue->first = (first + 1) % MOST_LINES;
  --queue->count;
  return queue->lines[first];
}

void log_queue_unref(struct log_queue* queue) {
  if (queue == NULL || atomic_fetch_sub(&queue->references, 1) != 1) {
    return;
  }
  while (queue->count > 0) {
    int32_t level = 0;
    free(take_first(queue, &level));
  }
  free(queue);
}

static void write_line(void* user, int32_t level, const char* text) {
  struct log_queue* queue = user;
  char* line = strdup(text);
  if (line == NULL) {
    return;
  }
  char* dropped = NULL;
  pthread_mutex_lock(&queue->mutex);
  if (queue->count == MOST_LINES) {
    int32_t dropped_level = 0;
    dropped = take_first(queue, &dropped_level);
  }
  const size_t place = (queue->first + queue->count) % MOST_LINES;
  queue->lines[place] = line;
  queue->levels[place] = level;
  ++queue->count;
  pthread_mutex_unlock(&queue->mutex);
  free(dropped);
}

PyObject* log_queue_take(struct log_queue* queue) {
  PyObject* list = PyList_New(0);
  while (list != NULL) {
    // A thread that does not exist after a fork may have held the mutex.
    if (pthread_mutex_trylock(&queue->mutex) != 0) {
      break;
    }
    int32_t level = 0;
    char* line = queue->count == 0 ? NULL : take_first(queue, &level);
    pthread_mutex_unlock(&queue->mutex);
    if (line == NULL) {
      break;
    }
    PyObject* text = PyUnicode_DecodeUTF8(line, (Py_ssize_t)strlen(line), "replace");
    free(line);
    PyObject* pair = text == NULL ? NULL : Py_BuildValue("(iN)", (int)level, text);
    if (pair == NULL || PyList_Append(list, pair) < 0) {
      Py_CLEAR(list);
    }
    Py_XDECREF(pair);
  }
  return list;
}

void settings_free(struct settings* settings) {
  PyMem_Free(settings->options);
  Py_CLEAR(settings->strings);
}

bool settings_from(struct settings* settings, PyObject* pairs, struct log_queue* log) {
  *settings = (struct settings){.strings = PySequence_Tuple(pairs)};
  const Py_ssize_t count = settings->strings == NULL ? -1 : PyTuple_Size(settings->strings);
  if (count < 0) {
    return false;
  }
  settings->options = PyMem_Calloc((size_t)count + 1, sizeof *settings->options);
  if (settings->options == NULL) {
    PyErr_NoMemory();
    settings_free(settings);
    return false;
  }
  for (Py_ssize_t i = 0; i < count; ++i) {
    fw_option* option = &settings->options[i];
    PyObject* pair = PyTuple_GetItem(settings->strings, i);
    if (!PyTuple_Check(pair) ||
        !PyArg_ParseTuple(pair, "ss;options are pairs of strings", &option->name, &option->value)) {
      if (!PyErr_Occurred()) {
        PyErr_SetString(PyExc_TypeError, "options are pairs of strings");
      }
      settings_free(settings);
      return false;
    }
  }
  settings->settings = (fw_settings){.struct_size = sizeof settings->settings,
                                     .options = settings->options,
                                     .option_count = (size_t)count,
                                     .log = write_line,
                                     .log_user = log};
  return true;
}
