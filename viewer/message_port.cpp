#include "viewer/message_port.hpp"

#include <algorithm>
#include <utility>

#include "base/text.hpp"
#include "transport/session/input_messages.hpp"

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

void ViewerMessagePort::add(const std::shared_ptr<ViewedStream>& stream) {
  {
    const std::scoped_lock lock(mutex_);
    std::erase_if(streams_, [](const auto& one) { return one.expired(); });
    streams_.push_back(stream);
  }
  port_.wake();  // messages may have come before
}

std::vector<std::shared_ptr<ViewedStream>> ViewerMessagePort::streams() {
  const std::scoped_lock lock(mutex_);
  std::vector<std::shared_ptr<ViewedStream>> streams;
  for (const auto& one : streams_) {
    if (auto stream = one.lock()) {
      streams.push_back(std::move(stream));
    }
  }
  return streams;
}

std::optional<std::string> ViewerMessagePort::next_line() {
  for (const auto& stream : streams()) {
    if (const auto body = stream->take_message()) {
      return message_line(*body, stream->stream_name());
    }
  }
  return std::nullopt;
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
  const auto all = streams();
  const auto stream = std::ranges::find_if(
      all, [&](const auto& one) { return message->stream.empty() || one->stream_name() == message->stream; });
  if ((stream == all.end() || !(*stream)->send_message(message->body)) && ++lost_lines_ == 1) {
    log_.warning("--messages: a line found no sender: " + quote(*line));
  }
}

}  // namespace framewire
