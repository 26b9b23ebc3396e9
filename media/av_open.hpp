// Opens the libav input that a source name on the command line refers to. Internal to media/.
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

/// Makes libav's blocking calls return on cancellation or after a deadline. Outlives the format context that refers to
/// it.
class Interrupt {
 public:
  [[nodiscard]] AVIOInterruptCB callback() noexcept { return {&Interrupt::check, this}; }

  /// Call it only while no libav call is running.
  void set_cancelled(std::function<bool()> is_cancelled) { is_cancelled_ = std::move(is_cancelled); }
  /// Monotonic; 0 for none.
  void set_deadline_ns(std::int64_t deadline_ns) noexcept { deadline_ns_ = deadline_ns; }

  [[nodiscard]] bool is_cancelled() const { return is_cancelled_ && is_cancelled_(); }
  [[nodiscard]] bool is_late() const noexcept;
  /// Cancelled or late.
  [[nodiscard]] bool is_asked() const { return is_late() || is_cancelled(); }

 private:
  static int check(void* self) noexcept;

  std::function<bool()> is_cancelled_;
  std::atomic<std::int64_t> deadline_ns_{0};
};

struct OpenedInput {
  std::unique_ptr<FifoInput> fifo;  // read by `context`, if the input is a named pipe
  FormatContext context;
  Dictionary unused_options;  // those of AvInputOptions::options that neither the format nor a protocol took
  bool is_device = false;     // a camera, a screen
  bool is_live = false;       // cannot be paused: devices, rtsp, udp …
  bool is_network = false;
  bool ends_by_closing = false;   // a connection without an end marker: closing it may be a loss
  bool can_seek = false;          // its protocol can; the format may still be unable to
  bool takes_frame_rate = false;  // the wanted frame rate was set on the device or the format

  /// Why libav gave up the connection; 0 if it did not. It stays, also if later reads succeed.
  [[nodiscard]] int io_error() const noexcept;
};

/// Opens and probes. Throws Error that names the source, the problem and the remedy.
OpenedInput open_input(const AvInputOptions& options, Interrupt& interrupt, Log& log);

/// The number of the best video stream; all other streams are discarded from now on. Throws Error if there is none.
int find_video(const std::string& name, AVFormatContext& context);

/// Opens a decoder for `stream`, with a suitable number of threads and with the options that `input` did not use. An
/// option that the decoder does not use either is an Error (usage). `codec` null: the one that libav takes by itself.
/// Another one decodes on `owner.hardware`. `owner` outlives the decoder. Throws Error.
CodecContext open_decoder(const std::string& name, const AVStream& stream, const OpenedInput& input,
                          DecoderOwner& owner, const AVCodec* codec);

}  // namespace framewire::libav
