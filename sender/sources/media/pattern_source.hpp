// Verifiable test pictures: `pattern`, `pattern:bars`, `pattern:stamped`.
#pragma once

#include <optional>
#include <string>

#include "sender/source.hpp"
#include "sender/sources/media/bars_picture.hpp"
#include "sender/sources/media/presentation_clock.hpp"

namespace framewire {

/// `bars` shows moving colour bars with a mark every test_mark_bytes of the payload. In `stamped` every line of 64
/// bytes carries its stamp, which looks like noise. frame/test_pattern.hpp defines both; user_tag tells which
/// it is. Any pixel format; the default is 3840x2160 rgba at 60 fps.
class PatternSource final : public Source {
 public:
  /// Throws Error for an unknown kind.
  explicit PatternSource(const SourceOptions& options);

  [[nodiscard]] std::string describe() const override;
  void run(Stream& stream) override;

 private:
  void draw(const BegunFrame& frame, std::uint64_t index, std::uint16_t slice) const noexcept;

  std::string name_;
  bool is_paced_;
  StreamFormat format_;
  std::optional<BarsPicture> bars_;  // empty: stamped
  std::uint16_t slices_ = 1;
};

}  // namespace framewire
