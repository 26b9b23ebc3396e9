// send() and recv() of simulated sockets.
#pragma once

#include <sys/socket.h>
#include <sys/types.h>
#include <sys/uio.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "tests/sim/sockets.hpp"

namespace framewire::sim {

/// As sendmsg(): returns how much was sent, or -1 with errno. May send a part.
ssize_t send_some(World& world, const std::shared_ptr<Socket>& socket, const std::string& bytes, int flags,
                  std::vector<PassedDescriptor> passed);

/// As recvmsg(): appends to `into` and returns its size, or -1 with errno. May give less than has come, but not with
/// `passed`, which takes descriptors.
ssize_t receive_some(World& world, const std::shared_ptr<Socket>& socket, std::string& into, std::size_t wanted,
                     int flags, std::vector<PassedDescriptor>* passed);

std::string gather(std::span<const iovec> parts);
void scatter(const std::string& bytes, std::span<const iovec> parts);
std::size_t size_of(std::span<const iovec> parts);

/// The descriptors that a message to send carries.
std::vector<PassedDescriptor> descriptors_to_pass(World& world, const msghdr& message);
/// Puts descriptors into a received message.
void hand_over(msghdr& message, const std::vector<PassedDescriptor>& passed);

}  // namespace framewire::sim
