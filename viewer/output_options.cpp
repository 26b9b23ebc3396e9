#include "viewer/output_options.hpp"

#include <CLI/CLI.hpp>
#include <charconv>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

void add_output_options(CLI::App& app, RawOutputOptions& raw) {
  app.add_option("--output", raw.file,
                 "record the frames of a stream, or the picture that several make: y4m to FILE.y4m or, with -, to "
                 "standard output; raw frames to any other FILE. y4m repeats a frame for each skipped one, so that it "
                 "plays in real time")
      ->type_name("FILE|-");
  app.add_option("--output-fps", raw.fps,
                 "with --output and several streams: frames per second of the recording (default: those of the "
                 "fastest stream when it begins)")
      ->type_name("FPS");
}

double parse_rate(const std::string& text, const std::string& option, const std::string& what) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc{} || end != text.data() + text.size() || !(rate >= 1) || rate > 1000) {
    throw Error::usage(option + " is " + quote(text) + "; it takes " + what +
                       " per second from 1 to 1000, as in 60 or 59.94");
  }
  return rate;
}

OutputOptions parse_output_options(const RawOutputOptions& raw, bool makes_picture) {
  OutputOptions options;
  if (!raw.file.empty()) {
    options.file = raw.file;
    options.is_of_picture = makes_picture;
  }
  if (!raw.fps.empty()) {
    options.rate = rational_rate(parse_rate(raw.fps, "--output-fps", "frames"));
    if (!options.is_of_picture) {
      throw Error::usage("--output-fps " + quote(raw.fps) +
                         " is for --output with several streams; one stream is recorded at its own rate");
    }
  }
  return options;
}

}  // namespace framewire
