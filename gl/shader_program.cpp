#include "gl/shader_program.hpp"

#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.hpp"

namespace framewire {

namespace {

/// A driver's message, parsed: "0:12(5): error: …" (Mesa), "0(12) : error C1008: …" (NVIDIA), "ERROR: 0:12: …" (AMD,
/// ANGLE).
struct Message {
  int line = 0;  // from 1
  std::string_view text;
};

/// Parses and removes a number at the front of `text`.
std::optional<int> take_number(std::string_view& text) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) {
    return std::nullopt;
  }
  text.remove_prefix(static_cast<std::size_t>(end - text.data()));
  return value;
}

std::optional<Message> parse_message(std::string_view line) {
  for (const std::string_view prefix : {"ERROR: ", "WARNING: "}) {
    if (line.starts_with(prefix)) {
      line.remove_prefix(prefix.size());
    }
  }
  if (!take_number(line) || line.empty() || (line.front() != ':' && line.front() != '(')) {
    return std::nullopt;
  }
  line.remove_prefix(1);
  const auto number = take_number(line);
  if (!number) {
    return std::nullopt;
  }
  // The separator between number and text differs: "(5): ", ") : ", ": ".
  const std::size_t colon = line.find(": ");
  if (colon == std::string_view::npos) {
    return std::nullopt;
  }
  return Message{*number, line.substr(colon + 2)};
}

/// Line `number` (from 1) of `text`, without its end; empty if there is none.
std::string_view line_of(std::string_view text, int number) {
  for (int i = 1; i < number; ++i) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos) {
      return {};
    }
    text.remove_prefix(end + 1);
  }
  return text.substr(0, text.find('\n'));
}

/// A line of a driver or of a user's file, made safe for a terminal.
std::string shown_line(std::string_view text) {
  constexpr std::size_t longest = 200;
  std::string line;
  for (const char c : text) {
    line += c == '\t' ? "  " : std::string(1, c);
  }
  return printable(line.ends_with('\r') ? std::string_view(line).substr(0, line.size() - 1) : line, longest);
}

std::string_view name_of(GLenum stage) noexcept {
  switch (stage) {
    case GL_VERTEX_SHADER:
      return "vertex";
    case GL_COMPUTE_SHADER:
      return "compute";
    default:
      return "fragment";
  }
}

GlShader compile(std::string_view name, GLenum stage, std::string_view source, int first_user_line) {
  GlShader shader = GlShader::create(stage);
  const char* text = source.data();
  const auto length = static_cast<GLint>(source.size());
  glShaderSource(shader.id(), 1, &text, &length);
  glCompileShader(shader.id());
  GLint ok = GL_FALSE;
  glGetShaderiv(shader.id(), GL_COMPILE_STATUS, &ok);
  if (ok == GL_TRUE) {
    return shader;
  }
  GLint log_length = 0;
  glGetShaderiv(shader.id(), GL_INFO_LOG_LENGTH, &log_length);
  std::string log(static_cast<std::size_t>(log_length), '\0');
  glGetShaderInfoLog(shader.id(), log_length, &log_length, log.data());
  log.resize(static_cast<std::size_t>(log_length));
  throw ShaderError(ExitStatus::failed, "the " + std::string(name_of(stage)) + " shader " + quote(name) +
                                            " does not compile:\n" +
                                            describe_shader_log(name, source, log, first_user_line));
}

void link(std::string_view name, GLuint program) {
  glLinkProgram(program);
  GLint ok = GL_FALSE;
  glGetProgramiv(program, GL_LINK_STATUS, &ok);
  if (ok == GL_TRUE) {
    return;
  }
  GLint log_length = 0;
  glGetProgramiv(program, GL_INFO_LOG_LENGTH, &log_length);
  std::string log(static_cast<std::size_t>(log_length), '\0');
  glGetProgramInfoLog(program, log_length, &log_length, log.data());
  log.resize(static_cast<std::size_t>(log_length));
  throw ShaderError(ExitStatus::failed, "the shader " + quote(name) + " does not link: " + quote(log, 2000));
}

}  // namespace

std::string describe_shader_log(std::string_view name, std::string_view source, std::string_view log,
                                int first_user_line) {
  std::string text;
  int about = -1;  // the line of the messages before
  const auto show_line = [&] {
    if (const auto shown = line_of(source, about); about >= 0 && !shown.empty()) {
      text += "    | " + shown_line(shown) + "\n";
    }
    about = -1;
  };
  while (!log.empty()) {
    const std::string_view line = log.substr(0, log.find_first_of(std::string_view("\n\0", 2)));
    log.remove_prefix(std::min(line.size() + 1, log.size()));
    if (line.empty()) {
      continue;
    }
    const auto message = parse_message(line);
    if (!message || message->line != about) {
      show_line();
    }
    if (!message) {
      text += "  " + shown_line(line) + "\n";
      continue;
    }
    const bool is_users = message->line > first_user_line;
    const std::string where = is_users ? std::to_string(message->line - first_user_line) : "built-in lines";
    text += "  " + shown_line(name) + ":" + where + ": " + shown_line(message->text) + "\n";
    about = message->line;
  }
  show_line();
  if (!text.empty()) {
    text.pop_back();
  }
  return text;
}

ShaderProgram::ShaderProgram(std::string_view name, std::string_view vertex_source, std::string_view fragment_source,
                             int first_user_line)
    : program_(GlProgram::create()) {
  const GlShader vertex = compile(name, GL_VERTEX_SHADER, vertex_source, 0);
  const GlShader fragment = compile(name, GL_FRAGMENT_SHADER, fragment_source, first_user_line);
  glAttachShader(program_.id(), vertex.id());
  glAttachShader(program_.id(), fragment.id());
  link(name, program_.id());
  glDetachShader(program_.id(), vertex.id());
  glDetachShader(program_.id(), fragment.id());
}

ShaderProgram ShaderProgram::of_compute(std::string_view name, std::string_view source) {
  GlProgram program = GlProgram::create();
  const GlShader shader = compile(name, GL_COMPUTE_SHADER, source, 0);
  glAttachShader(program.id(), shader.id());
  link(name, program.id());
  glDetachShader(program.id(), shader.id());
  return ShaderProgram(std::move(program));
}

}  // namespace framewire
