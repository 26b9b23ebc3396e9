// The one header that brings OpenGL's functions. GL objects belong to the context, and with it to the thread, that made
// them.
#pragma once

#include <glad/gl.h>

#include <optional>
#include <string>

namespace framewire {

/// Finds one GL function by name; glfwGetProcAddress is one.
using GlFunctionLoader = GLADapiproc (*)(const char* name);

/// Fills glad's table of GL functions for the current context. The table is the process's: two contexts that are
/// current in two threads must come from one driver. Throws Error (failed) if the context has less than OpenGL 4.5.
void load_gl(GlFunctionLoader loader);

/// GL_RENDERER of the current context: "llvmpipe (LLVM 15.0.6, 256 bits)".
std::string gl_renderer();

/// Why the current context can draw no more, "the GPU was reset, …"; nothing while all is well. A driver that does not
/// tell of resets says nothing ever. One call of the driver.
std::optional<std::string> find_gl_loss();

/// Forgets errors of earlier calls, which would be taken for those of the next one. Bounded, as a lost context may
/// report for ever.
void drop_gl_errors() noexcept;

/// Whether the current context draws on the CPU (Mesa's software renderers), where other ways of moving pixels are
/// fast.
bool is_software_renderer();

}  // namespace framewire
