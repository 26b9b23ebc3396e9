// A headless surface for tests that draw on their own thread.
#pragma once

#include "viewer/headless.hpp"

namespace framewire {

/// Its OpenGL context is that of the thread that makes and destroys it.
struct AttachedHeadless {
  explicit AttachedHeadless(Size size) : surface(size) { surface.attach(); }
  ~AttachedHeadless() { surface.detach(); }
  AttachedHeadless(const AttachedHeadless&) = delete;
  AttachedHeadless& operator=(const AttachedHeadless&) = delete;

  Headless surface;
};

}  // namespace framewire
