// Colour metadata of a picture. The enumerators have the code points of ITU-T H.273 (as FFmpeg's AVColorSpace and
// related enums do), and the names are FFmpeg's.
//
// Some code points are transmitted although no shader converts them: the viewer names what it shows wrongly.
#pragma once

#include <cstdint>
#include <string_view>

namespace framewire {

enum class ColourMatrix : std::uint8_t {
  rgb = 0,
  bt709 = 1,
  unspecified = 2,
  fcc = 4,
  bt470bg = 5,
  smpte170m = 6,
  smpte240m = 7,
  ycgco = 8,
  bt2020nc = 9,
  bt2020c = 10,
  smpte2085 = 11,
  chroma_derived_nc = 12,
  chroma_derived_c = 13,
  ictcp = 14
};
enum class ColourRange : std::uint8_t { unspecified = 0, limited = 1, full = 2 };  // FFmpeg: tv, pc
enum class ColourTransfer : std::uint8_t {
  bt709 = 1,
  unspecified = 2,
  gamma22 = 4,
  gamma28 = 5,
  smpte170m = 6,
  smpte240m = 7,
  linear = 8,
  log100 = 9,
  log316 = 10,
  iec61966_2_4 = 11,
  bt1361 = 12,
  srgb = 13,
  bt2020_10 = 14,
  bt2020_12 = 15,
  pq = 16,
  smpte428 = 17,
  hlg = 18
};
enum class ColourPrimaries : std::uint8_t {
  bt709 = 1,
  unspecified = 2,
  bt470m = 4,
  bt470bg = 5,
  smpte170m = 6,
  smpte240m = 7,
  film = 8,
  bt2020 = 9,
  smpte428 = 10,
  smpte431 = 11,
  display_p3 = 12,
  ebu3213 = 22
};

/// The position of a chroma sample relative to its luma samples. Numbers and names are those of FFmpeg's
/// AVChromaLocation. `unspecified` is treated as `left`, the position in MPEG-2 and H.264.
enum class ChromaLocation : std::uint8_t {
  unspecified = 0,
  left = 1,
  center = 2,
  topleft = 3,
  top = 4,
  bottomleft = 5,
  bottom = 6
};

/// Whether the colour of a pixel is already multiplied by its alpha. FFmpeg's names (AVAlphaMode).
enum class AlphaMode : std::uint8_t { unspecified = 0, premultiplied = 1, straight = 2 };

/// Whether a frame is interlaced, and in which order its fields come. FFmpeg's names (AVFieldOrder): the first letter
/// is the field coded first, the second the one displayed first, t for top and b for bottom. `mixed` is from y4m: the
/// order changes from frame to frame.
enum class FieldOrder : std::uint8_t { unspecified = 0, progressive = 1, tt = 2, bb = 3, tb = 4, bt = 5, mixed = 6 };

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
std::string_view name(ColourPrimaries primaries) noexcept;
std::string_view name(ChromaLocation location) noexcept;
std::string_view name(AlphaMode mode) noexcept;
std::string_view name(FieldOrder order) noexcept;

/// By FFmpeg's names. An unknown name (a newer peer's) becomes `unspecified`.
ChromaLocation chroma_location_from_name(std::string_view name) noexcept;
AlphaMode alpha_mode_from_name(std::string_view name) noexcept;
FieldOrder field_order_from_name(std::string_view name) noexcept;

/// By FFmpeg's numbers. An unknown number becomes `unspecified`.
ChromaLocation chroma_location_from_number(int number) noexcept;
FieldOrder field_order_from_number(int number) noexcept;

/// Whether frames of this order contain two fields of different times.
bool is_interlaced(FieldOrder order) noexcept;

/// The most likely matrix of a picture that does not state it: BT.709 from 720 lines on, BT.601 (smpte170m) below.
/// Players (mpv, VLC) decide in the same way.
ColourMatrix likely_matrix(std::uint32_t height) noexcept;

/// The luma weights of red and blue. An unspecified matrix, or one that luma weights do not describe (ycgco, bt2020c,
/// ictcp …), is replaced by likely_matrix(). Source: ITU-R BT.601-7 §2.5.1, BT.709-6 §3.2, BT.2020-2 table 4, H.273
/// table 4.
struct LumaWeights {
  double kr;
  double kb;
};
/// Whether luma_weights() describes `matrix`; true for `unspecified`.
bool has_luma_weights(ColourMatrix matrix) noexcept;
LumaWeights luma_weights(ColourMatrix matrix, std::uint32_t height) noexcept;

}  // namespace framewire
