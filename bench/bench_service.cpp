#include "bench/bench_service.hpp"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_protocol.hpp"
#include "bench/reverse_protocol.hpp"
#include "bench/reverse_server.hpp"
#include "bench/socket_protocol.hpp"
#include "bench/socket_server.hpp"
#include "bench/verbs_server.hpp"
#include "transport/session/messages.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

namespace {

constexpr std::int64_t timeout_ns = 10 * ns_per_s;

/// Nothing from a client that leaves without a word.
std::optional<nlohmann::json> read_request(MessageChannel& channel, Log& log) {
  try {
    return channel.receive(monotonic_ns() + timeout_ns);
  } catch (const Error& error) {
    if (error.status() != ExitStatus::lost_peer) {
      throw;
    }
    log.detail("a client asked for nothing: " + std::string(error.what()));
    return std::nullopt;
  }
}

/// Where the channel has become a session's, that has told its peer itself.
void tell_fault(MessageChannel* channel, const std::string& text) noexcept {
  try {
    if (channel != nullptr) {
      channel->send(fault_message(text), monotonic_ns() + ns_per_s);
    }
  } catch (const std::exception&) {
    // It has gone first: there is nobody left to tell.
  }
}

}  // namespace

void serve_bench_row(AuthenticatedChannel& client, SessionAcceptor& acceptor, const EndpointOptions& endpoint,
                     bool prints, Log& log) noexcept {
  try {
    watch_peer(client.channel->fd(), endpoint.peer_timeout_ns);
    const auto request = read_request(*client.channel, log);
    if (!request) {
      return;
    }
    if (message_type(*request) == reverse_type) {
      serve_reverse_row(*request, client, acceptor, endpoint, prints);
    } else if (message_type(*request) == socket_type) {
      serve_socket_row(*request, *client.channel, acceptor, endpoint, prints);
    } else {
      serve_verbs_row(*request, *client.channel, acceptor, endpoint, prints);
    }
  } catch (const Error& error) {
    if (error.status() != ExitStatus::refused) {
      tell_fault(client.channel.get(), error.what());
    }
    log.warning("a client's row ended early: " + std::string(error.what()));
  } catch (const std::exception& error) {  // no memory
    tell_fault(client.channel.get(), error.what());
    log.warning("a client's row ended early: " + std::string(error.what()));
  }
}

}  // namespace framewire
