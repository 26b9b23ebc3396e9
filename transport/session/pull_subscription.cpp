#include "transport/session/pull_subscription.hpp"

#include <utility>

#include "base/error.hpp"

namespace framewire {

namespace {

class PullSubscription final : public Subscription {
 public:
  PullSubscription(Stream& stream, std::unique_ptr<ReadTarget> read_target, SharedEvent wake_event)
      : stream_(stream), read_target_(std::move(read_target)), wake_event_(std::move(wake_event)) {}

  ~PullSubscription() override { PullSubscription::leave(); }

  [[nodiscard]] SubscriberQueue* queue_of(const Stream&) noexcept override { return nullptr; }

  bool join(Subscription*) override {
    has_joined_ = stream_.add_puller(wake_event_);
    return has_joined_;
  }

  [[nodiscard]] std::string memory() const override { return std::string(stream_.options().memory->name()); }

  /// Announces one epoch at a time: the next one when the viewer has left the previous one. So it keeps at most two in
  /// memory.
  std::optional<EpochMessage> epoch_to_announce() override {
    if (announced_epoch_ != ready_epoch_) {
      return std::nullopt;
    }
    const auto epoch = stream_.epoch_after(announced_epoch_);
    if (!epoch) {
      return std::nullopt;
    }
    LinkDescription pool = read_target_->open(epoch->pool);
    announced_epoch_ = epoch->number;
    return EpochMessage{.number = epoch->number,
                        .format = epoch->format,
                        .slot_bytes = epoch->pool->slot_bytes(),
                        .ring_slots = stream_.options().slots_per_viewer,
                        .pool = std::move(pool),
                        .memory = memory()};
  }

  void take_ready(const ReadyMessage& ready) override {
    if (ready.number != announced_epoch_) {
      throw Error::failed("the viewer said ready for a format that it was not told of");
    }
    ready_epoch_ = announced_epoch_;
    read_target_->close_earlier();
  }

  std::int64_t make_progress() noexcept override { return INT64_MAX; }
  [[nodiscard]] bool is_drained() const override { return stream_.is_finished(); }
  [[nodiscard]] SubscriberQueueCounts counts() const override { return {}; }
  SubscriberQueueCounts conclude() noexcept override { return {}; }
  [[nodiscard]] LinkEnd& link() noexcept override { return *read_target_; }

  std::uint64_t leave() noexcept override {
    if (std::exchange(has_joined_, false)) {
      stream_.remove_puller(wake_event_);
    }
    return 0;
  }

 private:
  Stream& stream_;
  std::unique_ptr<ReadTarget> read_target_;
  SharedEvent wake_event_;
  bool has_joined_ = false;
  std::uint32_t announced_epoch_ = 0;
  std::uint32_t ready_epoch_ = 0;
};

}  // namespace

std::unique_ptr<Subscription> make_pull_subscription(Stream& stream, std::unique_ptr<ReadTarget> read_target,
                                                     SharedEvent wake_event) {
  return std::make_unique<PullSubscription>(stream, std::move(read_target), std::move(wake_event));
}

}  // namespace framewire
