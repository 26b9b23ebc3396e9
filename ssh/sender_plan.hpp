// What a viewer and the framewire-send that it has started on another host by ssh tell each other: one JSON object on
// each line.
//   from the viewer   plan (SenderPlan), on the sender's standard input, whose end is the sender's end
//   to the viewer     hello (protocol, version, HostAddresses), listening (port), alive
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "base/secret_bytes.hpp"

namespace framewire {

/// The argument that makes framewire-send take its command line from standard input.
inline constexpr const char* started_by_viewer_flag = "--started-by-viewer";

/// Incremented when a message changes its meaning.
inline constexpr unsigned sender_protocol = 1;

/// A value.
struct SenderPlan {
  std::vector<std::string> words;  // of framewire-send's command line, in any encoding
  SecretBytes<32> key{};           // for this stream alone
};

nlohmann::json to_json(const SenderPlan& plan);
/// Throws Error (failed) that names the field.
SenderPlan sender_plan_from(const nlohmann::json& message);

}  // namespace framewire
