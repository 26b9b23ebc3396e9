#include "sender/sources/media/av_source.hpp"

#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::int64_t device_look_again_ns = 2 * ns_per_ms;

AvInputOptions input_options(const SourceOptions& options, std::function<bool()> is_cancelled) {
  return {.name = options.name,
          .size = {options.width, options.height},
          .frames_per_s = options.frames_per_s,
          .pixel_format = options.pixel_format,
          .is_cancelled = std::move(is_cancelled)};
}

}  // namespace

AvSource::AvSource(const SourceOptions& options, Log& log, std::function<bool()> is_cancelled)
    : log_(&log),
      name_(options.name),
      loops_(options.loop),
      is_paced_(options.realtime),
      input_(input_options(options, std::move(is_cancelled)), log),
      description_(options.name + ", " + input_.describe() + (input_.is_live() ? ", live" : "")),
      pacer_(input_.duration_ns()) {
  if (loops_ && input_.is_live()) {
    throw Error::usage("--loop was asked for " + quote(name_, 200) +
                       ", which is live and cannot be played again; leave --loop away");
  }
}

void AvSource::run(Stream& stream) {
  input_.set_cancelled([&stream] { return stream.is_stopping(); });
  while (!stream.is_stopping()) {
    switch (input_.read()) {
      case AvRead::frame:
        if (!send(stream)) {
          return;
        }
        break;
      case AvRead::none_yet:
        stream.sleep_until(monotonic_ns() + device_look_again_ns);
        break;
      case AvRead::cancelled:
        return;
      case AvRead::end:
        if (!begin_round(stream)) {
          return;
        }
        break;
    }
  }
}

/// Publishes the picture that was read; false when the stream wants no more.
bool AvSource::send(Stream& stream) {
  if (input_.format() != epoch_format_) {
    epoch_format_ = input_.format();
    stream.begin_epoch(epoch_format_);
  }
  std::optional<ClaimedSlot> slot = input_.is_live() ? stream.try_claim() : stream.claim();
  if (!slot) {
    return input_.is_live();  // dropped at the source; run() looks whether the stream is stopping
  }
  input_.copy_to(slot->bytes());
  const std::int64_t pts_ns = round_begins_ns_ + input_.pts_ns();
  round_ends_ns_ = pts_ns + input_.duration_ns();
  if (is_paced_ && !input_.is_live() && !stream.sleep_until(pacer_.due_ns(pts_ns, monotonic_ns()))) {
    return false;
  }
  stream.publish(std::move(*slot), {.pts_ns = pts_ns, .user_tag = 0, .is_stamped = false, .layout = {}});
  return true;
}

/// At the end of the input: whether there is another round. Throws Error where the input broke.
bool AvSource::begin_round(const Stream& stream) {
  const std::string fault = input_.fault();
  if (input_.error_count() > 0) {
    log_->warning(quote(name_, 200) + " is damaged: " + std::to_string(input_.error_count()) +
                  (input_.error_count() == 1 ? " error" : " errors") +
                  " while decoding; pictures may be missing or broken");
  }
  if (!loops_) {
    if (!fault.empty()) {
      throw Error::failed(fault + "; what came before was sent");
    }
    return false;
  }
  if (!input_.rewind()) {
    if (stream.is_stopping()) {
      return false;
    }
    throw Error::failed(input_.fault());
  }
  round_begins_ns_ = round_ends_ns_;
  return true;
}

}  // namespace framewire
