// A link without a network, for tests: both sides in one thread, a virtual clock, and delays from a seed. It passes the
// same contract suite as the real links. Tests simulate whole sessions with it, and replay any failure from its seed.
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

  /// Each may be called once.
  std::unique_ptr<SenderLink> take_sender();
  std::unique_ptr<ReceiverLink> take_receiver();

  /// Time of the next event on the wire, or -1 when nothing is in flight.
  [[nodiscard]] std::int64_t next_event_ns() const noexcept;
  /// Runs all events that are due at the clock's time.
  void run_due();
  /// Advances the clock to the next event and runs it. False when nothing is in flight.
  bool step();

  /// Drops all further traffic; both sides notice.
  void cut() noexcept;

  class State;

 private:
  VirtualClock& clock_;
  std::shared_ptr<State> state_;
};

}  // namespace framewire
