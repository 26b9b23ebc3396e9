// The parts of AvInput. Internal to media/.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "media/av_input.hpp"
#include "media/av_open.hpp"
#include "media/libav.hpp"
#include "media/presentation.hpp"
#include "media/video_decoder.hpp"

namespace framewire {

class AvInput::Implementation {
 public:
  /// A network or a device that is silent for longer is broken.
  static constexpr std::int64_t silence_limit_ns = 30 * ns_per_s;
  static constexpr AVRational nanoseconds{1, static_cast<int>(ns_per_s)};

  Implementation(AvInputOptions options, Log& log) : options_(std::move(options)), log_(&log) {
    interrupt_.set_cancelled(std::exchange(options_.is_cancelled, [this] { return interrupt_.is_cancelled(); }));
    open();
    read_first();
  }

  AvRead read() noexcept;
  bool rewind();
  bool reopen();
  [[nodiscard]] std::shared_ptr<Fence> start_copy(const std::shared_ptr<Block>& block, std::uint64_t offset_bytes);
  [[nodiscard]] std::string describe() const { return decoder_.describe() + ", " + framewire::describe(format_); }

  AvInputOptions options_;
  Log* log_;
  libav::Interrupt interrupt_;  // declared before its users
  libav::OpenedInput input_;
  bool is_network_ = false;                       // also while it cannot be opened again
  libav::VideoDecoder decoder_{options_, *log_};  // outlives its pictures
  libav::Presentation presentation_{options_, *log_};
  StreamFormat format_;
  std::int64_t pts_ns_ = 0;
  std::int64_t duration_ns_ = 0;
  std::string fault_;
  std::uint64_t error_count_ = 0;  // errors that the decoder's functions returned
  std::uint64_t frame_count_ = 0;
  bool is_on_device_ = false;  // the picture is not in host memory

 private:
  /// Where a packet is in its file. Without the time of decoding, which libav may guess otherwise after a seek.
  struct PacketPlace {
    explicit PacketPlace(const AVPacket& packet) noexcept
        : offset_bytes(packet.pos), timestamp(packet.pts), size_bytes(packet.size) {}
    bool operator==(const PacketPlace&) const = default;

    std::int64_t offset_bytes;  // -1: the format does not say
    std::int64_t timestamp;
    int size_bytes;
  };

  void open();
  bool open_again();
  void read_first();
  void seek_to_start();
  void seek_to_resume();
  void seek_before_start(std::int64_t by_ns) noexcept;
  bool seek_further_back() noexcept;
  [[nodiscard]] AvRead read_until_first() noexcept;
  [[nodiscard]] bool begins_too_late(AvRead result) const noexcept;
  [[nodiscard]] bool has_timestamps() const noexcept;
  [[nodiscard]] bool is_before_start() noexcept;
  AvRead decode_next() noexcept;
  std::optional<AvRead> feed_decoder() noexcept;
  std::optional<AvRead> fetch_packet(libav::Messages& messages) noexcept;
  void send_packet() noexcept;
  void take_end(int code, const libav::Messages& messages) noexcept;
  [[nodiscard]] bool has_unread_rest() const noexcept;
  void tell_refusal();
  AvRead finish() noexcept;
  AVFrame* presentable() noexcept;
  bool take_picture(AVFrame& picture) noexcept;
  void withdraw_picture(const std::string& reason);
  void set_time() noexcept;
  void set_fault(const std::string& reason);
  bool seek_to_first();

  int stream_index_ = 0;
  libav::Packet packet_ = libav::make_packet();
  libav::Frame frame_ = libav::make_frame();
  libav::Frame host_frame_ = libav::make_frame();  // of a device's picture: its copy, or its description
  Rational frame_rate_{0, 1};
  bool counts_time_ = false;     // times come from frame_rate_, not from timestamps
  bool first_is_ready_ = false;  // decoded, but not yet returned by read()
  bool is_draining_ = false;
  bool is_over_ = false;
  bool is_lost_ = false;  // it ended by a loss
  std::optional<std::int64_t> first_timestamp_;
  std::optional<std::int64_t> start_timestamp_;         // earlier pictures are dropped
  std::optional<std::int64_t> sought_before_start_ns_;  // how far before; until the first picture after the seek
  bool has_sought_ = false;                             // to start_timestamp_
  bool seeks_to_start_ = true;                          // else pictures before the start are decoded and dropped
  std::uint64_t errors_at_open_ = 0;                    // error_count_,
  std::uint64_t complaints_at_open_ = 0;                // and the decoder's complaints, when it was opened
  bool seeks_to_resume_ = true;                         // else it is read from its beginning
  bool has_passed_over_ = false;                        // a picture before the start was dropped
  std::int64_t passed_over_ns_ = 0;                     // dropped so far, for inputs without timestamps
  std::int64_t passes_over_ns_ = 0;                     // dropped in all, for inputs without timestamps
  std::uint64_t replays_seen_ = 0;                      // of the decoder, when it was counted last
  bool resumes_ = false;                                // a lost recording: reopened, it goes on where it broke off
  std::optional<std::int64_t> last_timestamp_;          // of the last picture that has one
  std::optional<PacketPlace> first_packet_;             // of this round
  std::optional<std::int64_t> first_packet_sought_at_;  // where a seek led to it; none: it is the file's first
  std::uint64_t frames_this_round_ = 0;
  std::int64_t last_packet_end_bytes_ = 0;
  std::string read_problem_;  // why the last packet is damaged or missing
};

}  // namespace framewire
