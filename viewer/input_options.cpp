#include "viewer/input_options.hpp"

#include <CLI/CLI.hpp>
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

void add_input_options(CLI::App& app, RawInputOptions& raw) {
  app.add_flag("--input", raw.wants_input,
               "send keys, pointer, wheel and gamepads to the sender: a click into a picture captures them "
               "(default: the keys and the mouse are the viewer's)");
  app.add_option("--host-key", raw.host_key,
                 "with --input: the key that releases what is captured, and captures it again (default right-ctrl)")
      ->type_name(host_key_words());
  app.add_flag("--pointer-lock", raw.locks_pointer,
               "with --input: hide and hold the pointer while it is captured, and send how far it is moved; the host "
               "key and L turn that on and off");
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
