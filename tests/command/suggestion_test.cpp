#include "command/suggestion.hpp"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "command/command_line.hpp"

namespace framewire {
namespace {

const std::vector<std::string> names = {"--fps", "--pix-fmt", "--headless", "--transport", "--stats", "-v", "--slots"};

TEST(NearestName, FindsWhatWasMistyped) {
  EXPECT_EQ(nearest_name("--headles", names), "--headless");
  EXPECT_EQ(nearest_name("--haedless", names), "--headless") << "two letters that changed places";
  EXPECT_EQ(nearest_name("--pix_fmt", names), "--pix-fmt");
  EXPECT_EQ(nearest_name("--transprot", names), "--transport");
  EXPECT_EQ(nearest_name("-fps", names), "--fps") << "one dash";
  EXPECT_EQ(nearest_name("--trans", names), "--transport") << "a beginning";
  EXPECT_EQ(nearest_name("sned", {"send", "view"}), "send");
}

TEST(NearestName, GuessesNothingFarAway) {
  EXPECT_EQ(nearest_name("--no-such-option", names), std::nullopt);
  EXPECT_EQ(nearest_name("--output", names), std::nullopt);
  EXPECT_EQ(nearest_name("-x", names), std::nullopt) << "one letter for another is no typing error";
  EXPECT_EQ(nearest_name("", names), std::nullopt);
  EXPECT_EQ(nearest_name("--", names), std::nullopt);
  EXPECT_EQ(nearest_name(std::string(100'000, 'a'), names), std::nullopt);
  EXPECT_EQ(nearest_name("--fps", {}), std::nullopt);
}

/// The error of a program with some options and one argument.
std::string error_of(const std::vector<const char*>& arguments) {
  CLI::App app("does something", "program");
  std::string frames;
  std::string host;
  bool is_headless = false;
  app.add_option("HOST", host, "the host")->required();
  app.add_option("--frames", frames, "how many")->type_name("N");
  app.add_flag("--headless", is_headless, "opens no window");
  std::vector<const char*> argv = {"program"};
  argv.insert(argv.end(), arguments.begin(), arguments.end());
  try {
    parse_command_line(app, static_cast<int>(argv.size()), argv.data());
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    return error.what();
  }
  return "none";
}

TEST(CommandLineErrors, NameTheOptionThatWasProbablyMeant) {
  EXPECT_EQ(error_of({"big", "--headles"}), "there is no option '--headles'; did you mean --headless?");
  EXPECT_EQ(error_of({"big", "--farmes=3"}), "there is no option '--farmes'; did you mean --frames?");
  EXPECT_EQ(error_of({"--headles"}), "there is no option '--headles'; did you mean --headless?")
      << "HOST is missing, too";
  EXPECT_EQ(error_of({"big", "--colour"}), "there is no option '--colour'; program --help lists the options");
  EXPECT_EQ(error_of({"big", "-x"}), "there is no option '-x'; program --help lists the options");
}

TEST(CommandLineErrors, ShowWordsAsTheyWereTyped) {
  EXPECT_EQ(error_of({"big", "[a,b]"}), "'[a,b]' is one argument too many; program --help shows what it takes");
  EXPECT_EQ(error_of({"[]", "[]"}), "'[]' is one argument too many; program --help shows what it takes");
  EXPECT_EQ(error_of({"[a]", "--headles"}), "there is no option '--headles'; did you mean --headless?");
}

TEST(CommandLineErrors, ArePlain) {
  EXPECT_EQ(error_of({"big", "box"}), "'box' is one argument too many; program --help shows what it takes");
  EXPECT_EQ(error_of({}), "HOST is missing; program --help shows what it takes");
  EXPECT_EQ(error_of({"big", "--frames"}), "--frames needs a value, N; program --help shows what it takes");
  EXPECT_EQ(error_of({"big", "--frames", "1", "--frames", "2"}),
            "--frames was given more than once; leave out all but one");
}

}  // namespace
}  // namespace framewire
