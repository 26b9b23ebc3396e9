// framewire send: sources, streams, sessions, and reports about them.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "command/interruption.hpp"
#include "command/terminal_log.hpp"
#include "sender/options.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire {

/// Owns everything. Used on the main thread; each source runs on its own thread ("fw-source").
class SenderProgram {
 public:
  /// Opens the sources. Throws Error, also when interrupted.
  SenderProgram(const SenderOptions& options, Interruption& interruption, TerminalLog& log);
  ~SenderProgram();
  SenderProgram(const SenderProgram&) = delete;
  SenderProgram& operator=(const SenderProgram&) = delete;

  /// Starts listening or dialling. Throws Error, also when interrupted.
  void start_service();

  /// Sends until the sources end, a limit is reached, or it is interrupted. Call start_service() before. Throws Error
  /// when a source or a link fails.
  ExitStatus run();

 private:
  struct Running {
    std::unique_ptr<Stream> stream;
    std::unique_ptr<Source> source;
    std::thread thread;
    std::atomic<bool> is_done = false;
    std::string failure;  // written before is_done
  };

  void open_source(const SourceOptions& source, std::uint32_t number);
  void start_source(Running& running);
  void follow();
  void show_progress();
  void stop_streams();
  ExitStatus finish();
  [[nodiscard]] bool all_done() const;
  [[nodiscard]] std::string statistics_json(const std::vector<SessionReport>& reports) const;
  void summarise(const std::vector<SessionReport>& reports);

  const SenderOptions& options_;
  Interruption& interruption_;
  TerminalLog& log_;
  FileDescriptor wake_event_ = make_eventfd();
  std::vector<std::unique_ptr<Running>> running_;
  std::unique_ptr<SenderService> service_;
  std::uint64_t frames_at_last_progress_ = 0;
  std::int64_t last_progress_ns_ = 0;
};

}  // namespace framewire
