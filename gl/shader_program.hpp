// Vertex and fragment shader, compiled and linked.
#pragma once

#include <string>
#include <string_view>

#include "base/error.hpp"
#include "gl/handle.hpp"

namespace framewire {

/// A shader that does not compile or link. Its text has the driver's messages, each with the line of the source that it
/// names.
class ShaderError : public Error {
 public:
  using Error::Error;
};

/// The driver's messages `log` about `source`, one below the other, in the form "NAME:LINE: message" and below it that
/// line. Lines are counted from 1 at the line with index `first_user_line`; a line before that is shown as the
/// program's own. For ShaderProgram and its tests.
std::string describe_shader_log(std::string_view name, std::string_view source, std::string_view log,
                                int first_user_line);

/// The context's thread.
class ShaderProgram {
 public:
  /// `name` is what messages call it (a file name). `first_user_line`: how many lines of the fragment source stand
  /// before the user's own text; messages count lines from there, so that they agree with the user's file. Throws
  /// ShaderError.
  ShaderProgram(std::string_view name, std::string_view vertex_source, std::string_view fragment_source,
                int first_user_line = 0);

  void use() const noexcept { glUseProgram(program_.id()); }

  /// Location of a uniform; -1 if the program does not use it, which glUniform* passes over.
  [[nodiscard]] int uniform(const char* uniform_name) const noexcept {
    return glGetUniformLocation(program_.id(), uniform_name);
  }
  [[nodiscard]] GLuint id() const noexcept { return program_.id(); }

 private:
  GlProgram program_;
};

}  // namespace framewire
