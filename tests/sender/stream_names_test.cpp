#include "sender/stream_names.hpp"

#include <gtest/gtest.h>

#include "base/error.hpp"
#include "sender/source_factory.hpp"

namespace framewire {
namespace {

using Names = std::vector<std::string>;

std::string name_of(const std::string& source) {
  SourceOptions options;
  options.name = source;
  return stream_names({{"", suggested_stream_name(options)}}).front();
}

std::string refusal(const std::vector<StreamNaming>& namings) {
  try {
    stream_names(namings);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    return error.what();
  }
  return "(taken)";
}

TEST(StreamNames, EverySourceHasASensibleOne) {
  EXPECT_EQ(name_of("gl:"), "waves");
  EXPECT_EQ(name_of("gl:aurora"), "aurora");
  EXPECT_EQ(name_of("gl:shaders/mine.frag"), "mine");
  EXPECT_EQ(name_of("pattern"), "pattern");
  EXPECT_EQ(name_of("pattern:stamped"), "pattern-stamped");
  EXPECT_EQ(name_of("-"), "stdin");
  EXPECT_EQ(name_of("/films/A film (2024).mkv"), "A-film-2024");
  EXPECT_EQ(name_of("v4l2:/dev/video0"), "video0");
  EXPECT_EQ(name_of("x11grab::0.0+10,20"), "x11grab");
  EXPECT_EQ(name_of("lavfi:testsrc2=size=64x36:rate=30000/1001,rotate=t"), "testsrc2");
  EXPECT_EQ(name_of("lavfi:[a]scale=2:2"), "scale");
  EXPECT_EQ(name_of("rtsp://user:secret@camera.example:554/live/one?token=secret#x"), "one");
  EXPECT_EQ(name_of("rtsp://user:secret@camera.example:554"), "camera.example");
  EXPECT_EQ(name_of("tcp://[fe80::1]:5000/"), "fe80-1");
  EXPECT_EQ(name_of("https://host/films/film.mp4?from=a/b.c"), "film");
}

TEST(StreamNames, HoldNoCharacterThatAViewerCouldNotType) {
  for (const char* source : {"\x1b[31m.mkv", "a/b\nc.mkv", "..", "---", "\xff\xfe.mkv", "   ", "\"'$(x)`.mkv"}) {
    const std::string name = name_of(source);
    EXPECT_FALSE(name.empty());
    EXPECT_EQ(name.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_."),
              std::string::npos)
        << name;
  }
  EXPECT_EQ(name_of("\xe6\x98\xa0.mkv"), "stream");
  EXPECT_EQ(name_of(std::string(300, 'x') + ".mkv").size(), 64U);
}

TEST(StreamNames, SuggestedOnesAreMadeUnique) {
  EXPECT_EQ(stream_names({{"", "a"}, {"", "a"}, {"", "a-2"}, {"", "a"}}), (Names{"a", "a-2", "a-2-2", "a-3"}));
  EXPECT_EQ(stream_names({{"", "a"}, {"a", "b"}}), (Names{"a-2", "a"}));
}

TEST(StreamNames, GivenOnesAreTakenAsTheyAreOrRefused) {
  EXPECT_EQ(stream_names({{"left_eye.1", "x"}, {"", "x"}}), (Names{"left_eye.1", "x"}));
  EXPECT_NE(refusal({{"a b", "x"}}).find("--name is 'a b'"), std::string::npos);
  EXPECT_NE(refusal({{std::string(65, 'a'), "x"}}).find("up to 64"), std::string::npos);
  EXPECT_NE(refusal({{"a", "x"}, {"a", "y"}}).find("'a' was given twice"), std::string::npos);
}

}  // namespace
}  // namespace framewire
