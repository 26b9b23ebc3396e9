// Messages between processes of framewire, also on different hosts: one JSON object on each line, over two descriptors.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

/// One thread. Never blocks, and never throws because of the peer.
class JsonLines {
 public:
  JsonLines() = default;
  /// Owns both descriptors and makes them non-blocking. Either may be invalid if nothing is sent that way. With
  /// `skips_noise` everything before the first JSON object is ignored: a login shell may print a greeting. Throws
  /// Error.
  JsonLines(FileDescriptor in, FileDescriptor out, bool skips_noise = false);

  /// To poll for reading.
  [[nodiscard]] int in() const noexcept { return in_.get(); }
  [[nodiscard]] int out() const noexcept { return out_.get(); }
  /// Poll out() for POLLOUT, and call flush(), while this is true.
  [[nodiscard]] bool wants_write() const noexcept { return out_.valid() && !unsent_.empty(); }

  /// Reads what is available, at most 1 MiB more than next() has taken. Returns false once the peer has closed, or
  /// broken the protocol: fault() says which.
  bool receive();
  /// Nothing more will be read. Do not poll in() any more: it would be readable forever.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_ || !fault_.empty(); }
  /// The next complete message; false: none yet.
  bool next(nlohmann::json& message);
  /// Empty if the peer just closed.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

  /// Queues the message, and sends as much as possible now. Drops it if the peer has closed; receive() reports that.
  void send(const nlohmann::json& message);
  void flush() noexcept;
  void close_out() noexcept { out_.reset(); }

 private:
  FileDescriptor in_;
  FileDescriptor out_;
  bool skips_noise_ = false;
  bool has_ended_ = false;
  std::size_t noise_bytes_ = 0;
  std::string received_;
  std::size_t taken_bytes_ = 0;  // of received_, by next(); receive() erases them
  std::string unsent_;
  std::string fault_;
};

}  // namespace framewire
