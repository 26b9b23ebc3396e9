// A link without a wire: both ends in one thread, time by a virtual clock, delays from a seed. It passes the same
// contract suite as the real links, and lets whole sessions be simulated and any failure be replayed from its seed.
#pragma once

#include <cstdint>
#include <memory>

#include "base/clock.hpp"
#include "transport/link.hpp"

namespace framewire {

struct FakeWireOptions {
  std::uint64_t seed = 1;
  std::int64_t shortest_delay_ns = 10 * ns_per_us;
  std::int64_t longest_delay_ns = 5 * ns_per_ms;
};

/// One connection. One thread. The clock outlives it.
class FakeWire {
 public:
  FakeWire(VirtualClock& clock, const FakeWireOptions& options);
  ~FakeWire();

  /// Each end, once.
  std::unique_ptr<SenderLink> take_sender();
  std::unique_ptr<ReceiverLink> take_receiver();

  /// When the next thing happens on the wire, or -1 when nothing is under way.
  [[nodiscard]] std::int64_t next_event_ns() const noexcept;
  /// Lets everything happen that is due by the clock's time.
  void run_due();
  /// Turns the clock to the next event and lets it happen. False when nothing is under way.
  bool step();

  /// Nothing gets through any more; both ends notice.
  void cut() noexcept;

  class State;

 private:
  VirtualClock& clock_;
  std::shared_ptr<State> state_;
};

}  // namespace framewire
