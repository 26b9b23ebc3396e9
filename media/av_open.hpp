// From what the command line calls a source to an open libav input. Internal to media/.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "media/av_input.hpp"
#include "media/fifo_input.hpp"
#include "media/libav.hpp"

namespace framewire::libav {

/// Lets libav's blocking calls return: when cancelled, or after a deadline. Outlives the format context that refers to
/// it.
class Interrupt {
 public:
  [[nodiscard]] AVIOInterruptCB callback() noexcept { return {&Interrupt::check, this}; }

  /// Set while no call into libav is running.
  void set_cancelled(std::function<bool()> is_cancelled) { is_cancelled_ = std::move(is_cancelled); }
  /// Monotonic; 0 for none.
  void set_deadline_ns(std::int64_t deadline_ns) noexcept { deadline_ns_ = deadline_ns; }

  [[nodiscard]] bool is_cancelled() const { return is_cancelled_ && is_cancelled_(); }
  [[nodiscard]] bool is_late() const noexcept;
  /// Either of them.
  [[nodiscard]] bool is_asked() const { return is_late() || is_cancelled(); }

 private:
  static int check(void* self) noexcept;

  std::function<bool()> is_cancelled_;
  std::atomic<std::int64_t> deadline_ns_{0};
};

struct OpenedInput {
  std::unique_ptr<FifoInput> fifo;  // what `context` reads, if that is a named pipe
  FormatContext context;
  Dictionary unused_options;  // of AvInputOptions::options: neither the format nor a protocol knows them
  bool is_device = false;     // a camera, a screen
  bool is_live = false;       // nobody can make it wait: devices, rtsp, udp …
  bool is_network = false;
  bool ends_by_closing = false;  // a connection without an end of its own: that it is closed may be a loss
  bool takes_frame_rate =
      false;  // the frame rate asked for is the device's or the format's own business, and was set there
};

/// Opens and probes. Throws Error: one sentence that names the source, what is wrong, and the way out.
OpenedInput open_input(const AvInputOptions& options, Interrupt& interrupt, Log& log);

/// The number of the best video stream; all others are passed over from now on. Throws Error where there is none.
int find_video(const std::string& name, AVFormatContext& context);

/// A decoder for `stream`, with threads as suit it, and the options that `input` had no use for; whoever else has none
/// either is an Error (usage). `owner` outlives it. Throws Error.
CodecContext open_decoder(const std::string& name, const AVStream& stream, OpenedInput& input, DecoderOwner& owner);

}  // namespace framewire::libav
