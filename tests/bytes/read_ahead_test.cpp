#include "bytes/read_ahead.hpp"

#include <gtest/gtest.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/pipe.hpp"
#include "tests/base/eventually.hpp"
#include "transport/stream.hpp"

namespace framewire {
namespace {

using test::eventually;

constexpr std::size_t slot_bytes = 8;

/// A pipe as the source, and the stream slots that receive its data.
class ReadAheadTest : public testing::Test {
 protected:
  ReadAheadTest() {
    PipeEnds ends = make_pipe();
    out_ = std::move(ends.reads);
    in_ = std::move(ends.writes);
    input_ = std::make_unique<Input>("/proc/self/fd/" + std::to_string(out_.get()), [this] {
      if (throws_) {
        throw std::bad_alloc();
      }
      return stops_.load();
    });
    stream_.begin_epoch({.layout = bytes_layout(slot_bytes), .colour = {}});
    EXPECT_TRUE(stream_.add_puller(nullptr)) << "somebody for whom there are slots";
    ahead_ = std::make_unique<ReadAhead>(*input_, &digest_);
  }
  ~ReadAheadTest() override { stops_ = true; }

  void write(std::string_view text) const {
    EXPECT_EQ(::write(in_.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  }
  std::size_t source_failed() const {
    int bytes = -1;
    EXPECT_EQ(::ioctl(out_.get(), FIONREAD, &bytes), 0);
    return static_cast<std::size_t>(bytes);
  }
  void give() {
    auto slot = stream_.claim_now();
    ASSERT_TRUE(slot);
    ahead_->give(std::move(*slot));
  }
  void expect_chunk(std::string_view text, ReadState state) {
    const ReadAhead::Chunk chunk = ahead_->take();
    EXPECT_EQ(std::string_view(reinterpret_cast<const char*>(chunk.slot.bytes().data()), chunk.read.bytes), text);
    EXPECT_EQ(chunk.read.state, state);
    whole_ += text;
    EXPECT_EQ(chunk.digest, XXH3_64bits(whole_.data(), whole_.size()));
  }
  std::size_t free_slots() {
    std::size_t count = 0;
    for (std::vector<ClaimedSlot> slots; auto slot = stream_.claim_now(); ++count) {
      slots.push_back(std::move(*slot));
    }
    return count;
  }

  FileDescriptor out_;
  FileDescriptor in_;
  std::atomic<bool> stops_ = false;
  std::atomic<bool> throws_ = false;
  Stream stream_{StreamOptions{.name = "test"}};
  RunningDigest digest_;
  std::string whole_;
  std::unique_ptr<Input> input_;
  std::unique_ptr<ReadAhead> ahead_;
};

TEST_F(ReadAheadTest, TheNextChunkIsReadBeforeTheFirstIsTaken) {
  write("first---second--");
  give();
  give();
  EXPECT_TRUE(eventually([this] { return source_failed() == 0; }));
  EXPECT_EQ(ahead_->in_flight(), 2U);
  expect_chunk("first---", ReadState::more);
  expect_chunk("second--", ReadState::more);
  EXPECT_EQ(ahead_->in_flight(), 0U);
  write("third");
  in_.reset();
  give();
  const ReadAhead::Chunk third = ahead_->take();
  EXPECT_EQ(third.read.bytes, 5U);
}

/// Which thread hashes a chunk depends on timing. A source that returns at once waits itself; for a slow source the
/// reader waits.
TEST_F(ReadAheadTest, EveryChunkIsHashedInOrderByWhicheverThread) {
  constexpr int rounds = 200;
  for (int round = 0; round < rounds; ++round) {
    give();
    give();
    write("abcdefgh");
    if (round % 2 == 0) {
      write("ijklmnop");
      EXPECT_TRUE(eventually([this] { return source_failed() == 0; }));
      expect_chunk("abcdefgh", ReadState::more);
    } else {
      expect_chunk("abcdefgh", ReadState::more);
      write("ijklmnop");
    }
    expect_chunk("ijklmnop", ReadState::more);
  }
}

TEST_F(ReadAheadTest, BehindTheEndNothingIsRead) {
  const std::size_t all = free_slots();
  write("x");
  in_.reset();
  give();
  give();
  give();
  std::size_t bytes = 0;
  for (ReadState state = ReadState::more;
       state == ReadState::more;) {  // the end may be reported with the last chunk or after it
    const ReadAhead::Chunk chunk = ahead_->take();
    bytes += chunk.read.bytes;
    state = chunk.read.state;
    EXPECT_NE(state, ReadState::failed);
  }
  EXPECT_EQ(bytes, 1U);
  EXPECT_EQ(digest_.value(), XXH3_64bits("x", 1));
  EXPECT_GT(ahead_->in_flight(), 0U);
  ahead_.reset();
  EXPECT_EQ(free_slots(), all) << "those that were given and not taken have gone back";
}

TEST_F(ReadAheadTest, AReadThatWaitsEndsWhenTheInputStops) {
  const std::size_t all = free_slots();
  give();
  give();
  EXPECT_EQ(free_slots(), all - 2);
  stops_ = true;
  {
    const ReadAhead::Chunk chunk = ahead_->take();
    EXPECT_EQ(chunk.read.state, ReadState::stopped);
  }
  ahead_.reset();
  EXPECT_EQ(free_slots(), all);
}

TEST_F(ReadAheadTest, WhatReadingThrowsComesToWhoTakes) {
  const std::size_t all = free_slots();
  throws_ = true;
  give();
  EXPECT_THROW(ahead_->take(), std::bad_alloc);
  ahead_.reset();
  EXPECT_EQ(free_slots(), all);
}

TEST_F(ReadAheadTest, NobodyHasToTakeWhatWasRead) {
  const std::size_t all = free_slots();
  write("something");
  give();
  EXPECT_TRUE(eventually([this] { return source_failed() == 1; }));
  ahead_.reset();
  EXPECT_EQ(free_slots(), all);
}

}  // namespace
}  // namespace framewire
