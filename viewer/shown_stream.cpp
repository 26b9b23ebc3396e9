#include "viewer/shown_stream.hpp"

#include <algorithm>

#include "base/error.hpp"
#include "gl/gl.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

/// A frame that is to be drawn in this time is worth waiting for: what else is to be drawn is drawn with it.
constexpr std::int64_t soon_ns = 50 * ns_per_ms;

std::unique_ptr<ShaderLayer> make_shader(ViewedStream& stream, const Clock& clock) {
  auto* const drawn = dynamic_cast<ShaderStream*>(&stream);
  return drawn != nullptr ? std::make_unique<ShaderLayer>(*drawn, clock) : nullptr;
}

}  // namespace

ShownStream::ShownStream(std::shared_ptr<ViewedStream> stream, Painters& painters, FrameTimesFile& frame_times,
                         const Clock& clock, const DrawingOptions& options, GpuCopies* copies, std::size_t number)
    : stream_(std::move(stream)),
      frame_times_(frame_times),
      number_(number),
      clock_(clock),
      shader_(make_shader(*stream_, clock)),
      layer_(painters, options.verify, stream_->statistics(), options.quality, copies),
      asks_cadence_(options.asks_cadence) {}

// ---- What it is about ----

void ShownStream::follow_facts() {
  if (facts_version_ == stream_->facts_version()) {
    return;
  }
  facts_version_ = stream_->facts_version();
  const StreamFacts facts_before = std::exchange(facts_, stream_->facts());
  const SubscriberStatus& before = facts_before.status;
  const SubscriberStatus& now = facts_.status;
  if (now.session_number != before.session_number) {
    cadence_.restart();
  }
  if (now.state == SubscriberState::lost && before.state != SubscriberState::lost) {
    layer_.forget_memory();
  }
  news_.looks_different |= looks_different(before, now) || facts_before.trouble != facts_.trouble;
  if (now.epochs_begun != before.epochs_begun) {
    news_.has_format = true;
    defect_.clear();
  }
}

void ShownStream::confirm_format() noexcept {
  stream_->confirm_epoch(facts_.status.epochs_begun);
}

void ShownStream::follow_epoch(const ReceivedFrame& frame) noexcept {
  const std::pair epoch(frame.session_number(), frame.header().epoch);
  if (std::exchange(epoch_, epoch) != epoch) {
    release_memory();
  }
}

ComposedStream ShownStream::composed() noexcept {
  return {.layer = &layer_,
          .facts = &facts_,
          .defect = defect_.empty() ? misfit_ : defect_,
          .statistics = &stream_->statistics(),
          .counts = stream_->counts(),
          .pacing = stream_->queue().pacing(),
          .clock_uncertainty_ns = stream_->clock_offset().uncertainty_ns,
          .silence = stream_->silence()};
}

void ShownStream::set_misfit(const std::string& text) {
  if (misfit_ == text) {
    return;
  }
  misfit_ = text;
  news_.looks_different = true;
  if (!text.empty() && said_misfit_ != text) {  // it may come and go
    said_misfit_ = text;
    warning_ = facts_.peer_text + ": " + text;
  }
}

ChromaLocation ShownStream::chroma_location() const noexcept {
  return facts_.status.format ? facts_.status.format->chroma_location : ChromaLocation::unspecified;
}

// ---- Frames ----

std::optional<std::int64_t> ShownStream::due_ns(std::int64_t now_ns) {
  if (!shader_) {
    return stream_->queue().due_ns();
  }
  const std::int64_t due_ns = shader_->due_ns();
  return due_ns <= now_ns + soon_ns ? std::optional(due_ns) : std::nullopt;
}

std::int64_t ShownStream::wake_ns(std::int64_t now_ns) {
  const std::int64_t due_ns = shader_ ? shader_->due_ns() : INT64_MAX;
  return due_ns == INT64_MAX || due_ns <= now_ns + soon_ns ? INT64_MAX : due_ns - soon_ns;
}

void ShownStream::set_seen(bool is_seen, bool is_surface_seen) {
  if (!shader_) {
    return;
  }
  shader_->set_seen(is_seen && is_surface_seen);
  if (is_surface_seen) {  // else its place is not known
    shader_->stream().leave_out(!is_seen);
  }
}

/// Its times begin with the choice: from then on it takes what a frame that was received takes.
bool ShownStream::take_drawn(std::int64_t choice_ns, std::int64_t refresh_period_ns) {
  const bool has_frame = shader_->take(choice_ns, refresh_period_ns);
  if (std::string warning = shader_->take_warning(); !warning.empty()) {
    warning_ = std::move(warning);
  }
  if (!has_frame) {
    return false;
  }
  const std::int64_t now_ns = clock_.now_ns();
  ShaderStream& stream = shader_->stream();
  header_ = FrameHeader{.sequence = shader_->frame(),
                        .epoch = ShaderStream::epoch,
                        .pts_ns = shader_->time_ns(),
                        .times = {.completed_ns = now_ns},
                        .colour = stream.format().colour,
                        .layout = stream.format().layout};
  times_ = {.received_ns = now_ns, .selected_ns = now_ns};
  epoch_ = {ShaderStream::session_number, ShaderStream::epoch};
  stream.frame_begun(now_ns);
  return true;
}

bool ShownStream::take(std::int64_t choice_ns, std::int64_t refresh_period_ns) {
  if (shader_) {
    return take_drawn(choice_ns, refresh_period_ns);
  }
  frame_ = stream_->queue().take(choice_ns);
  if (!frame_) {
    return false;
  }
  release_kept();
  header_ = frame_->header();
  times_ = {.received_ns = frame_->received_ns(), .selected_ns = clock_.now_ns()};
  follow_facts();  // those of the frame are there now; its format was confirmed before it came
  follow_epoch(*frame_);
  ask_cadence(*frame_, choice_ns, refresh_period_ns);
  return true;
}

bool ShownStream::upload() {
  if (shader_) {
    shader_->draw();
    layer_.show(shader_->picture(), header_->layout.format, header_->colour);
    times_.uploaded_ns = clock_.now_ns();
    return true;
  }
  switch (upload(std::move(*std::exchange(frame_, std::nullopt)))) {
    case Layer::Upload::done:
      times_.uploaded_ns = clock_.now_ns();
      return true;
    case Layer::Upload::withdrawn:
      settle();
      return true;
    default:
      return false;
  }
}

/// Throws if the cause is not the frame.
Layer::Upload ShownStream::upload(ReceivedFrame frame) {
  const FrameLayout layout = frame.header().layout;
  Layer::Upload result = layer_.upload(std::move(frame), chroma_location());
  std::optional<std::string> loss;  // is told once
  if (result == Layer::Upload::memory_refused) {
    loss = find_gl_loss();
    result = loss ? Layer::Upload::gpu_is_lost : upload_copy(*layer_.take_refused());
  }
  if (result == Layer::Upload::done || result == Layer::Upload::withdrawn) {
    return result;
  }
  if (!loss) {
    loss = find_gl_loss();  // the cause of any other failure
  }
  if (loss || result == Layer::Upload::gpu_is_lost) {
    throw Error::failed(explain_gpu_loss(loss.value_or(std::string(lost_context))));
  }
  if (result == Layer::Upload::gpu_hangs) {
    throw Error::failed("the GPU (" + gl_renderer() + ") has not finished a picture for 2 s");
  }
  upload_fault_ = layout.format == PixelFormat::bytes
                      ? "this stream carries bytes, not pictures; there is nothing to draw"
                      : "a frame of " + std::to_string(layout.width) + "x" + std::to_string(layout.height) + " " +
                            std::string(info(layout.format).name) + " cannot be drawn by " + gl_renderer() +
                            "; send a smaller --size";
  return result;
}

/// The frames that come after those in the queue are copied before they are queued.
Layer::Upload ShownStream::upload_copy(ReceivedFrame frame) {
  if (!std::exchange(has_said_refusal_, true)) {
    warning_ = facts_.peer_text + ": frames are copied to host memory to be drawn, because " + gl_renderer() +
               " does not import the GPU's memory (" + layer_.memory_refusal() + ")";
  }
  stream_->copy_to_host();
  host_copies_.copy(frame, host_memory(), {});
  return layer_.upload(std::move(frame), chroma_location());
}

void ShownStream::pass_unseen() {
  if (frame_) {
    check_unseen(*frame_, stream_->statistics());
  }
  frame_.reset();
  settle();
}

void ShownStream::keep_unseen() {
  if (frame_) {
    kept_ = std::exchange(frame_, std::nullopt);
    kept_until_ns_ = clock_.now_ns() + (facts_.status.ring_slots > 1 ? longest_kept_ns : 0);
  }
  settle();
}

bool ShownStream::upload_kept(bool is_seen) {
  if (!kept_ || (!is_seen && clock_.now_ns() < kept_until_ns_)) {
    return true;
  }
  if (!defect_.empty()) {
    release_kept();
    return true;
  }
  const Layer::Upload result = upload(std::move(*std::exchange(kept_, std::nullopt)));
  return result == Layer::Upload::done || result == Layer::Upload::withdrawn;
}

void ShownStream::release_memory() noexcept {
  release_kept();
  layer_.forget_memory();
}

void ShownStream::release_kept() noexcept {
  if (kept_) {
    check_unseen(*kept_, stream_->statistics());
    kept_.reset();
  }
}

StageTimes ShownStream::shown(const Surface::Presented& presented) {
  layer_.release_finished();
  times_.drawn_ns = presented.drawn_ns;
  times_.shown_ns = presented.shown_ns;
  times_.refresh = presented.refresh;
  times_.picture = presented.picture;
  const std::int64_t offset_ns = stream_->clock_offset().offset_ns;
  const FrameHeader header = *std::exchange(header_, std::nullopt);
  const bool is_out_of_step = stream_->queue().is_out_of_step();
  stream_->queue().settle([&] {
    stream_->statistics().frame_shown(header.times, times_, offset_ns);
    if (is_out_of_step) {
      stream_->statistics().frame_unsynchronised();
    }
  });
  frame_times_.frame_shown(number_, header, times_, offset_ns);
  return stage_times(header.times, times_, offset_ns);
}

void ShownStream::settle() noexcept {
  frame_.reset();
  header_.reset();
  stream_->queue().settle([this] { stream_->statistics().frame_superseded(); });
}

void ShownStream::upload_slices(bool may_upload) {
  if (stream_->queue().has_frame()) {
    return;
  }
  stream_->queue().take_slices(slices_);
  for (const ReceivedFrame& slice : slices_) {
    follow_epoch(slice);
    layer_.slice_arrived(slice, chroma_location(), may_upload && defect_.empty());
  }
  slices_.clear();
}

/// Has the sender render a little later or earlier, if frames wait for their choice.
void ShownStream::ask_cadence(const ReceivedFrame& frame, std::int64_t choice_ns, std::int64_t refresh_period_ns) {
  if (!asks_cadence_ || !facts_.status.format) {
    return;
  }
  if (refresh_period_ns == 0) {
    constexpr int enough_frames = 300;  // a server's first answers take some
    if (++frames_without_refresh_ == enough_frames) {
      warning_ = "--cadence does nothing here: the refreshes of this screen are not known";
    }
    return;
  }
  const Rational rate = facts_.status.format->frame_rate;
  const double frames_per_s = static_cast<double>(rate.numerator) / std::max<double>(rate.denominator, 1);
  const auto period_ns = CadenceControl::period_for(frames_per_s, refresh_period_ns);
  if (cadence_misfit_.is_to_be_said(period_ns.has_value())) {
    warning_ = "--cadence does nothing here: the stream's rate is not that of the screen, nor a whole part of it";
  }
  if (!period_ns) {
    return;
  }
  cadence_.set_refused(!facts_.status.cadence_refusal.empty());
  if (const auto request = cadence_.frame_chosen(frame.received_ns(), choice_ns, *period_ns, refresh_period_ns)) {
    stream_->ask_cadence(*request);
  }
}

}  // namespace framewire
