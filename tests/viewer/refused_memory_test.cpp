// Frames in the memory of a device that OpenGL does not import.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "tests/viewer/attached_headless.hpp"
#include "tests/viewer/received_frames.hpp"
#include "transport/session/frame_copies.hpp"
#include "viewer/layer.hpp"

namespace framewire {
namespace {

TEST(RefusedMemory, IsDrawnFromACopyInHostMemory) {
  const test::UntouchableMemory memory;
  AttachedHeadless attached({64, 36});
  Statistics statistics;
  Painters painters;
  Layer layer(painters, false, statistics, Quality::fast);
  const FrameLayout layout = packed_layout(PixelFormat::rgba, 64, 36);
  const auto link = std::make_shared<CreditCounter>();
  IncomingFrame incoming;
  incoming.header.sequence = 7;
  incoming.header.layout = layout;
  incoming.header.slice_bytes = layout.size_bytes;
  incoming.received_ns = 1;
  incoming.block = memory.allocate_private("frame slots", layout.size_bytes, {});
  std::ranges::fill(test::UntouchableMemory::on_device(*incoming.block), std::byte{200});

  ASSERT_EQ(layer.upload({std::move(incoming), link, 1}), Layer::Upload::memory_refused);
  EXPECT_EQ(layer.memory_refusal(), "OpenGL cannot import memory of the kind 'untouchable'");
  EXPECT_FALSE(layer.has_picture());
  EXPECT_EQ(link->returned, std::vector<std::uint64_t>{}) << "the frame is not lost";

  std::optional<ReceivedFrame> frame = layer.take_refused();
  ASSERT_TRUE(frame.has_value());
  ASSERT_TRUE(FrameCopies().copy(*frame, host_memory(), {}));
  ASSERT_EQ(layer.upload(std::move(*frame)), Layer::Upload::done);
  attached.surface.begin();
  layer.draw({0, 0, 64, 36}, attached.surface.size(), monotonic_ns());
  attached.surface.present();
  EXPECT_TRUE(layer.release_finished());
  EXPECT_EQ(link->returned, std::vector<std::uint64_t>{7});
  const Image picture = attached.surface.capture({});
  EXPECT_NEAR(std::to_integer<int>(picture.pixels.at(0)), 200, 1);
  EXPECT_FALSE(layer.take_refused().has_value());
}

}  // namespace
}  // namespace framewire
