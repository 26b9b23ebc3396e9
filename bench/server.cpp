#include "bench/server.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <string>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/bench_protocol.hpp"
#include "bench/bench_service.hpp"
#include "bench/row_meter.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

namespace {

/// What the server of a row has to say; the client has its table.
void print_row(const EndResult& result, double gigabytes) {
  print_line(fmt::format("{:<6} {:>9} messages {}, one way p50 {:.1f} us p99 {:.1f} us ± {:.1f} us, {:.3f} CPU s/GB",
                         result.transport, result.count, speed_text(result, gigabytes), result.latency_us.p50,
                         result.latency_us.p99, result.latency_uncertainty_us,
                         result.cpu_seconds / std::max(gigabytes, 1e-9)));
}

void serve_row(Subscriber& subscriber, const std::atomic<bool>& stop, bool prints) {
  RowMeter meter(subscriber);
  meter.take_all([&] { return !stop; });
  const EndResult result = meter.result();
  subscriber.close(end_result_to_json(result));
  if (prints && result.count > 0) {
    print_row(result, meter.gigabytes());
  }
}

}  // namespace

void serve_rows(const EndpointOptions& endpoint, int port_pipe, const std::atomic<bool>& stop, bool prints, Log& log) {
  EndpointOptions here = endpoint;
  for (bool is_first = true; !stop; is_first = false) {
    Subscriber subscriber(
        {.endpoint = here,
         .stream = {},
         .delivery = {},
         .reconnect = false,
         .program = "framewire-bench " FRAMEWIRE_VERSION,
         .client_role = bench_role,
         .serve_client = [&](AuthenticatedChannel& client,
                             SessionAcceptor& acceptor) { serve_bench_row(client, acceptor, endpoint, prints, log); }},
        log);
    if (is_first && prints) {
      log.info(subscriber.status().message);
    }
    here.listen->port = subscriber.port();  // the same one for every row
    if (port_pipe >= 0) {
      const std::string text = std::to_string(subscriber.port()) + "\n";
      if (::write(port_pipe, text.data(), text.size()) < 0) {
        throw Error::from_errno("tell the port of the server", errno);
      }
      port_pipe = -1;
    }
    serve_row(subscriber, stop, prints);
  }
}

}  // namespace framewire
