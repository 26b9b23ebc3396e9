// A viewer with a hostile sender: a real subscriber that listens, and a peer that does what its input says. When the
// peer has closed, the session must end.
//
// Input: one byte of settings, then the peer's steps (hostile_peer.hpp).
#include "base/clock.hpp"
#include "command/terminal_log.hpp"
#include "memory/available_memory.hpp"
#include "tests/fuzz/hostile_peer.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {

/// In place of that in memory/: a viewer takes rings of half of what is free, and many fuzzers may run here.
std::uint64_t available_memory_bytes() {
  return std::uint64_t{64} << 20;
}

}  // namespace framewire

namespace framewire::fuzz {
namespace {

constexpr std::size_t max_steps = 24;

/// As a program does. Keeps the newest frame with `keeps`, so that its slot stays in use.
void take_frames(Subscriber& subscriber, bool keeps, std::optional<ReceivedFrame>& kept) {
  subscriber.confirm_epoch(subscriber.status().epochs_begun);
  while (auto frame = subscriber.next()) {
    require(frame->payload().size() == frame->header().layout.size_bytes, "a frame is whole");
    require(!validate_layout(frame->header().layout, frame->payload().size()), "its planes lie in it");
    unsigned sum = 0;
    for (const std::byte byte : frame->payload()) {
      sum += std::to_integer<unsigned>(byte);  // reads all of it
    }
    require(sum <= 255 * frame->payload().size(), "a sum is a sum");
    if (keeps) {
      kept = std::move(frame);
    }
  }
}

void check(std::uint8_t settings, Input& input) {
  static std::FILE* const to = is_verbose() ? stderr : std::fopen("/dev/null", "w");
  TerminalLog log(to, "fuzz", true);
  SubscriberOptions options{.endpoint = {}, .stream = {}, .delivery = {}};
  options.endpoint.listen = HostPort{"127.0.0.1", 0};
  options.endpoint.encrypt = (settings & 2) != 0;
  options.confirms_epochs = (settings & 8) != 0;
  options.takes_messages = (settings & 32) != 0;
  Subscriber subscriber(options, log);
  std::optional<ReceivedFrame> kept;
  const bool keeps = (settings & 1) != 0;
  succeeds([&] {
    HostilePeer peer(subscriber.port(), PeerRole::sender, (settings & 4) == 0);
    for (std::size_t steps = 0; steps < max_steps && !input.is_empty(); ++steps) {
      peer.take_step(input);
      take_frames(subscriber, keeps, kept);
      if ((settings & 16) != 0) {
        subscriber.ask_cadence({.period_ns = usual_cadence_ns, .shift_ns = INT64_MAX});
      }
      if ((settings & 32) != 0) {
        subscriber.send_input({.viewer = "0123456789abcdef", .epoch = 1, .events = {{1, TextInput{"a"}}}});
        subscriber.send_message("{}");
        const auto body = subscriber.take_message();
        require(!body || body->starts_with('{'), "a message is an object");
      }
    }
  });
  // The fuzzer ends a run that takes 20 s.
  while (subscriber.status().state == SubscriberState::connected) {
    take_frames(subscriber, keeps, kept);
    subscriber.wait(monotonic_ns() + 10 * ns_per_ms);
  }
  require_printable(subscriber.status().message);
  require_printable(subscriber.status().cadence_refusal);
  require_printable(subscriber.status().input_refusal);
  require_printable(subscriber.status().message_refusal);
  if (is_verbose()) {
    std::fprintf(stderr, "%s %s\n", subscriber.status().start_line.c_str(), subscriber.status().message.c_str());
  }
  require_printable(subscriber.status().start_line);
  subscriber.close({});
  const SubscriberCounts counts = subscriber.counts();
  require(counts.bytes_received >= counts.frames_received || counts.frames_received == 0 || counts.bytes_received == 0,
          "bytes and frames are counted together");
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string zero(1, '\0');
  const std::string joined =
      step(Step::hello) + step(Step::offer, zero) + step(Step::connect) + step(Step::open_data, zero);
  const std::string epoch = step(Step::epoch, "\1\3\4");
  const auto frame = [&](char number, char slot) {
    return step(Step::frame, std::string{number, '\1', slot, '\4', '\0', '\0'});
  };
  const std::string watched =
      joined + epoch + frame(0, 0) + frame(0, 1) + step(Step::read_data) + frame(0, 2) + frame(0, 0);
  return {
      zero + watched + step(Step::bye),
      zero + joined + step(Step::epoch, "\1\3\x94") + step(Step::frame, std::string("\0\1\0\x94\0\0", 6)),
      "\1" + watched + watched,
      "\x10" + watched + step(Step::cadence) + frame(0, 1) + step(Step::cadence) + step(Step::bye),
      zero + joined + epoch + step(Step::message, "{\"type\":\"no_cadence\",\"text\":7}\n"),
      "\x20" + watched + step(Step::message, "{\"type\":\"no_input\",\"text\":\"no\\u001b[2J\"}\n") + frame(0, 1) +
          step(Step::message, "{\"type\":\"message\",\"body\":{\"a\":1}}\n") +
          step(Step::message, "{\"type\":\"no_message\",\"text\":\"\"}\n") + step(Step::bye),
      zero + joined + epoch + step(Step::frame, std::string("\0\1\0\4\4\0", 6)) +
          step(Step::frame, std::string("\0\1\0\4\5\0", 6)),
      zero + joined + epoch + step(Step::epoch, "\2\2\5") + step(Step::frame, std::string("\0\2\0\5\0\1", 6)) +
          step(Step::hang_up_data),
      zero + step(Step::hello) + step(Step::offer, "\1") + step(Step::connect) + step(Step::open_data, "\1") +
          step(Step::raw_data, "\4FWLL"),
      zero + step(Step::hello) + step(Step::offer, zero) + step(Step::no_link) + step(Step::bye),
      zero + step(Step::hello) + step(Step::offer, zero) + step(Step::connect) + step(Step::clock, "x"),
      "\x8" + watched + step(Step::refuse),
      "\4" + step(Step::raw_control, "\14FWCTRL01\r\n\r\n") + joined,
      zero + step(Step::hello) +
          step(Step::message,
               "{\"type\":\"offer\",\"session\":\"00000000000000000000000000000000\",\"streams\":[],\"links\":[\"tcp\"]"
               "}\n")};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  framewire::fuzz::run_session_target(data, size, framewire::fuzz::check);
  return 0;
}
