#include <unistd.h>

#include "command/named_files.hpp"
#include "gl/shader_scene.hpp"
#include "transport/session/endpoint.hpp"
#include "viewer/options.hpp"

namespace framewire {

namespace {

void add_inputs(const ViewerOptions& options, NamedFiles& files) {
  const char* const layer_option = options.scene_file ? "the scene's source" : "--layer";
  for (const SceneLayer& layer : options.scene.layers) {
    if (const auto file = layer.local ? file_of(*layer.local) : std::nullopt) {
      files.uses(layer_option, layer.local->source, *file);
    }
  }
  for (const std::string& scene : options.scene.gl_scenes) {
    if (const auto file = shader_file(scene)) {
      files.uses(layer_option, scene, *file);
    }
  }
  if (options.scene_file) {
    files.uses("--scene", *options.scene_file, *options.scene_file);
  }
  files.uses_key(key_file_of(options.session.endpoint));
  files.uses("--messages", options.messages.value_or(PortDescriptors{}));
}

void add_results(const ViewerOptions& options, NamedFiles& files) {
  if (options.output.file == "-") {
    files.uses("--output", "-", STDOUT_FILENO);
  } else if (options.output.file) {
    files.writes("--output", *options.output.file);
  }
  if (options.screenshot_file) {
    files.writes("--screenshot", *options.screenshot_file);
  }
  if (options.frame_times_file) {
    files.writes("--frame-times", *options.frame_times_file);
  }
  if (options.common.stats_file) {
    files.writes("--stats", *options.common.stats_file);
  }
}

}  // namespace

void refuse_shared_files(const ViewerOptions& options) {
  NamedFiles files;
  add_inputs(options, files);
  add_results(options, files);
  files.require_distinct();
}

}  // namespace framewire
