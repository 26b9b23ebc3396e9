#include "transport/link_provider.hpp"

#include <poll.h>

#include <algorithm>
#include <utility>

#include "base/error.hpp"
#include "base/wait.hpp"
#include "transport/links.hpp"

namespace framewire {

namespace {

[[noreturn]] void throw_cannot(const LinkProvider& link, const std::string& what) {
  throw Error::failed("the " + std::string(link.traits().name) + " link " + what);
}

}  // namespace

const LinkProvider* find_link_provider(LinkKind kind) noexcept {
  const auto links = link_providers();
  const auto found =
      std::ranges::find_if(links, [kind](const LinkProvider* one) { return one->traits().kind == kind; });
  return found != links.end() ? *found : nullptr;
}

const LinkProvider& link_provider(LinkKind kind) {
  const LinkProvider* const link = find_link_provider(kind);
  if (link == nullptr) {
    throw Error::failed("there is no link of number " + std::to_string(static_cast<unsigned>(kind)));
  }
  return *link;
}

void LinkProvider::require_available() const {
  if (!is_available()) {
    throw Error::failed("--transport is " + std::string(traits().name) + ", and this machine has " +
                        std::string(traits().missing) + "; take another link, or auto");
  }
}

// What a link without these traits is never asked for.

std::unique_ptr<ReadTarget> LinkProvider::make_read_target(LinkConnection, const LinkParameters&) const {
  throw_cannot(*this, "lets no viewer read a pool");
}

// NOLINTNEXTLINE(performance-unnecessary-value-param): links that listen keep the function
std::unique_ptr<LinkListener> LinkProvider::listen(const LinkListenOptions&, OnConnectRequest) const {
  throw_cannot(*this, "has no listener of its own");
}

std::unique_ptr<NativeConnection> LinkProvider::dial(const HostPort&, const LinkDescription&, const ConnectProof&,
                                                     const LinkParameters&) const {
  throw_cannot(*this, "has no listener of its own");
}

std::unique_ptr<NativeConnection> LinkProvider::accept(std::unique_ptr<ConnectRequest>, const LinkParameters&) const {
  throw_cannot(*this, "has no listener of its own");
}

FileDescriptor socket_of(LinkConnection connection) {
  if (auto* const socket = std::get_if<FileDescriptor>(&connection)) {
    return std::move(*socket);
  }
  throw Error::failed("this link needs a plain socket, and its connection is of another kind");
}

void await_first_bytes(int socket, int cancel_fd, std::int64_t deadline_ns) {
  std::array ends{pollfd{.fd = socket, .events = POLLIN, .revents = 0},
                  pollfd{.fd = cancel_fd, .events = POLLRDHUP, .revents = 0}};
  wait_until(ends, deadline_ns);
  if (ends[0].revents == 0 && ends[1].revents != 0) {
    throw Error::lost_peer(session_ended_early);
  }
}

}  // namespace framewire
