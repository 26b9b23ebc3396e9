// Decodes one video stream, on the processor or on a device. Internal to media/.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.hpp"
#include "media/av_input.hpp"
#include "media/av_open.hpp"
#include "media/hw_decoder.hpp"
#include "media/libav.hpp"
#include "media/picture_buffers.hpp"
#include "media/replay_buffer.hpp"

namespace framewire::libav {

/// A decoder of libav. With HwAccelKind::automatic a device that fails before its first picture was delivered is
/// replaced by the next one, and at last by the processor; what it had got is decoded again. Used by one thread.
class VideoDecoder {
 public:
  /// `options` and `log` outlive this.
  VideoDecoder(const AvInputOptions& options, Log& log) noexcept : options_(options), log_(log) {}

  /// Opens a decoder for `stream` of `input`; both stay as they are until the next call. What decodes is chosen anew if
  /// the stream is coded otherwise than the last one. Throws Error.
  void open(const AVStream& stream, const OpenedInput& input);
  void close() noexcept;

  /// As avcodec_send_packet(), avcodec_receive_frame() and avcodec_flush_buffers(). `packet` null: the end.
  int send(const AVPacket* packet) noexcept;
  int receive(AVFrame& picture) noexcept;
  void flush() noexcept;

  /// Why the device can decode no further; empty: it can, or none decodes.
  [[nodiscard]] const std::string& device_fault() const noexcept { return device_fault_; }
  /// Whether another decoder can still take the device's place: its first picture has not been delivered.
  [[nodiscard]] bool is_replaceable() const noexcept { return replay_.is_recording(); }
  /// A picture of receive() was delivered: from now on a failure of the device ends the stream.
  void confirm();
  /// The device does not hand over a picture of receive(), which ends here. False: device_fault() says why. True:
  /// another decoder has taken its place, and receive() gives all pictures anew.
  bool refuse(AVFrame& picture, const std::string& reason);
  /// How often receive() has begun anew.
  [[nodiscard]] std::uint64_t replays() const noexcept { return replays_; }
  /// The device that decodes; null: the processor.
  [[nodiscard]] HwDecoder* device() noexcept { return device_.get(); }

  /// "h264", "h264 (cuda)".
  [[nodiscard]] std::string describe() const;
  /// Errors that the decoder's threads logged.
  [[nodiscard]] std::uint64_t complaints() const noexcept { return owner_.complaints; }
  /// What was decoded since there were so many is not part of the film that is shown.
  void forget_complaints_since(std::uint64_t count) noexcept { owner_.complaints = count; }
  [[nodiscard]] PictureBuffers& buffers() noexcept { return buffers_; }
  [[nodiscard]] const PictureBuffers& buffers() const noexcept { return buffers_; }
  /// As AvInput::place_count(), for pictures of this size.
  [[nodiscard]] std::uint32_t place_count(std::uint64_t picture_bytes) const noexcept;

 private:
  void open_next();
  void open_on_device(HwAccelKind kind);
  [[nodiscard]] bool accepts(AVFrame& picture);
  [[nodiscard]] bool has_failed(int code, const Messages& messages);
  void give_up_device(const std::string& reason);
  void replace_device(const std::string& reason);
  void fail(const std::string& reason);

  /// What the choice of a device depends on.
  struct Coding {
    AVCodecID codec = AV_CODEC_ID_NONE;
    int profile = 0;
    int width = 0;
    int height = 0;
    int pixel_format = 0;
    bool operator==(const Coding&) const = default;
  };

  const AvInputOptions& options_;
  Log& log_;
  std::optional<Coding> coding_;  // of the stream; none: the choice is made anew
  const AVStream* stream_ = nullptr;
  const OpenedInput* input_ = nullptr;
  std::vector<HwAccelKind> untried_;  // the next one last
  std::string reasons_;               // why those that were tried do not decode
  std::string said_;                  // the line about them; empty if a device decodes
  std::unique_ptr<HwDecoder> device_;
  PictureBuffers buffers_;
  DecoderOwner owner_{.buffers = &buffers_};  // declared before the decoder
  CodecContext decoder_;
  std::string device_fault_;
  bool has_picture_ = false;  // this decoder has given one
  ReplayBuffer replay_;       // for another device, or the processor
  std::deque<Packet> again_;  // what this decoder is sent before all else; null: the end
  std::uint64_t replays_ = 0;
};

}  // namespace framewire::libav
