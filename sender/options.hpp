// The command line of framewire-send.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "command/command_line.hpp"
#include "command/line_port.hpp"
#include "sender/source.hpp"
#include "transport/stream.hpp"

namespace framewire {

struct SenderOptions {
  EndpointOptions endpoint;
  MemoryChoice memory;
  std::vector<SourceOptions> sources;  // one stream each
  bool size_is_auto = false;           // --size auto: the largest size that this machine renders at the rate
  std::optional<Delivery> delivery;
  std::uint32_t slots_per_viewer = 3;
  std::uint32_t max_viewers = 4;
  bool allows_pull = false;
  std::optional<PortDescriptors> events;    // writes the viewers' input here
  std::optional<PortDescriptors> messages;  // exchanges messages with viewers here
  CommonOptions common;
};

/// Nothing after --help or --version. Throws Error (usage). Main thread.
std::optional<SenderOptions> parse_sender_options(int argc, const char* const* argv);

}  // namespace framewire
