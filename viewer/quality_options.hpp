// The options of framewire-view about how well frames are drawn.
#pragma once

#include <optional>
#include <string>

#include "gl/frame_painter.hpp"
#include "viewer/quality.hpp"

namespace CLI {
class App;
}

namespace framewire {

/// As text, before interpretation.
struct RawQualityOptions {
  std::string quality;
  std::string downscale;
};

struct QualityOptions {
  std::optional<Quality> quality{};      // empty: good, if a GPU draws
  std::optional<Downscale> downscale{};  // of what is drawn fast; empty: area
};

/// Main thread. `raw` outlives `app`.
void add_quality_options(CLI::App& app, RawQualityOptions& raw);

/// Throws Error (usage) that names the option and its value.
QualityOptions parse_quality_options(const RawQualityOptions& raw);

}  // namespace framewire
