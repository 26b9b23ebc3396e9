#include "transport/session/data_wait.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "transport/session/data_link.hpp"

namespace framewire {

DataWait::DataWait(Door& door, const DataConnection& connection, MessageChannel& channel)
    : door_(door),
      connection_(connection),
      channel_(channel),
      deadline_ns_(monotonic_ns() + data_connection_timeout_ns) {}

DataWait::~DataWait() {
  door_.forget(connection_);
}

std::optional<Arrival> DataWait::next() {
  constexpr std::int64_t look_around_ns = 50 * ns_per_ms;
  auto arrival = door_.await_data(connection_, std::min(deadline_ns_, monotonic_ns() + look_around_ns));
  if (arrival) {
    return arrival;
  }
  if (!message_) {
    if (auto message = channel_.try_receive()) {
      message_ = std::make_unique<nlohmann::json>(std::move(*message));
    }
  }
  if (monotonic_ns() >= deadline_ns_) {
    throw Error::lost_peer(
        "the peer did not open its data connection in time; does a firewall let the port through twice?");
  }
  return std::nullopt;
}

std::unique_ptr<nlohmann::json> DataWait::take_message() noexcept {
  return std::move(message_);
}

}  // namespace framewire
