// framewire send: streams, their sessions, and reports about them.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "command/frame_memory.hpp"
#include "command/interruption.hpp"
#include "command/terminal_log.hpp"
#include "sender/event_writer.hpp"
#include "sender/message_port.hpp"
#include "sender/options.hpp"
#include "sender/reports.hpp"
#include "sender/running_stream.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire {

/// Owns the streams, the service and the reports. Used on the main thread; each stream runs on a thread of its own.
class SenderProgram {
 public:
  /// Opens the sources. Throws Error, also when interrupted.
  SenderProgram(const SenderOptions& options, Interruption& interruption, TerminalLog& log);
  ~SenderProgram();
  SenderProgram(const SenderProgram&) = delete;
  SenderProgram& operator=(const SenderProgram&) = delete;

  /// Starts listening or dialling. Throws Error, also when interrupted.
  void start_service();

  /// Where it listens; 0 if it dials. Call start_service() before.
  [[nodiscard]] std::uint16_t port() const noexcept { return service_->port(); }

  /// Sends until all sources have ended, each stream has reached its limit, or it is interrupted. Call start_service()
  /// before. A source that fails ends its own stream only. Throws Error at the end if a source failed, or when the
  /// viewer refuses.
  ExitStatus run();

 private:
  [[nodiscard]] StreamOptions stream_options(const SourceOptions& source) const;
  void open_stream(const SourceOptions& source);
  void open_ports(std::span<Stream* const> streams);
  void follow();
  void show_progress();
  void tell_failures();
  void stop_streams();
  ExitStatus finish();
  void await_viewers();
  [[nodiscard]] bool all_ended() const;
  [[nodiscard]] std::vector<StreamResult> results() const;
  void throw_failure() const;

  const SenderOptions& options_;
  Interruption& interruption_;
  TerminalLog& log_;
  FileDescriptor wake_event_ = make_eventfd();
  FrameMemory memory_;
  std::vector<std::unique_ptr<RunningStream>> streams_;
  std::unique_ptr<EventWriter> events_;  // --events
  std::unique_ptr<SenderMessagePort> messages_;
  std::unique_ptr<SenderService> service_;
  std::int64_t last_progress_ns_ = 0;
};

}  // namespace framewire
