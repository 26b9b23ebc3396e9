// --messages: exchanges messages between the program that runs the viewer and the streams' senders.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "command/line_port.hpp"
#include "viewer/viewed_stream.hpp"

namespace framewire {

/// Its thread ("fw-messages") writes the senders' messages, one a line, and sends the lines that it reads to the first
/// stream's sender, or to that of the stream that a line names (docs/input.md). It outlives the streams.
class ViewerMessagePort {
 public:
  /// Starts. Throws Error.
  ViewerMessagePort(PortDescriptors descriptors, Log& log);
  /// Writes what its reader takes at once, and logs how many lines were of no use.
  ~ViewerMessagePort();
  ViewerMessagePort(const ViewerMessagePort&) = delete;
  ViewerMessagePort& operator=(const ViewerMessagePort&) = delete;

  /// The source of a stream whose messages it takes: add() the stream. Any thread.
  [[nodiscard]] ViewedSource with_messages(ViewedSource source);
  /// Any thread.
  void add(const std::shared_ptr<ViewedStream>& stream);

 private:
  [[nodiscard]] std::vector<std::shared_ptr<ViewedStream>> streams();
  std::optional<std::string> next_line();
  void send_line(std::optional<std::string_view> line);

  Log& log_;
  std::mutex mutex_;
  std::vector<std::weak_ptr<ViewedStream>> streams_;  // guarded by mutex_
  std::uint64_t bad_lines_ = 0;                       // the port's thread, as the next one
  std::uint64_t lost_lines_ = 0;
  LinePort port_;
};

}  // namespace framewire
