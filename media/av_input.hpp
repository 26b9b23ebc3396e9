// Decodes what libav can open: files, URLs, cameras, screens, test sources.
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
#include "media/hw_accel.hpp"
#include "media/picture_memory.hpp"
#include "memory/block.hpp"
#include "memory/dma_buf_reader.hpp"
#include "memory/fence.hpp"
#include "memory/host_block.hpp"

namespace framewire {

struct AvInputOptions {
  /// A file, a URL, or FORMAT:REST with FORMAT an input format or device of libav ("v4l2:/dev/video0", "x11grab::0",
  /// "lavfi:testsrc2=size=640x360"). An existing file of exactly that name takes precedence.
  std::string name;
  /// Set on devices and raw files; other inputs are scaled to it. 0x0: the input's own.
  Size size{};
  /// Set on devices and raw files; other inputs are timed at this rate. 0: the input's own.
  double frames_per_s = 0;
  /// Set on raw files; other inputs are converted to it. None: the input's own, or the nearest supported one.
  std::optional<PixelFormat> pixel_format{};
  /// Options of the format, its protocol or the decoder, as in `ffmpeg -KEY VALUE`. An option that none of them knows
  /// is an Error (usage).
  std::vector<std::pair<std::string, std::string>> options{};
  /// libav's name of the input format; empty: detected from the name and the content.
  std::string format{};
  /// The first picture is the first at or after this time. Not for live inputs.
  std::int64_t start_ns = 0;
  /// A lost recording is going to be reopened: pictures that the decoder still holds then come after reopen(), because
  /// others may belong between them. Otherwise they come before AvRead::lost.
  bool resumes = false;
  /// What decodes. A device that cannot is an Error, or with `automatic` one line of the log.
  HwAccel hw_accel{};
  /// Where start_copy() puts pictures: the host's memory, or that of a GPU, which then also decodes. Outlives this.
  const MemoryKind* slots_memory = &host_memory();
  /// Reads pictures that VA-API decodes by their GPU; called for the first one. Empty: the processor copies them.
  OpenDmaBufReader open_dma_buf_reader{};
  /// When true, opening stops waiting for a network or a device and throws Error, and start_copy() waits for no GPU.
  std::function<bool()> is_cancelled{};
};

enum class AvRead {
  frame,      // there is a new picture
  none_yet,   // a device has no picture now; try again soon
  end,        // the input ended; fault() is empty if it ended regularly
  lost,       // a network input broke, see fault(); reopen() may restore it
  cancelled,  // is_cancelled() was true while waiting
};

/// Decodes one video stream. Used by one thread at a time; libav runs its own decoding threads inside. Pictures keep
/// their coded format if framewire supports it; otherwise they are converted to the nearest format, which the log
/// states once. They are rotated as the recording specifies.
class AvInput {
 public:
  /// Opens and probes the input, and decodes the first picture. Throws Error that names the source and the problem.
  /// `log` outlives this object.
  AvInput(AvInputOptions options, Log& log);
  ~AvInput();
  AvInput(const AvInput&) = delete;
  AvInput& operator=(const AvInput&) = delete;

  /// Advances to the next picture. The first call after construction or rewind() gives the first one.
  AvRead read() noexcept;

  /// Format of the picture that read() gave, valid until the next read(). The layout is packed; the rate is 0 if the
  /// input does not state it.
  [[nodiscard]] const StreamFormat& format() const noexcept;
  /// Time since the input's first picture; never negative. Computed from the frame rate if the input has no timestamps.
  [[nodiscard]] std::int64_t pts_ns() const noexcept;
  /// Display time of the picture: 1 / frame rate, or 40 ms if the rate is unknown.
  [[nodiscard]] std::int64_t duration_ns() const noexcept;
  /// Whether the device that decoded the picture copies it: then call start_copy() in place of copy_to().
  [[nodiscard]] bool is_on_device() const noexcept;
  /// The device starts to copy the picture to `offset_bytes` of `block`, as format().layout, and keeps the block alive.
  /// The block is of AvInputOptions::slots_memory. The first copy is waited for, with `automatic`. Null: the device has
  /// failed with its first picture, and another decoder has taken its place; the next read() gives that picture anew,
  /// and the device may still write where it was told to. Throws Error (failed).
  [[nodiscard]] std::shared_ptr<Fence> start_copy(const std::shared_ptr<Block>& block, std::uint64_t offset_bytes);
  /// Copies the picture into `slot`, which has at least format().layout.size_bytes.
  void copy_to(std::span<std::byte> slot) const noexcept;

  /// Decodes directly into `memory` from one of the next pictures on, if codec and memory allow. Null ends that. Call
  /// it between read() calls.
  void set_memory(std::shared_ptr<PictureMemory> memory);
  /// Where the picture is in that memory; nothing if it is not there. Its layout matches format(), but rows may be
  /// padded.
  [[nodiscard]] std::optional<PlacedPicture> placed() const noexcept;
  /// Bytes that each buffer of set_memory()'s memory needs. 0 if pictures cannot be decoded directly into it: the codec
  /// does not allow it, or they are converted or rotated.
  [[nodiscard]] std::uint64_t place_bytes() const noexcept;
  /// The most buffers that the decoder uses at once: for its threads, its reference pictures and its reorder queue.
  [[nodiscard]] std::uint32_t place_count() const noexcept;

  /// Reopens a lost input; a recording continues where it broke off, and may have ended there. What decodes is chosen
  /// anew if the input is coded otherwise than before. On failure returns false and sets fault().
  bool reopen();

  /// Returns to the first picture. If the input can be read only once, returns false and sets fault().
  bool rewind();

  /// Whether the input cannot be paused (a device, rtsp, udp). Pictures that are not read in time are lost.
  [[nodiscard]] bool is_live() const noexcept;
  /// Whether it comes over a network, which may be back later.
  [[nodiscard]] bool is_network() const noexcept;
  /// An error message when the input broke before its end ("'a.mp4' breaks off after 12 frames: …"); otherwise empty.
  [[nodiscard]] const std::string& fault() const noexcept;
  /// Decoder errors so far: unusable packets and concealed damage.
  [[nodiscard]] std::uint64_t error_count() const noexcept;
  /// Whether the device that decodes has failed, or cannot decode what reopen() has found; fault() says why. rewind()
  /// and reopen() open it again.
  [[nodiscard]] bool has_device_failed() const noexcept;
  [[nodiscard]] std::uint64_t frame_count() const noexcept;
  /// "h264", or "h264 (cuda)" if a device decodes it. After a read().
  [[nodiscard]] std::string decoder() const;
  /// "h264, 3840x2160 yuv420p 60 fps".
  [[nodiscard]] std::string describe() const;

  /// Replaces AvInputOptions::is_cancelled. Call it between read() calls.
  void set_cancelled(std::function<bool()> is_cancelled);

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace framewire
