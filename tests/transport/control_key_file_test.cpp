#include "transport/control/key_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "tests/transport/control_support.hpp"
#include "transport/control/hex.hpp"

namespace framewire {
namespace {

using test::error_of;
using test::expect_error;
using test::TemporaryFolder;

constexpr std::int64_t plenty_ns = 20 * ns_per_s;
const std::string digits = "00112233445566778899aabbccddeeff00112233445566778899AABBCCDDEEFF";

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

void write_file(const std::string& path, std::string_view text, mode_t mode = 0600) {
  std::ofstream(path) << text;
  ASSERT_EQ(::chmod(path.c_str(), mode), 0);
}

mode_t mode_of(const std::string& path) {
  struct stat status {};
  EXPECT_EQ(::stat(path.c_str(), &status), 0);
  return status.st_mode & 07777;
}

/// The read end of a pipe that contains `text`; the write end is closed.
FileDescriptor pipe_with(std::string_view text) {
  int fds[2] = {-1, -1};
  EXPECT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  const FileDescriptor writer(fds[1]);
  EXPECT_EQ(::write(writer.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  return FileDescriptor(fds[0]);
}

KeyImport import_text(const std::string& path, std::string_view text, bool force = false) {
  return import_key(path, pipe_with(text).get(), force, plenty_ns);
}

TEST(KeyFile, MakesARandomKeyThatOnlyItsOwnerCanRead) {
  const TemporaryFolder folder;
  const std::string path = folder.file("config/framewire/key");
  create_key(path);
  EXPECT_EQ(mode_of(path), 0600U);
  EXPECT_EQ(mode_of(folder.file("config")), 0700U);
  EXPECT_EQ(mode_of(folder.file("config/framewire")), 0700U);
  const std::string text = read_file(path);
  ASSERT_EQ(text.size(), 65U);
  EXPECT_EQ(text.back(), '\n');
  EXPECT_EQ(text.find_first_not_of("0123456789abcdef"), 64U);
  create_key(folder.file("other"));
  EXPECT_FALSE(load_key(path) == load_key(folder.file("other")));
  EXPECT_EQ(to_hex(load_key(path).bytes()) + "\n", text);
}

TEST(KeyFile, NeverOverwritesAKey) {
  const TemporaryFolder folder;
  const std::string path = folder.file("key");
  create_key(path);
  const std::string before = read_file(path);
  expect_error(error_of([&] { create_key(path); }), ExitStatus::refused, "there is a key already in " + path);
  EXPECT_EQ(read_file(path), before);
  const auto left = std::distance(std::filesystem::directory_iterator(folder.file("")), {});
  EXPECT_EQ(left, 1) << "a temporary file was left behind";
}

TEST(KeyFile, SaysWhatIsThereInPlaceOfAKey) {
  const TemporaryFolder folder;
  expect_error(error_of([&] { create_key(folder.file("")); }), ExitStatus::refused, "is no regular file");
  std::ofstream(folder.file("notes")) << "no key at all";
  std::filesystem::permissions(folder.file("notes"), std::filesystem::perms::owner_read);
  expect_error(error_of([&] { create_key(folder.file("notes")); }), ExitStatus::failed, "is no key");
  EXPECT_EQ(read_file(folder.file("notes")), "no key at all");
}

TEST(KeyFile, DoesNotWriteThroughALink) {
  const TemporaryFolder folder;
  std::filesystem::create_symlink(folder.file("elsewhere"), folder.file("key"));
  expect_error(error_of([&] { create_key(folder.file("key")); }), ExitStatus::refused, "there is a key already");
  EXPECT_FALSE(std::filesystem::exists(folder.file("elsewhere")));
}

TEST(KeyFile, ImportsWithWhiteSpaceAround) {
  for (const std::string& text : {digits, digits + "\n", " \t\r\n" + digits + "\r\n\r\n"}) {
    const TemporaryFolder folder;
    EXPECT_EQ(import_text(folder.file("a/key"), text), KeyImport::written);
    std::string lower = digits;
    std::ranges::transform(lower, lower.begin(),
                           [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    EXPECT_EQ(read_file(folder.file("a/key")), lower + "\n");
    EXPECT_EQ(mode_of(folder.file("a/key")), 0600U);
  }
}

TEST(KeyFile, ImportRefusesWhatIsNoKey) {
  const TemporaryFolder folder;
  std::string bad_digit = digits;
  bad_digit[63] = 'g';
  for (const std::string& text :
       {std::string(), std::string("\n"), digits.substr(1), digits + "0", bad_digit, "0x" + digits.substr(2),
        digits.substr(0, 32) + "\n" + digits.substr(32), std::string(40000, '0')}) {
    expect_error(error_of([&] { import_text(folder.file("key"), text); }), ExitStatus::failed, "64 hexadecimal digits");
    EXPECT_FALSE(std::filesystem::exists(folder.file("key")));
  }
}

TEST(KeyFile, ImportKeepsADifferentKeyUnlessForced) {
  const TemporaryFolder folder;
  const std::string path = folder.file("key");
  EXPECT_EQ(import_text(path, digits), KeyImport::written);
  EXPECT_EQ(import_text(path, digits), KeyImport::same);
  const std::string other(64, 'a');
  expect_error(error_of([&] { import_text(path, other); }), ExitStatus::refused, "there is a different key in " + path);
  EXPECT_NE(read_file(path), other + "\n");
  EXPECT_EQ(import_text(path, other, true), KeyImport::written);
  EXPECT_EQ(read_file(path), other + "\n");
  EXPECT_EQ(mode_of(path), 0600U);
}

TEST(KeyFile, ImportDoesNotWaitForEver) {
  const TemporaryFolder folder;
  int fds[2] = {-1, -1};
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  const FileDescriptor reader(fds[0]);
  const FileDescriptor writer(fds[1]);
  expect_error(error_of([&] { import_key(folder.file("key"), reader.get(), false, ns_per_ms); }), ExitStatus::failed,
               "did not come");
}

TEST(KeyFile, RefusesAKeyThatOthersCanRead) {
  const TemporaryFolder folder;
  const std::string path = folder.file("key");
  for (const mode_t mode : {0640U, 0604U, 0660U, 0602U, 0610U, 0601U, 0777U}) {
    write_file(path, digits, mode);
    expect_error(error_of([&] { load_key(path); }), ExitStatus::refused, "can be read by others");
  }
  for (const mode_t mode : {0600U, 0400U, 0700U}) {
    write_file(path, digits, mode);
    EXPECT_FALSE(error_of([&] { load_key(path); })) << mode;
    ASSERT_EQ(::chmod(path.c_str(), 0600), 0);
  }
}

TEST(KeyFile, RefusesAKeyOfAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  const TemporaryFolder folder;
  write_file(folder.file("key"), digits);
  ASSERT_EQ(::chown(folder.file("key").c_str(), 65534, 65534), 0);
  expect_error(error_of([&] { load_key(folder.file("key")); }), ExitStatus::refused, "belongs to user 65534");
}

TEST(KeyFile, RefusesWhatIsNoRegularFile) {
  const TemporaryFolder folder;
  ASSERT_EQ(::mkfifo(folder.file("fifo").c_str(), 0600), 0);
  expect_error(error_of([&] { load_key(folder.file("fifo")); }), ExitStatus::refused, "is no regular file");
  expect_error(error_of([&] { load_key("/"); }), ExitStatus::refused, "is no regular file");
}

TEST(KeyFile, RefusesWrongLengths) {
  const TemporaryFolder folder;
  for (const std::size_t length : {0U, 1U, 63U, 65U, 128U, 100'000U}) {
    write_file(folder.file("key"), std::string(length, 'a'));
    expect_error(error_of([&] { load_key(folder.file("key")); }), ExitStatus::failed, "is no key");
  }
}

TEST(KeyFile, RefusesAKeyThatMoreFollowsFarBehindIt) {
  const TemporaryFolder folder;
  const std::string text = digits + std::string(256 - digits.size(), '\n') + "more";
  write_file(folder.file("key"), text);
  expect_error(error_of([&] { load_key(folder.file("key")); }), ExitStatus::failed, "is no key");
  expect_error(error_of([&] { import_text(folder.file("other"), text); }), ExitStatus::failed, "is no key");
  write_file(folder.file("key"), digits + std::string(255 - digits.size(), '\n'));
  EXPECT_EQ(to_hex(load_key(folder.file("key")).bytes()).size(), digits.size());
}

TEST(KeyFile, AMissingKeyIsAnErrorOnlyWhenItWasNamed) {
  const TemporaryFolder folder;
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", folder.file("").c_str(), 1), 0);
  EXPECT_FALSE(find_key(std::nullopt).has_value());
  expect_error(error_of([&] { find_key(folder.file("no")); }), ExitStatus::failed, "make one with 'framewire key'");
  create_key(default_key_path());
  ASSERT_TRUE(find_key(std::nullopt).has_value());
  EXPECT_TRUE(*find_key(std::nullopt) == load_key(default_key_path()));
  // An unusable key file is an error: it must not count as "no key".
  ASSERT_EQ(::chmod(default_key_path().c_str(), 0644), 0);
  expect_error(error_of([&] { find_key(std::nullopt); }), ExitStatus::refused, "can be read by others");
  ASSERT_EQ(::unsetenv("XDG_CONFIG_HOME"), 0);
}

TEST(KeyFile, DefaultPathFollowsTheEnvironment) {
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", "/x/y", 1), 0);
  EXPECT_EQ(default_key_path(), "/x/y/framewire/key");
  ASSERT_EQ(::setenv("XDG_CONFIG_HOME", "relative", 1), 0);  // the XDG specification: ignore relative paths
  const std::string home_before = std::getenv("HOME") != nullptr ? std::getenv("HOME") : "";
  ASSERT_EQ(::setenv("HOME", "/home/somebody", 1), 0);
  EXPECT_EQ(default_key_path(), "/home/somebody/.config/framewire/key");
  ASSERT_EQ(::unsetenv("XDG_CONFIG_HOME"), 0);
  EXPECT_EQ(default_key_path(), "/home/somebody/.config/framewire/key");
  ASSERT_EQ(::setenv("HOME", home_before.c_str(), 1), 0);
}

TEST(KeyFile, ExportsWhatCanBeImported) {
  const TemporaryFolder folder;
  create_key(folder.file("a"));
  int fds[2] = {-1, -1};
  ASSERT_EQ(::pipe2(fds, O_CLOEXEC), 0);
  const FileDescriptor reader(fds[0]);
  FileDescriptor writer(fds[1]);
  export_key(folder.file("a"), writer.get());
  writer.reset();
  EXPECT_EQ(import_key(folder.file("b"), reader.get(), false, plenty_ns), KeyImport::written);
  EXPECT_TRUE(load_key(folder.file("a")) == load_key(folder.file("b")));
}

TEST(Hex, ReadsOnlyWholeBytesOfDigits) {
  std::array<std::byte, 2> bytes{};
  EXPECT_TRUE(read_hex("00fF", bytes));
  EXPECT_EQ(to_hex(bytes), "00ff");
  for (const char* text : {"", "0", "000", "00000", "0g00", "-100", "+100", " 100", "0x00"}) {
    EXPECT_FALSE(read_hex(text, bytes)) << text;
  }
}

}  // namespace
}  // namespace framewire
