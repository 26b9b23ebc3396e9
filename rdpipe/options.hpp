// The command line of rdpipe.
#pragma once

#include <optional>

#include "rdpipe/pipeline.hpp"

namespace framewire {

/// Returns nothing if --help or --version was given; its text is printed then. Throws Error (usage).
std::optional<PipelineOptions> parse_rdpipe_options(int argc, const char* const* argv);

}  // namespace framewire
