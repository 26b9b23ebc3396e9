// Streams that bring nothing although their sender is there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "transport/session/subscriber.hpp"

namespace framewire {

/// A sender that is stopped keeps its session over the local link: only that its frames stay away tells of it. A value;
/// times are monotonic, in ns.
struct Silence {
  std::int64_t since_ns = 0;      // the newest frame, or the beginning of the session or the format
  std::int64_t said_from_ns = 0;  // before that it means nothing
  bool operator==(const Silence&) const = default;
};

/// Nothing if no frames are due: the sender is not there, or its stream has no frame rate. `heard_ns` becomes
/// Silence::since_ns. `pull_interval_ns`: of --pull; else 0.
std::optional<Silence> silence_of(const SubscriberStatus& status, std::int64_t heard_ns,
                                  std::int64_t pull_interval_ns) noexcept;

/// "no frame for 3 s"; empty before Silence::said_from_ns.
std::string describe(const Silence& silence, std::int64_t now_ns);

}  // namespace framewire
