#include "transport/session/push_subscription.hpp"

#include <algorithm>
#include <utility>

#include "base/error.hpp"

namespace framewire {

namespace {

class PushSubscription final : public Subscription {
 public:
  PushSubscription(Stream& stream, std::unique_ptr<SenderLink> link, Delivery delivery, SharedEvent wake_event)
      : stream_(stream), link_(std::move(link)), queue_(*link_, delivery, std::move(wake_event)) {
    if (delivery == Delivery::latest) {
      link_->bound_send_queue();
    }
    static_cast<void>(link_->access_to(*stream.options().memory));  // so that takes() knows
  }

  ~PushSubscription() override { PushSubscription::leave(); }

  bool join(Subscription* before) override {
    is_attached_ = stream_.attach(queue_, before != nullptr ? before->queue_of(stream_) : nullptr);
    return is_attached_;
  }

  [[nodiscard]] SubscriberQueue* queue_of(const Stream& stream) noexcept override {
    return is_attached_ && &stream == &stream_ ? &queue_ : nullptr;
  }

  [[nodiscard]] std::string memory() const override {
    const MemoryKind& kind = *stream_.options().memory;
    return std::string(kind.name()) + (takes_memory() ? "" : ">host");
  }

  std::optional<EpochMessage> epoch_to_announce() override {
    const auto epoch = stream_.epoch_to_announce(queue_);
    if (!epoch) {
      return std::nullopt;
    }
    link_->begin_epoch(epoch->pool);
    return EpochMessage{.number = epoch->number,
                        .format = epoch->format,
                        .slot_bytes = epoch->pool->slot_bytes(),
                        .ring_slots = stream_.options().slots_per_viewer,
                        .memory = std::string((takes_memory() ? *stream_.options().memory : host_memory()).name())};
  }

  void take_ready(const ReadyMessage& ready) override {
    const std::uint32_t ring_slots = std::min(ready.ring_slots, stream_.options().slots_per_viewer);
    if (!stream_.epoch_ready(queue_, ready.number, ring_slots, ready.ring, ready.takes_slices)) {
      throw Error::failed("the viewer said ready twice for one format, which would give it more than its slots");
    }
  }

  std::int64_t make_progress() noexcept override { return stream_.make_progress(queue_); }
  [[nodiscard]] bool is_drained() const override { return stream_.is_drained(queue_); }
  [[nodiscard]] SubscriberQueueCounts counts() const override { return stream_.counts(queue_); }
  SubscriberQueueCounts conclude() noexcept override { return stream_.conclude(queue_); }
  [[nodiscard]] int descriptor() const noexcept override { return link_->descriptor(); }
  void on_readable() noexcept override { link_->on_readable(); }
  [[nodiscard]] LinkEnd& link() noexcept override { return *link_; }

  std::uint64_t leave() noexcept override {
    if (std::exchange(is_attached_, false)) {
      stream_.detach(queue_);
      acknowledged_ = link_->frames_acknowledged();
      link_.reset();  // after this no thread reads a slot
      stream_.release_held(queue_);
    }
    return acknowledged_;
  }

 private:
  [[nodiscard]] bool takes_memory() const { return link_->takes(*stream_.options().memory); }

  Stream& stream_;
  std::unique_ptr<SenderLink> link_;
  SubscriberQueue queue_;
  bool is_attached_ = false;
  std::uint64_t acknowledged_ = 0;
};

}  // namespace

std::unique_ptr<Subscription> make_push_subscription(Stream& stream, std::unique_ptr<SenderLink> link,
                                                     Delivery delivery, SharedEvent wake_event) {
  return std::make_unique<PushSubscription>(stream, std::move(link), delivery, std::move(wake_event));
}

}  // namespace framewire
