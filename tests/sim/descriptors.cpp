#include "tests/sim/descriptors.hpp"

#include <string>

namespace framewire::sim {

int Descriptors::add(FilePointer file) {
  const int fd = next_fd_++;
  files_[fd] = std::move(file);
  return fd;
}

void Descriptors::clear() {
  files_.clear();
  next_fd_ = first_fd;
}

FilePointer Descriptors::file(const World& world, int fd) const {
  const auto found = files_.find(fd);
  if (found == files_.end()) {
    world.fail("descriptor " + std::to_string(fd) + " is used, which is closed");
  }
  return found->second;
}

void Descriptors::close(const World& world, int fd) {
  const FilePointer last = file(world, fd);
  files_.erase(fd);
  if (last.use_count() > 1) {
    return;
  }
  for (const auto& [number, other] : files_) {
    if (auto* const epoll = dynamic_cast<Epoll*>(other.get())) {
      epoll->watches.erase(fd);
    }
  }
}

Descriptors& descriptors() {
  static Descriptors all;
  return all;
}

void clear_descriptors() {
  descriptors().clear();
  Network::get().clear();
}

std::size_t open_descriptors() {
  return descriptors().size();
}

}  // namespace framewire::sim
