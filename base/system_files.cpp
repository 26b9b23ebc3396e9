#include "base/system_files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <filesystem>

#include "base/file_descriptor.hpp"

namespace framewire {

namespace {

constexpr std::string_view blanks = " \t\r\n";
constexpr std::size_t max_names = 4096;

}  // namespace

std::string_view trimmed(std::string_view text) {
  const auto first = text.find_first_not_of(blanks);
  return first == std::string_view::npos ? std::string_view{}
                                         : text.substr(first, text.find_last_not_of(blanks) + 1 - first);
}

std::optional<std::uint64_t> leading_number(std::string_view text) {
  text = trimmed(text);
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} ? std::optional(number) : std::nullopt;
}

std::optional<std::string> value_of(std::string_view text, std::string_view name) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    const std::size_t sign = line.find_first_of(":=");
    if (sign != std::string_view::npos && trimmed(line.substr(0, sign)) == name) {
      std::string_view value = trimmed(line.substr(sign + 1));
      if (value.size() >= 2 && value.front() == '"' && value.back() == '"') {
        value = value.substr(1, value.size() - 2);
      }
      return std::string(value);
    }
  }
  return std::nullopt;
}

std::optional<std::string> SystemFiles::text(std::string_view path, std::size_t limit_bytes) const {
  // O_NONBLOCK: a FIFO in place of a file must not block.
  const std::string real = real_path(path);
  const auto file = FileDescriptor::from([&] { return ::open(real.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (!file.valid()) {
    return std::nullopt;
  }
  std::string text(limit_bytes, '\0');
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t got = ::read(file.get(), text.data() + size, text.size() - size);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got < 0) {
      return std::nullopt;  // sysfs has files that cannot be read
    }
    if (got == 0) {
      break;
    }
    size += static_cast<std::size_t>(got);
  }
  text.resize(size);
  return text;
}

std::optional<std::string> SystemFiles::line(std::string_view path) const {
  constexpr std::size_t longest_line_bytes = 4096;
  const auto whole = text(path, longest_line_bytes);
  if (!whole) {
    return std::nullopt;
  }
  return std::string(trimmed(std::string_view(*whole).substr(0, whole->find('\n'))));
}

std::optional<std::uint64_t> SystemFiles::number(std::string_view path) const {
  const auto first = line(path);
  return first ? leading_number(*first) : std::nullopt;
}

std::optional<double> SystemFiles::decimal(std::string_view path) const {
  const auto first = line(path);
  double number = 0;
  if (!first) {
    return std::nullopt;
  }
  const auto [end, error] =
      std::from_chars(first->data(), first->data() + first->size(), number, std::chars_format::fixed);
  return error == std::errc{} && number >= 0 && number < 1e9 ? std::optional(number) : std::nullopt;
}

std::vector<std::string> SystemFiles::names(std::string_view folder) const {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator entry(real_path(folder), error);
  while (!error && entry != std::filesystem::directory_iterator() && names.size() < max_names) {
    names.push_back(entry->path().filename().string());
    entry.increment(error);
  }
  std::ranges::sort(names);
  return names;
}

bool SystemFiles::exists(std::string_view path) const {
  return ::access(real_path(path).c_str(), F_OK) == 0;
}

std::optional<std::string> SystemFiles::resolved(std::string_view path) const {
  std::error_code error;
  const std::string root = root_.empty() ? std::string() : std::filesystem::canonical(root_, error).string();
  const std::string whole = error ? std::string() : std::filesystem::canonical(real_path(path), error).string();
  if (error || !whole.starts_with(root + '/')) {
    return std::nullopt;
  }
  return whole.substr(root.size());
}

}  // namespace framewire
