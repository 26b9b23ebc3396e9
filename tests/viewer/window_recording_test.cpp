#include "viewer/window_recording.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/viewer/surface_double.hpp"
#include "viewer/recording_mark.hpp"
#include "viewer/renderer.hpp"

namespace framewire {
namespace {

/// A surface that keeps its title.
class TitledSurface final : public test::SurfaceDouble {
 public:
  void set_title_note(TitleNote about, const std::string& text) noexcept override {
    EXPECT_EQ(about, TitleNote::recording);
    title = text;
  }

  std::string title{};
};

/// Nothing is shown, so that all recordings stay without a picture. Files are in the folder that the test is in.
class WindowRecordingsTest : public testing::Test {
 protected:
  explicit WindowRecordingsTest(bool has_other_recording = false) {
    std::filesystem::current_path(folder_.path());
    recordings_.emplace(renderer_, surface_, clock_, log_, interruption_, has_other_recording);
  }
  ~WindowRecordingsTest() override {
    recordings_.reset();
    std::filesystem::current_path(before_);
  }

  [[nodiscard]] bool follows_until(const std::function<bool()>& condition) {
    return test::eventually([&] {
      recordings_->follow();
      return condition();
    });
  }
  [[nodiscard]] std::size_t files() const {
    const std::filesystem::directory_iterator all(folder_.path());
    return static_cast<std::size_t>(std::distance(begin(all), end(all)));
  }
  [[nodiscard]] std::size_t said(const std::string& words) {
    const std::string text = log_.text();
    std::size_t count = 0;
    for (std::size_t at = text.find(words); at != std::string::npos; at = text.find(words, at + 1)) {
      ++count;
    }
    return count;
  }

  const std::filesystem::path before_ = std::filesystem::current_path();
  test::TemporaryFolder folder_;
  Interruption interruption_;
  test::KeptLog log_;
  SystemClock clock_;
  TitledSurface surface_;
  FrameTimesFile frame_times_{""};
  Renderer renderer_{surface_, frame_times_, clock_, {}, [] {}};
  std::optional<WindowRecordings> recordings_;
};

TEST_F(WindowRecordingsTest, BeginAndEndByTheSameKey) {
  EXPECT_EQ(recordings_->deadline_ns(), INT64_MAX);
  recordings_->toggle();
  EXPECT_TRUE(follows_until([this] { return !surface_.title.empty(); }));
  EXPECT_TRUE(surface_.title.starts_with("recording in framewire-")) << surface_.title;
  EXPECT_EQ(files(), 1U);
  EXPECT_EQ(said(" until R is pressed again"), 1U) << log_.text();
  EXPECT_EQ(said("--output"), 0U);
  recordings_->toggle();
  EXPECT_EQ(surface_.title, "");
  EXPECT_TRUE(follows_until([this] { return recordings_->deadline_ns() == INT64_MAX; }));
  EXPECT_EQ(said("there is no recording in framewire-"), 1U) << log_.text();
  EXPECT_EQ(files(), 0U) << "one without a picture is removed";
}

TEST_F(WindowRecordingsTest, AnswerPressesThatComeWhileTheFileIsOpened) {
  for (int press = 0; press < 7; ++press) {
    recordings_->toggle();
  }
  EXPECT_TRUE(follows_until([this] { return !surface_.title.empty() && recordings_->deadline_ns() == INT64_MAX; }));
  // One, unless this thread was so slow that the file was open before the last press.
  const std::size_t begun = said("until R is pressed again");
  EXPECT_EQ(said("there is no recording in"), begun - 1) << log_.text();
  recordings_->toggle();
  recordings_->toggle();  // another one, when this one has ended
  EXPECT_TRUE(follows_until([&] { return said("until R is pressed again") == begun + 1; })) << log_.text();
  recordings_->finish();
  EXPECT_EQ(said("there is no recording in"), begun + 1) << log_.text();
  EXPECT_EQ(files(), 0U);
}

TEST_F(WindowRecordingsTest, EndWithTheProgramWhateverTheyDoThen) {
  recordings_->finish();
  recordings_->toggle();
  recordings_->finish();  // while the file is opened
  EXPECT_EQ(said("there is no recording in"), 1U) << log_.text();
  recordings_->toggle();
  EXPECT_TRUE(follows_until([this] { return !surface_.title.empty(); }));
  recordings_->toggle();
  recordings_->finish();  // while the drawing thread has it
  EXPECT_EQ(said("there is no recording in"), 2U) << log_.text();
  EXPECT_EQ(files(), 0U);
}

TEST_F(WindowRecordingsTest, SayWhyThereIsNoFile) {
  std::filesystem::current_path("/proc");  // where not even root makes files
  recordings_->toggle();
  EXPECT_TRUE(follows_until([this] { return recordings_->deadline_ns() == INT64_MAX; }));
  EXPECT_EQ(said("cannot write the recording 'framewire-"), 1U) << log_.text();
  EXPECT_EQ(surface_.title, "");
  std::filesystem::current_path(folder_.path());
  recordings_->toggle();
  EXPECT_TRUE(follows_until([this] { return !surface_.title.empty(); })) << "the next press begins again";
}

class BesideTheOption : public WindowRecordingsTest {
 protected:
  BesideTheOption() : WindowRecordingsTest(true) {}
};

TEST_F(BesideTheOption, TheyAreSaidToBeApart) {
  recordings_->toggle();
  EXPECT_TRUE(follows_until([this] { return !surface_.title.empty(); }));
  EXPECT_EQ(said("; --output goes on by itself"), 1U) << log_.text();
}

TEST(RecordingMark, CountsAsAClock) {
  EXPECT_EQ(format_minutes(-1), "0:00");
  EXPECT_EQ(format_minutes(ns_per_s - 1), "0:00");
  EXPECT_EQ(format_minutes(67 * ns_per_s), "1:07");
  EXPECT_EQ(format_minutes(3599 * ns_per_s), "59:59");
  EXPECT_EQ(format_minutes(3723 * ns_per_s), "1:02:03");
}

}  // namespace
}  // namespace framewire
