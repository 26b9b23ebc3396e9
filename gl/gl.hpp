// The one header that brings OpenGL's functions. GL objects belong to the context, and with it to the thread, that made
// them.
#pragma once

#include <glad/gl.h>

#include <string>

namespace framewire {

/// Finds one GL function by name; glfwGetProcAddress is one.
using GlFunctionLoader = GLADapiproc (*)(const char* name);

/// Fills glad's table of GL functions for the current context. The table is the process's: two contexts that are
/// current in two threads must come from one driver. Throws Error (failed) if the context has less than OpenGL 4.5.
void load_gl(GlFunctionLoader loader);

/// GL_RENDERER of the current context: "llvmpipe (LLVM 15.0.6, 256 bits)".
std::string gl_renderer();

/// Whether the current context draws on the CPU (Mesa's software renderers), where other ways of moving pixels are
/// fast.
bool is_software_renderer();

}  // namespace framewire
