#include "sender/stream_names.hpp"

#include <algorithm>
#include <filesystem>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/common_options.hpp"

namespace framewire {

namespace {

/// The same in every locale.
bool is_letter(char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

std::string checked(const std::string& given) {
  if (given.size() > max_stream_name_characters || !std::ranges::all_of(given, is_stream_name_character)) {
    throw Error::usage("--name is " + quote(given) + "; it takes up to 64 letters, digits, '-', '_' and '.'");
  }
  return given;
}

std::string cleaned(std::string_view suggested) {
  std::string name;
  for (const char c : suggested) {
    const char plain = is_stream_name_character(c) ? c : '-';
    if (plain != '-' || (!name.empty() && name.back() != '-')) {
      name += plain;
    }
  }
  name.resize(std::min(name.size(), max_stream_name_characters));
  while (name.ends_with('-')) {
    name.pop_back();
  }
  return name.find_first_not_of('.') == std::string::npos ? "stream" : name;
}

std::string last_part(std::string_view path) {
  while (path.ends_with('/')) {
    path.remove_suffix(1);
  }
  return std::filesystem::path(path).stem().string();
}

/// "[in]scale=2:2,testsrc2" -> "scale".
std::string first_filter(std::string_view graph) {
  while (graph.starts_with('[') && graph.find(']') != std::string_view::npos) {
    graph.remove_prefix(graph.find(']') + 1);
  }
  return std::string(graph.substr(0, graph.find_first_of("=,;[@ ")));
}

/// The name from the part after "scheme://".
std::string url_name(std::string_view rest) {
  rest = rest.substr(0, rest.find_first_of("?#"));
  const std::size_t slash = rest.find('/');
  std::string path = slash == std::string_view::npos ? "" : last_part(rest.substr(slash));
  if (!path.empty()) {
    return path;
  }
  std::string_view host = rest.substr(0, slash);
  host.remove_prefix(host.find('@') == std::string_view::npos ? 0 : host.rfind('@') + 1);
  const bool has_brackets = host.starts_with('[');
  return std::string(host.substr(0, has_brackets ? host.find(']') : host.find(':')));
}

}  // namespace

std::vector<std::string> stream_names(const std::vector<StreamNaming>& namings) {
  std::vector<std::string> names;
  const auto is_taken = [&](const std::string& name) {
    return std::ranges::find(names, name) != names.end() ||
           std::ranges::find(namings, name, &StreamNaming::given) != namings.end();
  };
  for (const StreamNaming& naming : namings) {
    if (!naming.given.empty()) {
      names.push_back(checked(naming.given));
      if (std::ranges::count(namings, naming.given, &StreamNaming::given) > 1) {
        throw Error::usage("--name " + quote(naming.given) +
                           " was given twice; viewers could not tell the streams apart");
      }
      continue;
    }
    const std::string name = cleaned(naming.suggested);
    std::string unique = name;
    for (int number = 2; is_taken(unique); ++number) {
      unique = name + "-" + std::to_string(number);
    }
    names.push_back(unique);
  }
  return names;
}

std::string media_stream_name(const std::string& source, std::string_view input_format) {
  if (input_format == "lavfi") {
    return first_filter(source);
  }
  std::error_code ignored;
  if (std::filesystem::exists(source, ignored)) {
    return last_part(source);
  }
  if (source.starts_with("lavfi:")) {
    return first_filter(std::string_view(source).substr(6));
  }
  if (const std::size_t at = source.find("://"); at != std::string::npos) {
    return url_name(std::string_view(source).substr(at + 3));
  }
  const std::size_t colon = source.find(':');
  if (colon == std::string::npos || source.find('/') < colon) {
    return last_part(source);
  }
  const std::string rest = last_part(std::string_view(source).substr(colon + 1));
  return std::ranges::any_of(rest, is_letter) ? rest : source.substr(0, colon);  // "x11grab::0"
}

}  // namespace framewire
