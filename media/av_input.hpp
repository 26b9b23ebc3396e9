// Whatever libav can open, as decoded pictures: files, URLs, cameras, screens, test sources.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/log.hpp"
#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "media/picture_memory.hpp"

namespace framewire {

struct AvInputOptions {
  /// A file, a URL, or FORMAT:REST with FORMAT an input format or device of libav ("v4l2:/dev/video0", "x11grab::0",
  /// "lavfi:testsrc2=size=640x360"). A file of that very name comes first.
  std::string name;
  /// Asked of devices and raw files; others are scaled. 0x0: the input's own.
  Size size{};
  /// Asked of devices and raw files; others are timed at this rate. 0: the input's own.
  double frames_per_s = 0;
  /// Asked of raw files; others are converted. None: the input's own, or the nearest that is carried.
  std::optional<PixelFormat> pixel_format{};
  /// For the format, its protocol or the decoder, as `ffmpeg -KEY VALUE` has them. One that none of them knows is an
  /// Error (usage).
  std::vector<std::pair<std::string, std::string>> options{};
  /// By libav's name, where the name and the content do not say it.
  std::string format{};
  /// The first picture is the first at or after this time. Not for live inputs.
  std::int64_t start_ns = 0;
  /// Lets opening return (Error) while it waits for a network or a device.
  std::function<bool()> is_cancelled{};
};

enum class AvRead {
  frame,      // there is a new picture
  none_yet,   // a device has none now; ask again after a moment
  end,        // the input is over, well or not: fault() says which
  lost,       // a network's input broke: fault() says how; reopen() may find it again
  cancelled,  // is_cancelled() was true while it waited
};

/// One video stream being decoded. One thread at a time; libav runs decoding threads of its own inside. Pictures are
/// handed out in the format they are coded in where framewire carries it, else in the nearest, which the log says once,
/// and turned as the recording asks.
class AvInput {
 public:
  /// Opens, probes, and decodes the first picture. Throws Error with a sentence that names the source and what is
  /// wrong. `log` outlives this object.
  AvInput(AvInputOptions options, Log& log);
  ~AvInput();
  AvInput(const AvInput&) = delete;
  AvInput& operator=(const AvInput&) = delete;

  /// Goes on to the next picture. After construction, and after rewind(), the first call gives the first one.
  AvRead read() noexcept;

  /// Format, time and pixels of the picture that read() gave, valid until the next call.
  /// The layout is packed; the rate is 0 where the input does not know it.
  [[nodiscard]] const StreamFormat& format() const noexcept;
  /// From the input's first picture on; never negative. Where the input has no timestamps, counted by the frame rate.
  [[nodiscard]] std::int64_t pts_ns() const noexcept;
  /// How long the picture is shown: 1 / frame rate, or a guess of 40 ms.
  [[nodiscard]] std::int64_t duration_ns() const noexcept;
  /// Copies it into `slot`, which holds format().layout.size_bytes at least.
  void copy_to(std::span<std::byte> slot) const noexcept;

  /// Has pictures decoded straight into `memory`, from one of the next ones on, as far as codec and memory allow; null:
  /// no more. Between calls of read().
  void set_memory(std::shared_ptr<PictureMemory> memory);
  /// Where read() has got the picture, if in that memory and as format() describes it, but for the rows' distance.
  [[nodiscard]] std::optional<PlacedPicture> placed() const noexcept;
  /// What set_memory() should give: bytes of one place, 0 where pictures cannot be decoded straight into it (the codec
  /// does not allow it, or they are converted or turned).
  [[nodiscard]] std::uint64_t place_bytes() const noexcept;
  /// And how many places the decoder has in use at most: its threads', its references, those that wait for their turn.
  [[nodiscard]] std::uint32_t place_count() const noexcept;

  /// Opens a lost input again, a recording where it broke off. False, with fault().
  bool reopen();

  /// Back to the first picture. False, with fault(), when the input can be had only once.
  bool rewind();

  /// Nobody can make it wait: a device, rtsp, udp. Pictures that are not taken in time are gone.
  [[nodiscard]] bool is_live() const noexcept;
  /// A sentence when the input broke before its end ("'a.mp4' breaks off after 12 frames: …"); empty while all is well.
  [[nodiscard]] const std::string& fault() const noexcept;
  /// Errors of the decoder so far: packets that it could not use, damage that it concealed.
  [[nodiscard]] std::uint64_t error_count() const noexcept;
  [[nodiscard]] std::uint64_t frame_count() const noexcept;
  /// "h264, 3840x2160 yuv420p 60 fps".
  [[nodiscard]] std::string describe() const;

  /// Replaces AvInputOptions::is_cancelled. Between calls of read().
  void set_cancelled(std::function<bool()> is_cancelled);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace framewire
