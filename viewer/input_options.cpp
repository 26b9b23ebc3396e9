#include "viewer/input_options.hpp"

#include <algorithm>
#include <array>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

constexpr std::array host_key_table = {
    HostKey{"right-ctrl", "right Ctrl", 0xE4},
    HostKey{"right-alt", "right Alt", 0xE6},
    HostKey{"right-super", "right Super", 0xE7},
    HostKey{"scroll-lock", "Scroll Lock", 0x47},
    HostKey{"pause", "Pause", 0x48},
    HostKey{"menu", "Menu", 0x65},
    HostKey{"f12", "F12", 0x45},
};

HostKey read_host_key(const std::string& word) {
  const auto* const found = std::ranges::find(host_key_table, word, &HostKey::word);
  if (found != host_key_table.end()) {
    return *found;
  }
  std::string words;
  for (const HostKey& key : host_key_table) {
    words += words.empty() ? "" : &key == &host_key_table.back() ? " or " : ", ";
    words += key.word;
  }
  throw Error::usage("--host-key is " + quote(word) + "; it takes " + words);
}

}  // namespace

std::span<const HostKey> host_keys() noexcept {
  return host_key_table;
}

std::string host_key_words() {
  std::string words;
  for (const HostKey& key : host_key_table) {
    words += (words.empty() ? "" : "|") + std::string(key.word);
  }
  return words;
}

std::optional<InputOptions> read_input_options(const RawInputOptions& raw, bool is_headless) {
  if (!raw.wants_input) {
    if (!raw.host_key.empty()) {
      throw Error::usage("--host-key " + quote(raw.host_key) + " means nothing without --input");
    }
    if (raw.locks_pointer) {
      throw Error::usage("--pointer-lock means nothing without --input");
    }
    return std::nullopt;
  }
  if (is_headless) {
    throw Error::usage(
        "--input takes keys and pointer from a window, and --headless opens none; leave out one of them");
  }
  return InputOptions{.host_key = raw.host_key.empty() ? host_key_table.front() : read_host_key(raw.host_key),
                      .locks_pointer = raw.locks_pointer};
}

}  // namespace framewire
