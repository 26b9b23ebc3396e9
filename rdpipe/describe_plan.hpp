// What rdpipe -n prints: which stages and hops a pipeline has.
#pragma once

#include <string>

#include "rdpipe/pipeline.hpp"

namespace framewire {

/// Describes what run_pipeline() would run, for the user.
std::string describe_plan(const PipelineOptions& options);

}  // namespace framewire
