// How the numbers of a picture are meant. The enumerators carry the code points of ITU-T H.273 (as AVColorSpace and its
// siblings do in FFmpeg), and the names are FFmpeg's.
#pragma once

#include <cstdint>
#include <string_view>

namespace framewire {

enum class ColourMatrix : std::uint8_t {
  rgb = 0,
  bt709 = 1,
  unspecified = 2,
  bt470bg = 5,
  smpte170m = 6,
  bt2020nc = 9
};
enum class ColourRange : std::uint8_t { unspecified = 0, limited = 1, full = 2 };  // FFmpeg: tv, pc
enum class ColourTransfer : std::uint8_t {
  bt709 = 1,
  unspecified = 2,
  smpte170m = 6,
  linear = 8,
  srgb = 13,
  bt2020_10 = 14,
  pq = 16,
  hlg = 18
};
enum class ColourPrimaries : std::uint8_t {
  bt709 = 1,
  unspecified = 2,
  bt470bg = 5,
  smpte170m = 6,
  bt2020 = 9,
  display_p3 = 12
};

struct Colour {
  ColourMatrix matrix = ColourMatrix::unspecified;
  ColourRange range = ColourRange::unspecified;
  ColourTransfer transfer = ColourTransfer::unspecified;
  ColourPrimaries primaries = ColourPrimaries::unspecified;
  bool operator==(const Colour&) const = default;
};

/// Unknown code points (a newer peer, an unusual file) become `unspecified`.
Colour colour_from_numbers(std::uint8_t matrix, std::uint8_t range, std::uint8_t transfer,
                           std::uint8_t primaries) noexcept;

std::string_view name(ColourMatrix matrix) noexcept;
std::string_view name(ColourRange range) noexcept;
std::string_view name(ColourTransfer transfer) noexcept;

/// What a picture of so many lines most likely has that does not say it: BT.709 from 720 lines on, and BT.601
/// (smpte170m) below, as players take it (mpv, VLC).
ColourMatrix likely_matrix(std::uint32_t height) noexcept;

/// The luma weights of red and blue. An unspecified matrix is taken as BT.709 from 720 lines on and BT.601 below,
/// as players do (mpv, VLC). Source: ITU-R BT.601-7 §2.5.1, BT.709-6 §3.2, BT.2020-2 table 4.
struct LumaWeights {
  double kr;
  double kb;
};
LumaWeights luma_weights(ColourMatrix matrix, std::uint32_t height) noexcept;

}  // namespace framewire
