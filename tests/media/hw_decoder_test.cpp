#include "media/hw_decoder.hpp"

#include <gtest/gtest.h>

namespace framewire::libav {
namespace {

void log_error(const char* text) {
  av_log(nullptr, AV_LOG_ERROR, "%s", text);
}

TEST(HwDecoder, SaysTheReasonWithoutLibavsCode) {
  EXPECT_EQ(without_code("decoder->cvdl->cuvidCreateDecoder(&decoder->decoder, params) failed -> "
                         "CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected"),
            "cuvidCreateDecoder: CUDA_ERROR_NO_DEVICE: no CUDA-capable device is detected");
  EXPECT_EQ(without_code("cu->cuCtxPopCurrent(&dummy) failed"), "cuCtxPopCurrent failed");
  EXPECT_EQ(without_code("cuInit(0) failed -> CUDA_ERROR_UNKNOWN: unknown error"),
            "cuInit: CUDA_ERROR_UNKNOWN: unknown error");
  for (const char* const other : {"", "Cannot load libnvcuvid.so.1", "it failed (again)", "a) failed ( -> b"}) {
    EXPECT_EQ(without_code(other), other);
  }
}

TEST(HwDecoderMessages, AreLinesAlsoIfLibavWritesThemInParts) {
  prepare();
  Messages messages;
  log_error("first(1) failed");
  log_error(" -> why: because");
  log_error("\n");
  log_error("it follows.\n");
  EXPECT_EQ(messages.first(), "first(1) failed -> why: because");
  EXPECT_EQ(messages.last(), "it follows");
  messages.clear();
  EXPECT_EQ(messages.first(), "");
  log_error("next\n");
  EXPECT_EQ(messages.first(), "next");
}

TEST(HwDecoderMessages, GoToTheInnermost) {
  prepare();
  const Messages outer;
  {
    const Messages inner;
    log_error("inside\n");
    EXPECT_EQ(inner.last(), "inside");
  }
  log_error("outside\n");
  EXPECT_EQ(outer.first(), "outside");
}

}  // namespace
}  // namespace framewire::libav
