#include "transport/control/key_file.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <poll.h>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <string_view>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/wait.hpp"
#include "transport/control/hex.hpp"

namespace framewire {

namespace {

constexpr std::size_t key_digits = 2 * Key::size_bytes;
/// A text that fills this is no key: what follows is not read, so it could be anything.
constexpr std::size_t key_text_limit_bytes = 256;

/// A key as text; the destructor wipes it.
struct KeyText {
  std::array<char, key_text_limit_bytes> letters{};
  std::size_t size = 0;

  KeyText() = default;
  KeyText(const KeyText&) = delete;
  KeyText& operator=(const KeyText&) = delete;
  ~KeyText() { wipe(std::as_writable_bytes(std::span(letters))); }

  [[nodiscard]] bool is_whole() const { return size < letters.size(); }
  [[nodiscard]] std::string_view trimmed() const {
    constexpr std::string_view blanks = " \t\r\n";
    const std::string_view all(letters.data(), size);
    const auto first = all.find_first_not_of(blanks);
    return first == std::string_view::npos ? std::string_view{}
                                           : all.substr(first, all.find_last_not_of(blanks) + 1 - first);
  }
};

/// Reads until the end or until the text is longer than any key.
void read_text(int fd, KeyText& text, std::int64_t deadline_ns) {
  while (text.size < text.letters.size()) {
    if (!wait_for(fd, POLLIN, deadline_ns) && monotonic_ns() >= deadline_ns) {
      throw Error::failed(
          "the key to import did not come; give it on standard input, as 'framewire key --export' writes it");
    }
    const ssize_t got = ::read(fd, text.letters.data() + text.size, text.letters.size() - text.size);
    if (got == 0) {
      return;
    }
    if (got > 0) {
      text.size += static_cast<std::size_t>(got);
    } else if (errno != EINTR && errno != EAGAIN) {
      throw Error::from_errno("read the key", errno);
    }
  }
}

Key parse_key(const KeyText& text, std::string_view from) {
  Key key;
  const std::string_view digits = text.trimmed();
  if (!text.is_whole() || digits.size() != key_digits || !read_hex(digits, key.bytes())) {
    throw Error::failed(fmt::format("{} is no key: it must be {} hexadecimal digits, as 'framewire key' writes them",
                                    from, key_digits));
  }
  return key;
}

/// Opens the file once, and checks it by its descriptor, so that nobody can replace it between check and use.
FileDescriptor open_key(const std::string& path) {
  auto file = FileDescriptor::from([&] { return ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); });
  if (!file.valid()) {
    const std::string way_out = errno == ENOENT ? "; make one with 'framewire key', or import the other machine's" : "";
    throw Error::failed(fmt::format("cannot open the key file {}: {}{}", path, errno_text(errno), way_out));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0) {
    throw Error::from_errno("look at the key file " + path, errno);
  }
  if (!S_ISREG(status.st_mode)) {
    throw Error::refused(fmt::format("the key file {} is no regular file", path));
  }
  if (status.st_uid != ::geteuid()) {
    throw Error::refused(
        fmt::format("the key file {} belongs to user {}, not to you ({}); make your own with 'framewire key', or name "
                    "one with --key "
                    "FILE",
                    path, status.st_uid, ::geteuid()));
  }
  if ((status.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    throw Error::refused(
        fmt::format("the key file {} can be read by others (mode {:04o}); make a new key, or 'chmod 600 {}'", path,
                    status.st_mode & 07777U, path));
  }
  return file;
}

void make_directories(const std::string& path) {
  for (std::size_t slash = path.find('/', 1); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    const std::string directory = path.substr(0, slash);
    if (::mkdir(directory.c_str(), 0700) != 0 && errno != EEXIST) {
      throw Error::from_errno("make the directory " + directory, errno);
    }
  }
}

void write_text(int fd, std::string_view text, const std::string& what) {
  while (!text.empty()) {
    const ssize_t written = ::write(fd, text.data(), text.size());
    if (written > 0) {
      text.remove_prefix(static_cast<std::size_t>(written));
    } else if (errno != EINTR) {
      throw Error::from_errno("write " + what, errno);
    }
  }
}

/// A temporary file; the destructor removes its name. After rename() the file has the key's name.
class TemporaryFile {
 public:
  explicit TemporaryFile(const std::string& beside) : name_(beside + ".XXXXXX") {
    fd_ = FileDescriptor::from([this] { return ::mkostemp(name_.data(), O_CLOEXEC); });  // mode 0600
    if (!fd_.valid()) {
      throw Error::from_errno("make a file beside " + beside, errno);
    }
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;
  ~TemporaryFile() { ::unlink(name_.c_str()); }

  [[nodiscard]] int fd() const { return fd_.get(); }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  std::string name_;
  FileDescriptor fd_;
};

/// Throws Error if the file is no key, or a bad one.
Key read_key(const std::string& path) {
  const FileDescriptor file = open_key(path);
  KeyText text;
  read_text(file.get(), text, monotonic_ns() + ns_per_s);
  return parse_key(text, "the key file " + path);
}

void write_key(const std::string& path, const Key& key, bool overwrite) {
  make_directories(path);
  const TemporaryFile file(path);
  std::array<char, key_digits + 1> text{};
  write_hex(key.bytes(), std::span(text).first<key_digits>());
  text.back() = '\n';
  const auto wipe_text = [&] { wipe(std::as_writable_bytes(std::span(text))); };
  try {
    write_text(file.fd(), {text.data(), text.size()}, "the key file " + path);
  } catch (...) {
    wipe_text();
    throw;
  }
  wipe_text();
  if (::fsync(file.fd()) != 0) {
    throw Error::from_errno("write the key file " + path, errno);
  }
  // link() fails when the name exists, so only one of two programs creates the key.
  const int result =
      overwrite ? ::rename(file.name().c_str(), path.c_str()) : ::link(file.name().c_str(), path.c_str());
  if (result != 0 && errno == EEXIST) {
    if (struct stat status{}; ::stat(path.c_str(), &status) == 0) {
      read_key(path);  // what is there may be something else
    }
    throw Error::refused(
        fmt::format("there is a key already in {}; it is kept: remove the file first if you want another", path));
  }
  if (result != 0) {
    throw Error::from_errno("write the key file " + path, errno);
  }
}

bool exists(const std::string& path) {
  struct stat status {};
  return ::lstat(path.c_str(), &status) == 0;
}

}  // namespace

std::string default_key_path() {
  const char* config = std::getenv("XDG_CONFIG_HOME");
  if (config != nullptr && config[0] == '/') {
    return std::string(config) + "/framewire/key";
  }
  const char* home = std::getenv("HOME");
  if (home == nullptr || home[0] != '/') {
    const passwd* user = ::getpwuid(::geteuid());
    home = user != nullptr ? user->pw_dir : nullptr;
  }
  if (home == nullptr || home[0] != '/') {
    throw Error::failed("there is no home directory to keep the key in; set HOME, or name the key with --key FILE");
  }
  return std::string(home) + "/.config/framewire/key";
}

void create_key(const std::string& path) {
  Key key;
  fill_random(key.bytes());
  write_key(path, key, false);
}

KeyImport import_key(const std::string& path, int from_fd, bool force, std::int64_t timeout_ns) {
  KeyText text;
  read_text(from_fd, text, monotonic_ns() + timeout_ns);
  const Key key = parse_key(text, "what was given to import");
  if (!force && exists(path)) {
    if (load_key(path) == key) {
      return KeyImport::same;
    }
    throw Error::refused(fmt::format("there is a different key in {}; it is kept: say --force to replace it", path));
  }
  write_key(path, key, force);
  return KeyImport::written;
}

Key load_key(const std::string& path) {
  return read_key(path);
}

std::optional<Key> find_key(const std::optional<std::string>& key_file) {
  if (key_file) {
    return load_key(*key_file);
  }
  const std::string path = default_key_path();
  return exists(path) ? std::optional(load_key(path)) : std::nullopt;
}

void export_key(const std::string& path, int to_fd) {
  const Key key = load_key(path);
  std::array<char, key_digits + 1> text{};
  write_hex(key.bytes(), std::span(text).first<key_digits>());
  text.back() = '\n';
  write_text(to_fd, {text.data(), text.size()}, "the key");
  wipe(std::as_writable_bytes(std::span(text)));
}

}  // namespace framewire
