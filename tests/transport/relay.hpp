// A host in the middle: passes what comes at a port on to another, keeps what it saw, and can change it.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
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

  /// From now on flips one bit of the next data bytes that go to whoever dialled. Any thread.
  void flip_one_bit() noexcept { flips_ = true; }

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
  std::uint16_t port_ = 0;
  std::atomic<std::uint64_t> data_bytes_ = 0;
  std::atomic<bool> flips_ = false;
  mutable std::mutex mutex_;
  std::vector<std::unique_ptr<Connection>> connections_;
  std::thread thread_;
};

}  // namespace framewire::test
