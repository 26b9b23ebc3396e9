// Two further links for a test: what somebody writes who adds one. Their data go through tcp's two ends.
// - `added`: like rdma it has a listener of its own, describes it to the peer, and may prove unusable.
// - `addedsocket`: like tcp it arrives at the control channel's port, and it can be encrypted.
#pragma once

#include <atomic>
#include <climits>

#include "transport/link_provider.hpp"

namespace framewire::test {

inline constexpr LinkKind added_link{200};
inline constexpr LinkKind added_socket_link{201};

/// Lives as long as the program. Any thread.
const LinkProvider& added_provider() noexcept;
const LinkProvider& added_socket_provider() noexcept;

/// Who maintains one end of the links.
struct Maintenance {
  std::atomic<int> calls = 0;
  FileDescriptor event = make_eventfd();  // the maintenance descriptor
  std::atomic<int> events = 0;            // that a call has found
};

/// What happens to the links, for tests. One test at a time.
struct AddedLinkState {
  std::atomic<bool> is_available = true;           // the machine has what the link needs
  std::atomic<bool> fails_to_connect = false;      // dialling it fails
  std::atomic<int> connections = 0;                // accepted so far
  std::atomic<int> socket_answers = INT_MAX;       // so often addedsocket is available when asked; then no more
  std::atomic<bool> is_wrongly_addressed = false;  // listening fails: an option names an address that it cannot have
  Maintenance of_sender;
  Maintenance of_receiver;
};
AddedLinkState& added_link_state() noexcept;

/// Dials its listener like an unauthenticated peer, which knows where it is and not what to say. Returns whether it was
/// let in.
bool dial_added_link_with(const LinkDescription& listener, const ConnectHello& hello);

}  // namespace framewire::test
