#include "tests/sim/descriptors.hpp"

#include <algorithm>
#include <string>

namespace framewire::sim {

int Descriptors::add(FilePointer file) {
  const int fd = next_fd_++;
  files_[fd] = {.file = std::move(file), .process = World::current()->process()};
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
  return found->second.file;
}

/// Those that no other process has, too.
std::vector<std::shared_ptr<Socket>> Descriptors::sockets_of(int process) const {
  std::vector<std::shared_ptr<Socket>> own;
  for (const auto& one : files_) {
    const auto& open = one.second;
    const bool is_shared = std::ranges::any_of(
        files_, [&](const auto& other) { return other.second.process != process && other.second.file == open.file; });
    if (auto socket = std::dynamic_pointer_cast<Socket>(open.file); socket && open.process == process && !is_shared) {
      own.push_back(std::move(socket));
    }
  }
  return own;
}

void Descriptors::kill(const World& world, int process) {
  world.trace("process %d dies", process);
  for (const auto& socket : sockets_of(process)) {
    socket->hang_up();
    if (socket->is_connected()) {
      socket->in->resets_ns = world.now_ns();
    }
  }
}

void Descriptors::silence(World& world, int process) {
  world.trace("process %d falls silent", process);
  for (const auto& socket : sockets_of(process)) {
    if (socket->domain != AF_UNIX && socket->is_connected()) {
      socket->in->cut(world);
      socket->out->cut(world);
    }
  }
}

void Descriptors::close(const World& world, int fd) {
  const FilePointer last = file(world, fd);
  files_.erase(fd);
  if (last.use_count() > 1) {
    return;
  }
  for (const auto& [number, other] : files_) {
    if (auto* const epoll = dynamic_cast<Epoll*>(other.file.get())) {
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
