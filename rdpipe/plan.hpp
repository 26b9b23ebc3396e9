// The plan that rdpipe sends to the processes of a pipeline.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "bytes/chunks.hpp"
#include "rdpipe/stage.hpp"
#include "transport/control/key_file.hpp"
#include "transport/endpoint_options.hpp"

namespace framewire {

/// Incremented when a message changes its meaning. Both sides send theirs.
inline constexpr unsigned pipeline_protocol = 1;

/// How the bytes of one hop travel; one hop leads from a stage to the next.
struct HopParameters {
  std::string transport = "auto";  // as --transport has it
  bool encrypts = false;
  bool takes_digest = true;
  std::uint64_t limit_bytes_per_s = 0;  // 0: none
  std::uint64_t slot_bytes = default_slot_bytes;
  std::uint32_t slots = default_slots;
  std::int64_t timeout_ns = 10'000'000'000;
  std::uint16_t first_port = 0;  // to listen on; 0: any
  std::uint16_t last_port = 0;
  bool tells_progress = false;
};

/// One side of a hop.
struct HopPlan {
  std::size_t number = 0;  // from 0, in the order of the bytes
  bool sends = false;
  bool listens = false;
  bool stays_here = false;  // both sides are on rdpipe's machine: nobody connects from elsewhere
  Key key{};                // of this hop in this run alone
  HopParameters parameters{};
};

/// Where the peer of a hop listens.
struct HopTarget {
  std::uint16_t port = 0;
  std::vector<std::string> addresses;  // addresses or names, best first
};

/// What one stage does.
struct StagePlan {
  Stage stage;
  std::size_t number = 0;  // from 1
  std::optional<HopPlan> upstream{};
  std::optional<HopPlan> downstream{};
};

nlohmann::json to_json(const StagePlan& plan);
nlohmann::json to_json(const HopTarget& target);
/// Throw Error (failed) that names the field.
StagePlan stage_plan_from(const nlohmann::json& message);
HopTarget hop_target_from(const nlohmann::json& message);

/// The options of the hop's session. Throws Error (usage).
EndpointOptions endpoint_of(const HopPlan& plan);

}  // namespace framewire
