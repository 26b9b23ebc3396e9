#include "tests/data_path/streaming.hpp"

#include <stdlib.h>

#include <utility>

#include "base/clock.hpp"
#include "base/wait.hpp"
#include "transport/rdma/addresses.hpp"

namespace framewire::test {

namespace {

/// For one message. An emulated device needs many seconds for half a gigabyte, and allocating it takes as long again.
constexpr std::int64_t message_timeout_ns = 120 * ns_per_s;
constexpr std::int64_t shutdown_timeout_ns = 10 * ns_per_s;

EndpointOptions endpoint_of(LinkKind link) {
  EndpointOptions options;
  options.allowed_links = {link};
  options.may_choose_link = false;
  options.native_on_loopback = link == LinkKind::rdma;
  return options;
}

}  // namespace

std::vector<LinkKind> links_here() {
  std::vector<LinkKind> links{LinkKind::local, LinkKind::tcp};
  if (!rdma_addresses().empty()) {
    links.push_back(LinkKind::rdma);
  }
  return links;
}

std::vector<LinkKind> rdma_if_here() {
  std::vector<LinkKind> links = links_here();
  std::erase_if(links, [](LinkKind link) { return link != LinkKind::rdma; });
  return links;
}

bool is_emulated() {
  return std::getenv("FRAMEWIRE_LAB_HOSTS") != nullptr;
}

Streaming::Streaming(const StreamingPlan& plan, Fill fill) : wait_(plan.wait) {
  ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1);
  stream_ = std::make_unique<Stream>(StreamOptions{.name = "test",
                                                   .delivery = plan.delivery,
                                                   .slots_per_viewer = plan.slots,
                                                   .max_viewers = plan.viewers,
                                                   .one_in_flight = plan.one_in_flight,
                                                   .wait = plan.wait});
  EndpointOptions listening = endpoint_of(plan.link);
  listening.listen = HostPort{"127.0.0.1", 0};
  service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{stream_.get()}, "test", log_);
  SubscriberOptions dialling{.endpoint = endpoint_of(plan.link), .stream = {}, .delivery = {}, .reconnect = false};
  dialling.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
  dialling.takes_slices = plan.slices > 1;
  while (viewers_.size() < plan.viewers) {
    viewers_.push_back({.subscriber = std::make_unique<Subscriber>(dialling, log_)});
  }
  source_ = std::thread([this, plan, fill = std::move(fill)] {
    set_thread_name("source");
    produce(plan, fill);
  });
}

Streaming::~Streaming() {
  for (const Viewer& viewer : viewers_) {
    viewer.subscriber->close({});
  }
  stream_->stop();
  source_.join();
  service_->drain(monotonic_ns() + shutdown_timeout_ns);
  service_.reset();
}

void Streaming::produce(const StreamingPlan& plan, const Fill& fill) {
  stream_->begin_epoch({.layout = bytes_layout(plan.slot_bytes), .colour = {}}, plan.slot_bytes);
  // A viewer that joins later would miss the first messages. The owner receives from the viewers in turn: it would wait
  // for a message that this viewer never gets, while the stream waits for a slot of another viewer.
  while (stream_->viewer_count() < plan.viewers && stream_->sleep_until(monotonic_ns() + ns_per_ms)) {
  }
  while (auto slot = stream_->claim()) {
    const auto bytes = fill(slot->bytes(), slot->next_sequence());
    if (!bytes) {
      break;
    }
    const FrameInfo info{.layout = bytes_layout(*bytes)};
    if (plan.slices == 1) {
      stream_->publish(std::move(*slot), info);
      continue;
    }
    auto frame = stream_->begin_frame(std::move(*slot), info, plan.slices);
    for (std::uint16_t i = 0; frame && i < frame->slice_count(); ++i) {
      frame->publish(i);
    }
  }
  stream_->finish();
}

std::optional<ReceivedFrame> Streaming::receive(std::size_t number) {
  Viewer& viewer = viewers_[number];
  const std::int64_t deadline_ns = monotonic_ns() + message_timeout_ns;
  for (;;) {
    auto frame = viewer.subscriber->next();
    while (frame && !frame->is_complete()) {
      frame = viewer.subscriber->next();
    }
    if (frame) {
      return frame;
    }
    if (is_over(number) || monotonic_ns() >= deadline_ns) {
      return std::nullopt;
    }
    ++waits_;
    viewer.subscriber->wait(deadline_ns, wait_);
  }
}

bool Streaming::is_over(std::size_t number) {
  Viewer& viewer = viewers_[number];
  const std::uint64_t version = viewer.subscriber->status_version();
  if (version == viewer.seen_version) {
    return false;
  }
  viewer.seen_version = version;
  const SubscriberState state = viewer.subscriber->status().state;
  return state == SubscriberState::finished || state == SubscriberState::failed || state == SubscriberState::lost;
}

}  // namespace framewire::test
