// Sources that libav opens: files, URLs, cameras, screens, lavfi.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/log.hpp"
#include "media/av_input.hpp"
#include "media/input_name.hpp"
#include "sender/source.hpp"
#include "sender/sources/media/decoded_slots.hpp"
#include "sender/sources/media/presentation_clock.hpp"

namespace framewire {

/// Recordings are paced by their timestamps (SourceOptions::realtime) and wait for viewers as the delivery mode
/// requires. Live inputs never wait: a frame without a viewer or a free slot is dropped and counted. A change of size
/// or format begins a new epoch. Pictures are decoded directly into slots if codec and format allow, else copied there.
/// A lost network input is reopened for up to SourceOptions::retry_ns; a recording goes on where it broke off.
class AvSource final : public Source {
 public:
  /// Opens the input and decodes the first picture. Throws Error. `log` outlives the source. `is_cancelled` aborts
  /// opening when a network or a device does not answer.
  /// `open_reader` as AvInputOptions::open_dma_buf_reader.
  AvSource(const SourceOptions& options, Log& log, std::function<bool()> is_cancelled = {},
           OpenDmaBufReader open_reader = {});

  /// The file that it opens for a SOURCE, which may be missing; nothing for URLs and devices.
  static std::optional<std::string> file(const std::string& name) { return input_file(name); }

  [[nodiscard]] std::string describe() const override { return description_; }
  /// Throws Error when the input breaks before its end, after publishing all good frames.
  void run(Stream& stream) override;
  [[nodiscard]] std::string decoder() const override { return input_.decoder(); }
  [[nodiscard]] std::uint64_t losses() const noexcept override { return losses_; }

  /// How many frames were decoded directly into slots. Valid after run().
  [[nodiscard]] std::uint64_t frames_placed() const noexcept { return frames_placed_; }
  /// How many the device that decodes was told to copy into slots. Valid after run().
  [[nodiscard]] std::uint64_t frames_from_device() const noexcept { return frames_from_device_; }

 private:
  void follow(Stream& stream);
  void begin_epoch(Stream& stream);
  void return_slots() noexcept;
  bool send(Stream& stream);
  bool find_again(Stream& stream);
  bool begin_round(Stream& stream);

  Log* log_;
  std::string name_;
  bool loops_;
  bool is_paced_;
  AvInput input_;
  std::string description_;
  PresentationClock presentation_clock_;
  StreamFormat epoch_format_;         // all zero before the first epoch
  std::int64_t round_begins_ns_ = 0;  // where this round of --loop starts on the stream's time line
  std::int64_t round_ends_ns_ = 0;
  std::int64_t retry_ns_;
  std::atomic<std::uint64_t> losses_ = 0;
  std::shared_ptr<DecodedSlots> slots_;  // of this epoch; null if pictures are copied
  std::uint64_t frames_placed_ = 0;
  std::uint64_t frames_from_device_ = 0;  // that the device has copied, or was told to
};

}  // namespace framewire
