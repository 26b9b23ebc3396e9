#include "bench/guest_data.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "transport/session/data_wait.hpp"
#include "transport/session/messages.hpp"

namespace framewire {

Arrival await_guest_data(Door& door, const DataConnection& connection, MessageChannel& channel) {
  for (DataWait wait(door, connection, channel);;) {
    if (auto arrival = wait.next()) {
      return std::move(*arrival);
    }
    if (wait.message() != nullptr) {
      throw Error::failed("the client said " + message_type(*wait.message()) + " where it was to connect");
    }
  }
}

}  // namespace framewire
