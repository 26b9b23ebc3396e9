// Anything libav opens as a source: files, URLs, cameras, screens, lavfi.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "base/log.hpp"
#include "media/av_input.hpp"
#include "sender/source.hpp"
#include "sender/sources/media/decoded_slots.hpp"
#include "sender/sources/media/presentation_clock.hpp"

namespace framewire {

/// Recordings are paced by their timestamps (SourceOptions::realtime), and wait for the viewers as the delivery asks.
/// Live inputs wait for nobody: a frame that finds no viewer or no room is dropped and counted. A change of size or
/// format in the middle begins a new epoch. Pictures are decoded straight into slots where codec and format allow, else
/// they are copied there. A network's input that is lost is opened again, for SourceOptions::retry_ns.
class AvSource final : public Source {
 public:
  /// Opens and decodes the first picture. Throws Error. `log` outlives the source; `is_cancelled` lets opening come to
  /// an end while a network or a device does not answer.
  AvSource(const SourceOptions& options, Log& log, std::function<bool()> is_cancelled = {});

  [[nodiscard]] std::string describe() const override { return description_; }
  /// Throws Error when the input breaks before its end, after publishing what was good.
  void run(Stream& stream) override;
  [[nodiscard]] std::uint64_t losses() const noexcept override { return losses_; }

  /// How many frames were not copied. After run().
  [[nodiscard]] std::uint64_t frames_placed() const noexcept { return frames_placed_; }

 private:
  void follow(Stream& stream);
  void begin_epoch(Stream& stream);
  void end_loans(Stream& stream) noexcept;
  bool send(Stream& stream);
  bool find_again(Stream& stream);
  bool begin_round(const Stream& stream);

  Log* log_;
  std::string name_;
  bool loops_;
  bool is_paced_;
  AvInput input_;
  std::string description_;
  PresentationClock presentation_clock_;
  StreamFormat epoch_format_;         // none yet: all zero
  std::int64_t round_begins_ns_ = 0;  // where this turn of a loop starts on the stream's time line
  std::int64_t round_ends_ns_ = 0;
  std::int64_t retry_ns_;
  std::atomic<std::uint64_t> losses_ = 0;
  std::shared_ptr<DecodedSlots> slots_;  // of this epoch; none where pictures are copied
  std::uint64_t frames_placed_ = 0;
};

}  // namespace framewire
