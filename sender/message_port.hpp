// --messages: exchanges messages between the program that runs the sender and the streams' viewers.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/log.hpp"
#include "command/line_port.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// Its thread ("fw-messages") writes the viewers' messages, one a line, and sends the lines that it reads to viewers
/// (docs/input.md). The main thread owns it. The streams and the log outlive it.
class SenderMessagePort {
 public:
  /// Throws Error.
  SenderMessagePort(PortDescriptors descriptors, std::span<Stream* const> streams, Log& log);
  /// Writes what its reader takes at once, and logs how many lines were of no use.
  ~SenderMessagePort();
  SenderMessagePort(const SenderMessagePort&) = delete;
  SenderMessagePort& operator=(const SenderMessagePort&) = delete;

 private:
  std::optional<std::string> next_line();
  void send_line(std::optional<std::string_view> line);
  void refuse_messages();

  Log& log_;
  std::vector<Stream*> streams_;
  LinePort port_;
  std::size_t turn_ = 0;  // the port's thread, as the next one
  std::uint64_t bad_lines_ = 0;
};

}  // namespace framewire
