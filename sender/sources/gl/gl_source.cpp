#include "sender/sources/gl/gl_source.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/device_uuid.hpp"
#include "gl/gpu_copies.hpp"
#include "gl/shader_scene.hpp"
#include "transport/slice_count.hpp"

namespace framewire {

namespace {

constexpr Size default_size{3840, 2160};
constexpr double default_frames_per_s = 60;
constexpr double max_frames_per_s = 1000;

/// A GPU that takes longer for a frame hangs.
constexpr std::int64_t gpu_timeout_ns = 10 * ns_per_s;

double checked_rate(double frames_per_s) {
  if (frames_per_s == 0) {
    return default_frames_per_s;
  }
  if (!(frames_per_s > 0) || frames_per_s > max_frames_per_s) {
    throw Error::usage("--fps is " + std::to_string(frames_per_s) +
                       "; a gl: source draws up to 1000 frames per second");
  }
  return frames_per_s;
}

/// The memory by which the GPU of the current context copies frames into host memory; null: that is no gain, or cannot
/// be had, and they are read back in another way.
std::unique_ptr<const MemoryKind> memory_for_copies(const SourceOptions& options) {
  if (!options.open_device_memory || !gains_by_gpu_copies()) {
    return nullptr;
  }
  try {
    return open_first(devices_of_context(), options.open_device_memory);
  } catch (const std::exception&) {
    return nullptr;
  }
}

/// Median time of one frame from the start of drawing until it is in host memory, ns.
std::int64_t frame_time_ns(const ShaderScene& scene, Size size, PixelFormat format, const MemoryKind* device) {
  constexpr std::size_t warm_up = 2;
  constexpr std::size_t measured = 5;
  const SceneRenderer renderer(scene, size, format);
  Readback readback(renderer.readback_size().width, renderer.readback_size().height, {}, 1, device);
  const auto block = HostBlock::create("gl measure", readback.size_bytes());
  std::vector<std::int64_t> times;
  for (std::size_t i = 0; i < warm_up + measured; ++i) {
    const std::int64_t start_ns = monotonic_ns();
    const ReadbackSource* const source = renderer.draw_for_readback({.time_s = static_cast<double>(i), .frame = i});
    readback.begin(block, 0, block->bytes(), source);
    if (!readback.wait_finished(start_ns + gpu_timeout_ns)) {
      throw Error::failed(
          "the OpenGL driver takes more than 10 s for one frame of this scene; choose another or a smaller --size");
    }
    if (i >= warm_up) {
      times.push_back(monotonic_ns() - start_ns);
    }
  }
  std::ranges::nth_element(times, times.begin() + measured / 2);
  return times[measured / 2];
}

}  // namespace

GlSource::GlSource(const SourceOptions& options, std::optional<ReadbackMethod> wanted)
    : frames_per_s_(checked_rate(options.frames_per_s)),
      realtime_(options.realtime),
      context_(EglContext::create(options.memory->device_uuid())) {
  const ShaderScene scene = load_scene(options.name);
  name_ = scene.name;
  renders_on_request_ = options.pixel_format && has_depth(*options.pixel_format);
  context_.make_current();
  renderer_.emplace(scene, options.width != 0 ? Size{options.width, options.height} : default_size,
                    options.pixel_format.value_or(PixelFormat::rgba));
  device_memory_ = options.memory->is_host() ? memory_for_copies(options) : nullptr;
  readback_.emplace(renderer_->readback_size().width, renderer_->readback_size().height, wanted,
                    slices_of_frame(options.slices, renderer_->layout().size_bytes), device_memory_.get());
  format_ = {
      .layout = renderer_->layout(),
      .colour = renderer_->colour(),
      .frame_rate = rational_rate(frames_per_s_),
      .chroma_location = is_subsampled(renderer_->layout().format) ? ChromaLocation::left : ChromaLocation::unspecified,
      .field_order = FieldOrder::progressive};
  mouse_.emplace(renderer_->size().height);
  if (!options.memory->is_host()) {
    why_copied_ = WrappedBlocks::why_not(*options.memory);
    draws_into_slots_ = !why_copied_;
  }
  renderer_name_ = gl_renderer();
  context_.release_current();
}

GlSource::~GlSource() {
  try {
    context_.make_current();
  } catch (const Error&) {  // the context's objects are destroyed with it
  }
  readback_.reset();
  renderer_.reset();
}

std::string GlSource::describe() const {
  const ReadbackMethod method = draws_into_slots_ ? ReadbackMethod::device_memory : readback_->method();
  return "gl:" + name_ + ", " + framewire::describe(format_) + ", " + renderer_name_ + ", readback by " +
         std::string(name(method)) +
         (why_copied_ ? ", and copied to the memory of the streams' GPU, because " + *why_copied_ : "");
}

void GlSource::run(Stream& stream) {
  context_.make_current();
  // On every exit: returns slots to the stream, and detaches the context, so that the destroying thread can use it.
  const auto leave = [this](void*) {
    readback_->settle();
    for (auto& frame : in_flight_) {
      frame.reset();
    }
    input_.reset();
    context_.release_current();
  };
  const std::unique_ptr<GlSource, decltype(leave)> at_end(this, leave);
  if (renders_on_request_) {
    stream.renders().offer();  // before the epoch, of which viewers learn
  }
  stream.begin_epoch(format_);
  if (realtime_) {
    stream.cadence().offer(std::llround(1e9 / frames_per_s_));
  }
  while (draw_next(stream)) {
  }
  publish_until(stream, 0, monotonic_ns() + gpu_timeout_ns);
}

/// Draws the next frame and starts its readback: of the next tick, or of what a viewer asks for. Publishes frames that
/// finish meanwhile. False when the stream is stopping.
bool GlSource::draw_next(Stream& stream) {
  if (stream.renders().is_driven()) {
    const std::optional<RenderRequest> request = await_request(stream);
    if (!request) {
      return !stream.is_stopping();
    }
    const std::int64_t period_ns = std::llround(1e9 / frames_per_s_);
    request_due_ns_ = std::max(request_due_ns_ + period_ns, monotonic_ns());
    return draw(stream, request);
  }
  return await_tick(stream) && draw(stream, std::nullopt);
}

/// Frames that are finished are published before it waits. A viewer with a faster screen gets no more than --fps; one
/// frame may be early.
std::optional<RenderRequest> GlSource::await_request(Stream& stream) {
  if (realtime_ && request_due_ns_ > monotonic_ns()) {
    publish_until(stream, 0, request_due_ns_);
    if (!stream.sleep_until(request_due_ns_)) {
      return std::nullopt;
    }
  }
  if (const auto request = stream.next_render(0)) {
    return request;
  }
  constexpr std::int64_t longest_wait_ns = 100 * ns_per_ms;  // then it looks whether the stream goes on
  publish_until(stream, 0, monotonic_ns() + gpu_timeout_ns);
  return stream.next_render(monotonic_ns() + longest_wait_ns);
}

bool GlSource::await_tick(Stream& stream) {
  if (!clock_ || !realtime_) {
    return true;
  }
  if (const auto change = stream.cadence().take_change()) {
    clock_->change(tick_, change->period_ns, change->shift_ns);
  }
  const std::int64_t due_ns = clock_->due_ns(clock_->next(tick_, monotonic_ns()));
  publish_until(stream, 0, due_ns);
  return stream.sleep_until(due_ns);
}

bool GlSource::draw(Stream& stream, const std::optional<RenderRequest>& request) {
  // The stream has slots for two frames in production. With `every` a claim may wait long; it must not delay finished
  // frames.
  const bool may_wait = stream.options().delivery == Delivery::every || readback_->is_synchronous();
  publish_until(stream, may_wait ? 0 : in_flight_.size() - 1, monotonic_ns() + gpu_timeout_ns);
  if (readback_->in_flight() == in_flight_.size()) {
    throw Error::failed("the GPU has not finished a frame of gl:" + name_ +
                        " for 10 s; choose another scene or a smaller --size");
  }
  auto slot = stream.claim();
  if (!slot) {
    return false;
  }
  if (!clock_) {
    clock_.emplace(frames_per_s_, monotonic_ns());
  }
  const std::int64_t last = tick_;
  tick_ = realtime_ ? clock_->next(last, monotonic_ns()) : last + 1;
  const std::int64_t pts_ns = clock_->offset_ns(tick_);
  const double time_s = static_cast<double>(request ? request->time_ns : pts_ns) / 1e9;
  follow_input();
  const ReadbackSource* const source = renderer_->draw_for_readback(
      {.time_s = time_s,
       .time_delta_s = static_cast<double>(pts_ns - clock_->offset_ns(std::max<std::int64_t>(last, 0))) / 1e9,
       .frames_per_s = frames_per_s_,
       .frame = slot->next_sequence() + unnumbered(),
       .mouse = mouse_->position(),
       .drag = mouse_->drag(),
       .wheel = mouse_->wheel(),
       .keyboard = &keyboard_.texels(),
       .camera = request ? request->camera : circling_camera(time_s)});
  begin_readback(std::move(*slot), source, pts_ns, request ? request->id : 0);
  return true;
}

/// A driver that refuses a slot on the GPU will refuse the next ones.
void GlSource::begin_readback(ClaimedSlot slot, const ReadbackSource* source, std::int64_t pts_ns,
                              std::uint64_t user_tag) {
  const std::size_t waiting = readback_->in_flight();
  draws_into_slots_ =
      draws_into_slots_ && readback_->begin_on_device(slot.block(), slot.offset_in_block_bytes(), source);
  if (!draws_into_slots_) {
    readback_->begin(slot.host_block(), slot.offset_in_block_bytes(), slot.bytes(), source);
  }
  in_flight_.at(waiting).emplace(
      InFlight{.slot = std::move(slot), .pts_ns = pts_ns, .user_tag = user_tag, .is_on_device = draws_into_slots_});
}

/// What has come until now shows in the next frame.
void GlSource::follow_input() {
  while (const auto batch = input_ ? input_->take() : std::nullopt) {
    for (const InputEvent& event : batch->events) {
      mouse_->take(event);
      keyboard_.take(event);
    }
  }
}

/// Frames in flight that get their number later.
std::size_t GlSource::unnumbered() const noexcept {
  return static_cast<std::size_t>(
      std::ranges::count_if(in_flight_, [](const auto& frame) { return frame && frame->slot; }));
}

/// Publishes what is read back until at most `in_flight` frames are left, or until the deadline. False at the deadline.
bool GlSource::publish_until(Stream& stream, std::size_t in_flight, std::int64_t deadline_ns) {
  while (readback_->in_flight() > in_flight) {
    if (!readback_->wait_slice(deadline_ns)) {
      if (readback_->has_failed()) {  // the slot's content is not a picture
        throw Error::failed(find_gl_loss().value_or("the GPU draws no more (its OpenGL context is lost)") +
                            "; start the sender again, and look for the cause in the kernel's log (dmesg)");
      }
      return false;
    }
    publish_slice(stream);
  }
  return true;
}

/// The next one of the oldest frame.
void GlSource::publish_slice(Stream& stream) {
  InFlight& frame = *in_flight_.front();
  if (frame.is_on_device) {
    stream.publish(*std::exchange(frame.slot, std::nullopt),
                   {.pts_ns = frame.pts_ns, .user_tag = frame.user_tag, .layout = {}, .is_on_device = true});
    return forget_oldest();
  }
  if (frame.slot) {
    frame.begun =
        stream.begin_frame(*std::exchange(frame.slot, std::nullopt),
                           {.pts_ns = frame.pts_ns, .user_tag = frame.user_tag, .layout = {}}, readback_->slices());
  }
  if (frame.begun) {
    frame.begun->publish(frame.slices);
  }
  if (++frame.slices < readback_->slices()) {
    return;
  }
  forget_oldest();
}

void GlSource::forget_oldest() noexcept {
  in_flight_.front().reset();
  if (in_flight_.back()) {
    in_flight_.front().emplace(std::move(*in_flight_.back()));
    in_flight_.back().reset();
  }
}

Size GlSource::largest_size_that_keeps_rate(const SourceOptions& options, double share_of_period) {
  // From small to large: the first size that takes too long ends the search, so slow machines need not draw 4K.
  constexpr std::array sizes = {Size{640, 360},   Size{960, 540},   Size{1280, 720}, Size{1600, 900},
                                Size{1920, 1080}, Size{2560, 1440}, Size{3840, 2160}};
  const ShaderScene scene = load_scene(options.name);
  const PixelFormat format = options.pixel_format.value_or(PixelFormat::rgba);
  const double max_ns = share_of_period * 1e9 / checked_rate(options.frames_per_s);
  EglContext context = EglContext::create();
  context.make_current();
  const auto device = memory_for_copies(options);
  Size largest = sizes.front();
  for (const Size size : sizes) {
    if (static_cast<double>(frame_time_ns(scene, size, format, device.get())) > max_ns) {
      break;
    }
    largest = size;
  }
  return largest;
}

}  // namespace framewire
