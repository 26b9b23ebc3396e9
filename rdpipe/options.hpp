// The command line of rdpipe.
#pragma once

#include <optional>

#include "rdpipe/pipeline.hpp"

namespace framewire {

/// Nothing when --help or --version was asked for, and printed. Throws Error (usage).
std::optional<PipelineOptions> parse_rdpipe_options(int argc, const char* const* argv);

}  // namespace framewire
