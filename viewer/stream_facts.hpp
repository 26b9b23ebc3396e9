// What the viewer knows of a stream besides its frames.
#pragma once

#include <string>

#include "transport/session/subscriber.hpp"

namespace framewire {

/// A value.
struct StreamFacts {
  std::string peer_text;     // the awaited sender: "box:5290"
  SubscriberStatus status;   // the newest
  std::string lost_message;  // why the last session ended
  bool is_local = false;     // the viewer runs its sender
  std::string trouble{};     // why that sender does not send; empty: it does, or begins to
  std::string stream{};      // what its sender calls it, if the user has named the sender alone; empty: not known yet

  /// Where several streams are shown: "box:5290/orbit".
  [[nodiscard]] std::string name_among_others() const { return stream.empty() ? peer_text : peer_text + "/" + stream; }
};

/// Whether the picture of a stream's state looks different: waiting, connected, lost, and the text about it.
inline bool looks_different(const SubscriberStatus& before, const SubscriberStatus& now) {
  return before.state != now.state || before.message != now.message || before.format != now.format ||
         before.session_number != now.session_number;
}

}  // namespace framewire
