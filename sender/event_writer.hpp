// --events: writes the streams' input to the program that runs the sender.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "command/line_port.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Its thread ("fw-events") writes one line of JSON for each event. While its reader stalls, events wait in the
/// readers' queues, which are bounded. When its reader has gone, viewers are told that their input is not taken. The
/// main thread owns it. The streams and the log outlive it.
class EventWriter {
 public:
  /// Throws Error.
  EventWriter(PortDescriptors descriptors, std::span<Stream* const> streams, Log& log);
  /// Writes what its reader takes at once, and logs what was dropped.
  ~EventWriter();
  EventWriter(const EventWriter&) = delete;
  EventWriter& operator=(const EventWriter&) = delete;

 private:
  struct Input {
    Stream* stream = nullptr;
    std::unique_ptr<SourceInbox::Reader> reader;
  };

  std::optional<std::string> next_line();
  void close();

  Log& log_;
  LinePort port_;
  std::vector<Input> inputs_;  // the port's thread, once it runs, as the next ones
  std::size_t turn_ = 0;       // whose batch it is
  std::optional<InputBatch> batch_;
  std::size_t written_ = 0;  // of its events
};

}  // namespace framewire
