#include "viewer/layer.hpp"

#include <array>
#include <span>
#include <utility>

#include "base/clock.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

constexpr std::int64_t gpu_deadline_ns = 2 * ns_per_s;

FrameView view_of(const ReceivedFrame& frame, ChromaLocation chroma_location) noexcept {
  return {.layout = frame.header().layout,
          .colour = frame.header().colour,
          .payload = frame.payload(),
          .block = &frame.block(),
          .offset_in_block_bytes = frame.offset_in_block_bytes(),
          .chroma_location = chroma_location};
}

/// How many bytes of a payload are there without a gap.
std::uint64_t bytes_without_gap(const FrameHeader& header, const SliceSet& slices) noexcept {
  std::uint16_t count = 0;
  while (count < header.slice_count && slices[count]) {
    ++count;
  }
  return count == 0 ? 0
                    : slice_range(header.layout.size_bytes, header.slice_count, static_cast<std::uint16_t>(count - 1))
                          .end_bytes();
}

}  // namespace

Layer::Layer(Painters& painters, bool verify, Statistics& statistics, std::optional<Quality> quality, GpuCopies* copies)
    : painters_(painters), statistics_(statistics), wanted_quality_(quality), texture_({}, copies), check_(verify) {}

/// The frame's memory may be unmapped after its release, so this waits for the GPU, with a deadline.
Layer::~Layer() {
  texture_.wait_upload_done(monotonic_ns() + gpu_deadline_ns);
  release();
}

Layer::Upload Layer::upload(ReceivedFrame frame, ChromaLocation chroma_location) noexcept {
  if (held_) {
    const GpuWait result = texture_.wait_upload_done(monotonic_ns() + gpu_deadline_ns);
    if (result == GpuWait::pending) {
      return Upload::gpu_hangs;
    }
    release();
    if (result == GpuWait::failed) {
      return Upload::gpu_is_lost;
    }
  }
  if (arriving_ && !arriving_->is(frame)) {
    forget_arriving();
  }
  arriving_.reset();
  check_.begin(frame.header(), frame.payload());
  const bool is_uploaded = texture_.upload(view_of(frame, chroma_location));
  const bool is_withdrawn = frame.is_withdrawn();
  if (is_uploaded) {
    format_ = colour_format(frame.header().layout.format);
    user_tag_ = frame.header().user_tag;
    colour_ = frame.header().colour;
    cannot_be_drawn_ = false;
    ++version_;
  }
  if (texture_.has_refused_memory() && !is_withdrawn) {
    refused_.emplace(std::move(frame));
    return Upload::memory_refused;
  }
  held_.emplace(std::move(frame));
  has_picture_ = (has_picture_ || is_uploaded) && !is_withdrawn;
  if (is_withdrawn) {
    return Upload::withdrawn;
  }
  if (is_uploaded) {
    return Upload::done;
  }
  switch (texture_.waited()) {
    case GpuWait::done:
      return Upload::not_a_picture;
    case GpuWait::pending:
      return Upload::gpu_hangs;
    case GpuWait::failed:
      break;
  }
  return Upload::gpu_is_lost;
}

void Layer::show(const PaintedFrame& picture, PixelFormat format, const Colour& colour) noexcept {
  drawn_ = picture;
  format_ = format;
  colour_ = colour;
  cannot_be_drawn_ = false;
  has_picture_ = true;
  ++version_;
}

void Layer::slice_arrived(const ReceivedFrame& slice, ChromaLocation chroma_location, bool may_upload) noexcept {
  if (!arriving_ || !arriving_->is(slice)) {
    forget_arriving();
    arriving_.emplace(ArrivingFrame{.session = slice.session_number(),
                                    .epoch = slice.header().epoch,
                                    .sequence = slice.header().sequence,
                                    .slot = slice.header().slot});
  }
  arriving_->slices.set(slice.header().slice);
  const std::uint64_t arrived_bytes = bytes_without_gap(slice.header(), arriving_->slices);
  if (may_upload && arrived_bytes > 0 && release_finished()) {
    arriving_->is_uploading |= texture_.upload_arrived(view_of(slice, chroma_location), arrived_bytes);
  }
}

void Layer::forget_arriving() noexcept {
  if (arriving_ && arriving_->is_uploading) {
    texture_.forget_arrived();
  }
  arriving_.reset();
}

bool Layer::release_finished() noexcept {
  if (held_ && texture_.upload_done()) {
    release();
  }
  return !held_;
}

void Layer::release() noexcept {
  if (!held_) {
    return;
  }
  const auto is_torn = check_.end(held_->header(), held_->payload());
  if (is_torn && !held_->is_withdrawn()) {
    statistics_.frame_checked(*is_torn);
  }
  held_.reset();
}

void Layer::forget_memory() noexcept {
  forget_arriving();
  texture_.wait_upload_done(monotonic_ns() + gpu_deadline_ns);
  release();
  texture_.forget_blocks();
  painters_.forget_textures();
}

void Layer::warm_up(Size framebuffer) {
  if (has_picture_) {
    return;
  }
  forget_arriving();
  constexpr std::uint32_t side = 64;
  const std::array<std::byte, std::size_t{side} * side * 4> black{};
  for (const PixelFormat format : {PixelFormat::rgba, PixelFormat::nv12, PixelFormat::yuv420p}) {
    const FrameLayout layout = packed_layout(format, side, side);
    if (!texture_.upload({.layout = layout, .colour = {}, .payload = std::span(black).first(layout.size_bytes)})) {
      continue;
    }
    const Painters::Picture picture{.frame = texture_.painted(), .format = format, .colour = {}};
    const int width = static_cast<int>(framebuffer.width);
    const int height = static_cast<int>(framebuffer.height);
    painters_.draw_fast(picture, {0, 0, width, height});  // scaled up
    painters_.draw_fast(picture, {0, 0, 48, 48});         // scaled down a little
    painters_.draw_fast(picture, {0, 0, 16, 16});         // scaled down a lot
  }
  texture_.wait_upload_done(monotonic_ns() + gpu_deadline_ns);
}

void Layer::prepare(const StreamFormat& format, const Rectangle& target, Size framebuffer) {
  if (has_picture_) {
    return;
  }
  forget_arriving();
  const auto black = HostBlock::create_private("the first picture", format.layout.size_bytes);
  if (texture_.upload({.layout = format.layout,
                       .colour = format.colour,
                       .payload = black->bytes().first(format.layout.size_bytes),
                       .chroma_location = format.chroma_location})) {
    format_ = colour_format(format.layout.format);
    colour_ = format.colour;
    calm_size_.reset();
    draw_texture(target, framebuffer, monotonic_ns(), Alpha::opaque);
  }
  texture_.wait_upload_done(monotonic_ns() + gpu_deadline_ns);
}

// ---- Drawing ----

void Layer::draw(const Rectangle& target, Size framebuffer, std::int64_t now_ns, Alpha alpha) {
  if (!has_picture_ || cannot_be_drawn_) {
    return;
  }
  try {
    draw_texture(target, framebuffer, now_ns, alpha);
  } catch (const Error& error) {
    cannot_be_drawn_ = true;
    failure_ = error;
  }
}

void Layer::draw_texture(const Rectangle& target, Size framebuffer, std::int64_t now_ns, Alpha alpha) {
  if (target.width <= 0 || target.height <= 0) {
    return;
  }
  const Painters::Picture picture{.frame = painted(), .format = format_, .colour = colour_};
  const bool is_opaque = alpha == Alpha::opaque || !has_alpha(format_);
  const bool is_good = is_opaque && !cannot_be_drawn_well_ && painters_.draws_well(wanted_quality_, colour_);
  const bool is_calm =
      follow_size({static_cast<std::uint32_t>(target.width), static_cast<std::uint32_t>(target.height)}, now_ns);
  is_provisional_ = is_good && !is_calm && !is_hdr(colour_);
  if (is_good && !is_provisional_) {
    if (painters_.draw_well(picture, target, framebuffer, wanted_quality_)) {
      drawn_quality_ = Quality::good;
      return;
    }
    cannot_be_drawn_well_ = true;
  }
  drawn_quality_ = Quality::fast;
  painters_.draw_fast(picture, target, alpha);
}

/// Returns whether the picture has had this size for a while, or is new.
bool Layer::follow_size(Size drawn, std::int64_t now_ns) noexcept {
  if (next_size_ != drawn) {
    next_size_ = drawn;
    size_changed_ns_ = now_ns;
  }
  if (!calm_size_ || now_ns - size_changed_ns_ >= calm_ns) {
    calm_size_ = drawn;
  }
  return calm_size_ == drawn;
}

}  // namespace framewire
