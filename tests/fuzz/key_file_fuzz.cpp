// Key files, and keys that are given to import.
//
// Input: the text of the file.
#include "transport/control/key_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cctype>

#include "base/clock.hpp"
#include "base/file_descriptor.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace framewire::fuzz {
namespace {

FileDescriptor file_of(std::span<const std::byte> text) {
  FileDescriptor file(::memfd_create("text", MFD_CLOEXEC));
  require(::write(file.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
              ::lseek(file.get(), 0, SEEK_SET) == 0,
          "a file can be written");
  return file;
}

std::string name_of(const FileDescriptor& file) {
  return "/proc/self/fd/" + std::to_string(file.get());
}

/// The rule of import_key() in other words: 64 digits, with white space around them, fewer than 256 bytes in all.
bool is_key(std::string_view text) {
  constexpr std::size_t limit_bytes = 256;
  if (text.size() >= limit_bytes) {
    return false;
  }
  const auto is_blank = [](char letter) { return letter == ' ' || letter == '\t' || letter == '\r' || letter == '\n'; };
  while (!text.empty() && is_blank(text.front())) {
    text.remove_prefix(1);
  }
  while (!text.empty() && is_blank(text.back())) {
    text.remove_suffix(1);
  }
  return text.size() == 64 &&
         std::ranges::all_of(text, [](unsigned char letter) { return std::isxdigit(letter) != 0; });
}

void check(std::span<const std::byte> bytes) {
  const std::string text = text_of(bytes);
  const FileDescriptor file = file_of(bytes);
  require(::fchmod(file.get(), 0600) == 0, "a file has a mode");
  Key key;
  const bool is_good = succeeds([&] { key = load_key(name_of(file)); });
  require(is_good == is_key(text), "a key, and only a key, is taken for one");
  static const test::TemporaryFolder folder;
  const std::string path = folder.file("key");
  const FileDescriptor given = file_of(bytes);
  const bool is_imported = succeeds([&] {
    require(import_key(path, given.get(), true, 30 * ns_per_s) == KeyImport::written, "a forced import writes");
  });
  require(is_imported == is_good, "a file and an import are read alike");
  if (is_good) {
    require(load_key(path) == key, "a key comes back as it went");
    const FileDescriptor out = file_of({});
    export_key(path, out.get());
    require(::fchmod(out.get(), 0600) == 0 && load_key(name_of(out)) == key, "an exported key is the same");
  }
}

}  // namespace

std::vector<std::string> seeds() {
  return {std::string(64, 'a') + "\n", " \t" + std::string(64, '7') + "\r\n\n", std::string(63, '0') + "g", "",
          std::string(64, 'b') + std::string(192, '\n') + "more"};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  framewire::fuzz::check(framewire::fuzz::Input(data, size).take_all());
  return 0;
}
