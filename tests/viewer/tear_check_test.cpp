#include "viewer/tear_check.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "frame/stamp.hpp"

namespace framewire {
namespace {

class TearCheckTest : public testing::Test {
 protected:
  TearCheckTest() { header_.sequence = 41; }

  std::vector<std::byte> payload_{std::vector<std::byte>(64 * 1024 + 40)};
  FrameHeader header_;
};

TEST_F(TearCheckTest, finds_marks_of_another_frame) {
  header_.is_stamped = true;
  header_.user_tag = marked_frame_tag;
  mark(payload_, 41, pattern_mark_bytes);
  EXPECT_EQ(has_wrong_stamps(header_, payload_), false);
  payload_[pattern_mark_bytes * 3] ^= std::byte{1};
  EXPECT_EQ(has_wrong_stamps(header_, payload_), true);
}

TEST_F(TearCheckTest, finds_a_torn_line_of_a_full_stamp) {
  header_.is_stamped = true;
  header_.user_tag = stamped_frame_tag;
  stamp(payload_, 41);
  EXPECT_EQ(has_wrong_stamps(header_, payload_), false);
  payload_.back() ^= std::byte{1};
  EXPECT_EQ(has_wrong_stamps(header_, payload_), true);
}

TEST_F(TearCheckTest, does_not_guess_about_pictures_without_stamps) {
  EXPECT_EQ(has_wrong_stamps(header_, payload_), std::nullopt);
}

TEST_F(TearCheckTest, takes_an_unknown_stamp_for_a_wrong_one) {
  header_.is_stamped = true;
  header_.user_tag = 3;
  EXPECT_EQ(has_wrong_stamps(header_, payload_), true);
}

TEST_F(TearCheckTest, checks_stamps_without_being_asked) {
  TearCheck check(false);
  header_.is_stamped = true;
  header_.user_tag = stamped_frame_tag;
  stamp(payload_, 41);
  check.begin(header_, payload_);
  payload_[1000] ^= std::byte{8};
  EXPECT_EQ(check.end(header_, payload_), true);
}

TEST_F(TearCheckTest, sees_a_picture_change_while_it_is_held_when_asked_to) {
  TearCheck check(true);
  check.begin(header_, payload_);
  EXPECT_EQ(check.end(header_, payload_), false);
  check.begin(header_, payload_);
  payload_[1000] ^= std::byte{8};
  EXPECT_EQ(check.end(header_, payload_), true);
}

TEST_F(TearCheckTest, leaves_pictures_alone_otherwise) {
  TearCheck check(false);
  check.begin(header_, payload_);
  payload_[1000] ^= std::byte{8};
  EXPECT_EQ(check.end(header_, payload_), std::nullopt);
}

}  // namespace
}  // namespace framewire
