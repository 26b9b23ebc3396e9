#include <utility>

#include "base/error.hpp"
#include "transport/rdma/rdma_exposure.hpp"
#include "transport/session/feed.hpp"

namespace framewire {

namespace {

class PullFeed final : public Feed {
 public:
  PullFeed(Stream& stream, std::unique_ptr<RdmaConnection> connection, SenderDomains& domains, int wake_event)
      : stream_(stream), exposure_(std::move(connection), domains), wake_event_(wake_event) {}

  ~PullFeed() override { PullFeed::leave(); }

  [[nodiscard]] const Stream* place() const noexcept override { return nullptr; }

  bool join(const Feed*) override {
    has_joined_ = stream_.add_puller(wake_event_);
    return has_joined_;
  }

  /// One at a time: the next is opened when the viewer has left the one before, so that it keeps no more than two in
  /// memory.
  std::optional<EpochMessage> epoch_to_announce() override {
    if (announced_epoch_ != ready_epoch_) {
      return std::nullopt;
    }
    const auto epoch = stream_.epoch_after(announced_epoch_);
    if (!epoch) {
      return std::nullopt;
    }
    const PoolAccess access = exposure_.open(epoch->pool);
    announced_epoch_ = epoch->number;
    return EpochMessage{.number = epoch->number,
                        .format = epoch->format,
                        .slot_bytes = epoch->pool->slot_bytes(),
                        .ring_slots = stream_.options().slots_per_viewer,
                        .pool = access};
  }

  void take_ready(const ReadyMessage& ready) override {
    if (ready.number != announced_epoch_) {
      throw Error::failed("the viewer said ready for a format that it was not told of");
    }
    ready_epoch_ = announced_epoch_;
    exposure_.close_earlier();
  }

  void service() noexcept override {}
  [[nodiscard]] bool is_drained() const override { return stream_.is_finished(); }
  [[nodiscard]] OutletCounts counts() const override { return {}; }
  OutletCounts conclude() noexcept override { return {}; }
  [[nodiscard]] int descriptor() const noexcept override { return exposure_.descriptor(); }
  void on_readable() noexcept override { exposure_.on_readable(); }
  [[nodiscard]] LinkState state() const noexcept override { return exposure_.state(); }
  [[nodiscard]] std::string fault() const override { return exposure_.fault(); }

  std::uint64_t leave() noexcept override {
    if (std::exchange(has_joined_, false)) {
      stream_.remove_puller(wake_event_);
    }
    return 0;
  }

 private:
  Stream& stream_;
  RdmaExposure exposure_;
  int wake_event_;
  bool has_joined_ = false;
  std::uint32_t announced_epoch_ = 0;
  std::uint32_t ready_epoch_ = 0;
};

}  // namespace

std::unique_ptr<Feed> make_pull_feed(Stream& stream, DataPath path, const LinkTerms& terms, int wake_event) {
  return std::make_unique<PullFeed>(stream, std::get<std::unique_ptr<RdmaConnection>>(std::move(path)),
                                    *terms.sender_domains, wake_event);
}

}  // namespace framewire
