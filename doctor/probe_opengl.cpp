// OpenGL, by a program of its own: so that the doctor runs where there is none, and outlives a driver that crashes.
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "base/clock.hpp"
#include "doctor/child_output.hpp"
#include "doctor/probe.hpp"
#include "transport/control/json_fields.hpp"

namespace framewire {

namespace {

using Json = nlohmann::json;

std::string text_field(const Json& json, const char* field) {
  const std::string* text = find_text(json, field);
  return text != nullptr ? *text : "";
}

bool flag_field(const Json& json, const char* field) {
  return find_flag(json, field).value_or(false);
}

}  // namespace

OpenGlFacts parse_opengl_output(const std::string& output, bool has_ended_well) {
  OpenGlFacts opengl;
  opengl.is_installed = true;
  const Json json = Json::parse(output, nullptr, false);
  if (!json.is_object()) {
    opengl.trouble = "framewire-doctor-gl said nothing that can be read";
    return opengl;
  }
  opengl.trouble = text_field(json, "error");
  opengl.vendor = text_field(json, "vendor");
  opengl.renderer = text_field(json, "renderer");
  opengl.version = text_field(json, "version");
  opengl.is_software = flag_field(json, "is_software");
  opengl.has_pinned_memory = flag_field(json, "has_pinned_memory");
  if (opengl.trouble.empty() && (!has_ended_well || opengl.renderer.empty())) {
    opengl.trouble = "framewire-doctor-gl named no renderer";
  }
  return opengl;
}

void probe_render_nodes(const SystemFiles& files, OpenGlFacts& opengl) {
  for (const std::string& name : files.names("/dev/dri")) {
    if (name.starts_with("renderD")) {
      opengl.has_render_node = true;
      const std::string path = files.real_path("/dev/dri/" + name);
      opengl.may_use_node = opengl.may_use_node || ::access(path.c_str(), R_OK | W_OK) == 0;
    }
  }
}

OpenGlFacts probe_opengl(const SystemFiles& files) {
  const std::string folder = own_folder(files);
  const std::string helper = folder + "framewire-doctor-gl";
  if (folder.empty() || ::access(helper.c_str(), X_OK) != 0) {
    return {};
  }
  constexpr std::int64_t timeout_ns = 10 * ns_per_s;  // a driver that starts a sleeping GPU takes 2 s
  const ChildOutput output = child_output(helper, {}, timeout_ns);
  if (output.has_ended_well || !output.text.empty()) {
    return parse_opengl_output(output.text, output.has_ended_well);
  }
  OpenGlFacts opengl;
  opengl.is_installed = true;
  opengl.trouble = "asking the driver failed (framewire-doctor-gl): " + output.trouble;
  return opengl;
}

}  // namespace framewire
