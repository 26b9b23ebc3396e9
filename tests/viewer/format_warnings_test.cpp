#include "viewer/format_warnings.hpp"

#include <gtest/gtest.h>

namespace framewire {
namespace {

StreamFormat format_of(PixelFormat pixels, const Colour& colour) {
  return {.layout = packed_layout(pixels, 64, 48), .colour = colour};
}

std::string only_note(const StreamFormat& format, Quality quality = Quality::fast) {
  const auto notes = format_warnings(format, quality);
  EXPECT_EQ(notes.size(), 1U);
  return notes.empty() ? "" : notes.front();
}

TEST(PictureNotes, SayNothingOfWhatIsShownRight) {
  using enum ColourMatrix;
  for (const ColourMatrix matrix : {unspecified, bt709, bt470bg, smpte170m, smpte240m, fcc, bt2020nc}) {
    const Colour colour{matrix, ColourRange::limited, ColourTransfer::bt709, ColourPrimaries::bt709};
    EXPECT_TRUE(format_warnings(format_of(PixelFormat::yuv420p, colour), Quality::fast).empty()) << name(matrix);
  }
  EXPECT_TRUE(format_warnings(format_of(PixelFormat::rgba, {.matrix = ColourMatrix::rgb}), Quality::fast).empty());
  EXPECT_TRUE(
      format_warnings({.layout = bytes_layout(64), .colour = {.transfer = ColourTransfer::pq}}, Quality::fast).empty());
  StreamFormat progressive = format_of(PixelFormat::yuv420p, {});
  progressive.field_order = FieldOrder::progressive;
  EXPECT_TRUE(format_warnings(progressive, Quality::fast).empty());
}

TEST(PictureNotes, NameTheTransfer) {
  for (const auto transfer :
       {ColourTransfer::linear, ColourTransfer::log100, ColourTransfer::log316, ColourTransfer::smpte428}) {
    const std::string note = only_note(format_of(PixelFormat::p010le, {.transfer = transfer}));
    EXPECT_NE(note.find("transfer " + std::string(name(transfer)) + ","), std::string::npos) << note;
  }
}

TEST(PictureNotes, NameTheMatrix) {
  using enum ColourMatrix;
  for (const auto matrix : {rgb, ycgco, bt2020c, smpte2085, chroma_derived_nc, chroma_derived_c, ictcp}) {
    const std::string note = only_note(format_of(PixelFormat::yuv444p, {.matrix = matrix}));
    EXPECT_NE(note.find("matrix " + std::string(name(matrix)) + ", "), std::string::npos) << note;
    EXPECT_NE(note.find("shown as smpte170m"), std::string::npos) << note;
  }
}

TEST(PictureNotes, NameThePrimaries) {
  const std::string note = only_note(format_of(PixelFormat::rgba, {.primaries = ColourPrimaries::display_p3}));
  EXPECT_NE(note.find("primaries smpte432,"), std::string::npos) << note;
}

TEST(PictureNotes, SayNothingOfHdrInAnyQuality) {
  for (const auto transfer : {ColourTransfer::pq, ColourTransfer::hlg}) {
    const Colour colour{ColourMatrix::bt2020nc, ColourRange::limited, transfer, ColourPrimaries::bt2020};
    for (const Quality quality : {Quality::fast, Quality::good}) {
      EXPECT_TRUE(format_warnings(format_of(PixelFormat::p010le, colour), quality).empty()) << name(transfer);
    }
  }
}

TEST(PictureNotes, SayLessInGoodQuality) {
  using enum ColourMatrix;
  for (const ColourMatrix matrix : {ycgco, bt2020c, ictcp}) {
    EXPECT_TRUE(format_warnings(format_of(PixelFormat::yuv444p, {.matrix = matrix}), Quality::good).empty());
  }
  for (const auto primaries :
       {ColourPrimaries::bt2020, ColourPrimaries::film, ColourPrimaries::smpte431, ColourPrimaries::display_p3}) {
    EXPECT_TRUE(format_warnings(format_of(PixelFormat::rgba, {.primaries = primaries}), Quality::good).empty());
  }
  EXPECT_TRUE(
      format_warnings(format_of(PixelFormat::rgba, {.transfer = ColourTransfer::linear}), Quality::good).empty());
  EXPECT_NE(only_note(format_of(PixelFormat::rgba, {.transfer = ColourTransfer::log100}), Quality::good), "");
  EXPECT_NE(only_note(format_of(PixelFormat::yuv444p, {.matrix = smpte2085}), Quality::good), "");
  EXPECT_NE(only_note(format_of(PixelFormat::rgba, {.primaries = ColourPrimaries::bt470m}), Quality::good), "");
}

TEST(PictureNotes, SayThatItIsInterlaced) {
  for (const auto order : {FieldOrder::tt, FieldOrder::bb, FieldOrder::tb, FieldOrder::bt, FieldOrder::mixed}) {
    StreamFormat format = format_of(PixelFormat::yuv420p, {});
    format.field_order = order;
    const std::string note = only_note(format);
    EXPECT_NE(note.find("interlaced (" + std::string(name(order)) + ")"), std::string::npos) << note;
  }
}

}  // namespace
}  // namespace framewire
