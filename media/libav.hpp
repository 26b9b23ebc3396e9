// FFmpeg's headers, owners for its objects, and its log messages. Internal to media/: headers that other folders
// include must not include this one.
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/hwcontext.h>
#include <libavutil/hwcontext_drm.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libavutil/pixdesc.h>
#include <libswscale/swscale.h>
}

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace framewire::libav {

struct Deleter {
  void operator()(AVFormatContext* context) const noexcept { avformat_close_input(&context); }
  void operator()(AVCodecContext* context) const noexcept { avcodec_free_context(&context); }
  void operator()(AVFrame* frame) const noexcept { av_frame_free(&frame); }
  void operator()(AVPacket* packet) const noexcept { av_packet_free(&packet); }
  void operator()(AVBufferRef* buffer) const noexcept { av_buffer_unref(&buffer); }
  void operator()(SwsContext* context) const noexcept { sws_freeContext(context); }
};

using FormatContext = std::unique_ptr<AVFormatContext, Deleter>;
using CodecContext = std::unique_ptr<AVCodecContext, Deleter>;
using Frame = std::unique_ptr<AVFrame, Deleter>;
using Packet = std::unique_ptr<AVPacket, Deleter>;
using BufferRef = std::unique_ptr<AVBufferRef, Deleter>;
using Scaler = std::unique_ptr<SwsContext, Deleter>;

/// Throw Error when memory runs out.
Frame make_frame();
Packet make_packet();

/// Redirects libav's log from stderr. Call it before anything else here, from any thread; only the first call in a
/// process has an effect.
void prepare();

/// libav's own text for an error code, without a full stop.
std::string error_text(int code);

class HwDecoder;
class PictureBuffers;

/// Set as a decoder's `opaque`; outlives the decoder.
struct DecoderOwner {
  /// Errors that the decoder's threads logged. Some decoders conceal damage and report it only in the log.
  std::atomic<std::uint64_t> complaints = 0;
  PictureBuffers* buffers = nullptr;
  HwDecoder* hardware = nullptr;  // null: the processor decodes
};

/// Owner of an AVDictionary (options by name).
class Dictionary {
 public:
  Dictionary() = default;
  ~Dictionary() { av_dict_free(&entries_); }
  Dictionary(Dictionary&& other) noexcept : entries_(std::exchange(other.entries_, nullptr)) {}
  Dictionary& operator=(Dictionary&& other) noexcept {
    std::swap(entries_, other.entries_);
    return *this;
  }
  Dictionary(const Dictionary&) = delete;
  Dictionary& operator=(const Dictionary&) = delete;
  [[nodiscard]] Dictionary copy() const {
    Dictionary copied;
    av_dict_copy(&copied.entries_, entries_, 0);
    return copied;
  }
  void set(const std::string& key, const std::string& value) { av_dict_set(&entries_, key.c_str(), value.c_str(), 0); }
  void remove(const std::string& key) { av_dict_set(&entries_, key.c_str(), nullptr, 0); }
  [[nodiscard]] bool has(const std::string& key) const {
    return av_dict_get(entries_, key.c_str(), nullptr, AV_DICT_MATCH_CASE) != nullptr;
  }
  [[nodiscard]] AVDictionary** get() noexcept { return &entries_; }

 private:
  AVDictionary* entries_ = nullptr;
};

/// Collects the errors that libav logs on this thread while the object exists; they say more than error codes do ("moov
/// atom not found"). Of several on one thread, the newest collects; they end in the reverse order.
class Messages {
 public:
  Messages() noexcept;
  ~Messages();
  Messages(const Messages&) = delete;
  Messages& operator=(const Messages&) = delete;

  /// The last line, shortened to fit an error message; empty if there was none.
  [[nodiscard]] const std::string& last() const noexcept { return last_; }
  /// The first line since clear(): the cause, where libav goes on to complain about what follows from it.
  [[nodiscard]] const std::string& first() const noexcept { return first_; }
  void clear() noexcept {
    first_.clear();
    last_.clear();
  }

  /// "moov atom not found", or error_text(code) if libav logged nothing.
  [[nodiscard]] std::string reason(int code) const;

 private:
  static void receive(void* object, int level, const char* format, va_list arguments);
  void add(std::string text);
  friend void prepare();

  Messages* const outer_;
  std::string first_;
  std::string last_;
  bool is_open_ = false;  // the last line goes on in the next message
};

}  // namespace framewire::libav
