#include "transport/session/guests.hpp"

#include <chrono>
#include <string_view>
#include <utility>
#include <vector>

#include "transport/session/handshake.hpp"

namespace framewire {

Guests::Guests(std::string role, ServeGuest serve, std::string program)
    : role_(std::move(role)), serve_(std::move(serve)), program_(std::move(program)) {}

bool Guests::greet(Authenticated& authenticated, Door& door) {
  std::vector<std::string_view> welcome{"sender"};
  if (!role_.empty()) {
    welcome.emplace_back(role_);
  }
  if (exchange_hellos(*authenticated.channel, "viewer", program_, welcome) == "sender") {
    return true;
  }
  {
    const std::scoped_lock lock(mutex_);
    if (has_ended_) {
      return false;
    }
    served_ = authenticated.channel.get();
  }
  serve_(authenticated, door);
  const std::scoped_lock lock(mutex_);
  served_ = nullptr;
  served_changed_.notify_all();
  return false;
}

bool Guests::is_free_soon() {
  std::unique_lock lock(mutex_);
  return served_changed_.wait_for(lock, std::chrono::seconds(1), [&] { return served_ == nullptr || has_ended_; });
}

void Guests::end() noexcept {
  const std::scoped_lock lock(mutex_);
  has_ended_ = true;
  if (served_ != nullptr) {
    served_->close();
  }
  served_changed_.notify_all();
}

}  // namespace framewire
