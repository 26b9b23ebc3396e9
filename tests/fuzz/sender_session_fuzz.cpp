// A sender with a hostile viewer: a real service, a stream that produces frames, and a peer that does what its input
// says. When the peer has closed, the session must end.
//
// Input: one byte of settings, then the peer's steps (hostile_peer.hpp).
#include <cstdlib>
#include <thread>

#include "base/clock.hpp"
#include "command/terminal_log.hpp"
#include "tests/fuzz/hostile_peer.hpp"
#include "transport/session/sender_service.hpp"

namespace framewire::fuzz {
namespace {

constexpr std::size_t max_steps = 24;

/// What a viewer asks for, whatever that is, a source can follow.
void follow_cadence(SourceCadence& cadence) {
  if (const auto change = cadence.take_change()) {
    require(std::abs(change->period_ns - usual_cadence_ns) <= usual_cadence_ns / 50, "a period is near the source's");
    require(std::abs(change->shift_ns) <= usual_cadence_ns, "a shift is at most a period");
  }
}

/// What a viewer sends, whatever that is, is valid and bounded.
void take_input(Stream& stream, SourceInbox::Reader* input) {
  while (const auto batch = input != nullptr ? input->take() : std::nullopt) {
    require(batch->viewer.size() == 16 && !batch->events.empty(), "input has a viewer and events");
  }
  while (const auto message = stream.inbox().take_message()) {
    require(message->viewer != 0 && message->body.starts_with('{'), "a message is an object");
    stream.inbox().broadcast(message->body);
  }
}

void produce(Stream& stream, SourceInbox::Reader* input) {
  std::uint64_t produced = 0;
  stream.begin_epoch({.layout = bytes_layout(9000), .colour = {}});
  while (auto slot = stream.claim()) {
    follow_cadence(stream.cadence());
    take_input(stream, input);
    if (produced % 3 == 0) {
      stream.publish(std::move(*slot), {.layout = {}});
    } else if (auto frame = stream.begin_frame(std::move(*slot), {.layout = {}}, 2)) {
      frame->publish(1);
      if (produced % 3 == 1) {
        frame->publish(0);
      }
    }
    if (++produced % 16 == 0) {
      stream.begin_epoch({.layout = bytes_layout(9000 + produced), .colour = {}});
    }
  }
  stream.finish();
}

void check(std::uint8_t settings, Input& input) {
  static std::FILE* const to = is_verbose() ? stderr : std::fopen("/dev/null", "w");
  TerminalLog log(to, "fuzz", true);
  Stream stream(StreamOptions{
      .name = "test", .delivery = (settings & 1) != 0 ? Delivery::every : Delivery::latest, .max_frames = 1000});
  if ((settings & 8) != 0) {
    stream.cadence().offer(usual_cadence_ns);
  }
  std::unique_ptr<SourceInbox::Reader> reader;
  if ((settings & 16) != 0) {
    reader = stream.inbox().open_input();
    stream.inbox().take_messages([] {});
  }
  EndpointOptions listening;
  listening.listen = HostPort{"127.0.0.1", 0};
  listening.encrypt = (settings & 2) != 0;
  SenderService service(listening, {&stream}, "fuzz", log);
  std::thread source([&] { produce(stream, reader.get()); });
  succeeds([&] {
    HostilePeer peer(service.port(), PeerRole::viewer, (settings & 4) == 0);
    for (std::size_t steps = 0; steps < max_steps && !input.is_empty(); ++steps) {
      peer.take_step(input);
    }
  });
  stream.stop();
  source.join();
  // The fuzzer ends a run that takes 20 s.
  service.drain(monotonic_ns() + 60 * ns_per_s);
  for (const SessionReport& report : service.reports()) {
    require_printable(report.ending);
    require(report.counts.frames_sent == report.frames_received + report.frames_lost,
            "the frames sent came or were lost");
    const SubscriberQueueCounts& counts = report.counts;
    require(counts.frames_produced == counts.frames_skipped + counts.frames_sent + counts.frames_aborted,
            "the frames produced were sent, skipped or aborted");
  }
  require(stream.viewer_count() == 0, "nobody watches after the last session");
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string joined =
      step(Step::hello) + step(Step::choose, std::string(1, '\0')) + step(Step::open_data, std::string(1, '\0'));
  const std::string ready = step(Step::epoch, "\1\3");
  const std::string credit = step(Step::raw_data, std::string("\x8\1\0\0\0\0\0\0\0", 9));
  const std::string watched =
      joined + ready + step(Step::read_data) + credit + step(Step::clock, "x") + step(Step::read_data);
  const std::string zero(1, '\0');
  const std::string input =
      R"({"type":"input","version":1,"viewer":"0123456789abcdef","epoch":1,"events":[)"
      R"({"type":"key","time_ns":1,"usage":4,"keysym":97,"pressed":true,"repeat":false,"modifiers":0},)"
      R"({"type":"pointer","time_ns":2,"x":1,"y":2,"dx":0.5,"dy":0,"locked":false}]})";
  const std::string message = R"({"type":"message","body":{"score":7}})";
  return {zero + watched + step(Step::bye),
          "\x10" + watched + step(Step::message, input + "\n") + step(Step::message, message + "\n") + credit +
              step(Step::clock, "x") + step(Step::message, input + "\n"),
          zero + watched + step(Step::message, input + "\n") + step(Step::message, message + "\n") + step(Step::bye),
          "\1" + watched + credit + credit,
          "\x8" + watched + step(Step::cadence, "\x70\x90") + step(Step::cadence, "\x7f\xe2") + credit +
              step(Step::cadence, "\xe3\xe3") + step(Step::clock, "x") + step(Step::bye),
          zero + joined + step(Step::cadence, "\x70\x70") + ready +
              step(Step::message, "{\"type\":\"cadence\",\"period_ns\":1e30,\"shift_ns\":\"x\"}\n"),
          zero + joined + step(Step::hang_up_data) + ready,
          zero + step(Step::hello) + step(Step::choose, "\1") + step(Step::open_data, "\1") +
              step(Step::raw_data, "\4FWLL"),
          zero + step(Step::message, "{\"type\":\"hello\",\"role\":\"viewer\",\"program\":\"x\",\"versions\":[1]}\n") +
              step(Step::message,
                   "{\"type\":\"choose\",\"stream\":0,\"link\":\"tcp\",\"delivery\":\"latest\",\"token\":\"\"}\n"),
          "\4" + step(Step::raw_control, "\14FWCTRL01\r\n\r\n") + joined,
          "\2" + step(Step::hello) + step(Step::choose, "\x20") + step(Step::refuse),
          zero + step(Step::hello) + step(Step::end_control)};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  framewire::fuzz::run_session_target(data, size, framewire::fuzz::check);
  return 0;
}
