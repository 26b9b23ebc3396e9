#include "bench/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/failure_text.hpp"
#include "bench/link_row.hpp"
#include "bench/protocol.hpp"
#include "bench/reverse.hpp"
#include "bench/socket_rows.hpp"
#include "bench/verbs_rows.hpp"
#include "bench/xdp_rows.hpp"
#include "transport/session/messages.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/socket_state.hpp"

namespace framewire {

// ---- Rows of a session ----

namespace {

/// The server's line about a row; the client prints the table.
void print_row(const SideResult& result, double gigabytes) {
  print_line(fmt::format("{:<6} {:>9} messages {}, one way p50 {:.1f} us p99 {:.1f} us ± {:.1f} us, {:.3f} CPU s/GB",
                         result.transport, result.count, speed_text(result, gigabytes), result.latency_us.p50,
                         result.latency_us.p99, result.latency_uncertainty_us,
                         result.cpu_seconds / std::max(gigabytes, 1e-9)));
}

void serve_row(Subscriber& subscriber, const std::atomic<bool>& stop, bool prints) {
  RowMeter meter(subscriber);
  meter.take_all([&] { return !stop; });
  const SideResult result = meter.result();
  subscriber.close(side_result_to_json(result));
  if (prints && result.count > 0) {
    print_row(result, meter.gigabytes());
  }
}

}  // namespace

void serve_rows(const BenchServerOptions& options, int port_pipe, const std::atomic<bool>& stop, Log& log) {
  EndpointOptions here = options.endpoint;
  for (bool is_first = true; !stop; is_first = false) {
    Subscriber subscriber(
        {.endpoint = here,
         .stream = {},
         .delivery = {},
         .memory = kinds_besides_host(*options.memory),
         .reconnect = false,
         .driver = Driver::program,
         .program = "framewire-bench " FRAMEWIRE_VERSION,
         .client_role = bench_role,
         .serve_client = [&](AuthenticatedChannel& client,
                             SessionAcceptor& acceptor) { serve_bench_row(client, acceptor, options, log); }},
        log);
    if (is_first && options.prints) {
      log.info(subscriber.status().message);
    }
    here.listen->port = subscriber.port();  // the same port for every row
    if (port_pipe >= 0) {
      const std::string text = std::to_string(subscriber.port()) + "\n";
      if (::write(port_pipe, text.data(), text.size()) < 0) {
        throw Error::from_errno("tell the port of the server", errno);
      }
      port_pipe = -1;
    }
    serve_row(subscriber, stop, options.prints);
  }
}

// ---- Rows without a session, for clients that say hello as `bench` ----

namespace {

constexpr std::int64_t timeout_ns = 10 * ns_per_s;

/// Returns nothing when the client leaves without a message.
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

/// Tells the client about an error. If a session has taken the channel (null), the session has told it already.
void tell_fault(MessageChannel* channel, const std::string& text) noexcept {
  try {
    if (channel != nullptr) {
      channel->send(fault_message(text), monotonic_ns() + ns_per_s);
    }
  } catch (const std::exception&) {
    // The client has already gone.
  }
}

}  // namespace

void serve_bench_row(AuthenticatedChannel& client, SessionAcceptor& acceptor, const BenchServerOptions& options,
                     Log& log) noexcept {
  const auto& [endpoint, interface, memory, prints] = options;
  try {
    watch_peer(client.channel->fd(), endpoint.peer_timeout_ns);
    const auto request = read_request(*client.channel, log);
    if (!request) {
      return;
    }
    if (message_type(*request) == reverse_type) {
      serve_reverse_row(*request, client, acceptor, endpoint, *memory, prints);
    } else if (message_type(*request) == socket_type) {
      serve_socket_row(*request, *client.channel, acceptor, endpoint, prints);
    } else if (message_type(*request) == xdp_type) {
      serve_xdp_row(*request, *client.channel, endpoint, interface, prints);
    } else {
      serve_verbs_row(*request, *client.channel, acceptor, endpoint, prints);
    }
  } catch (const Error& error) {
    if (error.status() != ExitStatus::refused) {
      tell_fault(client.channel.get(), error.what());
    }
    log.warning("a client's row ended early: " + std::string(error.what()));
  } catch (const std::exception& error) {  // no memory
    tell_fault(client.channel.get(), failure_text(error));
    log.warning("a client's row ended early: " + std::string(failure_text(error)));
  }
}

}  // namespace framewire
