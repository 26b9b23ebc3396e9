#include "viewer/scene_checks.hpp"

#include <algorithm>
#include <cstddef>

namespace framewire {

std::string useless_option(const Scene& scene, const ViewerOptions& options) {
  if (scene.layout != Layout::depth || (!options.is_paced && !options.is_synchronised)) {
    return "";
  }
  return "the layout depth shows frames that senders render for the same request, as soon as all of them are there, so "
         "that " +
         std::string(options.is_paced ? "--paced" : "--sync") + " means nothing";
}

std::string stereo_mismatch(const Scene& scene) {
  if (scene.layout != Layout::stereo_side && scene.layout != Layout::stereo_top) {
    return "";
  }
  constexpr std::size_t eyes = 2;
  const std::string layout = "the layout " + std::string(name(scene.layout));
  if (scene.layers.size() < eyes) {
    return layout + " is for two streams, one for each eye, and there is one: the other eye sees nothing";
  }
  const bool is_any_lost =
      std::any_of(scene.layers.begin() + eyes, scene.layers.end(), [](const auto& layer) { return !layer.is_hidden; });
  return is_any_lost ? layout + " shows two streams, one for each eye, and there are " +
                           std::to_string(scene.layers.size()) + ": those after the second are not seen"
                     : "";
}

}  // namespace framewire
