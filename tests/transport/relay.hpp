// A man in the middle: forwards the connections of one port to another, keeps their bytes, and can change them.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/file_descriptor.hpp"

namespace framewire::test {

/// Listens on a port of the loopback interface from the constructor to the destructor. Has one thread.
class Relay {
 public:
  explicit Relay(std::uint16_t to_port);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  /// Whether one connection has carried this text, in either direction. Any thread.
  [[nodiscard]] bool saw(std::string_view text) const;
  /// The number of bytes of data connections that went to diallers. Any thread.
  [[nodiscard]] std::uint64_t data_bytes() const noexcept { return data_bytes_; }

  /// Is called on the relay's thread with the data bytes that go to a dialler, and may change them. Returns true when
  /// its work is done.
  using Change = std::function<bool(std::span<std::byte> bytes)>;
  /// Calls `change` from now on until it returns true. Any thread.
  void change(Change change);
  void flip_one_bit();
  /// Ends the connections that it has. Any thread.
  void cut() noexcept;

  /// Stops or resumes reading the data that goes to diallers. Unread data waits in a small receive buffer of the
  /// kernel. Any thread; the change has taken effect on return.
  void hold(bool holds);

  /// From now on, data goes to diallers only as let_through() allows. So a test can take the bytes that went through as
  /// the time on a slow wire. Any thread.
  void throttle() noexcept { allowance_bytes_ = 0; }
  void let_through(std::uint64_t more_bytes) noexcept;

 private:
  struct Connection {
    FileDescriptor dialler;
    FileDescriptor listener;
    std::string to_listener;
    std::string to_dialler;
    bool is_over = false;
  };

  static bool is_data(const Connection& connection) { return connection.to_listener.starts_with("FWDATA"); }
  void run();
  void accept_one();
  void pass_on(Connection& connection, bool is_to_dialler);

  std::uint16_t to_port_;
  FileDescriptor listening_;
  FileDescriptor stop_event_;
  FileDescriptor hold_event_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> data_bytes_ = 0;
  std::atomic<std::uint64_t> allowance_bytes_ = UINT64_MAX;  // UINT64_MAX: not throttled
  mutable std::mutex mutex_;
  Change change_;
  bool is_to_hold_ = false;
  bool holds_ = false;
  std::condition_variable held_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace framewire::test
