// Messages between the processes of a pipeline: one JSON object on each line, over two descriptors.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/file_descriptor.hpp"

namespace framewire {

/// One thread. Never blocks, never throws for what the other end does.
class JsonLines {
 public:
  JsonLines() = default;
  /// Owns both, and makes them non-blocking; either may be invalid where nothing goes that way. What comes before the
  /// first JSON object is passed over if `skips_noise`: a login shell may greet. Throws Error.
  JsonLines(FileDescriptor in, FileDescriptor out, bool skips_noise = false);

  /// To poll for reading.
  [[nodiscard]] int in() const noexcept { return in_.get(); }
  [[nodiscard]] int out() const noexcept { return out_.get(); }
  /// Poll out() for POLLOUT, and call flush(), while this is true.
  [[nodiscard]] bool wants_write() const noexcept { return out_.valid() && !unsent_.empty(); }

  /// Takes in what is there. False once the other end has closed, or broken the rules: fault() says which.
  bool receive();
  /// Nothing more will be read: polling it would only say so again and again.
  [[nodiscard]] bool has_ended() const noexcept { return has_ended_ || !fault_.empty(); }
  /// The next whole message; false: none yet.
  bool next(nlohmann::json& message);
  /// Empty where the other end just closed.
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

  /// Queues, and sends what can be sent now. What cannot be sent any more is dropped: receive() tells of the end.
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
  std::string unsent_;
  std::string fault_;
};

}  // namespace framewire
