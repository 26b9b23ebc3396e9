// The contract of every kind of memory that the processor may not touch: a program that reads host memory gets copies.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <utility>

#include "base/error.hpp"
#include "frame/test_pattern.hpp"
#include "tests/memory/untouchable_memory.hpp"
#include "transport/session/frame_copies.hpp"

namespace framewire::test {
namespace {

constexpr std::uint64_t slot_bytes = 10'000;
constexpr std::uint64_t stride_bytes = slot_stride_bytes(slot_bytes);
constexpr std::uint64_t slots = 3;

ReceivedFrame frame_in(const std::shared_ptr<Block>& block, std::uint64_t slot, std::uint64_t sequence) {
  write_test_lines(UntouchableMemory::on_device(*block).subspan(slot * stride_bytes, slot_bytes), sequence);
  IncomingFrame frame{.block = block, .offset_in_block_bytes = slot * stride_bytes};
  frame.header.sequence = sequence;
  frame.header.layout = bytes_layout(slot_bytes);
  return {std::move(frame), nullptr, 1};
}

bool never() {
  return false;
}

TEST(FrameCopiesContract, AFrameOfADeviceIsWholeInHostMemory) {
  const UntouchableMemory memory;
  FrameCopies copies;
  std::uint64_t sequence = 0;
  for (int ring = 0; ring < 2; ++ring) {  // each is a block of its own
    const std::shared_ptr<Block> block = memory.allocate("frames", slots * stride_bytes, {});
    for (std::uint64_t slot = 0; slot < slots; ++slot) {
      ReceivedFrame frame = frame_in(block, slot, ++sequence);
      EXPECT_TRUE(frame.payload().empty());
      ASSERT_TRUE(copies.copy(frame, host_memory(), never));
      EXPECT_EQ(frame.payload().size(), slot_bytes);
      EXPECT_FALSE(find_torn_line(frame.payload(), sequence));
      EXPECT_NE(frame.block()->host(), nullptr);
    }
  }
  EXPECT_EQ(memory.copies(), sequence);
}

TEST(FrameCopiesContract, AFrameInHostMemoryStaysWhereItIs) {
  const auto block = HostBlock::create_private("frames", slot_bytes, {});
  IncomingFrame incoming{.payload = block->bytes(), .block = block};
  incoming.header.layout = bytes_layout(slot_bytes);
  ReceivedFrame frame(std::move(incoming), nullptr, 1);
  FrameCopies copies;
  EXPECT_TRUE(copies.copy(frame, host_memory(), never));
  EXPECT_EQ(frame.block(), block);
}

TEST(FrameCopiesContract, AFrameOnTheDeviceOfItsKindStaysWhereItIs) {
  const UntouchableMemory memory;
  const std::shared_ptr<Block> block = memory.allocate("frames", stride_bytes, {});
  ReceivedFrame frame = frame_in(block, 0, 1);
  EXPECT_TRUE(FrameCopies().copy(frame, memory, never));
  EXPECT_EQ(frame.block(), block);
  EXPECT_EQ(memory.copies(), 0U);
  EXPECT_THROW(static_cast<void>(block->copy_to_device(block, CopyRange::at(0, 1))), Error)
      << "it knows no such copies";
}

TEST(FrameCopiesContract, ADeviceThatFailsIsSaid) {
  const UntouchableMemory memory;
  const std::shared_ptr<Block> block = memory.allocate("frames", slots * stride_bytes, {});
  ReceivedFrame frame = frame_in(block, 0, 1);
  memory.break_down();
  FrameCopies copies;
  try {
    copies.copy(frame, host_memory(), never);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::failed);
    EXPECT_NE(std::string(error.what()).find("did not copy"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace framewire::test
