// Reads the kernel's files below /proc, /sys and /dev, or a test's copies below another folder.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// Reads small files. Their contents are untrusted: a missing, unreadable or malformed value is nothing. Constant after
/// construction, any thread. Paths are absolute, and resolved below the root.
class SystemFiles {
 public:
  /// `root`: without a slash at its end; empty: the real machine.
  explicit SystemFiles(std::string root = "") : root_(std::move(root)) {}

  static constexpr std::size_t default_limit_bytes = 65536;

  /// The whole file, up to `limit_bytes` of it.
  [[nodiscard]] std::optional<std::string> text(std::string_view path,
                                                std::size_t limit_bytes = default_limit_bytes) const;
  /// Its first line, without blanks around it.
  [[nodiscard]] std::optional<std::string> line(std::string_view path) const;
  /// As line(), and parses the decimal number at its beginning: "16", "100 Gb/sec (4X EDR)".
  [[nodiscard]] std::optional<std::uint64_t> number(std::string_view path) const;
  [[nodiscard]] std::optional<double> decimal(std::string_view path) const;
  /// The names in a folder, sorted; at most 4096 of them.
  [[nodiscard]] std::vector<std::string> names(std::string_view folder) const;
  [[nodiscard]] bool exists(std::string_view path) const;
  /// The path without links on it. Nothing: it does not exist, or leads out of the root.
  [[nodiscard]] std::optional<std::string> resolved(std::string_view path) const;
  /// The path with the root in front of it.
  [[nodiscard]] std::string real_path(std::string_view path) const { return root_ + std::string(path); }

 private:
  std::string root_;
};

/// The value behind "NAME" in lines of "NAME: value" or "NAME=value", without blanks and quotes around it.
std::optional<std::string> value_of(std::string_view text, std::string_view name);

/// The text without blanks at both ends.
std::string_view trimmed(std::string_view text);

/// The whole decimal number that `text` begins with.
std::optional<std::uint64_t> leading_number(std::string_view text);

}  // namespace framewire
