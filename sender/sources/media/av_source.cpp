#include "sender/sources/media/av_source.hpp"
#include "transport/ring_limits.hpp"

#include <algorithm>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/saturating.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::int64_t device_poll_interval_ns = 2 * ns_per_ms;
constexpr std::int64_t first_try_again_ns = 250 * ns_per_ms;  // after a loss; doubles with each further try
constexpr std::int64_t longest_try_again_ns = 4 * ns_per_s;

std::string seconds(std::int64_t ns) {
  std::string text = std::to_string((ns + ns_per_s / 20) / (ns_per_s / 10));
  text.insert(text.begin(), text.size() < 2 ? 1 : 0, '0');
  return text.insert(text.size() - 1, ".") + " s";
}

AvInputOptions input_options(const SourceOptions& options, std::function<bool()> is_cancelled,
                             OpenDmaBufReader open_reader) {
  return {.name = options.name,
          .size = {options.width, options.height},
          .frames_per_s = options.frames_per_s,
          .pixel_format = options.pixel_format,
          .options = options.input_options,
          .format = options.input_format,
          .start_ns = options.start_ns,
          .resumes = options.retry_ns != 0,
          .hw_accel = parse_hw_accel(options.hw_accel),
          .slots_memory = options.memory,
          .open_dma_buf_reader = std::move(open_reader),
          .is_cancelled = std::move(is_cancelled)};
}

}  // namespace

AvSource::AvSource(const SourceOptions& options, Log& log, std::function<bool()> is_cancelled,
                   OpenDmaBufReader open_reader)
    : log_(&log),
      name_(options.name),
      loops_(options.loop),
      is_paced_(options.realtime),
      input_(input_options(options, std::move(is_cancelled), std::move(open_reader)), log),
      description_(options.name + ", " + input_.describe() + (input_.is_live() ? ", live" : "")),
      presentation_clock_(input_.duration_ns()),
      retry_ns_(options.retry_ns) {
  if (loops_ && input_.is_live()) {
    throw Error::usage("--loop does not work with " + quote(name_, 200) +
                       ", which is live and cannot be played again; leave out --loop");
  }
}

void AvSource::run(Stream& stream) {
  const auto leave = [&](AvSource* source) { source->return_slots(); };  // on every exit
  const std::unique_ptr<AvSource, decltype(leave)> at_end(this, leave);
  input_.set_cancelled([&stream] { return stream.is_stopping(); });
  follow(stream);
  log_->detail(quote(name_, 200) + ": " + std::to_string(frames_placed_) + " of " +
               std::to_string(stream.frames_produced()) + " frames were decoded straight into their slots" +
               (frames_from_device_ == 0 ? ""
                                         : ", and " + std::to_string(frames_from_device_) +
                                               " were copied there by the device that decodes"));
}

void AvSource::follow(Stream& stream) {
  while (!stream.is_stopping()) {
    switch (input_.read()) {
      case AvRead::frame:
        if (!send(stream)) {
          return;
        }
        break;
      case AvRead::none_yet:
        stream.sleep_until(monotonic_ns() + device_poll_interval_ns);
        break;
      case AvRead::cancelled:
        return;
      case AvRead::end:
        if (!begin_round(stream)) {
          return;
        }
        break;
      case AvRead::lost:
        if (!find_again(stream)) {
          return;
        }
        break;
    }
  }
}

void AvSource::begin_epoch(Stream& stream) {
  return_slots();
  epoch_format_ = input_.format();
  const std::uint64_t packed_bytes = epoch_format_.layout.size_bytes;
  // A viewer refuses a slot that is much larger than a frame. place_bytes() may also be that of a later picture, which
  // the decoder's threads have begun already.
  if (const std::uint64_t place_bytes = input_.place_bytes();
      place_bytes != 0 && place_bytes <= packed_bytes + slot_slack_bytes) {
    const std::uint32_t count = std::min(input_.place_count(), max_extra_slots);
    try {
      stream.begin_epoch(epoch_format_, std::max(place_bytes, packed_bytes), count);
      if (stream.is_stopping()) {
        return;  // there may be no pool of this epoch for its pictures
      }
      slots_ = DecodedSlots::create(count);
      input_.set_memory(slots_);
      return;
    } catch (const Error& error) {
      log_->detail(quote(name_, 200) +
                   ": frames are copied into their slots, for there is no room for more of them: " + error.what());
    }
  }
  stream.begin_epoch(epoch_format_);
}

void AvSource::return_slots() noexcept {
  input_.set_memory(nullptr);
  if (slots_) {
    slots_->end();
    slots_.reset();
  }
}

/// Publishes the picture that was read. False when the stream is stopping.
bool AvSource::send(Stream& stream) {
  if (input_.format() != epoch_format_) {
    const bool is_first = epoch_format_ == StreamFormat{};
    begin_epoch(stream);
    if (is_first && !input_.is_live() && !stream.wait_for_ready_viewer()) {
      return false;
    }
  }
  if (slots_) {
    slots_->refill(stream);
  }
  if (!stream.wait_for_room({.deadline_ns = input_.is_live() ? 0 : INT64_MAX})) {
    if (input_.is_live()) {
      stream.drop_frame();
    }
    return input_.is_live();  // run() checks whether the stream is stopping
  }
  const std::int64_t begun_ns = monotonic_ns();
  const std::optional<PlacedPicture> placed = slots_ ? input_.placed() : std::nullopt;
  std::optional<ClaimedSlot> slot = placed ? std::nullopt : stream.claim();
  if (!slot && !placed) {
    return false;
  }
  FrameInfo frame{.begun_ns = begun_ns};
  if (slot && input_.is_on_device()) {
    frame.ready = input_.start_copy(slot->block(), slot->offset_in_block_bytes());
    if (!frame.ready) {
      epoch_format_ = {};  // the device may still write into slots of this epoch
      return true;
    }
    ++frames_from_device_;
    frame.is_on_device = !slot->block()->kind().is_host();
  } else if (slot) {
    input_.copy_to(slot->bytes());
  }
  frame.pts_ns = saturating_add(round_begins_ns_, input_.pts_ns());
  round_ends_ns_ = saturating_add(frame.pts_ns, input_.duration_ns());
  if (is_paced_ && !input_.is_live() && !stream.sleep_until(presentation_clock_.due_ns(frame.pts_ns, monotonic_ns()))) {
    return false;
  }
  if (placed) {
    frame.layout = placed->layout;
    slots_->publish(stream, placed->number, frame);
    ++frames_placed_;
  } else {
    stream.publish(std::move(*slot), frame);
  }
  return true;
}

/// Retries a lost input until it opens. False when the stream is stopping. Throws Error after retry_ns_.
bool AvSource::find_again(Stream& stream) {
  ++losses_;
  const std::int64_t lost_ns = monotonic_ns();
  if (retry_ns_ == 0) {
    throw Error::failed(input_.fault() + "; what came before was sent");
  }
  log_->warning(input_.fault() + "; it is opened again (loss " + std::to_string(losses_) + ")");
  const std::int64_t deadline_ns = retry_ns_ > INT64_MAX - lost_ns ? INT64_MAX : lost_ns + retry_ns_;
  std::int64_t pause_ns = first_try_again_ns;
  for (;;) {
    if (!stream.sleep_until(std::min(monotonic_ns() + pause_ns, deadline_ns))) {
      return false;
    }
    if (input_.reopen()) {
      break;
    }
    if (stream.is_stopping()) {
      return false;
    }
    if (input_.has_device_failed()) {
      throw Error::failed(input_.fault());  // it is back; to wait for it would not help
    }
    if (monotonic_ns() >= deadline_ns) {
      throw Error::failed(quote(name_, 200) + " was lost and did not come back within " + seconds(retry_ns_) + ": " +
                          input_.fault());
    }
    pause_ns = std::min(2 * pause_ns, longest_try_again_ns);
  }
  log_->info(quote(name_, 200) + " is back after " + seconds(monotonic_ns() - lost_ns));
  round_begins_ns_ = input_.is_live() ? round_ends_ns_ : round_begins_ns_;
  return true;
}

/// At the end of the input: starts another round of --loop, if there is one. Throws Error if the input broke.
bool AvSource::begin_round(Stream& stream) {
  const std::string fault = input_.fault();
  const bool may_go_on = loops_ && !input_.has_device_failed();
  if (input_.error_count() > 0) {
    log_->warning(quote(name_, 200) + " is damaged: " + std::to_string(input_.error_count()) +
                  (input_.error_count() == 1 ? " error" : " errors") +
                  " while decoding; pictures may be missing or broken");
  }
  if (!may_go_on) {
    if (!fault.empty()) {
      throw Error::failed(fault + "; what came before was sent");
    }
    return false;
  }
  if (!input_.rewind()) {
    if (stream.is_stopping()) {
      return false;
    }
    if (!input_.is_network() || input_.has_device_failed()) {
      throw Error::failed(input_.fault());
    }
    round_begins_ns_ = round_ends_ns_;
    return find_again(stream);  // its server may refuse for a while
  }
  round_begins_ns_ = round_ends_ns_;
  return true;
}

}  // namespace framewire
