// Drives the programs `framewire` and `framewire-key`; their folder comes from the build.
#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <fstream>
#include <iterator>
#include <vector>

#include "tests/transport/control_support.hpp"

namespace framewire {
namespace {

using test::TemporaryFolder;

const std::string bin = FRAMEWIRE_BIN_DIR;

struct Result {
  int status = -1;
  std::string out;
  std::string err;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// Runs a program with this standard input, in a minimal environment.
Result run(const TemporaryFolder& folder, std::vector<std::string> words, const std::string& input = "") {
  std::ofstream(folder.file("in")) << input;
  std::vector<char*> arguments;
  for (std::string& word : words) {
    arguments.push_back(word.data());
  }
  arguments.push_back(nullptr);
  std::string config = "XDG_CONFIG_HOME=" + folder.file("config");
  std::string path = "PATH=/usr/bin:/bin";
  std::string sanitizer = "ASAN_OPTIONS=detect_leaks=1";
  char* environment[] = {config.data(), path.data(), sanitizer.data(), nullptr};
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 0, folder.file("in").c_str(), O_RDONLY, 0);
  ::posix_spawn_file_actions_addopen(&actions, 1, folder.file("out").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  ::posix_spawn_file_actions_addopen(&actions, 2, folder.file("err").c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  pid_t child = -1;
  EXPECT_EQ(::posix_spawn(&child, arguments[0], &actions, nullptr, arguments.data(), environment), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  int status = 0;
  ::waitpid(child, &status, 0);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 128, read_file(folder.file("out")), read_file(folder.file("err"))};
}

Result framewire(const TemporaryFolder& folder, std::vector<std::string> words, const std::string& input = "") {
  words.insert(words.begin(), bin + "/framewire");
  return run(folder, std::move(words), input);
}

bool has(const std::string& text, std::string_view words) {
  return text.find(words) != std::string::npos;
}

TEST(FramewireProgram, ListsItsSubcommands) {
  const TemporaryFolder folder;
  const Result result = framewire(folder, {"--help"});
  EXPECT_EQ(result.status, 0);
  for (const char* word : {"send", "view", "bench", "doctor", "key"}) {
    EXPECT_TRUE(has(result.out, std::string("\n  ") + word)) << result.out;
  }
  EXPECT_EQ(result.err, "");
}

TEST(FramewireProgram, NamesItsVersion) {
  const TemporaryFolder folder;
  EXPECT_EQ(framewire(folder, {"--version"}).out, "framewire " FRAMEWIRE_VERSION "\n");
  EXPECT_EQ(framewire(folder, {"key", "--version"}).out, "framewire-key " FRAMEWIRE_VERSION "\n");
}

TEST(FramewireProgram, RefusesWhatIsNoSubcommand) {
  const TemporaryFolder folder;
  for (const char* word : {"nonsense", "../bin/framewire", "--nonsense", "-x", "Key", "a b", "key\n"}) {
    const Result result = framewire(folder, {word});
    EXPECT_EQ(result.status, 2) << word;
    const bool is_nearly_key = std::string_view(word).substr(1, 2) == "ey";
    EXPECT_TRUE(has(result.err, is_nearly_key ? "is no subcommand; did you mean 'framewire key'?"
                                              : "is no subcommand; 'framewire --help' lists them"))
        << result.err;
  }
  const Result none = framewire(folder, {});
  EXPECT_EQ(none.status, 2);
  EXPECT_TRUE(has(none.err, "Usage: framewire SUBCOMMAND"));
  EXPECT_EQ(none.out, "");
}

TEST(FramewireProgram, RunsTheProgramBesideItOnly) {
  const TemporaryFolder folder;
  std::filesystem::create_directory(folder.file("bin"));
  std::filesystem::create_symlink(bin + "/../lib", folder.file("lib"));  // where it looks for libframewire-core
  const std::string program = folder.file("bin/framewire");
  std::filesystem::copy_file(bin + "/framewire", program);
  const Result missing = run(folder, {program, "bench"});
  EXPECT_EQ(missing.status, 1);
  EXPECT_TRUE(has(missing.err, "framewire-bench is not installed")) << missing.err;
  std::ofstream(program + "-bench") << "#!/bin/sh\necho \"$# $1 $2\"\nexit 42\n";
  ASSERT_EQ(::chmod((program + "-bench").c_str(), 0700), 0);
  const Result result = run(folder, {program, "bench", "--json", "a b"});
  EXPECT_EQ(result.status, 42);
  EXPECT_EQ(result.out, "2 --json a b\n");
}

TEST(KeyProgram, MakesExportsAndImportsAKey) {
  const TemporaryFolder folder;
  const std::string path = folder.file("config/framewire/key");
  EXPECT_EQ(framewire(folder, {"key", "--show-path"}).out, path + "\n");
  const Result made = framewire(folder, {"key"});
  EXPECT_EQ(made.status, 0) << made.err;
  EXPECT_TRUE(has(made.out, "made a key in " + path));
  const std::string key = read_file(path);
  ASSERT_EQ(key.size(), 65U);
  EXPECT_FALSE(has(made.out, key.substr(0, 64))) << "the key is shown only on demand";
  const Result exported = framewire(folder, {"key", "--export"});
  EXPECT_EQ(exported.out, key);
  const Result imported = framewire(folder, {"key", "--import", "-", "--file", folder.file("b")}, exported.out);
  EXPECT_EQ(imported.status, 0) << imported.err;
  EXPECT_EQ(read_file(folder.file("b")), key);
  EXPECT_FALSE(has(imported.out, key.substr(0, 64)));
  EXPECT_EQ(framewire(folder, {"key", "--import", path, "--file", folder.file("c")}).status, 0);
  EXPECT_EQ(read_file(folder.file("c")), key);
}

TEST(KeyProgram, KeepsTheKeyThatIsThere) {
  const TemporaryFolder folder;
  framewire(folder, {"key"});
  const std::string key = read_file(folder.file("config/framewire/key"));
  const Result again = framewire(folder, {"key"});
  EXPECT_EQ(again.status, 3);
  EXPECT_TRUE(has(again.err, "there is a key already"));
  const Result other = framewire(folder, {"key", "--import", "-"}, std::string(64, 'a'));
  EXPECT_EQ(other.status, 3);
  EXPECT_TRUE(has(other.err, "there is a different key"));
  EXPECT_EQ(read_file(folder.file("config/framewire/key")), key);
  EXPECT_EQ(framewire(folder, {"key", "--import", "-", "--force"}, std::string(64, 'a')).status, 0);
  EXPECT_EQ(read_file(folder.file("config/framewire/key")), std::string(64, 'a') + "\n");
}

TEST(KeyProgram, SaysWhatIsWrong) {
  const TemporaryFolder folder;
  struct Case {
    std::vector<std::string> words;
    int status;
    const char* text;
  };
  const std::vector<Case> cases = {
      {{"key", "--nonsense"}, 2, "--nonsense"},
      {{"key", "extra"}, 2, "extra"},
      {{"key", "--import"}, 2, "--import"},
      {{"key", "--import", "-", "--export"}, 2, "excludes"},
      {{"key", "--force"}, 2, "--import"},
      {{"key", "--import", "-"}, 1, "64 hexadecimal digits"},
      {{"key", "--import", "/nonexistent"}, 1, "/nonexistent"},
      {{"key", "--export"}, 1, "make one with 'framewire key'"},
      {{"key", "--file", "/proc/nowhere/key"}, 1, "/proc/nowhere"},
  };
  for (const Case& one : cases) {
    const Result result = framewire(folder, one.words, "not a key");
    EXPECT_EQ(result.status, one.status) << result.err;
    EXPECT_TRUE(has(result.err, one.text)) << result.err;
    EXPECT_TRUE(result.err.starts_with("framewire-key: ")) << result.err;
    EXPECT_EQ(result.out, "");
  }
}

TEST(KeyProgram, AFullDiskIsAnError) {
  const TemporaryFolder folder;
  framewire(folder, {"key"});
  const Result result = run(folder, {"/bin/sh", "-c", bin + "/framewire-key --export > /dev/full"});
  EXPECT_EQ(result.status, 1);
  EXPECT_TRUE(has(result.err, "cannot write the key")) << result.err;
}

}  // namespace
}  // namespace framewire
