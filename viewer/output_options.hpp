// What the viewer records: what the command line says of it.
#pragma once

#include <optional>
#include <string>

#include "frame/frame_layout.hpp"

namespace CLI {
class App;
}

namespace framewire {

/// The options as they were given.
struct RawOutputOptions {
  std::string file;  // --output
  std::string fps;   // --output-fps
};

struct OutputOptions {
  std::optional<std::string> file{};  // "-": stdout
  std::optional<Rational> rate{};     // of a recording of the picture; empty: it follows from the streams
  bool is_of_picture = false;         // of all streams; else the frames of the only one, as they come

  [[nodiscard]] bool is_of_stream() const noexcept { return file && !is_of_picture; }
};

void add_output_options(CLI::App& app, RawOutputOptions& raw);

/// `makes_picture`: what is shown is more than the frames of one stream. Throws Error (usage).
OutputOptions parse_output_options(const RawOutputOptions& raw, bool makes_picture);

/// Of `what` per second; `option` is named in the error. Throws Error (usage).
double parse_rate(const std::string& text, const std::string& option, const std::string& what);

}  // namespace framewire
