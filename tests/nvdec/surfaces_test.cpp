// Films for which NVDEC's 32 surfaces are hardly enough.
#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tests/nvdec/decoded_film.hpp"

namespace framewire {
namespace {

using namespace test;

/// The fields of an H.264 parameter set.
class FieldReader {
 public:
  explicit FieldReader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  /// u(n)
  unsigned bits(unsigned count) {
    unsigned value = 0;
    for (; count > 0; --count, ++at_) {
      const auto byte = at_ / 8 < bytes_.size() ? std::to_integer<unsigned>(bytes_[at_ / 8]) : ~0U;
      value = 2 * value + ((byte >> (7 - at_ % 8)) & 1U);
    }
    return value;
  }
  /// ue(v)
  unsigned number() {
    unsigned zeros = 0;
    while (bits(1) == 0) {
      ++zeros;
    }
    return (1U << zeros) - 1 + bits(zeros);
  }
  [[nodiscard]] std::size_t position() const { return at_; }

 private:
  std::span<const std::byte> bytes_;
  std::size_t at_ = 0;
};

struct ParameterSet {
  unsigned references = 0;
  std::size_t vui_flag = 0;  // where it is, in bits
};

/// As x264 writes it for progressive pictures in the High profile.
ParameterSet read_parameter_set(std::span<const std::byte> unit) {
  ParameterSet set;
  FieldReader fields(unit);
  EXPECT_EQ(fields.bits(8) & 0x1FU, 7U) << "it is no sequence parameter set";
  EXPECT_EQ(fields.bits(8), 100U) << "it is not of the High profile";
  fields.bits(16);  // constraints, level
  for (int i = 0; i < 4; ++i) {
    fields.number();  // its own number, chroma format, depth of luma and of chroma
  }
  fields.bits(1);
  EXPECT_EQ(fields.bits(1), 0U) << "it has a scaling matrix";
  fields.number();
  const unsigned order_type = fields.number();
  EXPECT_NE(order_type, 1U);
  if (order_type == 0) {
    fields.number();
  }
  set.references = fields.number();
  fields.bits(1);
  fields.number();  // width
  fields.number();  // height
  EXPECT_EQ(fields.bits(1), 1U) << "it is interlaced";
  fields.bits(1);
  if (fields.bits(1) == 1) {
    for (int i = 0; i < 4; ++i) {
      fields.number();  // cropping
    }
  }
  set.vui_flag = fields.position();
  return set;
}

class NvdecSurfaces : public DecodedFilm {
 protected:
  /// A film that does not say how far its pictures are reordered (bitstream_restriction_flag, in the VUI): libav then
  /// assumes 15 pictures for this size.
  std::string film_with_references(unsigned count) {
    std::string file = film("references.h264", "-c:v libx264 -preset fast -bf 0 -pix_fmt yuv420p -refs " +
                                                   std::to_string(count) + " -x264-params scenecut=0:level=3.0");
    std::vector<std::byte> bytes = read_file(file);
    constexpr std::array start_code{std::byte{0}, std::byte{0}, std::byte{1}};
    const auto unit = std::search(bytes.begin(), bytes.end(), start_code.begin(), start_code.end()) + 3;
    const auto next = std::search(unit, bytes.end(), start_code.begin(), start_code.end());
    const ParameterSet set = read_parameter_set(std::span(unit, next));
    EXPECT_EQ(set.references, count);
    std::vector<std::byte> changed(unit, unit + static_cast<std::ptrdiff_t>(set.vui_flag / 8 + 1));
    const unsigned before = std::to_integer<unsigned>(changed.back()) & ~(0xFFU >> (set.vui_flag % 8));
    const unsigned end = 0x4000U >> (set.vui_flag % 8);  // the flag is 0; then a 1 ends the set
    changed.back() = static_cast<std::byte>(before | (end >> 8U));
    changed.push_back(static_cast<std::byte>(end & 0xFFU));  // 0 is the first byte of the next start code
    const auto place = bytes.erase(unit, next);
    bytes.insert(place, changed.begin(), changed.end());
    write_file(file, bytes);
    return file;
  }
};

/// As many copies are under way as the surfaces allow.
TEST_F(NvdecSurfaces, AreNoMoreThanNvdecTakes) {
  const std::vector<std::pair<unsigned, std::size_t>> films{{7, 5}, {8, 4}, {10, 3}, {12, 3}};
  for (const auto& [references, most_mapped] : films) {
    nvcuvid_stand_in::reset();
    AvSource source(on("cuda", film_with_references(references)), log_);
    expect_pictures(show(source, {}, true, 3), film_frames, [](unsigned i) { return nv12(i, 320, 180); });
    EXPECT_EQ(nvcuvid_stand_in::surfaces(), 32U) << references;
    EXPECT_LE(nvcuvid_stand_in::most_mapped_pictures(), most_mapped) << references;
  }
}

TEST_F(NvdecSurfaces, AreFiveMoreThanUsualFilmsNeed) {
  AvSource source(on("cuda", film_with_references(6)), log_);
  expect_pictures(show(source), film_frames, [](unsigned i) { return nv12(i, 320, 180); });
  EXPECT_EQ(nvcuvid_stand_in::surfaces(), 31U);
}

}  // namespace
}  // namespace framewire
