// Messages by pipes: what a shell says first, lines without an end, and pipes that are full.
#include "ssh/json_lines.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "base/pipe.hpp"

namespace framewire {
namespace {

using Json = nlohmann::json;

TEST(JsonLines, PassesOverWhatAShellSaysFirst) {
  PipeEnds pipe = make_pipe();
  const std::string said = "Welcome!\n\n17\n{\"no\":1}\n{\"type\":\"a\"}\nnoise\n{\"type\":\"b\"}\n";
  ASSERT_EQ(::write(pipe.writes.get(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
  JsonLines lines(std::move(pipe.reads), {}, true);
  EXPECT_TRUE(lines.receive());
  Json message;
  ASSERT_TRUE(lines.next(message));
  EXPECT_EQ(message["type"], "a");
  EXPECT_FALSE(lines.next(message));
  EXPECT_NE(lines.fault().find("'noise'"), std::string::npos);
}

TEST(JsonLines, TakesNoLineWithoutEnd) {
  PipeEnds pipe = make_pipe();
  JsonLines lines(std::move(pipe.reads), {}, true);
  const std::string zeros(4096, '\0');
  for (int i = 0; i < 1024 && !lines.has_ended(); ++i) {
    ASSERT_EQ(::write(pipe.writes.get(), zeros.data(), zeros.size()), static_cast<ssize_t>(zeros.size()));
    lines.receive();
  }
  EXPECT_NE(lines.fault().find("no message of framewire"), std::string::npos);
}

/// The bound also holds for what comes after a good message, and for one that waits to be taken.
TEST(JsonLines, TakesNoLineWithoutEndBehindAMessage) {
  PipeEnds pipe = make_pipe();
  JsonLines lines(std::move(pipe.reads), {});
  const std::string said = "{\"type\":\"a\"}\n";
  ASSERT_EQ(::write(pipe.writes.get(), said.data(), said.size()), static_cast<ssize_t>(said.size()));
  const std::string letters(16000, 'x');  // no divisor of the bound: more than that is read
  for (int i = 0; i < 67; ++i) {
    ASSERT_EQ(::write(pipe.writes.get(), letters.data(), letters.size()), static_cast<ssize_t>(letters.size()));
    ASSERT_TRUE(lines.receive());
  }
  Json message;
  ASSERT_TRUE(lines.next(message)) << "what is complete comes first";
  EXPECT_FALSE(lines.next(message));
  EXPECT_FALSE(lines.receive());
  EXPECT_TRUE(lines.has_ended());
  EXPECT_NE(lines.fault().find("'xxx"), std::string::npos) << lines.fault();
}

/// A peer that says more than is handled fills its own pipe, not this program's memory, and loses nothing.
TEST(JsonLines, ReadsNoMoreThanIsTaken) {
  PipeEnds pipe = make_pipe();
  JsonLines writer({}, std::move(pipe.writes));
  JsonLines reader(std::move(pipe.reads), {});
  const std::string text(1000, 'x');
  constexpr int messages = 4000;
  for (int i = 0; i < messages; ++i) {
    writer.send({{"type", "number"}, {"text", text}, {"i", i}});
  }
  for (int i = 0; i < 1000; ++i) {
    ASSERT_TRUE(reader.receive());
    writer.flush();
  }
  EXPECT_TRUE(writer.wants_write()) << "it has read everything";
  int next = 0;
  for (Json message; next < messages; writer.flush()) {
    ASSERT_TRUE(reader.receive());
    for (int i = 0; i < 10 && reader.next(message); ++i) {
      ASSERT_EQ(message["i"], next++);
    }
  }
  EXPECT_TRUE(reader.fault().empty());
}

TEST(JsonLines, SaysWhatIsToBeSaidWhenThereIsRoom) {
  PipeEnds pipe = make_pipe();
  JsonLines writer({}, std::move(pipe.writes));
  JsonLines reader(std::move(pipe.reads), {});
  for (int i = 0; i < 3000; ++i) {
    writer.send({{"type", "number"}, {"text", std::string(100, 'x')}, {"i", i}});
  }
  EXPECT_TRUE(writer.wants_write());
  int next = 0;
  for (Json message; next < 3000;) {
    writer.flush();
    ASSERT_TRUE(reader.receive());
    while (reader.next(message)) {
      EXPECT_EQ(message["i"], next++);
    }
  }
  EXPECT_FALSE(writer.wants_write());
  writer.close_out();
  EXPECT_FALSE(reader.receive());
  EXPECT_TRUE(reader.fault().empty());
}

}  // namespace
}  // namespace framewire
