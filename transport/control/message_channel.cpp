#include "transport/control/message_channel.hpp"

#include <fmt/core.h>
#include <poll.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t default_send_timeout_ns = 10 * ns_per_s;

std::uint32_t decode_length(std::span<const std::byte, 4> bytes) noexcept {
  std::uint32_t length = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) {
    length = length << 8 | std::to_integer<std::uint32_t>(bytes[i]);
  }
  return length;
}

void append_length(std::vector<std::byte>& to, std::size_t length) {
  for (unsigned shift = 0; shift < 32; shift += 8) {
    to.push_back(static_cast<std::byte>(length >> shift & 0xffU));
  }
}

nlohmann::json parse_message(std::string_view text, const std::string& peer) {
  const auto bad = [&](std::string_view what) {
    return Error::failed(fmt::format("{} sent a message that {}; it is no framewire, or a broken one", peer, what));
  };
  if (nests_deeper(text, message_depth_limit)) {
    throw bad(fmt::format("nests deeper than {} levels", message_depth_limit));
  }
  nlohmann::json message = nlohmann::json::parse(text, nullptr, false);
  // The parser treats a zero byte as the end of the text.
  if (message.is_discarded() || text.find('\0') != std::string_view::npos) {
    throw bad("is not JSON");
  }
  if (!message.is_object()) {
    throw bad("is not a JSON object");
  }
  const auto type = message.find("type");
  if (type == message.end() || !type->is_string()) {
    throw bad("has no type");
  }
  return message;
}

}  // namespace

bool nests_deeper(std::string_view text, int levels) noexcept {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string) {
      i += letter == '\\' ? 1 : 0;
      in_string = letter != '"';
    } else if (letter == '"') {
      in_string = true;
    } else if (letter == '{' || letter == '[') {
      if (++depth > levels) {
        return true;
      }
    } else if (letter == '}' || letter == ']') {
      --depth;
    }
  }
  return false;
}

MessageChannel::MessageChannel(std::unique_ptr<ByteStream> stream, std::string peer, std::uint32_t limit_bytes)
    : stream_(std::move(stream)), peer_(std::move(peer)), limit_bytes_(limit_bytes) {}

void MessageChannel::append(const nlohmann::json& message) {
  // File names need not be UTF-8: invalid bytes become U+FFFD.
  const std::string text = message.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  if (text.size() > message_limit_bytes) {
    throw Error::failed(
        fmt::format("a message of {} bytes to {} is longer than {} bytes", text.size(), peer_, message_limit_bytes));
  }
  if (outbound_.size() - outbound_sent_ + length_.size() + text.size() > outbound_limit_bytes) {
    throw Error::lost_peer(fmt::format("{} does not read its control channel", peer_));
  }
  drop_sent();
  // Grows by half, as vectors do, but not beyond the limit of waiting bytes.
  const std::size_t needed_bytes = outbound_.size() + length_.size() + text.size();
  if (needed_bytes > outbound_.capacity()) {
    outbound_.reserve(std::max(needed_bytes, std::min(needed_bytes * 3 / 2, 2 * outbound_limit_bytes)));
  }
  append_length(outbound_, text.size());
  const auto bytes = std::as_bytes(std::span(text));
  outbound_.insert(outbound_.end(), bytes.begin(), bytes.end());
}

/// Under out_mutex_. Erases sent bytes, which would otherwise pile up with a peer that never reads all. Moves each byte
/// a bounded number of times: it erases only when at least as many bytes are sent as still wait.
void MessageChannel::drop_sent() noexcept {
  if (outbound_sent_ > 0 && outbound_sent_ >= outbound_.size() - outbound_sent_) {
    outbound_.erase(outbound_.begin(), outbound_.begin() + static_cast<std::ptrdiff_t>(outbound_sent_));
    outbound_sent_ = 0;
  }
}

/// Under out_mutex_. Returns whether the queue is empty.
bool MessageChannel::write_outbound(short& wait_events) {
  while (outbound_sent_ < outbound_.size()) {
    const IoResult result = stream_->write_now(std::span(outbound_).subspan(outbound_sent_));
    if (result.status == IoStatus::again) {
      wait_events = result.wait_events;
      return false;
    }
    if (result.status != IoStatus::moved) {
      throw Error::lost_peer(fmt::format(
          "{} is gone: {}", peer_, result.status == IoStatus::failed ? stream_->fault() : "it closed the connection"));
    }
    outbound_sent_ += result.bytes;
  }
  outbound_.clear();
  outbound_sent_ = 0;
  if (outbound_.capacity() > outbound_backlog_bytes) {
    outbound_.shrink_to_fit();  // such long messages are rare
  }
  return true;
}

void MessageChannel::send(const nlohmann::json& message, std::int64_t deadline_ns) {
  post(message);
  for (;;) {
    short wait_events = 0;
    {
      const std::lock_guard lock(out_mutex_);
      if (write_outbound(wait_events)) {
        return;
      }
    }
    if (!wait_for(fd(), wait_events, deadline_ns) && monotonic_ns() >= deadline_ns) {
      throw Error::lost_peer(fmt::format("{} does not read its control channel", peer_));
    }
  }
}

void MessageChannel::send(const nlohmann::json& message) {
  send(message, monotonic_ns() + default_send_timeout_ns);
}

void MessageChannel::post(const nlohmann::json& message) {
  const std::lock_guard lock(out_mutex_);
  append(message);
  short wait_events = 0;
  write_outbound(wait_events);
}

bool MessageChannel::flush() {
  const std::lock_guard lock(out_mutex_);
  short wait_events = 0;
  return write_outbound(wait_events);
}

bool MessageChannel::wants_write() const {
  const std::lock_guard lock(out_mutex_);
  return !outbound_.empty();
}

bool MessageChannel::has_backlog() const {
  const std::lock_guard lock(out_mutex_);
  return outbound_.size() - outbound_sent_ > outbound_backlog_bytes;
}

std::size_t MessageChannel::outbound_memory_bytes() const {
  const std::lock_guard lock(out_mutex_);
  return outbound_.capacity();
}

void MessageChannel::start_body() {
  const std::uint32_t length = decode_length(length_);
  if (length > limit_bytes_) {
    throw Error::failed(
        fmt::format("{} sent a message of {} bytes, more than the {} allowed; it is no framewire, or a broken one",
                    peer_, length, limit_bytes_));
  }
  body_.resize(length);
  body_filled_ = 0;
}

nlohmann::json MessageChannel::finish_body() {
  length_filled_ = 0;
  return parse_message({reinterpret_cast<const char*>(body_.data()), body_.size()}, peer_);
}

std::optional<nlohmann::json> MessageChannel::try_receive() {
  for (;;) {
    const bool in_body = length_filled_ == length_.size();
    if (in_body && body_filled_ == body_.size()) {
      return finish_body();
    }
    const IoResult result = stream_->read_now(in_body ? std::span(body_).subspan(body_filled_)
                                                      : std::span(length_).subspan(length_filled_));
    switch (result.status) {
      case IoStatus::moved:
        (in_body ? body_filled_ : length_filled_) += result.bytes;
        if (!in_body && length_filled_ == length_.size()) {
          start_body();
        }
        break;
      case IoStatus::again:
        read_wait_events_ = result.wait_events;
        return std::nullopt;
      case IoStatus::closed:
        throw Error::lost_peer(
            fmt::format("{} closed the connection{}", peer_, length_filled_ > 0 ? " in the middle of a message" : ""));
      case IoStatus::failed:
        throw Error::lost_peer(fmt::format("{} is gone: {}", peer_, stream_->fault()));
    }
  }
}

void MessageChannel::receive_arrived(const std::function<bool(const nlohmann::json&)>& take) {
  for (int taken = 0; taken < max_messages_at_once; ++taken) {
    const auto message = try_receive();
    if (!message || !take(*message)) {
      return;
    }
  }
}

nlohmann::json MessageChannel::receive(std::int64_t deadline_ns) {
  auto message = receive_before(deadline_ns);
  if (!message) {
    throw Error::lost_peer(fmt::format("{} did not answer in time", peer_));
  }
  return std::move(*message);
}

std::optional<nlohmann::json> MessageChannel::receive_before(std::int64_t deadline_ns) {
  for (;;) {
    if (auto message = try_receive()) {
      return message;
    }
    if (!wait_for(fd(), read_wait_events_, deadline_ns)) {
      return std::nullopt;
    }
  }
}

void MessageChannel::finish(std::int64_t deadline_ns) noexcept {
  try {
    short wait_events = 0;
    for (;;) {
      const std::lock_guard lock(out_mutex_);
      if (write_outbound(wait_events) || !wait_for(fd(), wait_events, deadline_ns)) {
        break;
      }
    }
  } catch (const Error&) {
    // The peer is already gone.
  }
  stream_->hang_up(deadline_ns);
}

}  // namespace framewire
