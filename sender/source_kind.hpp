// What the program knows of one kind of source.
#pragma once

#include <algorithm>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "base/log.hpp"
#include "sender/source.hpp"

namespace framewire {

using IsCancelled = std::function<bool()>;

struct SourceKind {
  std::string_view help;     // lines of --help: the name, two spaces, the description
  std::string (*choices)();  // for completion: words separated by "|"
  /// Whether SOURCE is of this kind; null for the one kind of everything that no other kind means.
  bool (*is_meant_by)(const std::string& name);
  std::unique_ptr<Source> (*make)(const SourceOptions& options, Log& log, const IsCancelled& is_cancelled);
  std::string (*stream_name)(const SourceOptions& options);
  /// The file that SOURCE is, which may be missing; null: there is none.
  std::optional<std::string> (*file)(const std::string& name) = nullptr;
  /// --size auto; null: has its own size. `sharing`: how many such sources the machine has to run, this one included.
  void (*fit)(SourceOptions& options, std::ptrdiff_t sharing, Log& log) = nullptr;
  bool may_have_depth = false;       // frames can have depth (has_depth() in frame/pixel_format.hpp)
  bool takes_input_options = false;  // --input-option and what else is for libav applies to it
};

constexpr bool has_one_fallback(std::span<const SourceKind> kinds) noexcept {
  return std::ranges::count(kinds, nullptr, &SourceKind::is_meant_by) == 1;
}

/// The first kind that `name` means, else the kind of everything else, wherever it stands. `kinds` has one fallback.
inline const SourceKind& find_source_kind(std::span<const SourceKind> kinds, const std::string& name) {
  const auto is_meant = [&name](const SourceKind& kind) {
    return kind.is_meant_by != nullptr && kind.is_meant_by(name);
  };
  const auto found = std::ranges::find_if(kinds, is_meant);
  return found != kinds.end() ? *found : *std::ranges::find(kinds, nullptr, &SourceKind::is_meant_by);
}

}  // namespace framewire
