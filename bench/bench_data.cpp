#include "bench/bench_data.hpp"

#include <nlohmann/json.hpp>
#include <utility>

#include "base/error.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/pending_data_connection.hpp"

namespace framewire {

IncomingDataConnection await_bench_data(SessionAcceptor& acceptor, const DataConnectionId& connection,
                                        MessageChannel& channel) {
  for (PendingDataConnection wait(acceptor, connection, channel);;) {
    if (auto incoming = wait.next()) {
      return std::move(*incoming);
    }
    if (wait.message() != nullptr) {
      throw Error::failed("the client said " + message_type(*wait.message()) + " where it was to connect");
    }
  }
}

}  // namespace framewire
