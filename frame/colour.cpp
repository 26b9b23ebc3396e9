#include "frame/colour.hpp"

#include <array>

namespace framewire {

namespace {

template <typename Value>
struct Named {
  Value value;
  std::string_view name;
};
template <typename Value>
Named(Value, const char*) -> Named<Value>;  // clang before 17 does not deduce aggregates

constexpr std::array matrices = {
    Named{ColourMatrix::rgb, "gbr"},
    Named{ColourMatrix::bt709, "bt709"},
    Named{ColourMatrix::unspecified, "unknown"},
    Named{ColourMatrix::fcc, "fcc"},
    Named{ColourMatrix::bt470bg, "bt470bg"},
    Named{ColourMatrix::smpte170m, "smpte170m"},
    Named{ColourMatrix::smpte240m, "smpte240m"},
    Named{ColourMatrix::ycgco, "ycgco"},
    Named{ColourMatrix::bt2020nc, "bt2020nc"},
    Named{ColourMatrix::bt2020c, "bt2020c"},
    Named{ColourMatrix::smpte2085, "smpte2085"},
    Named{ColourMatrix::chroma_derived_nc, "chroma-derived-nc"},
    Named{ColourMatrix::chroma_derived_c, "chroma-derived-c"},
    Named{ColourMatrix::ictcp, "ictcp"},
};

constexpr std::array ranges = {
    Named{ColourRange::unspecified, "unknown"},
    Named{ColourRange::limited, "tv"},
    Named{ColourRange::full, "pc"},
};

constexpr std::array transfers = {
    Named{ColourTransfer::bt709, "bt709"},         Named{ColourTransfer::unspecified, "unknown"},
    Named{ColourTransfer::gamma22, "bt470m"},      Named{ColourTransfer::gamma28, "bt470bg"},
    Named{ColourTransfer::smpte170m, "smpte170m"}, Named{ColourTransfer::smpte240m, "smpte240m"},
    Named{ColourTransfer::linear, "linear"},       Named{ColourTransfer::log100, "log100"},
    Named{ColourTransfer::log316, "log316"},       Named{ColourTransfer::iec61966_2_4, "iec61966-2-4"},
    Named{ColourTransfer::bt1361, "bt1361e"},      Named{ColourTransfer::srgb, "iec61966-2-1"},
    Named{ColourTransfer::bt2020_10, "bt2020-10"}, Named{ColourTransfer::bt2020_12, "bt2020-12"},
    Named{ColourTransfer::pq, "smpte2084"},        Named{ColourTransfer::smpte428, "smpte428"},
    Named{ColourTransfer::hlg, "arib-std-b67"},
};

constexpr std::array primaries_table = {
    Named{ColourPrimaries::bt709, "bt709"},         Named{ColourPrimaries::unspecified, "unknown"},
    Named{ColourPrimaries::bt470m, "bt470m"},       Named{ColourPrimaries::bt470bg, "bt470bg"},
    Named{ColourPrimaries::smpte170m, "smpte170m"}, Named{ColourPrimaries::smpte240m, "smpte240m"},
    Named{ColourPrimaries::film, "film"},           Named{ColourPrimaries::bt2020, "bt2020"},
    Named{ColourPrimaries::smpte428, "smpte428"},   Named{ColourPrimaries::smpte431, "smpte431"},
    Named{ColourPrimaries::display_p3, "smpte432"}, Named{ColourPrimaries::ebu3213, "ebu3213"},
};

constexpr std::array chroma_locations = {
    Named{ChromaLocation::unspecified, "unspecified"},
    Named{ChromaLocation::left, "left"},
    Named{ChromaLocation::center, "center"},
    Named{ChromaLocation::topleft, "topleft"},
    Named{ChromaLocation::top, "top"},
    Named{ChromaLocation::bottomleft, "bottomleft"},
    Named{ChromaLocation::bottom, "bottom"},
};

constexpr std::array alpha_modes = {
    Named{AlphaMode::unspecified, "unspecified"},
    Named{AlphaMode::premultiplied, "premultiplied"},
    Named{AlphaMode::straight, "straight"},
};

constexpr std::array field_orders = {
    Named{FieldOrder::unspecified, "unknown"},
    Named{FieldOrder::progressive, "progressive"},
    Named{FieldOrder::tt, "tt"},
    Named{FieldOrder::bb, "bb"},
    Named{FieldOrder::tb, "tb"},
    Named{FieldOrder::bt, "bt"},
    Named{FieldOrder::mixed, "mixed"},
};

template <typename Table, typename Value>
constexpr std::string_view name_in(const Table& table, Value value) noexcept {
  for (const auto& entry : table) {
    if (entry.value == value) {
      return entry.name;
    }
  }
  return "unknown";
}

template <typename Value, typename Table>
constexpr Value value_in(const Table& table, std::string_view name) noexcept {
  for (const auto& entry : table) {
    if (entry.name == name) {
      return entry.value;
    }
  }
  return Value::unspecified;
}

template <typename Value, typename Table>
constexpr Value known_in(const Table& table, int number) noexcept {
  for (const auto& entry : table) {
    if (static_cast<int>(entry.value) == number) {
      return entry.value;
    }
  }
  return Value::unspecified;
}

}  // namespace

Colour colour_from_numbers(std::uint8_t matrix, std::uint8_t range, std::uint8_t transfer,
                           std::uint8_t primaries) noexcept {
  return {known_in<ColourMatrix>(matrices, matrix), known_in<ColourRange>(ranges, range),
          known_in<ColourTransfer>(transfers, transfer), known_in<ColourPrimaries>(primaries_table, primaries)};
}

std::string_view name(ColourMatrix matrix) noexcept {
  return name_in(matrices, matrix);
}

std::string_view name(ColourRange range) noexcept {
  return name_in(ranges, range);
}

std::string_view name(ColourTransfer transfer) noexcept {
  return name_in(transfers, transfer);
}

std::string_view name(ColourPrimaries primaries) noexcept {
  return name_in(primaries_table, primaries);
}

std::string_view name(ChromaLocation location) noexcept {
  return name_in(chroma_locations, location);
}

std::string_view name(AlphaMode mode) noexcept {
  return name_in(alpha_modes, mode);
}

std::string_view name(FieldOrder order) noexcept {
  return name_in(field_orders, order);
}

ChromaLocation chroma_location_from_name(std::string_view name) noexcept {
  return value_in<ChromaLocation>(chroma_locations, name);
}

AlphaMode alpha_mode_from_name(std::string_view name) noexcept {
  return value_in<AlphaMode>(alpha_modes, name);
}

FieldOrder field_order_from_name(std::string_view name) noexcept {
  return value_in<FieldOrder>(field_orders, name);
}

ChromaLocation chroma_location_from_number(int number) noexcept {
  return known_in<ChromaLocation>(chroma_locations, number);
}

FieldOrder field_order_from_number(int number) noexcept {
  const auto order = known_in<FieldOrder>(field_orders, number);
  return order == FieldOrder::mixed ? FieldOrder::unspecified : order;  // FFmpeg's enum ends before `mixed`
}

bool is_interlaced(FieldOrder order) noexcept {
  return order != FieldOrder::unspecified && order != FieldOrder::progressive;
}

bool has_luma_weights(ColourMatrix matrix) noexcept {
  switch (matrix) {
    case ColourMatrix::bt709:
    case ColourMatrix::unspecified:
    case ColourMatrix::fcc:
    case ColourMatrix::bt470bg:
    case ColourMatrix::smpte170m:
    case ColourMatrix::smpte240m:
    case ColourMatrix::bt2020nc:
      return true;
    case ColourMatrix::rgb:
    case ColourMatrix::ycgco:
    case ColourMatrix::bt2020c:
    case ColourMatrix::smpte2085:
    case ColourMatrix::chroma_derived_nc:
    case ColourMatrix::chroma_derived_c:
    case ColourMatrix::ictcp:
      break;
  }
  return false;
}

ColourMatrix likely_matrix(std::uint32_t height) noexcept {
  constexpr std::uint32_t first_hd_lines = 720;
  return height >= first_hd_lines ? ColourMatrix::bt709 : ColourMatrix::smpte170m;
}

LumaWeights luma_weights(ColourMatrix matrix, std::uint32_t height) noexcept {
  constexpr LumaWeights bt601{0.299, 0.114};
  constexpr LumaWeights bt709{0.2126, 0.0722};
  constexpr LumaWeights bt2020{0.2627, 0.0593};
  constexpr LumaWeights fcc{0.30, 0.11};
  constexpr LumaWeights smpte240m{0.212, 0.087};
  switch (matrix) {
    case ColourMatrix::bt470bg:
    case ColourMatrix::smpte170m:
      return bt601;
    case ColourMatrix::bt2020nc:
      return bt2020;
    case ColourMatrix::bt709:
      return bt709;
    case ColourMatrix::fcc:
      return fcc;
    case ColourMatrix::smpte240m:
      return smpte240m;
    case ColourMatrix::rgb:
    case ColourMatrix::unspecified:
    case ColourMatrix::ycgco:
    case ColourMatrix::bt2020c:
    case ColourMatrix::smpte2085:
    case ColourMatrix::chroma_derived_nc:
    case ColourMatrix::chroma_derived_c:
    case ColourMatrix::ictcp:
      break;
  }
  return likely_matrix(height) == ColourMatrix::bt709 ? bt709 : bt601;
}

}  // namespace framewire
