// The colours that only PlaceboPainter maps: HDR, wide gamuts, linear light, and matrices beyond luma weights.
#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tests/pixels/placebo_test.hpp"

namespace framewire {
namespace {

/// SMPTE ST 2084, the inverse of its equation 4.1: the code of a luminance.
double pq_of_nits(double nits) {
  const double power = std::pow(nits / 10000.0, 0.1593017578125);
  return std::pow((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power), 78.84375);
}

/// ITU-R BT.2100 table 5: the code of grey that a screen of 1000 cd/m² shows with this luminance (system gamma 1.2).
double hlg_of_nits(double nits) {
  const double light = std::pow(nits / 1000.0, 1 / 1.2);
  constexpr double a = 0.17883277;
  return light <= 1 / 12.0 ? std::sqrt(3 * light) : a * std::log(12 * light - (1 - 4 * a)) + 0.5 - a * std::log(4 * a);
}

using Rgb = std::array<double, 3>;

Rgb rgb_at(const std::vector<std::byte>& pixels, std::size_t pixel) {
  Rgb rgb{};
  for (std::size_t i = 0; i < 3; ++i) {
    rgb.at(i) = std::to_integer<int>(pixels[pixel * 4 + i]);
  }
  return rgb;
}

class PlaceboColour : public PlaceboTest {
 protected:
  /// What becomes of these Y, U, V (0 … 1 and -0.5 … 0.5) in limited range of 10 bits: R, G, B, 0 … 255.
  static std::vector<Rgb> shown(const std::vector<Rgb>& yuv, const Colour& colour) {
    // Each is drawn as 8 x 8 pixels, of which dithering changes some; their mean is taken.
    constexpr std::uint32_t side = 8;
    const auto count = static_cast<std::uint32_t>(yuv.size());
    Picture picture(PixelFormat::yuv422p10le, {side * count, side});
    picture.colour = colour;
    for (std::uint32_t plane = 0; plane < 3; ++plane) {
      const std::uint32_t step = plane == 0 ? side : side / 2;
      for (std::uint32_t i = 0; i < step * count * side; ++i) {
        const double value = yuv.at(i / step % count).at(plane);
        const auto code = static_cast<unsigned>(std::lround(plane == 0 ? 64 + 876 * value : 512 + 896 * value));
        const std::size_t at = picture.layout.planes.at(plane).offset_bytes + std::size_t{i} * 2;
        picture.bytes[at] = static_cast<std::byte>(code & 0xffU);
        picture.bytes[at + 1] = static_cast<std::byte>(code >> 8);
      }
    }
    const auto pixels = drawn(picture, {side * count, side});
    std::vector<Rgb> means(count);
    for (std::size_t i = 0; i < std::size_t{side} * side * count; ++i) {
      const std::size_t x = i % (side * count);
      if (x % side < 2 || x % side >= side - 2) {
        continue;  // chroma of the neighbour
      }
      for (std::size_t channel = 0; channel < 3; ++channel) {
        means.at(x / side).at(channel) += rgb_at(pixels, i).at(channel) / (side * (side - 4));
      }
    }
    return means;
  }

  static std::vector<Rgb> shown_greys(const std::vector<double>& codes, const Colour& colour) {
    std::vector<Rgb> yuv;
    for (const double code : codes) {
      yuv.push_back({code, 0, 0});
    }
    return shown(yuv, colour);
  }
};

constexpr Colour pq = {.matrix = ColourMatrix::bt2020nc,
                       .range = ColourRange::limited,
                       .transfer = ColourTransfer::pq,
                       .primaries = ColourPrimaries::bt2020};
constexpr Colour hlg = {.matrix = ColourMatrix::bt2020nc,
                        .range = ColourRange::limited,
                        .transfer = ColourTransfer::hlg,
                        .primaries = ColourPrimaries::bt2020};

TEST_F(PlaceboColour, HdrGreysAreMappedToAllOfTheRange) {
  const std::vector<double> nits = {0, 0.1, 1, 5, 10, 26, 50, 100, 203, 400, 600, 800, 1000};
  const auto codes_by = [&](auto of_nits) {
    std::vector<double> codes;
    std::ranges::transform(nits, std::back_inserter(codes), of_nits);
    return codes;
  };
  const auto of_pq = shown_greys(codes_by(pq_of_nits), pq);
  const auto of_hlg = shown_greys(codes_by(hlg_of_nits), hlg);
  for (std::size_t i = 0; i < nits.size(); ++i) {
    for (const auto& ramp : {of_pq, of_hlg}) {
      EXPECT_NEAR(ramp[i][0], ramp[i][1], 1.5) << nits[i];
      EXPECT_NEAR(ramp[i][2], ramp[i][1], 1.5) << nits[i];
      if (i > 0) {
        EXPECT_GT(ramp[i][1], ramp[i - 1][1]) << nits[i];
      }
    }
    EXPECT_NEAR(of_pq[i][1], of_hlg[i][1], 4) << nits[i];  // the same light, whichever way it is coded
  }
  EXPECT_LE(of_pq.front()[1], 1);
  EXPECT_GE(of_pq.back()[1], 253);
  // White paper (203 cd/m²) is bright, brighter than its code, and leaves room for highlights.
  const double white = of_pq[8][1] / 255;
  EXPECT_GT(white, 0.6);
  EXPECT_LT(white, 0.9);
  EXPECT_GT(white, pq_of_nits(203) + 0.05);
  // Shadows are dark, where PQ's codes, shown as they are, are grey.
  EXPECT_LT(of_pq[2][1] / 255, 0.7 * pq_of_nits(1));
}

TEST_F(PlaceboColour, PqWithoutPrimariesIsThatOfBt2020) {
  Colour bare = pq;
  bare.primaries = ColourPrimaries::unspecified;
  const std::vector<Rgb> yuv = {{0.5, 0.1, -0.1}, {0.6, -0.1, 0.1}};
  EXPECT_EQ(shown(yuv, bare), shown(yuv, pq));
}

/// From linear light of BT.709 to that of BT.2020: ITU-R BT.2087-0.
Rgb bt2020_of_bt709(const Rgb& rgb) {
  return {0.6274 * rgb[0] + 0.3293 * rgb[1] + 0.0433 * rgb[2], 0.0691 * rgb[0] + 0.9195 * rgb[1] + 0.0114 * rgb[2],
          0.0164 * rgb[0] + 0.0880 * rgb[1] + 0.8956 * rgb[2]};
}

Rgb bt2020_yuv(const Rgb& coded) {
  const double y = 0.2627 * coded[0] + 0.678 * coded[1] + 0.0593 * coded[2];
  return {y, (coded[2] - y) / 1.8814, (coded[0] - y) / 1.4746};
}

TEST_F(PlaceboColour, HdrKeepsHues) {
  const std::vector<Rgb> colours = {{0.8, 0.3, 0.1}, {0.1, 0.8, 0.3}, {0.3, 0.1, 0.8}, {0.8, 0.8, 0.1}};  // BT.709
  for (const double nits : {30.0, 200.0, 900.0}) {
    std::vector<Rgb> yuv;
    for (const Rgb& colour : colours) {
      Rgb coded = bt2020_of_bt709(colour);
      std::ranges::transform(coded, coded.begin(), [&](double light) { return pq_of_nits(light * nits); });
      yuv.push_back(bt2020_yuv(coded));
    }
    const auto seen = shown(yuv, pq);
    for (std::size_t i = 0; i < 3; ++i) {  // the brightest channel, the next, the least
      EXPECT_GT(seen[i].at(i), seen[i].at((i + 1) % 3) + 10) << nits << " " << i;
      EXPECT_GT(seen[i].at((i + 1) % 3), seen[i].at((i + 2) % 3) + 10) << nits << " " << i;
    }
    EXPECT_NEAR(seen[3][0], seen[3][1], 6) << nits;  // yellow stays yellow
    EXPECT_GT(seen[3][1], seen[3][2] + 20) << nits;
  }
}

TEST_F(PlaceboColour, WideGamutIsMappedAndKeepsItsCurve) {
  // Colours that BT.709 has, as a camera of BT.2020 would code them for a screen with a gamma of 2.2 (gamma22).
  const std::vector<Rgb> colours = {{0.2, 0.2, 0.2}, {1, 1, 1}, {0.8, 0.3, 0.2}, {0.2, 0.7, 0.3}, {0.1, 0.2, 0.9}};
  std::vector<Rgb> yuv;
  for (const Rgb& coded : colours) {
    Rgb light{};
    std::ranges::transform(coded, light.begin(), [](double value) { return std::pow(value, 2.2); });
    Rgb wide = bt2020_of_bt709(light);
    std::ranges::transform(wide, wide.begin(), [](double value) { return std::pow(value, 1 / 2.2); });
    yuv.push_back(bt2020_yuv(wide));
  }
  const auto seen = shown(yuv, {.matrix = ColourMatrix::bt2020nc,
                                .range = ColourRange::limited,
                                .transfer = ColourTransfer::gamma22,
                                .primaries = ColourPrimaries::bt2020});
  for (std::size_t i = 0; i < colours.size(); ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_NEAR(seen[i].at(channel), 255 * colours[i].at(channel), 2) << i << " " << channel;
    }
  }
}

TEST_F(PlaceboColour, LinearLightGetsTheCurveOfSrgb) {
  Picture picture(PixelFormat::gray8, {256, 4});
  picture.colour.transfer = ColourTransfer::linear;
  for (std::size_t i = 0; i < picture.bytes.size(); ++i) {
    picture.bytes[i] = static_cast<std::byte>(i % 256);
  }
  const auto expected = [](double light) {
    return 255 * (light <= 0.0031308 ? 12.92 * light : 1.055 * std::pow(light, 1 / 2.4) - 0.055);
  };
  for (const std::uint32_t scale : {1U, 2U}) {
    const auto pixels = drawn(picture, {256 * scale, 4 * scale});
    for (std::size_t i = 4; i < 252; ++i) {
      EXPECT_NEAR(rgb_at(pixels, i * scale)[0], expected(static_cast<double>(i) / 255), scale == 1 ? 2 : 4) << i;
    }
  }
}

TEST_F(PlaceboColour, YcgcoIsConverted) {
  const std::vector<Rgb> colours = {{0.2, 0.2, 0.2}, {0.9, 0.9, 0.9}, {0.8, 0.3, 0.2}, {0.2, 0.7, 0.3}};
  std::vector<Rgb> yuv;
  for (const auto& [red, green, blue] : colours) {  // H.273 equations 47 to 49
    yuv.push_back({0.5 * green + 0.25 * (red + blue), 0.5 * green - 0.25 * (red + blue), 0.5 * (red - blue)});
  }
  const auto seen = shown(yuv, {.matrix = ColourMatrix::ycgco, .range = ColourRange::limited});
  for (std::size_t i = 0; i < colours.size(); ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_NEAR(seen[i].at(channel), 255 * colours[i].at(channel), 1.5) << i << " " << channel;
    }
  }
}

TEST_F(PlaceboColour, GreysOfTheOtherMatricesAreGrey) {
  const std::vector<double> codes = {0.1, 0.3, 0.5, 0.6};
  const Colour constant_luminance = {.matrix = ColourMatrix::bt2020c,
                                     .range = ColourRange::limited,
                                     .transfer = ColourTransfer::bt709,
                                     .primaries = ColourPrimaries::bt709};
  const auto of_constant_luminance = shown_greys(codes, constant_luminance);
  Colour ictcp_pq = pq;
  ictcp_pq.matrix = ColourMatrix::ictcp;
  const auto of_pq = shown_greys(codes, pq);
  const auto of_ictcp_pq = shown_greys(codes, ictcp_pq);
  Colour ictcp_hlg = hlg;
  ictcp_hlg.matrix = ColourMatrix::ictcp;
  const auto of_hlg = shown_greys(codes, hlg);
  const auto of_ictcp_hlg = shown_greys(codes, ictcp_hlg);
  for (std::size_t i = 0; i < codes.size(); ++i) {
    for (std::size_t channel = 0; channel < 3; ++channel) {
      EXPECT_NEAR(of_constant_luminance[i].at(channel), 255 * codes[i], 1.5);
      EXPECT_NEAR(of_ictcp_pq[i].at(channel), of_pq[i].at(channel), 1.5);
      EXPECT_NEAR(of_ictcp_hlg[i].at(channel), of_hlg[i].at(channel), 1.5);
    }
  }
}

}  // namespace
}  // namespace framewire
