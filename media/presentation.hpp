// Prepares a decoded picture for output: converts, scales and rotates it where necessary. Internal to media/.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>

#include "base/log.hpp"
#include "media/av_convert.hpp"
#include "media/av_input.hpp"
#include "media/libav.hpp"
#include "media/orientation.hpp"

namespace framewire::libav {

/// Holds the result for the last picture. Used by one thread.
class Presentation {
 public:
  /// Uses the name, the size and the pixel format of `options`. Both arguments outlive this object.
  Presentation(const AvInputOptions& options, Log& log) noexcept : options_(&options), log_(&log) {}

  /// Prepares a picture of `stream`. `decoded` must stay valid as long as this object refers to it; its pixel format
  /// may change to its plain name. If the picture is not supported, returns false and sets fault().
  bool take(AVFrame& decoded, const AVStream& stream) noexcept;
  /// Whether take() would read the picture's bytes, to change them, or refuse it. Otherwise they need not be there.
  [[nodiscard]] bool changes(const AVFrame& decoded, const AVStream& stream) noexcept;

  /// The layout of the result: packed, after rotation.
  [[nodiscard]] const FrameLayout& layout() const noexcept { return layout_; }
  [[nodiscard]] const Colour& colour() const noexcept { return colour_; }
  [[nodiscard]] ChromaLocation chroma_location() const noexcept { return chroma_location_; }
  [[nodiscard]] AlphaMode alpha_mode() const noexcept { return alpha_mode_; }
  [[nodiscard]] bool is_scaled() const noexcept { return is_scaled_; }
  [[nodiscard]] bool is_transposed() const noexcept { return orientation_.is_transposed; }
  /// The decoded picture itself if it needs no change; else null.
  [[nodiscard]] const AVFrame* unchanged() const noexcept;
  void copy_to(std::span<std::byte> slot) const noexcept;
  [[nodiscard]] const std::string& fault() const noexcept { return fault_; }

 private:
  [[nodiscard]] std::optional<PixelFormat> choose_format(AVPixelFormat coded) noexcept;
  bool convert(const AVFrame& decoded, PixelFormat target, Size size) noexcept;

  const AvInputOptions* options_;
  Log* log_;
  Converter converter_;
  const AVFrame* picture_ = nullptr;  // the decoded picture, or the converter's result
  bool is_converted_ = false;
  bool is_scaled_ = false;
  Orientation orientation_;  // of picture_; applied when it is copied to a slot
  FrameLayout layout_;
  Colour colour_;
  ChromaLocation chroma_location_ = ChromaLocation::unspecified;
  AlphaMode alpha_mode_ = AlphaMode::unspecified;
  std::string fault_;
  bool said_conversion_ = false;
  bool said_orientation_ = false;
};

}  // namespace framewire::libav
