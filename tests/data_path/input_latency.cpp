// How long input takes from Subscriber::send_input() to the queue of the stream's source, while 3840x2160 at 60 fps
// streams: a measurement, which scripts/input-latency starts. Sender and viewer are threads of this one process, and
// the frames go over its Unix socket or through shared memory.
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "transport/link_kinds.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

constexpr std::int64_t frame_ns = ns_per_s / 60;
constexpr std::int64_t between_events_ns = 3'700'000;  // not a part of a frame's time: events come at all times of it
constexpr std::size_t events = 2000;

void produce(Stream& stream) {
  stream.begin_epoch({.layout = packed_layout(PixelFormat::rgba, 3840, 2160), .colour = {}});
  std::int64_t due_ns = monotonic_ns();
  while (auto slot = stream.claim()) {
    stream.publish(std::move(*slot), {.layout = {}});
    due_ns = std::max(due_ns + frame_ns, monotonic_ns());
    if (!stream.sleep_until(due_ns)) {
      break;
    }
  }
  stream.finish();
}

/// Sends one event after the other. Returns how long each took, sorted.
std::vector<std::int64_t> send_events(Subscriber& subscriber, SourceInbox::Reader& reader,
                                      const std::atomic<std::int64_t>& arrived_ns) {
  std::vector<std::int64_t> times_ns;
  while (times_ns.size() < events) {
    wait_until({}, monotonic_ns() + between_events_ns);
    const std::int64_t sent_ns = monotonic_ns();
    if (!subscriber.send_input({.viewer = "0123456789abcdef", .epoch = 1, .events = {{sent_ns, TextInput{"a"}}}}) ||
        !test::eventually([&] { return arrived_ns >= sent_ns; })) {
      break;
    }
    times_ns.push_back(arrived_ns - sent_ns);
    static_cast<void>(reader.take());
  }
  std::ranges::sort(times_ns);
  return times_ns;
}

void measure(LinkKind link) {
  test::KeptLog log;
  Stream stream(StreamOptions{.name = "test"});
  std::atomic<std::int64_t> arrived_ns = 0;
  const auto reader = stream.inbox().open_input([&] { arrived_ns = monotonic_ns(); });
  EndpointOptions endpoint;
  endpoint.allowed_links = {link};
  endpoint.listen = HostPort{"127.0.0.1", 0};
  SenderService service(endpoint, {&stream}, "test", log);
  std::thread source([&] { produce(stream); });
  SubscriberOptions options{.endpoint = endpoint, .stream = {}, .delivery = {}};
  options.endpoint.dial = HostPort{"127.0.0.1", service.port()};
  Subscriber subscriber(options, log);
  std::atomic<bool> is_over = false;
  std::thread viewer([&] {
    while (!is_over) {
      while (subscriber.next()) {
      }
      subscriber.wait(monotonic_ns() + 20 * ns_per_ms);
    }
  });
  test::eventually([&] { return subscriber.counts().frames_received > 30; });
  const std::uint64_t frames_before = subscriber.counts().frames_received;
  const std::int64_t began_ns = monotonic_ns();
  const auto times_ns = send_events(subscriber, *reader, arrived_ns);
  const double seconds = static_cast<double>(monotonic_ns() - began_ns) / 1e9;
  const auto frames = static_cast<double>(subscriber.counts().frames_received - frames_before);
  const auto at = [&](double share) {
    const auto index = static_cast<std::size_t>(share * static_cast<double>(times_ns.size()));
    return times_ns.empty() ? 0.0 : static_cast<double>(times_ns.at(std::min(index, times_ns.size() - 1))) / 1e3;
  };
  std::printf("%-6s %7.1f fps %6zu events   median %7.0f us   p90 %7.0f us   p99 %7.0f us   max %7.0f us\n",
              std::string(name(link)).c_str(), frames / seconds, times_ns.size(), at(0.5), at(0.9), at(0.99), at(1));
  is_over = true;
  viewer.join();
  subscriber.close({});
  stream.stop();
  source.join();
  service.drain(monotonic_ns() + ns_per_s);
}

}  // namespace
}  // namespace framewire

int main() {
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);  // no key of this machine has an effect
  framewire::measure(framewire::LinkKind::local);
  framewire::measure(framewire::LinkKind::tcp);
  return 0;
}
