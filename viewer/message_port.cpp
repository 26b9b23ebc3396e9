#include "viewer/message_port.hpp"

#include <algorithm>

#include "base/text.hpp"

namespace framewire {

ViewerMessagePort::ViewerMessagePort(PortDescriptors descriptors, Log& log)
    : log_(log),
      port_(descriptors, "fw-messages",
            {.next_line = [this] { return next_line(); },
             .on_line = [this](std::optional<std::string_view> line) { send_line(line); },
             .on_closed = [this] { log_.warning("--messages: nobody reads the senders' messages any more"); }}) {
  port_.start();
}

ViewerMessagePort::~ViewerMessagePort() {
  port_.stop();
  if (bad_lines_ + lost_lines_ > 0) {
    log_.warning("--messages: " + std::to_string(bad_lines_) + " lines were ignored, and " +
                 std::to_string(lost_lines_) + " found no sender");
  }
}

ViewedSource ViewerMessagePort::with_messages(ViewedSource source) {
  source.subscriber.takes_messages = true;
  source.subscriber.on_message = [this] { port_.wake(); };
  return source;
}

void ViewerMessagePort::add(ViewedStream& stream) {
  {
    const std::scoped_lock lock(mutex_);
    streams_.push_back(&stream);
  }
  port_.wake();  // messages may have come before
}

void ViewerMessagePort::remove(const ViewedStream& stream) noexcept {
  const std::scoped_lock lock(mutex_);
  std::erase(streams_, &stream);
}

/// Of each stream in turn.
std::optional<std::string> ViewerMessagePort::next_line() {
  const std::scoped_lock lock(mutex_);
  for (std::size_t tried = 0; tried < streams_.size(); ++tried) {
    turn_ = turn_ < streams_.size() ? turn_ : 0;
    ViewedStream& stream = *streams_[turn_];
    ++turn_;
    if (const auto body = stream.take_message()) {
      return message_line(*body, stream.stream_name());
    }
  }
  return std::nullopt;
}

/// False: there is no such stream, or it has no sender that takes it.
bool ViewerMessagePort::send(const MessageLine& message) {
  const std::scoped_lock lock(mutex_);
  const auto stream = std::ranges::find_if(
      streams_, [&](const auto* one) { return message.stream.empty() || one->stream_name() == message.stream; });
  return stream != streams_.end() && (*stream)->send_message(message.body);
}

void ViewerMessagePort::send_line(std::optional<std::string_view> line) {
  const auto message = line ? read_message_line(*line) : std::nullopt;
  if (!message) {
    if (++bad_lines_ == 1) {
      log_.warning("--messages: ignores lines that are no JSON object of up to 64 KiB: " +
                   quote(line.value_or("(longer than 64 KiB)")));
    }
    return;
  }
  if (!send(*message) && ++lost_lines_ == 1) {
    log_.warning("--messages: a line found no sender: " + quote(*line));
  }
}

}  // namespace framewire
