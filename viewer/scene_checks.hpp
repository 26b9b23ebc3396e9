// What of a scene does nothing.
#pragma once

#include <string>

#include "viewer/options.hpp"
#include "viewer/scene.hpp"

namespace framewire {

/// Which option of the viewer means nothing with this scene, and why; empty: none.
std::string useless_option(const Scene& scene, const ViewerOptions& options);

/// What a stereo layout leaves out, or leaves empty; empty: it has a stream for each eye.
std::string stereo_mismatch(const Scene& scene);

}  // namespace framewire
