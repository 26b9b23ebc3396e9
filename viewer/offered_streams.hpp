// The streams of a sender of which nobody has named one.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "viewer/options.hpp"
#include "viewer/scene.hpp"
#include "viewer/source.hpp"

namespace framewire {

/// A scene, and the sources of its layers, in their order. A value.
struct SceneOfSources {
  Scene scene;
  std::vector<ViewedSource> sources;
};

/// Sets how the layers over the first one are blended.
void blend_over_first(Scene& scene, const LayersOver& over);

/// Whether a source stands for all streams of its sender.
bool stands_for_all_streams(const ViewedSource& source) noexcept;

/// The scene with a layer for each stream that its senders offer. `offers` has the names that the sender of each source
/// offers now, the first of which it shows already; none if that is not known. Layers of earlier offers that are not
/// offered any more are left out. `over` says how layers over the first are blended. Nothing if nothing changes.
std::optional<SceneOfSources> with_offered_streams(const SceneOfSources& shown,
                                                   std::span<const std::vector<std::string>> offers,
                                                   const LayersOver& over);

}  // namespace framewire
