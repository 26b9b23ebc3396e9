// What the sender tells a person about its streams: the live line, and the summary at the end.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "transport/session/sender_session.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// One stream now.
struct StreamProgress {
  std::string name;
  std::uint32_t viewers = 0;
  std::uint64_t frames = 0;
  double fps = 0;  // since the last live line
  bool has_ended = false;
};

/// One stream at the end.
struct StreamResult {
  const Stream* stream = nullptr;
  std::uint64_t source_losses = 0;  // how often its input was lost
  std::string failure;              // why its source failed; empty: it did not
  std::string decoder{};            // what decoded its input; empty: nothing did
};

/// The live line. With one stream: viewers, rate and frames. With several: each one's name, rate and viewers.
std::string live_line(std::span<const StreamProgress> streams);

/// A line for each stream, and after it one for each of its sessions.
std::vector<std::string> summary_lines(std::span<const StreamResult> streams, std::span<const SessionReport> reports);

/// "1 of 3 streams failed: film". Empty if none did.
std::string failure_summary(std::span<const StreamResult> streams);

/// The reports of the stream's sessions.
std::vector<SessionReport> reports_of(const Stream& stream, std::span<const SessionReport> reports);

}  // namespace framewire
