#include "media/av_input.hpp"

#include <algorithm>
#include <thread>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/saturating.hpp"
#include "base/text.hpp"
#include "media/av_format.hpp"
#include "media/av_input_implementation.hpp"
#include "media/frame_rate.hpp"
#include "memory/fence_wait.hpp"

namespace framewire {

namespace {

using namespace libav;

constexpr std::int64_t guessed_duration_ns = 40 * ns_per_ms;
constexpr std::int64_t longest_first_copy_ns = 2 * ns_per_s;

}  // namespace

void AvInput::Implementation::open() {
  av_frame_unref(frame_.get());  // the last picture does not outlive its device
  av_frame_unref(host_frame_.get());
  decoder_.close();
  { const OpenedInput closed = std::move(input_); }  // closes the device before it is reopened
  input_ = open_input(options_, interrupt_, *log_);
  is_network_ = input_.is_network;
  resumes_ = resumes_ && !input_.is_live;
  stream_index_ = find_video(options_.name, *input_.context);
  AVStream& stream = *input_.context->streams[stream_index_];
  decoder_.open(stream, input_);
  frame_rate_ = to_rational(av_guess_frame_rate(input_.context.get(), &stream, nullptr)).value_or(Rational{0, 1});
  counts_time_ = options_.frames_per_s > 0 && !input_.takes_frame_rate;
  if (counts_time_) {
    frame_rate_ = rational_rate(options_.frames_per_s);
  }
  duration_ns_ = frame_rate_.numerator != 0 ? frame_time_ns(frame_rate_, 1) : guessed_duration_ns;
  is_draining_ = is_over_ = is_lost_ = false;
  if (!resumes_) {
    frames_this_round_ = 0;
    first_timestamp_.reset();
    last_timestamp_.reset();
    first_packet_.reset();
    first_packet_sought_at_.reset();
  }
  start_timestamp_.reset();
  sought_before_start_ns_.reset();
  read_problem_.clear();
  errors_at_open_ = error_count_;
  complaints_at_open_ = decoder_.complaints();
  seek_to_start();
}

/// Seeks to the key frame before options_.start_ns, or before the pictures that were not yet read when the input was
/// lost. If the input cannot seek, earlier pictures are decoded and dropped.
void AvInput::Implementation::seek_to_start() {
  passed_over_ns_ = 0;
  passes_over_ns_ = options_.start_ns;
  has_passed_over_ = has_sought_ = false;
  if (options_.start_ns == 0 && !resumes_) {
    return;
  }
  if (input_.is_live) {
    throw Error::usage("--start does not work with " + quote(options_.name, 200) +
                       ", which is live and has no beginning; leave out --start");
  }
  const AVStream& stream = *input_.context->streams[stream_index_];
  const std::int64_t begin = stream.start_time != AV_NOPTS_VALUE ? stream.start_time : 0;
  start_timestamp_ = saturating_add(begin, av_rescale_q(options_.start_ns, nanoseconds, stream.time_base));
  if (resumes_) {
    seek_to_resume();
  } else if (has_timestamps() && seeks_to_start_) {
    seek_before_start(0);
  }
}

/// Throws Error if libav fails to seek: nobody knows where it reads then, so the next try does without.
void AvInput::Implementation::seek_to_resume() {
  if (!has_timestamps() || !last_timestamp_) {
    passes_over_ns_ = saturating_add(passes_over_ns_,
                                     saturating_multiply(static_cast<std::int64_t>(frames_this_round_), duration_ns_));
    return;
  }
  start_timestamp_ = saturating_add(*last_timestamp_, 1);
  passes_over_ns_ = 0;
  if (!input_.can_seek || !std::exchange(seeks_to_resume_, true)) {
    return;
  }
  seek_before_start(0);
  if (!has_sought_ || input_.io_error() != 0) {
    seeks_to_resume_ = false;
    throw Error::failed("cannot seek in " + quote(options_.name, 200) + " to where it broke off");
  }
}

/// libav invents the times of raw H.264, without a defined start; for it, pictures are counted instead.
bool AvInput::Implementation::has_timestamps() const noexcept {
  return input_.context->streams[stream_index_]->start_time != AV_NOPTS_VALUE &&
         (input_.context->iformat->flags & AVFMT_NOTIMESTAMPS) == 0;
}

void AvInput::Implementation::seek_before_start(std::int64_t by_ns) noexcept {
  const AVStream& stream = *input_.context->streams[stream_index_];
  const std::int64_t begin = stream.start_time != AV_NOPTS_VALUE ? stream.start_time : 0;
  const std::int64_t to =
      std::max(begin, saturating_subtract(*start_timestamp_, av_rescale_q(by_ns, nanoseconds, stream.time_base)));
  interrupt_.set_deadline_ns(input_.is_network ? monotonic_ns() + silence_limit_ns : 0);
  has_sought_ = avformat_seek_file(input_.context.get(), stream_index_, INT64_MIN, to, to, 0) >= 0;
  sought_before_start_ns_ = has_sought_ && to > begin ? std::optional(by_ns) : std::nullopt;
  if (has_sought_ && !resumes_) {
    first_packet_.reset();
    first_packet_sought_at_ = to;
  }
}

/// After a seek that led behind the wanted picture, or behind the last key picture (mpegts). False: nothing was sought,
/// or already the beginning.
bool AvInput::Implementation::seek_further_back() noexcept {
  const std::optional<std::int64_t> sought_ns = std::exchange(sought_before_start_ns_, std::nullopt);
  if (!sought_ns || is_lost_) {
    return false;
  }
  seek_before_start(*sought_ns == 0 ? ns_per_s : saturating_multiply(4, *sought_ns));
  decoder_.flush();
  error_count_ = errors_at_open_;
  decoder_.forget_complaints_since(complaints_at_open_);
  is_draining_ = false;
  read_problem_.clear();
  return true;
}

/// Whether to drop the decoded picture.
bool AvInput::Implementation::is_before_start() noexcept {
  if (!start_timestamp_) {
    return false;
  }
  if (has_timestamps() && frame_->best_effort_timestamp != AV_NOPTS_VALUE) {
    if (frame_->best_effort_timestamp > *start_timestamp_ && seek_further_back()) {
      return true;
    }
    sought_before_start_ns_.reset();
    const bool is_before = frame_->best_effort_timestamp < *start_timestamp_;
    has_passed_over_ = has_passed_over_ || is_before;
    return is_before;
  }
  if (std::exchange(replays_seen_, decoder_.replays()) != decoder_.replays()) {
    passed_over_ns_ = 0;  // another decoder gives them all anew
  }
  const bool is_before = passed_over_ns_ < passes_over_ns_;
  passed_over_ns_ = saturating_add(passed_over_ns_, is_before ? duration_ns_ : 0);
  has_passed_over_ = has_passed_over_ || is_before;
  return is_before;
}

AvRead AvInput::Implementation::read_until_first() noexcept {
  const std::int64_t deadline_ns = monotonic_ns() + silence_limit_ns;
  AvRead result = AvRead::none_yet;
  while ((result = decode_next()) == AvRead::none_yet && monotonic_ns() < deadline_ns && !interrupt_.is_cancelled()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return result;
}

/// Also a seek to the beginning may lead behind the first key picture (mpegts).
bool AvInput::Implementation::begins_too_late(AvRead result) const noexcept {
  if (!has_sought_ || resumes_ || has_passed_over_) {
    return false;
  }
  return result == AvRead::frame ? frame_->best_effort_timestamp > *start_timestamp_ : result == AvRead::end;
}

void AvInput::Implementation::read_first() {
  AvRead result = read_until_first();
  if (begins_too_late(result)) {
    frame_count_ -= result == AvRead::frame ? 1 : 0;
    error_count_ = errors_at_open_;
    seeks_to_start_ = false;
    decoder_.forget_complaints_since(complaints_at_open_);
    open();
    result = read_until_first();
  }
  if (result == AvRead::frame) {
    first_is_ready_ = true;
    return;
  }
  if (result == AvRead::end && resumes_ && has_passed_over_ && fault_.empty()) {
    return;  // it was lost after its last picture: the next read() says that it has ended
  }
  const std::string start = "cannot play " + quote(options_.name, 200) + ": ";
  if (result == AvRead::cancelled) {
    throw Error::failed(start + "it was stopped before the first picture");
  }
  if (result == AvRead::none_yet) {
    throw Error::failed(start + "the device gave no picture within 30 s; look whether another program uses it");
  }
  if (start_timestamp_ && !resumes_ && fault_.empty()) {
    throw Error::failed(start + "it ends before " + std::to_string(options_.start_ns / ns_per_s) +
                        " s, where --start is; choose an earlier time");
  }
  if (!decoder_.device_fault().empty()) {
    throw Error::failed("cannot decode " + quote(options_.name, 200) + ": " + decoder_.device_fault() +
                        std::string(advice(options_.hw_accel.kind)));
  }
  throw Error::failed(start + "not one picture of its " + decoder_.describe() + " video could be decoded" +
                      (fault_.empty() ? "" : " (" + fault_ + ")"));
}

bool AvInput::Implementation::rewind() {
  const bool comes_once =
      input_.is_live || (input_.context->pb != nullptr && input_.context->pb->seekable == 0 && !input_.is_network);
  if (comes_once) {
    fault_ = quote(options_.name, 200) + " cannot be played again: what it gives comes only once";
    return false;
  }
  fault_.clear();
  if (seek_to_first()) {
    return true;
  }
  resumes_ = false;
  return open_again();
}

/// A recording continues after the last picture read.
bool AvInput::Implementation::reopen() {
  if (!open_again() || !fault_.empty()) {
    return false;
  }
  if (resumes_ && !has_sought_) {
    log_->info(quote(options_.name, 200) + " cannot seek: it is read from its beginning, without what was read before");
  }
  return true;
}

/// False, with a fault, when it cannot be opened or has no picture.
bool AvInput::Implementation::open_again() {
  fault_.clear();
  try {
    open();
    read_first();
    return true;
  } catch (const Error& error) {
    fault_ = error.what();
    is_over_ = true;
    return false;
  }
}

/// The first copy is waited for: until it has ended, another decoder can still take the device's place.
std::shared_ptr<Fence> AvInput::Implementation::start_copy(const std::shared_ptr<Block>& block,
                                                           std::uint64_t offset_bytes) {
  HwDecoder& device = *decoder_.device();
  if (!decoder_.is_replaceable()) {
    return device.start_copy(*frame_, format_.layout, block, offset_bytes);
  }
  std::string reason;
  try {
    std::shared_ptr<Fence> fence = device.start_copy(*frame_, format_.layout, block, offset_bytes);
    const FenceState state = wait_until_finished(*fence, monotonic_ns() + longest_first_copy_ns,
                                                 [this] { return interrupt_.is_cancelled(); });
    if (state == FenceState::done) {
      decoder_.confirm();
      return fence;
    }
    if (state == FenceState::pending && interrupt_.is_cancelled()) {
      return fence;
    }
    reason = state == FenceState::failed ? "it failed to copy its first picture"
                                         : "it did not copy its first picture within 2 s";
  } catch (const Error& error) {
    reason = error.what();
  }
  withdraw_picture(reason);
  return nullptr;
}

/// Throws Error if no other decoder takes the device's place.
void AvInput::Implementation::withdraw_picture(const std::string& reason) {
  --frame_count_;
  --frames_this_round_;
  is_on_device_ = false;
  if (!decoder_.refuse(*frame_, reason)) {
    throw Error::failed(decoder_.device_fault());
  }
}

/// Reopening always returns to the first picture, but is slow. A seek is used if it leads to exactly the packet that
/// came first. The time of a picture does not tell: mpegts seeks by the order of decoding, behind the first key picture
/// of H.264, and files that were joined have each time more than once. Nothing else is decoded: what comes without its
/// key picture would pass for damage.
bool AvInput::Implementation::seek_to_first() {
  if (!first_timestamp_ || !first_packet_) {
    return false;
  }
  const std::int64_t from = first_packet_->timestamp != AV_NOPTS_VALUE ? first_packet_->timestamp : *first_timestamp_;
  const std::int64_t to = first_packet_sought_at_.value_or(from);
  if (avformat_seek_file(input_.context.get(), stream_index_, INT64_MIN, to, to, 0) < 0) {
    return false;
  }
  is_draining_ = is_over_ = is_lost_ = false;
  read_problem_.clear();
  Messages messages;
  if (fetch_packet(messages) || is_draining_ || PacketPlace(*packet_) != *first_packet_) {
    av_packet_unref(packet_.get());
    return false;
  }
  const std::int64_t first = *first_timestamp_;
  if (start_timestamp_) {
    start_timestamp_ = first;  // it may be where a loss was
  }
  sought_before_start_ns_.reset();
  passed_over_ns_ = 0;
  passes_over_ns_ = options_.start_ns;
  frames_this_round_ = 0;
  decoder_.flush();
  send_packet();
  first_is_ready_ = decode_next() == AvRead::frame && frame_->best_effort_timestamp == first;
  return first_is_ready_;
}

AvInput::AvInput(AvInputOptions options, Log& log)
    : implementation_(std::make_unique<Implementation>(std::move(options), log)) {}
AvInput::~AvInput() = default;
AvRead AvInput::read() noexcept {
  return implementation_->read();
}
const StreamFormat& AvInput::format() const noexcept {
  return implementation_->format_;
}
std::int64_t AvInput::pts_ns() const noexcept {
  return implementation_->pts_ns_;
}
std::int64_t AvInput::duration_ns() const noexcept {
  return implementation_->duration_ns_;
}
void AvInput::copy_to(std::span<std::byte> slot) const noexcept {
  implementation_->presentation_.copy_to(slot);
}
bool AvInput::is_on_device() const noexcept {
  return implementation_->is_on_device_;
}
std::shared_ptr<Fence> AvInput::start_copy(const std::shared_ptr<Block>& block, std::uint64_t offset_bytes) {
  return implementation_->start_copy(block, offset_bytes);
}
void AvInput::set_memory(std::shared_ptr<PictureMemory> memory) {
  implementation_->decoder_.buffers().set_memory(std::move(memory));
}
std::optional<PlacedPicture> AvInput::placed() const noexcept {
  const AVFrame* picture = implementation_->presentation_.unchanged();
  return picture != nullptr ? implementation_->decoder_.buffers().find(*picture, implementation_->format_.layout)
                            : std::nullopt;
}
std::uint64_t AvInput::place_bytes() const noexcept {
  return implementation_->presentation_.unchanged() != nullptr ? implementation_->decoder_.buffers().wanted_bytes() : 0;
}
std::uint32_t AvInput::place_count() const noexcept {
  return implementation_->decoder_.place_count(implementation_->format_.layout.size_bytes);
}
bool AvInput::reopen() {
  return implementation_->reopen();
}
bool AvInput::rewind() {
  return implementation_->rewind();
}
bool AvInput::is_live() const noexcept {
  return implementation_->input_.is_live;
}
bool AvInput::is_network() const noexcept {
  return implementation_->is_network_;
}
const std::string& AvInput::fault() const noexcept {
  return implementation_->fault_;
}
std::uint64_t AvInput::error_count() const noexcept {
  return std::max(implementation_->error_count_, implementation_->decoder_.complaints());
}

bool AvInput::has_device_failed() const noexcept {
  return !implementation_->decoder_.device_fault().empty();
}
std::uint64_t AvInput::frame_count() const noexcept {
  return implementation_->frame_count_;
}
std::string AvInput::decoder() const {
  return implementation_->decoder_.describe();
}
std::string AvInput::describe() const {
  return implementation_->describe();
}
void AvInput::set_cancelled(std::function<bool()> is_cancelled) {
  implementation_->interrupt_.set_cancelled(std::move(is_cancelled));
}

}  // namespace framewire
