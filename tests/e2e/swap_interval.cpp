// Preloaded into framewire view: appends each interval that it sets to the file that FRAMEWIRE_SWAP_INTERVALS names. A
// software renderer does not wait for refreshes, so that nothing else tells whether it was asked to.
#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

// NOLINTNEXTLINE(readability-identifier-naming): the name of GLFW
extern "C" void glfwSwapInterval(int interval) {
  if (const char* const name = std::getenv("FRAMEWIRE_SWAP_INTERVALS")) {
    if (std::FILE* const file = std::fopen(name, "ae")) {
      std::fprintf(file, "%d\n", interval);
      std::fclose(file);
    }
  }
  reinterpret_cast<void (*)(int)>(::dlsym(RTLD_NEXT, "glfwSwapInterval"))(interval);
}
