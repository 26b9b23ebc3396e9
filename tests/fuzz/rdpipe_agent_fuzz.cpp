// The messages between the processes of a pipeline: what rdpipe hears of its agents and hops, and an agent of rdpipe.
// No command is run.
//
// Input: one byte whose lowest bit says whether noise before the first message is skipped, then the peer's lines.
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "rdpipe/agent_connection.hpp"
#include "rdpipe/hop_state.hpp"
#include "rdpipe/hop_transfer.hpp"
#include "rdpipe/plan.hpp"
#include "ssh/json_lines.hpp"
#include "ssh/message_fields.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/fuzz/fuzz.hpp"
#include "tests/fuzz/socket_ends.hpp"

namespace framewire::fuzz {
namespace {

using Json = nlohmann::json;

StagePlan some_plan() {
  StagePlan plan{.stage = {.host = "h", .text = "rev"}, .number = 2};
  plan.upstream = HopPlan{.number = 1, .listens = true, .parameters = {.slots = 5, .first_port = 7, .last_port = 9}};
  plan.downstream = HopPlan{.number = 2, .sends = true, .parameters = {.transport = "tcp", .encrypts = true}};
  return plan;
}

HopReport some_report() {
  HopReport report{.number = 1, .sends = true, .result = HopResult::ok, .message = "all is well"};
  report.summary = TransferSummary{.bytes = 1000, .seconds = 0.5, .transport = "tcp"};
  return report;
}

/// rdpipe's side of an agent. Its ssh ends at once, and leaves alone what the input says.
AgentConnection& agent() {
  static const test::TemporaryFolder folder;
  static AgentConnection connection = [] {
    std::filesystem::create_symlink("/bin/true", folder.file("ssh"));
    ::setenv("PATH", folder.path().c_str(), 1);
    std::signal(SIGPIPE, SIG_IGN);  // the programs block it
    return AgentConnection(some_plan(), {});
  }();
  return connection;
}

/// As rdpipe and an agent read it.
void check_plan(const Json& message) {
  succeeds([&] {
    const StagePlan plan = stage_plan_from(message);
    const Json once = to_json(plan);
    require(to_json(stage_plan_from(once)) == once, "a plan comes back as it went");
    describe(plan.stage, plan.number);
    for (const std::optional<HopPlan>& hop : {plan.upstream, plan.downstream}) {
      if (hop) {
        succeeds([&] { endpoint_of(*hop); });
      }
    }
  });
  succeeds([&] {
    const HopTarget target = hop_target_from(message);
    Json once = to_json(target);
    require(to_json(hop_target_from(once)) == once, "a target comes back as it went");
  });
}

void check_reports(const Json& message) {
  HopState hop{.sender = {}, .receiver = {}, .from = 0, .to = 1, .name = "a → b"};
  succeeds([&] { hop.take_connected(message); });
  succeeds([&] {
    hop.bytes = number_in(message, "bytes");
    hop.bytes_per_s = number_in(message, "bytes_per_s");
  });
  succeeds([&] {
    const HopReport report = hop_report_from(message);
    require_printable(report.message);
    const Json once = to_json(report);
    require(to_json(hop_report_from(once)) == once, "a report comes back as it went");
    hop.sent = report;
  });
  const std::vector<HopState> hops = [&] {
    std::vector<HopState> one;
    one.push_back(std::move(hop));
    return one;
  }();
  require_printable(progress_text(hops));
  for (const std::string& line : bandwidths(hops)) {
    require_printable(line);
  }
}

void check_agent(const Json& message) {
  succeeds([&] { agent().take(message); });
  require_printable(agent().why_it_ended());
  if (const auto& facts = agent().facts()) {
    addresses_of(*facts, *facts, {.name = "h"});
  }
  agent().check_liveness(0);
}

void check(std::span<const std::byte> said, bool skips_noise) {
  Ends ends = socket_pair();
  JsonLines lines(std::move(ends.ours), {}, skips_noise);
  const FileDescriptor peer = std::move(ends.peer);
  std::size_t sent = 0;
  std::size_t messages = 0;
  for (bool is_open = true; is_open;) {
    const auto part = said.subspan(sent, std::min<std::size_t>(said.size() - sent, 3000));
    if (part.empty()) {
      ::shutdown(peer.get(), SHUT_WR);
    } else {
      require(::send(peer.get(), part.data(), part.size(), MSG_NOSIGNAL) == static_cast<ssize_t>(part.size()),
              "a socket takes bytes");
      sent += part.size();
    }
    is_open = lines.receive();
    for (Json message; lines.next(message); ++messages) {
      check_plan(message);
      check_reports(message);
      check_agent(message);
    }
    is_open = is_open && lines.fault().empty();
  }
  require(lines.has_ended(), "the peer's end is the end");
  require(messages <= said.size() / 12, "each message has a type");
  require_printable(lines.fault());
}

std::string line_of(const Json& message) {
  return message.dump() + "\n";
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string hello = line_of({{"type", "hello"},
                                     {"protocol", pipeline_protocol},
                                     {"version", "0.1.0"},
                                     {"machine", "m"},
                                     {"reached_at", "192.0.2.1"},
                                     {"addresses", {"192.0.2.1", "2001:db8::1"}},
                                     {"rdma_networks", {"192.168.77.1/24"}}});
  const std::string ends = line_of({{"type", "command_ended"}, {"status", 1}, {"signal", 0}, {"stopped", false}}) +
                           line_of({{"type", "done"}});
  const std::string hop =
      line_of({{"type", "listening"}, {"hop", 0}, {"port", 5290}}) +
      line_of({{"type", "connected"}, {"hop", 0}, {"sends", true}, {"start_line", "transport=tcp"}, {"file", "1f"}}) +
      line_of({{"type", "progress"}, {"hop", 0}, {"bytes", 1000}, {"bytes_per_s", 500}}) +
      line_of(to_json(some_report()));
  return {"\1Welcome!\n\n" + hello + ends, std::string(1, '\0') + hop,
          std::string(1, '\0') + line_of(to_json(some_plan())),
          std::string(1, '\0') + line_of(to_json(HopTarget{.port = 5290, .addresses = {"192.0.2.1"}})) +
              line_of({{"type", "failed"}, {"sentence", "\x1b[31mno"}})};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  framewire::fuzz::Input input(data, size);
  const bool skips_noise = (input.take<std::uint8_t>() & 1) != 0;
  framewire::fuzz::check(input.take_all(), skips_noise);
  return 0;
}
