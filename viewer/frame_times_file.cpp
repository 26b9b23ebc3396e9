#include "viewer/frame_times_file.hpp"

#include <fmt/format.h>

#include <cerrno>
#include <cstdio>
#include <memory>

#include "base/error.hpp"
#include "base/saturating.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

std::int64_t by_our_clock(std::int64_t sender_ns, std::int64_t clock_offset_ns) noexcept {
  return sender_ns == 0 ? 0 : saturating_subtract(sender_ns, clock_offset_ns);
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

std::uint64_t FrameTimesFile::write() const {
  if (file_.empty()) {
    return 0;
  }
  const std::scoped_lock lock(mutex_);
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(file_.c_str(), "we"), std::fclose);
  bool is_written = file != nullptr && std::fputs(
                                           "stream,sequence,pts_ns,begun_ns,completed_ns,offered_ns,received_ns,"
                                           "selected_ns,uploaded_ns,drawn_ns,shown_ns\n",
                                           file.get()) >= 0;
  for (auto frame = frames_.begin(); is_written && frame != frames_.end(); ++frame) {
    const std::string line = fmt::format("{},{},{},{},{},{},{},{},{},{},{}\n", frame->stream + 1, frame->sequence,
                                         frame->pts_ns, frame->sender.begun_ns, frame->sender.completed_ns,
                                         frame->sender.offered_ns, frame->here.received_ns, frame->here.selected_ns,
                                         frame->here.uploaded_ns, frame->here.drawn_ns, frame->here.shown_ns);
    is_written = std::fputs(line.c_str(), file.get()) >= 0;
  }
  if (!is_written || std::fflush(file.get()) != 0) {
    throw Error::failed("cannot write --frame-times " + quote(file_) + ": " + errno_text(errno));
  }
  return dropped_;
}

}  // namespace framewire
