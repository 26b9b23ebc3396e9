#include "transport/session/client_service.hpp"

#include <sys/socket.h>

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/session/handshake.hpp"

namespace framewire {

ClientService::ClientService(std::string role, ServeClient serve, std::string program)
    : role_(std::move(role)), serve_(std::move(serve)), program_(std::move(program)) {}

bool ClientService::greet(AuthenticatedChannel& authenticated, SessionAcceptor& acceptor) {
  std::vector<std::string_view> welcome{"sender"};
  if (!role_.empty()) {
    welcome.emplace_back(role_);
  }
  if (exchange_hellos(*authenticated.channel, "viewer", program_, welcome).role == "sender") {
    return true;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (has_ended_) {
      return false;
    }
    served_fd_ = duplicate(authenticated.channel->fd());
    is_serving_ = true;
  }
  serve_(authenticated, acceptor);
  const std::scoped_lock lock(mutex_);
  served_fd_.reset();
  is_serving_ = false;
  served_changed_.notify_all();
  return false;
}

bool ClientService::is_free_soon() {
  std::unique_lock lock(mutex_);
  return served_changed_.wait_for(lock, std::chrono::seconds(1), [&] { return !is_serving_ || has_ended_; });
}

void ClientService::end() noexcept {
  const std::scoped_lock lock(mutex_);
  has_ended_ = true;
  ::shutdown(served_fd_.get(), SHUT_RDWR);  // without a client the descriptor is -1, and this has no effect
  served_changed_.notify_all();
}

}  // namespace framewire
