// The descriptors of a simulated world.
#pragma once

#include <cerrno>
#include <cstddef>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "tests/sim/sockets.hpp"
#include "tests/sim/world.hpp"

namespace framewire::sim {

/// Their numbers begin here; other numbers are the C library's.
inline constexpr int first_fd = 1 << 20;

/// The open descriptors. Numbers are not used again, so that the use of a closed one is seen.
class Descriptors {
 public:
  int add(FilePointer file);
  void clear();
  [[nodiscard]] std::size_t size() const noexcept { return files_.size(); }

  /// The simulation fails if it is not open: a program that uses a closed descriptor may use somebody else's.
  [[nodiscard]] FilePointer file(const World& world, int fd) const;
  void close(const World& world, int fd);

  /// The process is dead: its peers find its sockets closed. Its threads, if any ever run again, find them broken.
  void kill(const World& world, int process);
  /// Nothing that the process sends over the network arrives any more, and nothing reaches it: its machine is gone.
  void silence(World& world, int process);

 private:
  struct Open {
    FilePointer file;
    int process;  // that made or got the descriptor
  };
  [[nodiscard]] std::vector<std::shared_ptr<Socket>> sockets_of(int process) const;

  std::map<int, Open> files_;
  int next_fd_ = first_fd;
};

Descriptors& descriptors();

/// The world, if it has this descriptor.
inline World* world_of(int fd) noexcept {
  return fd >= first_fd ? World::current() : nullptr;
}

template <typename Kind>
std::shared_ptr<Kind> file_of(World& world, int fd) {
  return std::dynamic_pointer_cast<Kind>(descriptors().file(world, fd));
}

/// A failed call: sets errno and returns -1.
inline int failed(int error_number) noexcept {
  errno = error_number;
  return -1;
}

/// Closes all and forgets who listens: for a new world. Call it inside the world, so that sockets can close.
void clear_descriptors();
/// How many are open.
std::size_t open_descriptors();

}  // namespace framewire::sim
