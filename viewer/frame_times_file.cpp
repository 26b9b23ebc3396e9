#include "viewer/frame_times_file.hpp"

#include <fmt/format.h>

#include <iterator>

#include "base/saturating.hpp"
#include "command/result_file.hpp"

namespace framewire {

namespace {

std::int64_t by_our_clock(std::int64_t sender_ns, std::int64_t clock_offset_ns) noexcept {
  return sender_ns == 0 ? 0 : saturating_subtract(sender_ns, clock_offset_ns);
}

std::string columns_of(const std::optional<SeenRefresh>& refresh) {
  return refresh ? fmt::format("{},{}", refresh->number, refresh->at_ns) : ",";
}

}  // namespace

void FrameTimesFile::frame_shown(std::size_t stream, const FrameHeader& header, const ShownTimes& here,
                                 std::int64_t clock_offset_ns) {
  if (file_.empty()) {
    return;
  }
  const FrameTimes& sender = header.times;
  const std::scoped_lock lock(mutex_);
  if (frames_.size() == most_frames) {
    frames_.pop_front();
    ++dropped_;
  }
  frames_.push_back({.stream = stream,
                     .sequence = header.sequence,
                     .pts_ns = header.pts_ns,
                     .sender = {.begun_ns = by_our_clock(sender.begun_ns, clock_offset_ns),
                                .completed_ns = by_our_clock(sender.completed_ns, clock_offset_ns),
                                .offered_ns = by_our_clock(sender.offered_ns, clock_offset_ns)},
                     .here = here});
}

/// Those are among the newest: a picture has one frame of each stream at most, and a few pictures are on their way.
void FrameTimesFile::picture_seen(const PictureRefresh& seen) noexcept {
  const std::scoped_lock lock(mutex_);
  for (auto frame = frames_.rbegin(); frame != frames_.rend() && frame->here.picture >= seen.picture; ++frame) {
    if (frame->here.picture == seen.picture) {
      frame->here.refresh = seen.refresh;
    }
  }
}

std::uint64_t FrameTimesFile::write() const {
  if (file_.empty()) {
    return 0;
  }
  const std::scoped_lock lock(mutex_);
  ResultFile file(file_, {.what = "the frame times", .option = "--frame-times"});
  constexpr std::size_t part_bytes = 65536;
  std::string part =
      "stream,sequence,pts_ns,begun_ns,completed_ns,offered_ns,received_ns,selected_ns,uploaded_ns,drawn_ns,shown_ns,"
      "refresh,refresh_ns\n";
  for (const Times& frame : frames_) {
    fmt::format_to(std::back_inserter(part), "{},{},{},{},{},{},{},{},{},{},{},{}\n", frame.stream + 1, frame.sequence,
                   frame.pts_ns, frame.sender.begun_ns, frame.sender.completed_ns, frame.sender.offered_ns,
                   frame.here.received_ns, frame.here.selected_ns, frame.here.uploaded_ns, frame.here.drawn_ns,
                   frame.here.shown_ns, columns_of(frame.here.refresh));
    if (part.size() >= part_bytes) {
      file.write(part);
      part.clear();
    }
  }
  file.write(part);
  return dropped_;
}

}  // namespace framewire
