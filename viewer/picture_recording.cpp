#include "viewer/picture_recording.hpp"

#include <cstddef>
#include <span>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/gl.hpp"
#include "viewer/fit.hpp"
#include "viewer/picture_rectangle.hpp"

namespace framewire {

namespace {

/// How often to look whether the GPU has read a picture back.
constexpr std::int64_t readback_poll_ns = ns_per_ms;
/// A GPU that takes longer for the last pictures hangs.
constexpr std::int64_t last_readback_timeout_ns = 2 * ns_per_s;

/// As on a screen.
StreamFormat format_of_pictures(Size size, Rational rate) {
  return {.layout = packed_layout(PixelFormat::rgba, size.width, size.height),
          .frame_rate = rate,
          .field_order = FieldOrder::progressive};
}

}  // namespace

PictureRecording::Begun::Begun(Size size, Rational rate, bool repeats, std::int64_t now_ns)
    : target(size),
      readback(size.width, size.height, ReadbackMethod::persistent_buffer),
      format(format_of_pictures(size, rate)),
      timeline(rate, repeats, now_ns) {}

bool PictureRecording::begin(Size size, const Rates& rates, std::int64_t now_ns) {
  try {
    std::vector<Rational> streams;
    for (const ComposedStream& stream : rates.streams) {
      const auto& format = stream.facts->status.format;
      streams.push_back(format ? format->frame_rate : Rational{});
    }
    begun_.emplace(size, wanted_.value_or(recording_rate(streams, rates.refresh_period_ns)), recorder_.states_rate(),
                   now_ns);
    return true;
  } catch (const Error& error) {
    begun_.reset();
    has_failed_ = true;
    recorder_.fail(error.what());
    return false;
  }
}

void PictureRecording::show(const Canvas& picture, std::uint64_t version, const Rates& rates, std::int64_t now_ns) {
  if (version_ == version) {
    return;
  }
  version_ = version;
  const bool is_first = !begun_;
  if (is_first && (takes_no_more() || !begin(picture.size(), rates, now_ns))) {
    recorder_.leave_out();
    return;
  }
  if (!is_first) {
    write(begun_->timeline.replace(now_ns));  // the recorder counts what comes after its end
  }
  const Size size = begun_->target.size();
  picture.copy_to(begun_->target, gl_rectangle(fit(picture.size(), {1, 1}, size), size));
  if (is_first) {
    write(begun_->timeline.write_first());
  }
}

/// Begins to read the picture that stands back. The GPU does so before it draws another one over it.
void PictureRecording::write(PictureTimeline::LastFrame last) {
  if (!last) {
    return;
  }
  collect();
  Readback& readback = begun_->readback;
  if (readback.in_flight() == Readback::max_in_flight) {
    recorder_.leave_out();
    return;
  }
  const std::span<std::byte> memory = recorder_.claim(readback.size_bytes());
  if (memory.empty()) {
    return;
  }
  GLint bound = 0;
  glGetIntegerv(GL_READ_FRAMEBUFFER_BINDING, &bound);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, begun_->target.framebuffer());
  readback.begin({}, 0, memory);
  glBindFramebuffer(GL_READ_FRAMEBUFFER, static_cast<GLuint>(bound));
  begun_->numbers.push_back(*last);
}

void PictureRecording::collect() {
  while (begun_->readback.finished()) {
    recorder_.complete(begun_->format, begun_->numbers.front());
    begun_->numbers.pop_front();
  }
}

void PictureRecording::follow(std::int64_t now_ns) {
  if (!begun_) {
    return;
  }
  collect();
  if (!takes_no_more()) {
    write(begun_->timeline.pass(now_ns));
  }
}

std::int64_t PictureRecording::due_ns(std::int64_t now_ns) const noexcept {
  if (!begun_) {
    return INT64_MAX;
  }
  if (begun_->readback.in_flight() > 0 && !begun_->readback.has_failed()) {
    return now_ns + readback_poll_ns;
  }
  return takes_no_more() ? INT64_MAX : begun_->timeline.due_ns();
}

void PictureRecording::end(std::int64_t now_ns) {
  if (begun_ && !ended_ns_) {
    write(begun_->timeline.end(now_ns));
  }
  ended_ns_ = ended_ns_.value_or(now_ns);
}

bool PictureRecording::is_over(std::int64_t now_ns) const noexcept {
  if (!ended_ns_ || !begun_) {
    return ended_ns_.has_value();
  }
  const Readback& readback = begun_->readback;
  return readback.in_flight() == 0 || readback.has_failed() || now_ns - *ended_ns_ >= last_readback_timeout_ns;
}

void PictureRecording::finish(std::int64_t now_ns) {
  if (!begun_) {
    return;
  }
  end(now_ns);
  const std::int64_t deadline_ns = monotonic_ns() + last_readback_timeout_ns;
  while (begun_->readback.wait_finished(deadline_ns)) {
    recorder_.complete(begun_->format, begun_->numbers.front());
    begun_->numbers.pop_front();
  }
  begun_.reset();
}

}  // namespace framewire
