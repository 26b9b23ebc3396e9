// A sender and its viewers in this process, with real sessions and one real link between them.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "base/log.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::test {

/// local and tcp; and rdma where there is a device.
std::vector<LinkKind> links_here();

/// Whether this is a machine of scripts/rdma-lab, whose device is a thousand times slower than others.
bool is_emulated();

struct StreamingPlan {
  LinkKind link = LinkKind::local;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slots = 3;
  std::uint32_t viewers = 1;
  Delivery delivery = Delivery::every;
  bool one_in_flight = false;
  WaitMode wait = WaitMode::adaptive;  // of both ends
};

/// Fills a slot with the message of this number, from 0, and says how long it is; nothing after the last one. On the
/// source's thread.
using Fill = std::function<std::optional<std::uint64_t>(std::span<std::byte> slot, std::uint64_t sequence)>;

/// Begins with the constructor; throws Error. receive() belongs to one thread, the owner's.
class Streaming {
 public:
  Streaming(const StreamingPlan& plan, Fill fill);
  /// Ends the stream, if it has not ended by itself.
  ~Streaming();
  Streaming(const Streaming&) = delete;
  Streaming& operator=(const Streaming&) = delete;

  /// The next message for this viewer; waits for it. Nothing when the stream has ended, or does not go on. Every viewer
  /// gets every message from the first on.
  std::optional<ReceivedFrame> receive(std::size_t number = 0);

  /// Whether this viewer's session has ended. Allocates where its status has changed since the last look, which
  /// receive() takes when it finds nothing.
  bool is_over(std::size_t number = 0);

  /// How often receive() found nothing and went to wait.
  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_; }
  [[nodiscard]] const Subscriber& viewer(std::size_t number = 0) const { return *viewers_[number].subscriber; }

 private:
  struct Viewer {
    std::unique_ptr<Subscriber> subscriber;
    std::uint64_t seen_version = 0;
  };

  void produce(const StreamingPlan& plan, const Fill& fill);

  const WaitMode wait_;
  TemporaryFolder folder_;  // a configuration without a key, so that this machine's own does not matter
  Log log_{stderr, "test", false};
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SenderService> service_;
  std::thread source_;
  std::vector<Viewer> viewers_;
  std::uint64_t waits_ = 0;
};

}  // namespace framewire::test
