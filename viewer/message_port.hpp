// --messages: exchanges messages between the program that runs the viewer and the streams' senders.
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "command/line_port.hpp"
#include "transport/session/input_messages.hpp"
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
  /// Until remove(), which the stream's destruction must wait for. Any thread.
  void add(ViewedStream& stream);
  void remove(const ViewedStream& stream) noexcept;

 private:
  std::optional<std::string> next_line();
  void send_line(std::optional<std::string_view> line);
  bool send(const MessageLine& message);

  Log& log_;
  std::mutex mutex_;
  // Guarded by mutex_. It owns none, so that no stream ends on its thread.
  std::vector<ViewedStream*> streams_;
  std::size_t turn_ = 0;  // of next_line(); the port's thread, as the next two
  std::uint64_t bad_lines_ = 0;
  std::uint64_t lost_lines_ = 0;
  LinePort port_;
};

}  // namespace framewire
