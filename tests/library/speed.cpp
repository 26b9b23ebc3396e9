// How fast messages go through the C interface, beside the classes beneath it: library_speed TRANSPORT SIZE COUNT RUNS.
// A child process receives. Runs of both take turns; the last line has the ratio of the medians of messages a second.
// Both ends sleep when there is nothing to do, and do not touch the payload, as framewire-bench.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "command/common_options.hpp"
#include "library/include/framewire/framewire.h"
#include "transport/address.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"
#include "transport/stream.hpp"

namespace framewire {

namespace {

struct Plan {
  std::string transport;
  std::uint32_t size_bytes = 0;
  std::uint64_t count = 0;
};

class Silence final : public Log {
 public:
  void line(LogLevel, std::string_view) override {}
};

void must(fw_result result) {
  if (result != FW_OK) {
    throw Error::failed(std::string(fw_result_name(result)) + ": " + fw_message());
  }
}

/// Runs `receive` in a child, with the port that `send` tells it; returns the messages a second.
double measure(const std::function<void(const std::function<void(std::uint16_t)>&)>& send,
               const std::function<void(std::uint16_t)>& receive) {
  int ports[2];
  if (::pipe(ports) != 0) {
    throw Error::failed("no pipe");
  }
  const pid_t child = ::fork();  // before there is any thread
  if (child == 0) {
    std::uint16_t port = 0;
    if (::read(ports[0], &port, sizeof port) != sizeof port) {
      ::_exit(1);
    }
    receive(port);
    ::_exit(0);
  }
  const std::int64_t took_ns = [&] {
    std::int64_t begun_ns = 0;
    send([&](std::uint16_t port) {
      [[maybe_unused]] const auto written = ::write(ports[1], &port, sizeof port);
      begun_ns = monotonic_ns();
    });
    return monotonic_ns() - begun_ns;
  }();
  int status = 0;
  ::waitpid(child, &status, 0);
  ::close(ports[0]);
  ::close(ports[1]);
  if (status != 0) {
    throw Error::failed("the receiver failed");
  }
  return static_cast<double>(took_ns);
}

// ---- By the C interface ----

void send_by_c(const Plan& plan, const std::function<void(std::uint16_t)>& tell_port) {
  const fw_option listen{"listen", "127.0.0.1:0"};
  const fw_settings of_sender{sizeof of_sender, &listen, 1, nullptr, nullptr};
  const fw_option options[] = {{"delivery", "every"}, {"slots", "16"}, {"viewers", "1"}};
  const fw_settings of_stream{sizeof of_stream, options, 3, nullptr, nullptr};
  fw_sender* sender = nullptr;
  fw_stream* stream = nullptr;
  fw_format format{};
  std::uint16_t port = 0;
  must(fw_sender_create(&of_sender, &sender));
  must(fw_sender_add_stream(sender, "speed", &of_stream, &stream));
  must(fw_sender_start(sender));
  must(fw_sender_port(sender, &port));
  must(fw_format_init(&format, sizeof format, FW_PIXEL_BYTES, plan.size_bytes, 1));
  must(fw_stream_begin(stream, &format, 0, nullptr));
  tell_port(port);
  for (std::uint64_t i = 0; i < plan.count; ++i) {
    fw_slot* slot = nullptr;
    fw_view view;
    must(fw_stream_claim(stream, FW_FOR_EVER, 0, &slot));
    must(fw_slot_view(slot, &view, sizeof view));
    must(fw_slot_publish(slot, nullptr));
    fw_slot_unref(slot);
  }
  must(fw_sender_drain(sender, FW_FOR_EVER));
  fw_sender_destroy(sender);
}

void receive_by_c(const Plan& plan, std::uint16_t port) {
  const fw_option options[] = {{"transport", plan.transport.c_str()}, {"read", "caller"}};
  const fw_settings settings{sizeof settings, options, 2, nullptr, nullptr};
  fw_receiver* receiver = nullptr;
  must(fw_receiver_create(("127.0.0.1:" + std::to_string(port)).c_str(), &settings, &receiver));
  fw_frame* frame = nullptr;
  fw_view view;
  while (fw_receiver_acquire(receiver, FW_FOR_EVER, &frame) == FW_OK) {
    must(fw_frame_view(frame, &view, sizeof view));
    fw_frame_unref(frame);
  }
  fw_receiver_destroy(receiver);
}

// ---- By the classes ----

void send_by_classes(const Plan& plan, const std::function<void(std::uint16_t)>& tell_port) {
  Silence log;
  Stream stream({.name = "speed", .delivery = Delivery::every, .slots_per_viewer = 16, .max_viewers = 1});
  EndpointOptions endpoint;
  endpoint.listen = HostPort{.host = "127.0.0.1", .port = 0};
  SenderService service(endpoint, {&stream}, "library_speed", log);
  StreamFormat format;
  format.layout = bytes_layout(plan.size_bytes);
  stream.begin_epoch(format);
  tell_port(service.port());
  for (std::uint64_t i = 0; i < plan.count; ++i) {
    if (auto slot = stream.claim()) {
      stream.publish(std::move(*slot), {});
    }
  }
  stream.finish();
  service.drain(INT64_MAX);
}

void receive_by_classes(const Plan& plan, std::uint16_t port) {
  Silence log;
  EndpointOptions endpoint;
  endpoint.dial = HostPort{.host = "127.0.0.1", .port = port};
  endpoint.allowed_links = {*link_kind_from_name(plan.transport)};
  endpoint.may_choose_link = false;
  SubscriberOptions options{.endpoint = std::move(endpoint), .stream = {}, .delivery = {}, .driver = Driver::program};
  Subscriber subscriber(std::move(options), log);
  for (;;) {
    if (subscriber.next()) {
      continue;
    }
    const SubscriberState state = subscriber.status().state;
    if (state == SubscriberState::finished || state == SubscriberState::failed) {
      break;
    }
    subscriber.wait(INT64_MAX);
  }
  subscriber.close("{}");
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

void run(const Plan& plan, int runs) {
  std::vector<double> by_c;
  std::vector<double> by_classes;
  for (int i = 0; i < runs; ++i) {
    by_c.push_back(measure([&](const auto& tell) { send_by_c(plan, tell); },
                           [&](std::uint16_t port) { receive_by_c(plan, port); }));
    by_classes.push_back(measure([&](const auto& tell) { send_by_classes(plan, tell); },
                                 [&](std::uint16_t port) { receive_by_classes(plan, port); }));
  }
  const auto rate = [&](double took_ns) { return static_cast<double>(plan.count) / took_ns * 1e9; };
  std::printf("%-5s %9u B  C %10.0f/s  classes %10.0f/s  ratio %.2f\n", plan.transport.c_str(), plan.size_bytes,
              rate(median(by_c)), rate(median(by_classes)), median(by_classes) / median(by_c));
}

}  // namespace

}  // namespace framewire

int main(int argc, char** argv) {
  if (argc != 5) {
    std::fputs("usage: library_speed TRANSPORT SIZE COUNT RUNS\n", stderr);
    return 2;
  }
  try {
    framewire::run({.transport = argv[1],
                    .size_bytes = static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10)),
                    .count = std::strtoull(argv[3], nullptr, 10)},
                   std::atoi(argv[4]));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "library_speed: %s\n", error.what());
    return 1;
  }
  return 0;
}
