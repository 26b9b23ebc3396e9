#include "bench/xdp_rows.hpp"

#include <fmt/format.h>
#include <net/if.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <random>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "bench/protocol.hpp"
#include "bench/xdp/capabilities.hpp"
#include "bench/xdp/frame_rows.hpp"
#include "bench/xdp/network_interface.hpp"
#include "bench/xdp/veth_pair.hpp"
#include "bench/xdp/xdp_port.hpp"
#include "transport/session/handshake.hpp"

namespace framewire {

namespace {

constexpr std::int64_t interface_timeout_ns = 10 * ns_per_s;

FrameRowPlan frame_plan_of(const RowPlan& plan, std::size_t frame_bytes) {
  return {.message_bytes = plan.message_bytes,
          .frame_bytes = frame_bytes,
          .slots = plan.slots,
          .batch = plan.batch,
          .period_ns = plan.period_ns(),
          .is_latency = plan.operation == "latency",
          .touches_payload = plan.touches_payload};
}

EthernetInterface usable_interface(const std::string& name) {
  require_capabilities(false);
  return find_interface(name);
}

/// What became of the row, if this end's set-up fails with `error`: a virtual cable goes with the process at its other
/// end, and then the kernel refuses whatever is asked of its interface, often as an invalid argument.
Error explained(const Error& error, const RowPlan& plan) {
  const bool is_gone = !plan.is_remote && ::if_nametoindex(plan.interface.c_str()) == 0;
  return is_gone ? Error::lost_peer("the virtual cable is gone: the process at its other end has ended") : error;
}

/// This end of a row: its interface and its socket.
class XdpSide {
 public:
  XdpSide(const RowPlan& plan, std::uint32_t row)
      : interface_(usable_interface(plan.interface)),
        port_(interface_, {.mode = plan.mode, .row = row, .spins = plan.wait == WaitMode::spin}),
        own_{.mac = interface_.mac,
             .frame_bytes = port_.payload_bytes(),
             .row = row,
             .is_zero_copy = port_.is_zero_copy()} {
    await_carrier(interface_.name, monotonic_ns() + interface_timeout_ns);  // attaching a program resets some cards
  }

  [[nodiscard]] const XdpEnd& own() const noexcept { return own_; }
  void set_peer(const XdpEnd& peer) noexcept {
    port_.set_peer(peer.mac);
    peer_ = peer;
  }
  [[nodiscard]] XdpPort& port() noexcept { return port_; }
  [[nodiscard]] std::size_t frame_bytes() const noexcept {
    return static_cast<std::size_t>(std::min(own_.frame_bytes, peer_.frame_bytes));
  }
  /// "xdp generic/32 copy"; "half zerocopy": at one end.
  [[nodiscard]] std::string label(const RowPlan& plan) const {
    const bool is_alike = own_.is_zero_copy == peer_.is_zero_copy;
    return fmt::format("xdp {}/{} {}", name(plan.mode), plan.batch,
                       !is_alike           ? "half zerocopy"
                       : own_.is_zero_copy ? "zerocopy"
                                           : "copy");
  }

 private:
  EthernetInterface interface_;
  XdpPort port_;
  XdpEnd own_, peer_;
};

}  // namespace

// ---- The client's part ----

RowResult send_row_of_frames(const RowPlan& plan, FramePort& port, std::size_t frame_bytes,
                             const ServerConnection& server) {
  std::optional<nlohmann::json> result;
  const FrameRowPlan frame_plan = frame_plan_of(plan, frame_bytes);
  const auto is_over = [&](std::uint64_t sent, std::int64_t elapsed_ns) {
    throw_if_interrupted(server.context->interruption);
    return plan.is_over(sent, elapsed_ns);
  };
  const auto poll = [&] {
    result = server.poll();
    return result.has_value();
  };
  const FramesSent sent = server.drive([&] { return FrameSender(port, frame_plan).send(is_over, poll); });
  RowResult row{.plan = plan, .client = {}, .server = {}};
  row.server = side_result_from_json(read_result_message(result ? *result : server.receive()));
  row.client = {.count = sent.messages,
                .seconds = static_cast<double>(sent.end_ns - sent.begin_ns) / 1e9,
                .cpu_seconds = static_cast<double>(sent.cpu_ns) / 1e9,
                .latency_us = latency_of(sent.round_trip_halves),
                .transport = plan.transport};
  return row;
}

RowResult send_xdp_row(const RowPlan& plan, const ServerConnection& server, const nlohmann::json& request) {
  std::optional<XdpSide> side;
  try {
    server.channel().send(request);
    const XdpEnd peer = read_xdp_end_message(server.receive());
    side.emplace(plan, peer.row);
    side->set_peer(peer);
    server.channel().send(xdp_end_message(side->own()));
    expect(server.receive(), "ready");
  } catch (const Error& error) {
    throw CannotBegin(explained(error, plan));
  }
  RowPlan labelled = plan;
  labelled.label = side->label(plan);
  return send_row_of_frames(labelled, side->port(), side->frame_bytes(), server);
}

RowResult measure_xdp_row(const RowPlan& plan, const RowContext& context) {
  const ServerConnection server = connect_to_server(context);
  RowResult row = send_xdp_row(plan, server, xdp_message(plan));
  server.finish();
  return row;
}

// ---- The server's part ----

SideResult receive_row_of_frames(const RowPlan& plan, FramePort& port, std::size_t frame_bytes, MessageChannel& channel,
                                 std::int64_t peer_timeout_ns) {
  const FrameRowPlan frame_plan = frame_plan_of(plan, frame_bytes);
  FrameReceiver receiver(port, frame_plan);  // has its memory before the client begins
  channel.send({{"type", "ready"}});
  const FramesReceived got = receiver.receive([&] {
    static_cast<void>(poll_client(channel, peer_timeout_ns));
    return false;
  });
  const std::int64_t begin_ns = plan.is_remote ? got.ready_ns : got.begin_ns;
  SideResult result{.count = got.messages,
                    .seconds = got.messages > 0 ? static_cast<double>(got.last_ns - begin_ns) / 1e9 : 0,
                    .cpu_seconds = static_cast<double>(got.cpu_ns) / 1e9,
                    .latency_us = plan.is_remote ? LatencyUs{} : latency_of(got.latency),
                    .transport = plan.transport,
                    .frames_lost = got.frames_lost};
  channel.send(result_message(side_result_to_json(result)));
  return result;
}

namespace {

/// Tells the client of what this machine or this user is without.
XdpSide make_server_side(const RowPlan& plan, MessageChannel& channel) {
  try {
    return {plan, std::random_device{}()};
  } catch (const Error& error) {
    if (error.status() == ExitStatus::refused) {
      refuse(channel, std::string("the server: ") + error.what());
    }
    throw;
  }
}

}  // namespace

SideResult receive_xdp_row(const RowPlan& plan, MessageChannel& channel, std::int64_t peer_timeout_ns) {
  XdpSide side = make_server_side(plan, channel);
  channel.send(xdp_end_message(side.own()));
  side.set_peer(read_xdp_end_message(channel.receive(monotonic_ns() + interface_timeout_ns)));
  return receive_row_of_frames(plan, side.port(), side.frame_bytes(), channel, peer_timeout_ns);
}

void serve_xdp_row(const nlohmann::json& request, MessageChannel& channel, const EndpointOptions& endpoint,
                   const std::string& interface, bool prints) {
  RowPlan plan = read_xdp_message(request);
  if (endpoint.encrypt) {
    refuse(channel, "the server takes no frames by XDP: its --encrypt does not allow them");
  }
  if (interface.empty()) {
    refuse(channel, "the server takes no frames by XDP; start it with --interface NAME");
  }
  plan.interface = interface;
  const SideResult result = receive_xdp_row(plan, channel, endpoint.peer_timeout_ns);
  if (prints) {
    const double gigabytes = gigabytes_of(result.count, plan.message_bytes);
    print_line(fmt::format("xdp {:<7} {:>9} messages of {} bytes {}, {} frames lost", name(plan.mode), result.count,
                           plan.message_bytes, speed_text(result, gigabytes), result.frames_lost));
  }
}

}  // namespace framewire
