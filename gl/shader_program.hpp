// Compiles and links a vertex and a fragment shader, or a compute shader.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/error.hpp"
#include "gl/handle.hpp"

namespace framewire {

/// A shader does not compile or link. The text has the driver's messages, each with the source line that it refers to.
class ShaderError : public Error {
 public:
  using Error::Error;
};

/// Formats the driver's messages `log` about `source` as "NAME:LINE: message", each followed by that source line. Line
/// 1 is the line with index `first_user_line`; earlier lines are marked as the program's own. For ShaderProgram and its
/// tests.
std::string describe_shader_log(std::string_view name, std::string_view source, std::string_view log,
                                int first_user_line);

/// Used on the context's thread.
class ShaderProgram {
 public:
  /// `name` appears in messages (a file name). `first_user_line`: the number of fragment source lines before the user's
  /// own text. Messages count from there, so that line numbers match the user's file. Throws ShaderError.
  ShaderProgram(std::string_view name, std::string_view vertex_source, std::string_view fragment_source,
                int first_user_line = 0);

  /// Of a compute shader. Throws ShaderError.
  [[nodiscard]] static ShaderProgram of_compute(std::string_view name, std::string_view source);

  void use() const noexcept { glUseProgram(program_.id()); }

  /// Location of a uniform; -1 if the program does not use it. glUniform* ignores -1.
  [[nodiscard]] int uniform(const char* uniform_name) const noexcept {
    return glGetUniformLocation(program_.id(), uniform_name);
  }
  [[nodiscard]] GLuint id() const noexcept { return program_.id(); }

 private:
  explicit ShaderProgram(GlProgram program) noexcept : program_(std::move(program)) {}

  GlProgram program_;
};

}  // namespace framewire
