#include "media/presentation.hpp"

#include <utility>

#include "base/text.hpp"
#include "media/av_format.hpp"

namespace framewire::libav {

bool Presentation::take(AVFrame& decoded, const AVStream& stream) noexcept {
  const auto coded = static_cast<AVPixelFormat>(decoded.format);
  const auto most = static_cast<int>(max_frame_side_pixels);
  if (decoded.width < 1 || decoded.height < 1 || decoded.width > most || decoded.height > most) {
    fault_ = "the next picture is " + std::to_string(decoded.width) + "x" + std::to_string(decoded.height) +
             "; framewire carries sides up to 32768 pixels";
    return false;
  }
  const std::optional<Orientation> orientation = orientation_of(stream, decoded);
  if (!orientation && !std::exchange(said_orientation_, true)) {
    log_->warning(quote(options_->name, 200) +
                  " asks to be turned by an angle that is no multiple of 90 degrees, and is shown as it is coded");
  }
  orientation_ = orientation.value_or(Orientation{});
  const std::optional<PixelFormat> target = choose_format(coded);
  if (!target) {
    return false;
  }
  const Size own{static_cast<std::uint32_t>(decoded.width), static_cast<std::uint32_t>(decoded.height)};
  Size wanted = orientation_.is_transposed ? Size{options_->size.height, options_->size.width} : options_->size;
  wanted = wanted.width == 0 ? own : wanted;
  picture_ = &decoded;
  colour_ = colour_of(decoded);
  chroma_location_ = chroma_location_of(decoded, *stream.codecpar);
  alpha_mode_ = alpha_mode_of(decoded, stream.codecpar->codec_id);
  decoded.format = without_range(coded);
  is_scaled_ = wanted != own;
  is_converted_ = is_scaled_ || carried(coded) != target;
  if (is_converted_ && !convert(decoded, *target, wanted)) {
    return false;
  }
  chroma_location_ = turned(chroma_location_, orientation_);
  layout_ = orientation_.is_transposed ? packed_layout(*target, wanted.height, wanted.width)
                                       : packed_layout(*target, wanted.width, wanted.height);
  return true;
}

bool Presentation::changes(const AVFrame& decoded, const AVStream& stream) noexcept {
  const auto coded = static_cast<AVPixelFormat>(decoded.format);
  orientation_ = orientation_of(stream, decoded).value_or(Orientation{});
  const Size own{static_cast<std::uint32_t>(decoded.width), static_cast<std::uint32_t>(decoded.height)};
  return !orientation_.is_upright() || choose_format(coded) != carried(coded) ||
         (options_->size.width != 0 && options_->size != own);
}

/// The format of the result: the requested one, or the picture's own, or the nearest that can be reoriented as needed.
/// Nothing, with fault_ set, if there is none.
std::optional<PixelFormat> Presentation::choose_format(AVPixelFormat coded) noexcept {
  const auto is_turnable = [this](PixelFormat format) { return can_turn(format, orientation_); };
  if (options_->pixel_format) {
    if (!is_turnable(*options_->pixel_format)) {
      fault_ = "it asks to be turned, which " + std::string(info(*options_->pixel_format).name) +
               " does not allow; choose another --pix-fmt";
      return std::nullopt;
    }
    return options_->pixel_format;
  }
  const PixelFormat own = carried(coded).value_or(nearest_carried(coded));
  return is_turnable(own) ? own : nearest_carried(coded, is_turnable);
}

bool Presentation::convert(const AVFrame& decoded, PixelFormat target, Size size) noexcept {
  const auto coded = static_cast<AVPixelFormat>(decoded.format);
  PictureTarget wanted{.format = target, .width = size.width, .height = size.height, .colour = {}};
  wanted.colour = converted_colour(colour_, coded, target, wanted.height);
  picture_ = converter_.convert(decoded, colour_, wanted);
  if (picture_ == nullptr) {
    fault_ = "libswscale cannot convert " + std::string(name(coded)) + " to " + std::string(info(target).name);
    return false;
  }
  colour_ = wanted.colour;
  chroma_location_ = converted_chroma_location(chroma_location_, coded, target);
  alpha_mode_ = has_alpha(target) ? alpha_mode_ : AlphaMode::unspecified;
  if (carried(coded) != target && !options_->pixel_format && !std::exchange(said_conversion_, true)) {
    log_->info("source pixel format " + std::string(name(coded)) +
               (carried(coded) ? " cannot be turned; converted to " : " is not carried; converted to ") +
               std::string(info(target).name));
  }
  return true;
}

const AVFrame* Presentation::unchanged() const noexcept {
  return is_converted_ || !orientation_.is_upright() ? nullptr : picture_;
}

void Presentation::copy_to(std::span<std::byte> slot) const noexcept {
  if (orientation_.is_upright()) {
    copy_packed(*picture_, layout_, slot.data());
  } else {
    copy_turned(*picture_, orientation_, layout_, slot.data());
  }
}

}  // namespace framewire::libav
