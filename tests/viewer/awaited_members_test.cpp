// Which streams a set of frames waits for.
#include "viewer/awaited_members.hpp"

#include <gtest/gtest.h>

#include <array>

namespace framewire {
namespace {

class AwaitedMembersTest : public testing::Test {
 protected:
  AwaitedMembersTest() {
    members_.add(one());
    members_.add(two());
    members_.add(three());
  }
  [[nodiscard]] const void* one() const { return &places_[0]; }
  [[nodiscard]] const void* two() const { return &places_[1]; }
  [[nodiscard]] const void* three() const { return &places_[2]; }
  void all_deliver(std::uint64_t tag) {
    members_.delivered(one(), tag);
    members_.delivered(two(), tag);
    members_.delivered(three(), tag);
  }

  std::array<char, 3> places_{};
  AwaitedMembers members_;
};

TEST_F(AwaitedMembersTest, WhoDeliversTheFramesOfTheOthersIsAwaited) {
  EXPECT_FALSE(members_.is_awaited(one()));
  members_.delivered(one(), 5);
  EXPECT_TRUE(members_.is_awaited(one()));
  EXPECT_FALSE(members_.is_awaited(two()));
  members_.delivered(two(), 5);
  EXPECT_TRUE(members_.is_awaited(two()));
  EXPECT_FALSE(members_.is_behind(three()));
  members_.delivered(three(), 0);
  EXPECT_FALSE(members_.is_awaited(three())) << "nobody has asked for it";
  members_.delivered(&members_, 5);
  EXPECT_FALSE(members_.is_awaited(&members_)) << "it does not belong to them";
}

TEST_F(AwaitedMembersTest, ItDoesNotMatterWhoIsFaster) {
  members_.delivered(one(), 5);
  members_.delivered(two(), 6);
  EXPECT_FALSE(members_.is_awaited(two()));
  members_.delivered(one(), 6);
  EXPECT_TRUE(members_.is_awaited(two()));
}

TEST_F(AwaitedMembersTest, WhoDeliversNothingAnyMoreIsNotAwaited) {
  all_deliver(1);
  for (std::uint64_t tag = 2; tag < 5; ++tag) {
    members_.delivered(one(), tag);
    members_.delivered(one(), tag);
    members_.delivered(one(), tag - 1);
    members_.delivered(two(), tag);
    EXPECT_TRUE(members_.is_awaited(three())) << "a frame counts once";
  }
  members_.delivered(one(), 5);
  EXPECT_FALSE(members_.is_awaited(three()));
  EXPECT_TRUE(members_.is_behind(three()));
  EXPECT_TRUE(members_.is_awaited(two()));
  members_.delivered(three(), 5);
  EXPECT_TRUE(members_.is_awaited(three()));
  EXPECT_FALSE(members_.is_behind(three()));
}

/// Three sources whose frames come in any order, at most two ahead of each other, never lose one.
TEST_F(AwaitedMembersTest, WhoIsTwoFramesBehindIsAwaited) {
  all_deliver(1);
  for (std::uint64_t tag = 2; tag < 100; tag += 2) {
    for (const void* const member : {one(), two(), three()}) {
      members_.delivered(member, tag);
      members_.delivered(member, tag + 1);
      for (const void* const each : {one(), two(), three()}) {
        EXPECT_TRUE(members_.is_awaited(each)) << tag;
      }
    }
  }
}

/// A watcher has one more stream than the viewer that moves the cameras: nobody renders there what the others do.
TEST_F(AwaitedMembersTest, AStreamWithOtherFramesHoldsNobodyUp) {
  members_.delivered(three(), 900);
  EXPECT_TRUE(members_.is_awaited(three())) << "it is the only one";
  for (std::uint64_t tag = 1; tag < 6; ++tag) {
    members_.delivered(one(), tag);
    members_.delivered(two(), tag);
  }
  EXPECT_TRUE(members_.is_awaited(one()));
  EXPECT_TRUE(members_.is_awaited(two()));
  EXPECT_FALSE(members_.is_awaited(three()));
  members_.delivered(three(), 901);
  EXPECT_FALSE(members_.is_awaited(three())) << "the others have others";
}

/// Another viewer's stream, at whatever rate, does not push out those whose frames belong together.
TEST_F(AwaitedMembersTest, TheLargerGroupStays) {
  members_.delivered(one(), 1);
  members_.delivered(two(), 1);
  for (std::uint64_t tag = 900; tag < 950; ++tag) {
    members_.delivered(three(), tag);
  }
  EXPECT_TRUE(members_.is_awaited(one()));
  EXPECT_TRUE(members_.is_awaited(two()));
  EXPECT_FALSE(members_.is_awaited(three()));
}

TEST_F(AwaitedMembersTest, OfTwoEqualGroupsTheEarlierOneStays) {
  members_.delivered(one(), 1);
  members_.delivered(two(), 2);
  members_.delivered(one(), 3);
  members_.delivered(two(), 4);
  EXPECT_TRUE(members_.is_awaited(one()));
  EXPECT_FALSE(members_.is_awaited(two()));
  for (std::uint64_t tag = 5; tag < 9; ++tag) {
    members_.delivered(two(), tag);
  }
  EXPECT_FALSE(members_.is_awaited(one())) << "it delivers nothing any more";
  EXPECT_TRUE(members_.is_awaited(two()));
}

/// It was asked for a frame long before it delivers that.
TEST_F(AwaitedMembersTest, ASlowOneCanJoin) {
  for (std::uint64_t tag = 1; tag < 30; ++tag) {
    members_.delivered(one(), tag);
    members_.delivered(two(), tag);
  }
  members_.delivered(three(), 2);
  EXPECT_FALSE(members_.is_awaited(three())) << "nobody remembers that one";
  members_.join(three());
  EXPECT_TRUE(members_.is_awaited(three()));
  EXPECT_FALSE(members_.is_behind(three()));
  members_.delivered(one(), 30);
  EXPECT_TRUE(members_.is_awaited(three()));
}

TEST_F(AwaitedMembersTest, WhoComesBackBeginsAnew) {
  all_deliver(1);
  members_.remove(one());
  members_.remove(one());
  EXPECT_FALSE(members_.is_awaited(one()));
  for (std::uint64_t tag = 2; tag < 5; ++tag) {
    members_.delivered(two(), tag);
  }
  members_.add(one());
  EXPECT_FALSE(members_.is_awaited(one()));
  members_.delivered(three(), 4);
  members_.delivered(one(), 4);
  EXPECT_TRUE(members_.is_awaited(one()));
  EXPECT_TRUE(members_.is_awaited(two()));
  EXPECT_TRUE(members_.is_awaited(three()));
}

}  // namespace
}  // namespace framewire
