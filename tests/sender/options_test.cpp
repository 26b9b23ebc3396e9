#include "sender/options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/error.hpp"
#include "transport/session/messages.hpp"

namespace framewire {
namespace {

using Words = std::vector<std::string>;

std::optional<SenderOptions> parse_words(const Words& words) {
  std::vector<const char*> arguments{"framewire-send"};
  for (const std::string& word : words) {
    arguments.push_back(word.c_str());
  }
  return parse_sender_options(static_cast<int>(arguments.size()), arguments.data());
}

Words names_for(const Words& words) {
  Words names;
  for (const SourceOptions& source : parse_words(words).value_or(SenderOptions{}).sources) {
    names.push_back(source.stream_name);
  }
  return names;
}

void expect_refused(const Words& words, const Words& said) {
  try {
    static_cast<void>(parse_words(words));
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage) << error.what();
    for (const std::string& text : said) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what() << " has no " << text;
    }
    return;
  }
  ADD_FAILURE() << "taken: " << testing::PrintToString(words);
}

TEST(SenderOptions, NameEachSourceInTurn) {
  EXPECT_EQ(names_for({"pattern"}), (Words{"pattern"}));
  EXPECT_EQ(names_for({"gl:", "gl:orbit", "film.mkv"}), (Words{"waves", "orbit", "film"}));
  EXPECT_EQ(names_for({"film.mkv", "film.mkv", "a/film.mp4"}), (Words{"film", "film-2", "film-3"}));
  EXPECT_EQ(names_for({"--name", "left", "--name", "right", "gl:", "film.mkv"}), (Words{"left", "right"}));
  EXPECT_EQ(names_for({"gl:", "--name", "left", "film.mkv", "pattern"}), (Words{"left", "film", "pattern"}));
  EXPECT_EQ(names_for({"--name", "film", "gl:", "film.mkv"}), (Words{"film", "film-2"}));
}

TEST(SenderOptions, RefuseNamesThatCannotBe) {
  expect_refused({"--name", "a", "--name", "b", "pattern"}, {"--name", "2 times for 1 SOURCE"});
  expect_refused({"--name", "a", "--name", "a", "pattern", "gl:"}, {"--name", "'a' was given twice"});
  expect_refused({"--name", "a/b", "pattern"}, {"--name", "'a/b'", "letters, digits"});
  expect_refused({"--name", "", "pattern"}, {"--name"});
}

TEST(SenderOptions, HoldForAllSources) {
  const auto options = parse_words({"gl:", "film.mkv", "--size", "64x36", "--fps", "25", "--pix-fmt", "nv12",
                                    "--slices", "4", "--loop", "--delivery", "every", "--slots", "5"});
  ASSERT_EQ(options->sources.size(), 2U);
  for (const SourceOptions& source : options->sources) {
    EXPECT_EQ(source.width, 64U);
    EXPECT_EQ(source.height, 36U);
    EXPECT_EQ(source.frames_per_s, 25);
    EXPECT_EQ(source.pixel_format, PixelFormat::nv12);
    EXPECT_EQ(source.slices, 4);
    EXPECT_TRUE(source.loop);
  }
  EXPECT_EQ(options->delivery, Delivery::every);
  EXPECT_EQ(options->slots_per_viewer, 5U);
}

TEST(SenderOptions, GiveStandardInputToOneSource) {
  EXPECT_EQ(names_for({"-", "pattern"}), (Words{"stdin", "pattern"}));
  expect_refused({"-", "pattern", "-"}, {"standard input", "only one"});
  for (const char* other : {"pipe:", "pipe:0", "/dev/stdin"}) {
    expect_refused({"-", other}, {"standard input", "only one"});
  }
}

TEST(SenderOptions, TakeSourcesAsTheyWereTyped) {
  const Words words = {"[report]", "[a,b]", "[]", "["};
  const auto options = parse_words(words);
  Words sources;
  for (const SourceOptions& source : options->sources) {
    sources.push_back(source.name);
  }
  EXPECT_EQ(sources, words);
}

TEST(SenderOptions, DialWithOneSource) {
  EXPECT_TRUE(parse_words({"pattern", "--to", "box"})->endpoint.dial.has_value());
  expect_refused({"pattern", "gl:", "--to", "box"}, {"--to", "2 were given", "a sender for each"});
}

TEST(SenderOptions, TakeAsManySourcesAsAnOfferHolds) {
  Words words(max_offered_streams, "pattern");
  EXPECT_EQ(names_for(words).back(), "pattern-64");
  words.emplace_back("pattern");
  expect_refused(words, {"65 SOURCEs", "at most 64"});
}

}  // namespace
}  // namespace framewire
