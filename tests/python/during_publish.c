// For races_test.py: has another thread run at the worst moment of fw_slot_publish(). Loaded before the package, it has
// the two functions of libframewire first.
#include <dlfcn.h>
#include <framewire/framewire.h>
#include <stddef.h>

#define API __attribute__((visibility("default")))

// Called once the library has published, and before the extension goes on.
API void (*during_publish)(void);
// Calls of fw_slot_unref().
API int unrefs;

static void* of_library(const char* name) {
  return dlsym(dlopen("libframewire.so.0", RTLD_LAZY | RTLD_NOLOAD), name);
}

API fw_result fw_slot_publish(fw_slot* slot, const fw_frame_info* info) {
  fw_result (*publish)(fw_slot*, const fw_frame_info*) = NULL;
  *(void**)&publish = of_library("fw_slot_publish");
  const fw_result result = publish(slot, info);
  if (during_publish != NULL) {
    during_publish();
  }
  return result;
}

API void fw_slot_unref(fw_slot* slot) {
  void (*unref)(fw_slot*) = NULL;
  *(void**)&unref = of_library("fw_slot_unref");
  ++unrefs;
  unref(slot);
}
