// Anything libav opens as a source: files, URLs, cameras, screens, lavfi.
#pragma once

#include <functional>
#include <string>

#include "base/log.hpp"
#include "media/av_input.hpp"
#include "sender/source.hpp"
#include "sender/sources/media/pacer.hpp"

namespace framewire {

/// Recordings are paced by their timestamps (SourceOptions::realtime), and wait for the viewers as the delivery asks.
/// Live inputs wait for nobody: a frame that finds no viewer or no room is dropped and counted. A change of size or
/// format in the middle begins a new epoch.
class AvSource final : public Source {
 public:
  /// Opens and decodes the first picture. Throws Error. `log` outlives the source; `is_cancelled` lets opening come to
  /// an end while a network or a device does not answer.
  AvSource(const SourceOptions& options, Log& log, std::function<bool()> is_cancelled = {});

  [[nodiscard]] std::string describe() const override { return description_; }
  /// Throws Error when the input breaks before its end, after publishing what was good.
  void run(Stream& stream) override;

 private:
  bool send(Stream& stream);
  bool begin_round(const Stream& stream);

  Log* log_;
  std::string name_;
  bool loops_;
  bool is_paced_;
  AvInput input_;
  std::string description_;
  Pacer pacer_;
  StreamFormat epoch_format_;         // none yet: all zero
  std::int64_t round_begins_ns_ = 0;  // where this turn of a loop starts on the stream's time line
  std::int64_t round_ends_ns_ = 0;
};

}  // namespace framewire
