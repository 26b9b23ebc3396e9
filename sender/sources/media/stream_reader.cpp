#include "sender/sources/media/stream_reader.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "base/clock.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;

}  // namespace

/// Reads at least one byte, and at most the size of `buffer`.
ReadResult StreamReader::read_some(std::span<std::byte> buffer, std::size_t& count) {
  if (!put_back_.empty()) {
    count = std::min(buffer.size(), put_back_.size());
    std::memcpy(buffer.data(), put_back_.data(), count);
    put_back_.erase(0, count);
    return ReadResult::whole;
  }
  for (;;) {
    if (is_stopping_ && is_stopping_()) {
      return ReadResult::stopped;
    }
    if (!wait_for(fd_, POLLIN, monotonic_ns() + poll_interval_ns)) {
      continue;
    }
    const ssize_t got = ::read(fd_, buffer.data(), buffer.size());
    if (got > 0) {
      count = static_cast<std::size_t>(got);
      return ReadResult::whole;
    }
    if (got == 0) {
      return ReadResult::ended;
    }
    if (errno != EINTR && errno != EAGAIN) {
      error_number_ = errno;
      return ReadResult::failed;
    }
  }
}

ReadResult StreamReader::fill(std::span<std::byte> buffer) {
  filled_bytes_ = 0;
  while (filled_bytes_ < buffer.size()) {
    std::size_t count = 0;
    if (const ReadResult result = read_some(buffer.subspan(filled_bytes_), count); result != ReadResult::whole) {
      return result;
    }
    filled_bytes_ += count;
  }
  return ReadResult::whole;
}

ReadResult StreamReader::read_line(std::string& line, std::size_t limit_bytes) {
  line.clear();
  while (line.size() <= limit_bytes) {
    std::byte next{};
    std::size_t count = 0;
    // Byte by byte, because the frame after the newline is read directly into its slot.
    if (const ReadResult result = read_some({&next, 1}, count); result != ReadResult::whole) {
      return result;
    }
    if (next == std::byte{'\n'}) {
      return ReadResult::whole;
    }
    line += static_cast<char>(next);
  }
  return ReadResult::too_long;
}

}  // namespace framewire
