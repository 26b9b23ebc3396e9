#include "gl/shader_scene.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <system_error>

#include "base/error.hpp"
#include "base/text.hpp"
#include "shaders/embedded.hpp"

namespace framewire {

namespace {

constexpr std::array<std::string_view, 4> names = {"waves", "aurora", "orbit", "helix"};

constexpr std::size_t max_file_bytes = std::size_t{1} << 20;

std::string read_file(const std::string& path, const std::string& folder) {
  const std::filesystem::path place = std::filesystem::path(folder) / path;
  std::error_code error;
  const auto status = std::filesystem::status(place, error);
  if (error) {
    throw Error::failed("cannot read the shader " + quote(path) + ": " + error.message());
  }
  if (!std::filesystem::is_regular_file(status)) {
    throw Error::failed("the shader " + quote(path) + " is not a file; name a fragment shader, as in gl:scene.frag");
  }
  std::ifstream file(place, std::ios::binary);
  std::string text(max_file_bytes + 1, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  if (file.bad() || !file.is_open()) {
    throw Error::failed("cannot read the shader " + quote(path) + ": " + errno_text(errno));
  }
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (text.size() > max_file_bytes) {
    throw Error::failed("the shader " + quote(path) +
                        " is larger than 1 MiB, which no shader is; name a fragment shader file");
  }
  return text;
}

/// The start of the first line that is neither empty nor a comment.
std::size_t first_statement(const std::string& text) {
  std::size_t at = 0;
  for (;;) {
    at = text.find_first_not_of(" \t\r\n", at);
    if (at == std::string::npos) {
      return at;
    }
    const bool is_block = text.compare(at, 2, "/*") == 0;
    if (!is_block && text.compare(at, 2, "//") != 0) {
      return at;
    }
    const std::size_t end = text.find(is_block ? "*/" : "\n", at + 2);
    at = end == std::string::npos ? end : end + (is_block ? 2 : 1);
    if (at == std::string::npos) {
      return at;
    }
  }
}

/// Files of other programs may begin with #version, which must not occur twice. The line itself stays, so that line
/// numbers do not change.
void drop_version(std::string& text) {
  const std::size_t start = first_statement(text);
  if (start != std::string::npos && text.compare(start, 8, "#version") == 0) {
    text.erase(start, std::min(text.find('\n', start), text.size()) - start);
  }
}

ShaderScene load_file(const std::string& path, const std::string& folder) {
  ShaderScene scene{.name = path, .text = read_file(path, folder)};
  if (scene.text.find('\0') != std::string::npos) {
    throw Error::failed("the shader " + quote(path) +
                        " is not a text file; name a fragment shader in the manner of Shadertoy");
  }
  if (scene.text.find("mainImage") == std::string::npos) {
    throw Error::failed(
        "the shader " + quote(path) +
        " has no mainImage; it must define void mainImage(out vec4 fragColor, in vec2 fragCoord), as on Shadertoy");
  }
  drop_version(scene.text);
  return scene;
}

bool looks_like_path(std::string_view name) {
  return name.find_first_of("./") != std::string_view::npos;
}

/// Bit i for part i + 1.
std::uint32_t parts_of(std::string_view list, std::string_view source) {
  if (list.empty()) {
    return ShaderScene::all_parts;
  }
  std::uint32_t parts = 0;
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    const std::string_view one = list.substr(start, end - start);
    parts |= std::uint32_t{1} << (parse_number(one, "a part of " + quote(source), 1, 32) - 1);
    start = end + 1;
  }
  return parts;
}

/// The parts that the shader asks for, if it does so only by hasPart(NUMBER); nothing if it may ask for others.
std::optional<std::uint32_t> named_parts(std::string_view text) {
  constexpr std::string_view name = "hasPart";
  std::uint32_t parts = 0;
  for (std::size_t at = text.find(name); at != std::string_view::npos; at = text.find(name, at + 1)) {
    std::string_view rest = text.substr(at + name.size());
    if (!rest.starts_with('(')) {
      return std::nullopt;
    }
    rest.remove_prefix(1);
    std::uint32_t part = 0;
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), part);
    if (error != std::errc{} || end == rest.data() + rest.size() || *end != ')' || part < 1 || part > 32) {
      return std::nullopt;
    }
    parts |= std::uint32_t{1} << (part - 1);
  }
  return parts;
}

/// Throws Error if nothing would be drawn of a part, or the shader draws no parts.
void require_parts(const ShaderScene& scene, std::string_view source) {
  const std::optional<std::uint32_t> named = named_parts(scene.text);
  if (!named || (*named != 0 && (scene.parts & ~*named) == 0)) {
    return;
  }
  // A file may be mended while a viewer that draws it runs, and tries again.
  const auto fault = looks_like_path(scene.name) ? Error::failed : Error::usage;
  if (*named == 0) {
    throw fault(quote(source) + " names parts, and the scene has none: it does not ask hasPart()");
  }
  std::string list;
  for (int i = 0; i < 32; ++i) {
    if ((*named >> i & 1U) != 0) {
      list += (list.empty() ? "" : ", ") + std::to_string(i + 1);
    }
  }
  throw fault(quote(source) + " names a part that the scene does not have; it has " + list);
}

std::string without_prefix(std::string_view source) {
  const std::string_view given = source.starts_with("gl:") ? source.substr(3) : source;
  return std::string(given.empty() ? names.front() : given);
}

bool is_built_in(const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

ShaderScene load_whole(std::string_view source, const std::string& folder) {
  const std::string name = without_prefix(source);
  if (is_built_in(name)) {
    const auto text = find_embedded_shader("scenes/" + name + ".frag");
    if (!text) {
      throw Error::failed("this build lacks the scene " + quote(name));
    }
    return {.name = name, .text = std::string(*text)};
  }
  std::error_code error;
  if (looks_like_path(name) || std::filesystem::exists(std::filesystem::path(folder) / name, error)) {
    return load_file(name, folder);
  }
  std::string list;
  for (const std::string_view known : names) {
    list += (list.empty() ? "" : ", ") + std::string(known);
  }
  throw Error::usage("there is no scene " + quote(name) + "; there are " + list +
                     ", and gl:FILE.frag draws a fragment shader file");
}

}  // namespace

SceneName split_parts(std::string_view source) noexcept {
  const std::size_t colon = source.rfind(':');
  const bool is_whole = colon == std::string_view::npos || source.substr(0, colon + 1) == "gl:" ||
                        colon + 1 == source.size() ||
                        source.find_first_not_of("0123456789,", colon + 1) != std::string_view::npos;
  return is_whole ? SceneName{source, {}} : SceneName{source.substr(0, colon), source.substr(colon + 1)};
}

std::span<const std::string_view> scene_names() noexcept {
  return names;
}

std::optional<std::string> shader_file(std::string_view source, const std::string& folder) {
  const std::string name = without_prefix(split_parts(source).scene);
  return is_built_in(name) ? std::nullopt : std::optional((std::filesystem::path(folder) / name).string());
}

ShaderScene load_scene(std::string_view source, const std::string& folder) {
  const SceneName name = split_parts(source);
  ShaderScene scene = load_whole(name.scene, folder);
  scene.parts = parts_of(name.parts, source);
  if (!name.parts.empty()) {
    require_parts(scene, source);
  }
  return scene;
}

}  // namespace framewire
