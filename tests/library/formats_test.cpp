#include <cstring>

#include "tests/library/programs.hpp"

namespace framewire::test {

TEST(LibraryFormats, NamesGoBothWays) {
  for (std::int32_t number = FW_PIXEL_BYTES; number <= FW_PIXEL_RGBA_GRAYF32LE; ++number) {
    const char* const name = fw_pixel_format_name(number);
    ASSERT_NE(name, nullptr) << number;
    std::int32_t found = 0;
    EXPECT_EQ(fw_pixel_format_from_name(name, &found), FW_OK) << name << ": " << fw_message();
    EXPECT_EQ(found, number);
  }
  EXPECT_STREQ(fw_pixel_format_name(FW_PIXEL_NV12), "nv12");
  for (const std::int32_t wrong : {-1, 0, FW_PIXEL_RGBA_GRAYF32LE + 1, 256, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(fw_pixel_format_name(wrong), nullptr) << wrong;
  }
  std::int32_t untouched = 77;
  EXPECT_EQ(fw_pixel_format_from_name("rgb1000", &untouched), FW_ERROR_ARGUMENT);
  const std::string message = fw_message();
  const std::size_t last = message.find("rgba+grayf32le");
  EXPECT_EQ(message.find("rgba+grayf32le", last + 1), std::string::npos) << "each is named once: " << message;
  EXPECT_TRUE(says("'rgb1000'"));
  EXPECT_TRUE(says("yuv420p"));
  EXPECT_EQ(untouched, 77);
}

TEST(LibraryFormats, APackedLayoutIsFilledIn) {
  fw_format format{};
  ASSERT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_NV12, 33, 17), FW_OK) << fw_message();
  EXPECT_EQ(format.plane_count, 2U);
  EXPECT_EQ(format.plane[0].rows, 17U);
  EXPECT_EQ(format.plane[1].rows, 9U);
  EXPECT_EQ(format.plane[1].row_bytes, 34U);
  EXPECT_EQ(format.plane[1].offset_bytes, 33U * 17U);
  EXPECT_EQ(format.size_bytes, 33U * 17U + 34U * 9U);
  EXPECT_EQ(format.frame_rate[1], 1U);
}

TEST(LibraryFormats, WrongOnesAreNamed) {
  fw_format format{};
  EXPECT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 0, 17), FW_ERROR_ARGUMENT);
  EXPECT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_RGBA, 16, 40'000), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("40000"));
  EXPECT_EQ(fw_format_init(&format, sizeof format, 99, 16, 16), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("pixel_format is 99"));
  EXPECT_EQ(fw_format_init(&format, 8, FW_PIXEL_RGBA, 16, 16), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("sizeof(fw_format)"));
  EXPECT_EQ(fw_format_init(nullptr, sizeof format, FW_PIXEL_RGBA, 16, 16), FW_ERROR_ARGUMENT);
}

TEST(LibraryFormats, AChangedFieldIsChecked) {
  SendingProgram sending;
  const auto begin = [&](auto change) {
    fw_format format{};
    EXPECT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_YUV420P, 64, 48), FW_OK);
    change(format);
    return fw_stream_begin(sending.stream, &format, 0, nullptr);
  };
  EXPECT_EQ(begin([](fw_format&) {}), FW_OK);
  EXPECT_EQ(begin([](fw_format& f) { f.plane_count = 2; }), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("plane_count is 2"));
  EXPECT_EQ(begin([](fw_format& f) { f.plane[1].offset_bytes = 0; }), FW_ERROR_ARGUMENT);
  EXPECT_EQ(begin([](fw_format& f) { f.plane[2].offset_bytes = UINT64_MAX; }), FW_ERROR_ARGUMENT);
  EXPECT_EQ(begin([](fw_format& f) { f.plane[0].pitch_bytes = 3; }), FW_ERROR_ARGUMENT);
  EXPECT_EQ(begin([](fw_format& f) { f.size_bytes = 100; }), FW_ERROR_ARGUMENT);
  EXPECT_EQ(begin([](fw_format& f) { f.size_bytes = UINT64_MAX; }), FW_ERROR_ARGUMENT);
  EXPECT_EQ(begin([](fw_format& f) { f.colour_range = 3; }), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("colour_range is 3"));
  EXPECT_EQ(begin([](fw_format& f) { f.alpha_mode = -1; }), FW_ERROR_ARGUMENT);
  EXPECT_EQ(begin([](fw_format& f) { f.frame_rate[1] = 0; }), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("frame_rate"));
  EXPECT_EQ(begin([](fw_format& f) { f.struct_size = 0; }), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("struct_size"));
}

TEST(LibraryFormats, AFrameSaysItsFormat) {
  SendingProgram sending(every);
  fw_format format{};
  ASSERT_EQ(fw_format_init(&format, sizeof format, FW_PIXEL_P010LE, 64, 48), FW_OK);
  format.colour_matrix = 9;
  format.colour_transfer = 16;
  format.colour_primaries = 9;
  format.colour_range = 1;
  format.frame_rate[0] = 30'000;
  format.frame_rate[1] = 1001;
  format.chroma_location = 3;
  ASSERT_EQ(fw_stream_begin(sending.stream, &format, 0, nullptr), FW_OK) << fw_message();
  ReceivingProgram receiving(sending);
  ASSERT_EQ(sending.send(9), FW_OK);
  fw_frame* const frame = receiving.acquire();
  fw_format received{};
  ASSERT_EQ(fw_frame_format(frame, &received, sizeof received), FW_OK);
  EXPECT_EQ(received.pixel_format, FW_PIXEL_P010LE);
  EXPECT_EQ(received.width, 64U);
  EXPECT_EQ(received.plane_count, 2U);
  EXPECT_EQ(received.plane[1].offset_bytes, format.plane[1].offset_bytes);
  EXPECT_EQ(received.colour_matrix, 9);
  EXPECT_EQ(received.colour_transfer, 16);
  EXPECT_EQ(received.colour_primaries, 9);
  EXPECT_EQ(received.colour_range, 1);
  EXPECT_EQ(received.frame_rate[0], 30'000U);
  EXPECT_EQ(received.frame_rate[1], 1001U);
  EXPECT_EQ(received.chroma_location, 3);
  fw_frame_unref(frame);
}

TEST(LibraryFormats, ALargerStructureOfALaterVersionIsFilledWithZeros) {
  struct Later {
    fw_format format;
    std::uint64_t more[4];
  } later;
  std::memset(&later, 0xFF, sizeof later);
  ASSERT_EQ(fw_format_init(&later.format, sizeof later, FW_PIXEL_RGBA, 16, 16), FW_OK);
  EXPECT_EQ(later.format.struct_size, sizeof later);
  EXPECT_EQ(later.more[0], 0U);
  EXPECT_EQ(later.more[3], 0U);
}

TEST(LibraryFormats, BytesHaveALengthForEachFrame) {
  SendingProgram sending(every);
  sending.begin(0, FW_PIXEL_BYTES, 1000, 1);
  ReceivingProgram receiving(sending);
  fw_slot* slot = nullptr;
  ASSERT_EQ(fw_stream_claim(sending.stream, timeout_ns, 0, &slot), FW_OK);
  SendingProgram::fill(slot, 5);
  fw_frame_info info{sizeof info, 0, 0, 0, 1001};
  EXPECT_EQ(fw_slot_publish(slot, &info), FW_ERROR_ARGUMENT);
  EXPECT_TRUE(says("size_bytes is 1001"));
  info.size_bytes = 10;
  EXPECT_EQ(fw_slot_publish(slot, &info), FW_OK) << fw_message();
  fw_slot_unref(slot);
  fw_frame* const frame = receiving.acquire();
  const fw_view view = view_of(frame);
  EXPECT_EQ(view.size_bytes, 10U);
  EXPECT_EQ(view.plane_count, 1U);
  EXPECT_EQ(view.plane[0].row_bytes, 10U);
  EXPECT_TRUE(is_all(view, 5));
  fw_frame_unref(frame);
}

}  // namespace framewire::test
