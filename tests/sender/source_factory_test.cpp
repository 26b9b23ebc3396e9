#include "sender/source_factory.hpp"

#include <gtest/gtest.h>

#include <array>

#include "sender/source_kind.hpp"

namespace framewire {
namespace {

TEST(SourceFactory, GivesOptionsOfInputsToWhatLibavOpens) {
  for (const char* name : {"film.mp4", "lavfi:testsrc2", "v4l2:/dev/video0", "patterns", "gl", "", "--"}) {
    EXPECT_TRUE(is_libav_source(name)) << name;
  }
  for (const char* name : {"gl:", "gl:waves", "gl:scene.frag", "pattern", "pattern:stamped", "-"}) {
    EXPECT_FALSE(is_libav_source(name)) << name;
  }
}

TEST(SourceFactory, SaysEveryKindInHelpAndCompletion) {
  for (const char* word : {"gl:NAME", "pattern", "standard input", "FFmpeg"}) {
    EXPECT_NE(source_help().find(word), std::string::npos) << word;
  }
  for (const char* word : {"gl:|", "|pattern|", "|-|", "FILE"}) {
    EXPECT_NE(source_choices().find(word), std::string::npos) << word;
  }
}

constexpr SourceKind kind(std::string_view help, bool (*is_meant_by)(const std::string& name)) {
  return {.help = help, .choices = nullptr, .is_meant_by = is_meant_by, .make = nullptr, .stream_name = nullptr};
}

constexpr SourceKind one = kind("one", [](const std::string& name) { return name.starts_with("one:"); });
constexpr SourceKind two = kind("two", [](const std::string& name) { return name.starts_with("two:"); });
constexpr SourceKind others = kind("others", nullptr);

/// A kind that is entered behind the one that takes everything must be reachable.
TEST(SourceKind, OfEverythingElseMayStandAnywhere) {
  for (const auto& kinds : {std::array{one, two, others}, std::array{one, others, two}, std::array{others, one, two}}) {
    EXPECT_EQ(find_source_kind(kinds, "one:a").help, "one");
    EXPECT_EQ(find_source_kind(kinds, "two:a").help, "two");
    EXPECT_EQ(find_source_kind(kinds, "three:a").help, "others");
  }
  EXPECT_TRUE(has_one_fallback(std::array{one, others, two}));
  EXPECT_FALSE(has_one_fallback(std::array{one, two}));
  EXPECT_FALSE(has_one_fallback(std::array{others, one, others}));
}

}  // namespace
}  // namespace framewire
