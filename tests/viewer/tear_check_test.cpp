#include "viewer/tear_check.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "frame/test_pattern.hpp"

namespace framewire {
namespace {

class TearCheckTest : public testing::Test {
 protected:
  TearCheckTest() { header_.sequence = 41; }

  std::vector<std::byte> payload_{std::vector<std::byte>(64 * 1024 + 40)};
  FrameHeader header_;
};

TEST_F(TearCheckTest, FindsMarksOfAnotherFrame) {
  header_.has_test_pattern = true;
  header_.user_tag = test_marks_tag;
  write_test_marks(payload_, 41, test_mark_bytes);
  EXPECT_EQ(has_wrong_test_pattern(header_, payload_), false);
  payload_[test_mark_bytes * 3] ^= std::byte{1};
  EXPECT_EQ(has_wrong_test_pattern(header_, payload_), true);
}

TEST_F(TearCheckTest, FindsATornLineOfAFullStamp) {
  header_.has_test_pattern = true;
  header_.user_tag = test_lines_tag;
  write_test_lines(payload_, 41);
  EXPECT_EQ(has_wrong_test_pattern(header_, payload_), false);
  payload_.back() ^= std::byte{1};
  EXPECT_EQ(has_wrong_test_pattern(header_, payload_), true);
}

TEST_F(TearCheckTest, DoesNotGuessAboutPicturesWithoutStamps) {
  EXPECT_EQ(has_wrong_test_pattern(header_, payload_), std::nullopt);
}

TEST_F(TearCheckTest, TakesAnUnknownStampForAWrongOne) {
  header_.has_test_pattern = true;
  header_.user_tag = 3;
  EXPECT_EQ(has_wrong_test_pattern(header_, payload_), true);
}

TEST_F(TearCheckTest, ChecksStampsWithoutBeingAsked) {
  TearCheck check(false);
  header_.has_test_pattern = true;
  header_.user_tag = test_lines_tag;
  write_test_lines(payload_, 41);
  check.begin(header_, payload_);
  payload_[1000] ^= std::byte{8};
  EXPECT_EQ(check.end(header_, payload_), true);
}

TEST_F(TearCheckTest, SeesAPictureChangeWhileItIsHeldWhenAskedTo) {
  TearCheck check(true);
  check.begin(header_, payload_);
  EXPECT_EQ(check.end(header_, payload_), false);
  check.begin(header_, payload_);
  payload_[1000] ^= std::byte{8};
  EXPECT_EQ(check.end(header_, payload_), true);
}

TEST_F(TearCheckTest, LeavesPicturesAloneOtherwise) {
  TearCheck check(false);
  check.begin(header_, payload_);
  payload_[1000] ^= std::byte{8};
  EXPECT_EQ(check.end(header_, payload_), std::nullopt);
}

}  // namespace
}  // namespace framewire
