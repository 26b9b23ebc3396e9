// Lines of text that the program exchanges with the one that runs it, over descriptors of the command line.
#pragma once

#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

#include "base/file_descriptor.hpp"

namespace framewire {

/// As an option names them: "FD" is read and written, "R,W" are two. -1: none.
struct PortDescriptors {
  int reads = -1;
  int writes = -1;
};

/// Of --messages: FD, or R,W. Throws Error (usage) if one is not open, or not for this.
PortDescriptors parse_port(std::string_view text, std::string_view what);
/// Of --events: FD, or "-" for standard output. Throws Error (usage).
PortDescriptors parse_output_port(std::string_view text, std::string_view what);

/// A thread that writes lines as they come, and reads some. Nobody waits for it, whatever is at the other ends: while
/// what it writes is not read, it asks for no more lines.
class LinePort {
 public:
  static constexpr std::size_t max_line_bytes = std::size_t{64} * 1024;

  /// All are called by the port's thread, until stop().
  struct Handlers {
    /// The next line to write, without its end. Nullopt: none now; wake() when there is one.
    std::function<std::optional<std::string>()> next_line;
    /// A line that was read; nullopt: one with more than max_line_bytes.
    std::function<void(std::optional<std::string_view> line)> on_line;
    /// Nobody reads what is written any more. Called once.
    std::function<void()> on_closed;
  };

  /// The descriptors stay the caller's; programs that this one starts do not get them. Throws Error.
  LinePort(PortDescriptors descriptors, const char* thread_name, Handlers handlers);
  ~LinePort() { stop(); }
  LinePort(const LinePort&) = delete;
  LinePort& operator=(const LinePort&) = delete;

  /// Throws std::system_error if there are too many threads.
  void start();
  /// There may be a line to write. Any thread; never waits.
  void wake() noexcept { signal_eventfd(wake_event_.get()); }
  /// Writes what its reader takes at once, and ends the thread. No more lines may come.
  void stop() noexcept;

 private:
  void run() noexcept;
  void wait();
  void write_lines();
  bool write_some();
  void read_some();
  void take_lines();
  void close();

  PortDescriptors descriptors_;
  const char* thread_name_;
  Handlers handlers_;
  FileDescriptor writes_;  // to descriptors_.writes; does not block if it is a pipe or a terminal
  FileDescriptor wake_event_ = make_eventfd();
  FileDescriptor stop_event_ = make_eventfd();
  std::string unwritten_;
  std::string unfinished_;     // what was read of a line
  bool skips_to_end_ = false;  // of a line that is too long
  bool may_read_ = false;      // after wait()
  bool is_socket_ = false;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace framewire
