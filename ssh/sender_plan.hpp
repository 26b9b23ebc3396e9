// What a viewer and the framewire-send that it has started on another host by ssh tell each other: one JSON object on
// each line.
//   to the viewer     hello (protocol, version, HostAddresses), listening (port), alive
//   from the viewer   after that hello: plan (SenderPlan), alive; on the sender's standard input, whose end is its end
// The plan has a key, so it waits for the hello: a shell, or another program, never gets it. Both ends say every three
// seconds that they are alive. The sender ends if it has heard nothing for 20 s. For the viewer, ssh itself notices
// that.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/secret_bytes.hpp"

namespace framewire {

/// The argument that makes framewire-send take its command line from standard input.
inline constexpr const char* started_by_viewer_flag = "--started-by-viewer";

/// Incremented when a message changes its meaning. Both ends refuse another one: half of them would break a promise.
/// 2: the viewer says that it is alive, and waits for the hello.
inline constexpr unsigned sender_protocol = 2;

inline constexpr std::int64_t sign_of_life_ns = 3 * ns_per_s;
inline constexpr std::int64_t longest_viewer_silence_ns = 20 * ns_per_s;
/// How many messages are handled before the caller looks at other things: a peer that says very much holds nobody up.
inline constexpr int most_messages_at_once = 64;

/// A value.
struct SenderPlan {
  std::vector<std::string> words;  // of framewire-send's command line, in any encoding
  SecretBytes<32> key{};           // for this stream alone
};

nlohmann::json to_json(const SenderPlan& plan);
/// Throws Error (failed) that names the field.
SenderPlan sender_plan_from(const nlohmann::json& message);

}  // namespace framewire
