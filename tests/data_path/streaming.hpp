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

#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::test {

/// local, tcp, and rdma if there is a device.
std::vector<LinkKind> links_here();

/// rdma, or nothing.
std::vector<LinkKind> rdma_if_here();

/// Whether this is a machine of scripts/rdma-lab. Its device is a thousand times slower than real ones.
bool is_emulated();

struct StreamingPlan {
  LinkKind link = LinkKind::local;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slots = 3;
  std::uint32_t viewers = 1;
  Delivery delivery = Delivery::every;
  bool one_in_flight = false;
  WaitMode wait = WaitMode::adaptive;  // of the source and the viewers
  std::uint16_t slices = 1;            // of a message; receive() returns whole ones
};

/// Fills a slot with message number `sequence`, from 0, and returns its length in bytes. Returns nothing after the last
/// message. Is called on the source's thread.
using Fill = std::function<std::optional<std::uint64_t>(std::span<std::byte> slot, std::uint64_t sequence)>;

/// The constructor starts the stream; throws Error. Call receive() only on the owner's thread.
class Streaming {
 public:
  Streaming(const StreamingPlan& plan, Fill fill);
  /// Ends the stream if it is still running.
  ~Streaming();
  Streaming(const Streaming&) = delete;
  Streaming& operator=(const Streaming&) = delete;

  /// Waits for this viewer's next message. Returns nothing if the stream has ended or a timeout passes. Every viewer
  /// gets all messages from the first on.
  std::optional<ReceivedFrame> receive(std::size_t number = 0);

  /// Whether this viewer's session has ended. Allocates if the status has changed since the last call. receive() calls
  /// it when it finds no message.
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
  TemporaryFolder folder_;  // configuration without a key: this machine's own has no effect
  test::ShownLog log_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SenderService> service_;
  std::thread source_;
  std::vector<Viewer> viewers_;
  std::uint64_t waits_ = 0;
};

}  // namespace framewire::test
