// A host in the middle: passes what comes at a port on to another, keeps what it saw, and can change it.
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

/// Listens on a port of loopback from the constructor to the destructor; one thread of its own.
class Relay {
 public:
  explicit Relay(std::uint16_t to_port);
  ~Relay();
  Relay(const Relay&) = delete;
  Relay& operator=(const Relay&) = delete;

  [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

  /// Whether it has passed this on, in either direction of one connection. Any thread.
  [[nodiscard]] bool saw(std::string_view text) const;
  /// How many bytes of data connections went to those who dialled. Any thread.
  [[nodiscard]] std::uint64_t data_bytes() const noexcept { return data_bytes_; }

  /// Changes data bytes that go to whoever dialled, as they come; true when it has done what it was to do. On the
  /// relay's thread.
  using Change = std::function<bool(std::span<std::byte> bytes)>;
  /// From now on, until it has returned true. Any thread.
  void change(Change change);
  void flip_one_bit();

  /// Stops to read data that go to whoever dialled, or goes on. What comes meanwhile stands before it, in little memory
  /// of the kernel's. Any thread; has happened when it returns.
  void hold(bool holds);

 private:
  struct Connection {
    FileDescriptor dialler;
    FileDescriptor listener;
    std::string to_listener;
    std::string to_dialler;
    bool is_over = false;
  };

  void run();
  void accept_one();
  void pass_on(Connection& connection, bool is_to_dialler);

  std::uint16_t to_port_;
  FileDescriptor listening_;
  FileDescriptor stop_event_;
  FileDescriptor hold_event_;
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> data_bytes_ = 0;
  mutable std::mutex mutex_;
  Change change_;
  bool is_to_hold_ = false;
  bool holds_ = false;
  std::condition_variable held_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace framewire::test
