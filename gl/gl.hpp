// The only header that includes OpenGL's functions. GL objects belong to the context that made them, and so to its
// thread.
#pragma once

#include <glad/gl.h>

#include <optional>
#include <string>

#include "base/text.hpp"

namespace framewire {

/// Finds one GL function by name, for example glfwGetProcAddress.
using GlFunctionLoader = GLADapiproc (*)(const char* name);

/// Fills glad's table of GL functions for the current context. The table is process-wide: contexts that are current on
/// different threads must come from the same driver. Throws Error (failed) if the context has less than OpenGL 4.5.
void load_gl(GlFunctionLoader loader);

/// GL_RENDERER of the current context: "llvmpipe (LLVM 15.0.6, 256 bits)".
std::string gl_renderer();

/// Why the current context can no longer draw, for example "the GPU was reset, …"; nothing while it works. Always
/// nothing with drivers that do not report resets. Costs one driver call.
std::optional<std::string> find_gl_loss();

/// Clears earlier GL errors, so that they are not attributed to the next call. Bounded, because a lost context may
/// report errors for ever.
void drop_gl_errors() noexcept;

/// The framebuffer that is bound for drawing; 0 is that of a window.
GLuint bound_for_drawing() noexcept;

/// Throws Error (failed) if the current context draws no picture of that size.
void require_drawable(Size size);

/// Whether the current context draws on the CPU (Mesa's software renderers), where other upload methods are faster.
bool is_software_renderer();

}  // namespace framewire
