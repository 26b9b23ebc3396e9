#include "ssh/json_lines.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::size_t longest_line_bytes = std::size_t{1} << 20;  // a command may be as long as the system allows
constexpr std::size_t max_noise_bytes = std::size_t{64} << 10;
constexpr std::size_t max_unsent_bytes = std::size_t{4} << 20;

}  // namespace

JsonLines::JsonLines(FileDescriptor in, FileDescriptor out, bool skips_noise)
    : in_(std::move(in)), out_(std::move(out)), skips_noise_(skips_noise) {
  for (const FileDescriptor* end : {&in_, &out_}) {
    if (end->valid()) {
      set_non_blocking(end->get(), true);
    }
  }
}

bool JsonLines::receive() {
  received_.erase(0, std::exchange(taken_bytes_, 0));
  std::array<char, 16384> part{};
  while (!has_ended_ && fault_.empty()) {
    if (received_.size() > longest_line_bytes) {
      if (received_.find('\n') == std::string::npos) {
        fault_ = "it says " + quote(received_, 40) + " and more, which is no message of framewire";
      }
      return fault_.empty();  // the caller handles complete messages first
    }
    const ssize_t got = ::read(in_.get(), part.data(), part.size());
    if (got > 0) {
      received_.append(part.data(), static_cast<std::size_t>(got));
    } else if (got < 0 && errno == EAGAIN) {
      return true;
    } else if (!(got < 0 && errno == EINTR)) {
      has_ended_ = true;
    }
  }
  return false;
}

bool JsonLines::next(nlohmann::json& message) {
  while (fault_.empty()) {
    const std::size_t end = received_.find('\n', taken_bytes_);
    if (end == std::string::npos) {
      return false;
    }
    const std::string_view line = std::string_view(received_).substr(taken_bytes_, end - taken_bytes_);
    taken_bytes_ = end + 1;
    message = nlohmann::json::parse(line, nullptr, false);
    if (message.is_object() && message.contains("type") && message["type"].is_string()) {
      skips_noise_ = false;
      return true;
    }
    noise_bytes_ += line.size() + 1;
    if (!skips_noise_ || noise_bytes_ > max_noise_bytes) {
      fault_ = "it says " + quote(line) + ", which is no message of framewire";
    }
  }
  return false;
}

void JsonLines::send(const nlohmann::json& message) {
  if (out_.valid() && unsent_.size() < max_unsent_bytes) {
    unsent_ += message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
    flush();
  }
}

void JsonLines::flush() noexcept {
  while (wants_write()) {
    const ssize_t sent = ::write(out_.get(), unsent_.data(), unsent_.size());
    if (sent > 0) {
      unsent_.erase(0, static_cast<std::size_t>(sent));
    } else if (sent < 0 && errno == EAGAIN) {
      return;
    } else if (!(sent < 0 && errno == EINTR)) {
      unsent_.clear();
      out_.reset();
    }
  }
}

}  // namespace framewire
