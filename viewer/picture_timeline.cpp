#include "viewer/picture_timeline.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/clock.hpp"

namespace framewire {

namespace {

constexpr Rational usual_recording_rate{60, 1};
/// A sender may state any number: a recording would repeat each picture that often.
constexpr Rational fastest_recording_rate{1000, 1};

bool is_faster(Rational a, Rational b) noexcept {
  return std::uint64_t{a.numerator} * b.denominator > std::uint64_t{b.numerator} * a.denominator;
}

}  // namespace

Rational recording_rate(std::span<const Rational> streams, std::int64_t refresh_period_ns) noexcept {
  Rational fastest{0, 1};
  for (const Rational& stated : streams) {
    if (stated.denominator != 0 && is_faster(stated, fastest)) {
      fastest = is_faster(stated, fastest_recording_rate) ? fastest_recording_rate : stated;
    }
  }
  // A measured period is a little different each time.
  const double hz = refresh_period_ns > 0 ? 1e9 / static_cast<double>(refresh_period_ns) : 0;
  const Rational refreshes = rational_rate(std::round(hz * 100) / 100);
  if (fastest.numerator == 0) {
    return refreshes.numerator == 0 ? usual_recording_rate : refreshes;
  }
  return refreshes.numerator != 0 && is_faster(fastest, refreshes) ? refreshes : fastest;
}

PictureTimeline::PictureTimeline(Rational rate, bool repeats, std::int64_t begin_ns) noexcept
    : period_ns_(static_cast<double>(ns_per_s) * rate.denominator / rate.numerator),
      repeats_(repeats),
      begin_ns_(begin_ns),
      longest_stand_(std::max<std::uint64_t>(rate.numerator / (std::uint64_t{2} * rate.denominator), 1)) {}

std::uint64_t PictureTimeline::frame_at(std::int64_t now_ns) const noexcept {
  return static_cast<std::uint64_t>(
      std::max<long long>(std::llround(static_cast<double>(now_ns - begin_ns_) / period_ns_), 0));
}

/// Up to, and without, `frame`.
PictureTimeline::LastFrame PictureTimeline::write_until(std::uint64_t frame) noexcept {
  if (frame <= next_ || (is_written_ && !repeats_)) {
    return std::nullopt;
  }
  next_ = frame;
  is_written_ = true;
  return frame - 1;
}

std::uint64_t PictureTimeline::write_first() noexcept {
  next_ = 1;
  is_written_ = true;
  return 0;
}

PictureTimeline::LastFrame PictureTimeline::replace(std::int64_t now_ns) noexcept {
  const LastFrame last = write_until(frame_at(now_ns));
  is_written_ = false;
  return last;
}

PictureTimeline::LastFrame PictureTimeline::pass(std::int64_t now_ns) noexcept {
  const std::uint64_t frame = frame_at(now_ns);
  return frame < next_ + longest_stand_ ? std::nullopt : write_until(frame);
}

PictureTimeline::LastFrame PictureTimeline::end(std::int64_t now_ns) noexcept {
  return write_until(std::max(frame_at(now_ns), is_written_ ? 0 : next_ + 1));
}

std::int64_t PictureTimeline::due_ns() const noexcept {
  if (is_written_ && !repeats_) {
    return INT64_MAX;
  }
  const double frames = static_cast<double>(next_ + longest_stand_) - 0.5;
  return begin_ns_ + static_cast<std::int64_t>(std::ceil(frames * period_ns_)) + 1;
}

}  // namespace framewire
