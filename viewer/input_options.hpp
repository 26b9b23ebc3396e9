// How the viewer captures input for the sender: what the command line says of it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace CLI {
class App;
}

namespace framewire {

/// A key that releases captured input, and captures it again. The sender never gets it.
struct HostKey {
  std::string_view word;    // on the command line: "right-ctrl"
  std::string_view name;    // as it is printed on keys: "right Ctrl"
  std::uint16_t usage = 0;  // USB HID usage of page 7
  bool operator==(const HostKey&) const = default;
};

/// The first one is the default.
std::span<const HostKey> host_keys() noexcept;
/// "right-ctrl|right-alt|…", for an option's type_name.
std::string host_key_words();

struct InputOptions {
  HostKey host_key{};
  bool locks_pointer = false;  // from the first capture on
};

/// The options as they were given.
struct RawInputOptions {
  bool wants_input = false;    // --input
  std::string host_key{};      // --host-key
  bool locks_pointer = false;  // --pointer-lock
};

/// `raw` outlives the parsing.
void add_input_options(CLI::App& app, RawInputOptions& raw);
/// Nothing without --input. Throws Error (usage).
std::optional<InputOptions> read_input_options(const RawInputOptions& raw, bool is_headless);

}  // namespace framewire
