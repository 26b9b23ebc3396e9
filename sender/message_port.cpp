#include "sender/message_port.hpp"

#include <algorithm>

#include "base/text.hpp"
#include "transport/session/input_messages.hpp"

namespace framewire {

SenderMessagePort::SenderMessagePort(PortDescriptors descriptors, std::span<Stream* const> streams, Log& log)
    : log_(log),
      streams_(streams.begin(), streams.end()),
      port_(
          descriptors, "fw-messages",
          {.next_line = [this] { return next_line(); },
           .on_line = [this](std::optional<std::string_view> line) { send_line(line); },
           .on_closed =
               [this] {
                 log_.warning("--messages: nobody reads the viewers' messages any more; they are refused from now on");
                 refuse_messages();
               }}) {
  for (Stream* const stream : streams_) {
    stream->inbox().take_messages([this] { port_.wake(); });
  }
  port_.start();
}

SenderMessagePort::~SenderMessagePort() {
  refuse_messages();
  port_.stop();
  if (bad_lines_ > 0) {
    log_.warning("--messages: " + std::to_string(bad_lines_) + " lines were ignored");
  }
}

void SenderMessagePort::refuse_messages() {
  for (Stream* const stream : streams_) {
    stream->inbox().take_messages({});
  }
}

/// Of each stream in turn.
std::optional<std::string> SenderMessagePort::next_line() {
  for (std::size_t tried = 0; tried < streams_.size(); ++tried) {
    Stream& stream = *streams_.at(turn_);
    turn_ = (turn_ + 1) % streams_.size();
    if (const auto message = stream.inbox().take_message()) {
      return message_line(message->body, streams_.size() > 1 ? stream.options().name : std::string(), message->viewer);
    }
  }
  return std::nullopt;
}

void SenderMessagePort::send_line(std::optional<std::string_view> line) {
  const auto message = line ? read_message_line(*line) : std::nullopt;
  const auto is_meant = [&](const Stream* stream) {
    return message->stream.empty() || stream->options().name == message->stream;
  };
  if (!message || std::ranges::none_of(streams_, is_meant)) {
    if (++bad_lines_ == 1) {
      log_.warning("--messages: ignores lines that are no JSON object of up to 64 KiB, or name another stream: " +
                   quote(line.value_or("(longer than 64 KiB)")));
    }
    return;
  }
  for (Stream* const stream : streams_) {
    if (is_meant(stream)) {
      stream->inbox().broadcast(message->body);
    }
  }
}

}  // namespace framewire
