#include "sender/event_writer.hpp"

#include <utility>

namespace framewire {

EventWriter::EventWriter(PortDescriptors descriptors, std::span<Stream* const> streams, Log& log)
    : log_(log),
      port_(descriptors, "fw-events",
            {.next_line = [this] { return next_line(); }, .on_line = {}, .on_closed = [this] { close(); }}) {
  for (Stream* const stream : streams) {
    inputs_.push_back({.stream = stream, .reader = stream->inbox().open_input([this] { port_.wake(); })});
  }
  port_.start();
}

EventWriter::~EventWriter() {
  port_.stop();
  for (const Input& input : inputs_) {
    if (const std::uint64_t dropped = input.reader->dropped(); dropped > 0) {
      log_.warning("stream " + input.stream->options().name + ": --events: " + std::to_string(dropped) +
                   " events were dropped, because they were not read in time");
    }
  }
}

/// Of each stream in turn.
std::optional<std::string> EventWriter::next_line() {
  for (std::size_t tried = 0; tried <= inputs_.size(); ++tried) {
    if (batch_ && written_ < batch_->events.size()) {
      const std::string stream = inputs_.size() > 1 ? inputs_.at(turn_).stream->options().name : std::string();
      return input_line(*batch_, batch_->events.at(written_++), stream);
    }
    if (inputs_.empty()) {
      break;
    }
    turn_ = (turn_ + 1) % inputs_.size();
    batch_ = inputs_.at(turn_).reader->take();
    written_ = 0;
  }
  return std::nullopt;
}

void EventWriter::close() {
  for (const Input& input : inputs_) {
    input.stream->inbox().set_closing_reason("the program that took the input of this stream has ended");
  }
  inputs_.clear();
  log_.warning("--events: nobody reads the events any more; input of viewers is refused from now on");
}

}  // namespace framewire
