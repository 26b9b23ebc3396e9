// FFmpeg's headers, owners for its objects, and its messages. Internal to media/: no header that others include brings
// this in.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace framewire::libav {

struct Deleter {
  void operator()(AVFormatContext* context) const noexcept { avformat_close_input(&context); }
  void operator()(AVCodecContext* context) const noexcept { avcodec_free_context(&context); }
  void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
  void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
};

using FormatContext = std::unique_ptr<AVFormatContext, Deleter>;
using CodecContext = std::unique_ptr<AVCodecContext, Deleter>;
using Frame = std::unique_ptr<AVFrame, Deleter>;
using Packet = std::unique_ptr<AVPacket, Deleter>;
using Scaler = std::unique_ptr<SwsContext, Deleter>;

/// Throw Error when there is no memory.
Frame make_frame();
Packet make_packet();

/// Takes libav's messages away from stderr; once per process, any thread, before anything else here.
void prepare();

/// libav's own text for an error code, without a full stop.
std::string error_text(int code);

/// Counts the errors that a decoder logs from whichever of its threads: some conceal damage and report it in no other
/// way. `count` outlives the decoder; set before it is opened.
void count_errors(AVCodecContext& decoder, std::atomic<std::uint64_t>& count) noexcept;

/// Collects the errors that libav logs on this thread while the object lives; they say more than error codes do ("moov
/// atom not found"). One at a time per thread.
class Messages {
 public:
  Messages() noexcept;
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// The last line, cut to what fits a sentence; empty if there was none.
  [[nodiscard]] const std::string& last() const noexcept { return last_; }
  void clear() noexcept { last_.clear(); }

  /// "moov atom not found", or where libav said nothing, error_text(code).
  [[nodiscard]] std::string reason(int code) const;

 private:
  static void receive(void* object, int level, const char* format, va_list arguments);
  friend void prepare();

  std::string last_;
};

}  // namespace framewire::libav
