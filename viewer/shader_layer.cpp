#include "viewer/shader_layer.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "gl/colour_conversion.hpp"
#include "gl/gl.hpp"
#include "gl/shader_scene.hpp"

namespace framewire {

namespace {

/// While the GPU still works on the last frame.
constexpr std::int64_t gpu_poll_ns = ns_per_ms;
/// It does not take that long, but is lost: what is drawn next tells.
constexpr std::int64_t longest_gpu_work_ns = 2 * ns_per_s;

/// Of a compiler's lines, what they are about and the first of them: a picture has room for so much.
std::string first_fault(const std::string& reason) {
  const std::size_t end = reason.find('\n');
  const std::size_t next = reason.find_first_not_of("\n ", end);
  if (end == std::string::npos || next == std::string::npos) {
    return reason.substr(0, end);
  }
  return reason.substr(0, end) + " " + reason.substr(next, reason.find('\n', next) - next);
}

Size size_of(const StreamFormat& format) noexcept {
  return {format.layout.width, format.layout.height};
}

}  // namespace

ShaderLayer::ShaderLayer(ShaderStream& stream, const Clock& clock)
    : stream_(stream),
      clock_(clock),
      input_(stream.open_input()),
      mouse_(stream.format().layout.height),
      cadence_(stream.source().frames_per_s) {}

std::int64_t ShaderLayer::due_ns() {
  if (!is_seen_ || stream_.has_all_frames()) {
    return INT64_MAX;
  }
  const std::int64_t due_ns = std::max(cadence_.due_ns(), retry_ns_);
  return is_gpu_busy() ? std::max(due_ns, clock_.now_ns() + gpu_poll_ns) : due_ns;
}

/// Whether it has not finished the last frame: another one would only wait behind it. llvmpipe 22.3 says of the first
/// measurement what the time is: none can have taken longer than since it was begun.
bool ShaderLayer::is_gpu_busy() {
  const std::int64_t passed_ns = clock_.now_ns() - begun_ns_;
  if (const auto cost_ns = stopwatch_.take()) {
    cadence_.drawn(std::min(*cost_ns, passed_ns));
  }
  return stopwatch_.is_pending() && passed_ns < longest_gpu_work_ns;
}

bool ShaderLayer::take(std::int64_t choice_ns, std::int64_t refresh_period_ns) {
  const std::int64_t now_ns = clock_.now_ns();
  if (!is_seen_ || stream_.has_all_frames() || now_ns < retry_ns_ || is_gpu_busy() || (!renderer_ && !load(now_ns))) {
    return false;
  }
  const auto moment = cadence_.take(choice_ns, refresh_period_ns);
  if (!moment) {
    return false;
  }
  moment_ = *moment;
  frame_ = frames_taken_++;
  return true;
}

// ---- The scene ----

/// Returns whether it can be drawn.
bool ShaderLayer::load(std::int64_t now_ns) {
  const StreamFormat& format = stream_.format();
  try {
    renderer_.emplace(load_scene(stream_.source().scene, stream_.source().folder), size_of(format),
                      format.layout.format);
  } catch (const Error& error) {
    if (find_gl_loss()) {
      throw;
    }
    fail(error, error.status() == ExitStatus::usage, now_ns);
    return false;
  } catch (const std::exception& error) {  // no memory
    fail(error, false, now_ns);
    return false;
  }
  picture_ = {.textures = {renderer_->texture()},
              .texture_count = 1,
              .size = renderer_->size(),
              .conversion = colour_conversion(format.layout.format, format.colour, format.layout.height)};
  retry_ns_ = INT64_MIN;
  stream_.recover();
  return true;
}

/// What is not there, or not written as it must be, is tried again, for its file may be mended; a name that means
/// nothing is not.
void ShaderLayer::fail(const std::exception& error, bool is_usage, std::int64_t now_ns) {
  const std::string reason = error.what();
  const bool has_lines = reason.find('\n') != std::string::npos;
  retry_ns_ = is_usage ? INT64_MAX : now_ns + delay_.next_ns(0);
  warning_ = stream_.peer_text() + ": " + reason + (is_usage || has_lines ? "" : " (the viewer tries it again)");
  stream_.fail(first_fault(reason), is_usage, ExitStatus::usage);
}

// ---- Its pictures ----

void ShaderLayer::follow_input() {
  while (const auto batch = input_->take()) {
    for (const InputEvent& event : batch->events) {
      mouse_.take(event);
      keyboard_.take(event);
    }
  }
}

void ShaderLayer::draw() {
  follow_input();
  const double time_s = static_cast<double>(moment_.time_ns) / 1e9;
  begun_ns_ = clock_.now_ns();
  stopwatch_.begin();
  renderer_->draw_picture({.time_s = time_s,
                           .time_delta_s = static_cast<double>(moment_.delta_ns) / 1e9,
                           .frames_per_s = stream_.source().frames_per_s,
                           .frame = frame_,
                           .mouse = mouse_.position(),
                           .drag = mouse_.drag(),
                           .wheel = mouse_.wheel(),
                           .keyboard = &keyboard_.texels(),
                           .camera = circling_camera(time_s)});
  stopwatch_.end();
}

}  // namespace framewire
