#include "sender/source_factory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string_view>

#include "sender/source_kind.hpp"
#include "sender/sources/gl/dma_buf_reading.hpp"
#include "sender/sources/gl/gl_source.hpp"
#include "sender/sources/media/av_source.hpp"
#include "sender/sources/media/pattern_source.hpp"
#include "sender/sources/media/stdin_source.hpp"
#include "sender/stream_names.hpp"

namespace framewire {

namespace {

bool is_gl(const std::string& name) {
  return name.starts_with("gl:");
}

std::string gl_choices() {
  std::string names = "gl:";
  for (const std::string_view scene : scene_names()) {
    names += "|gl:" + std::string(scene);
  }
  return names;
}

std::string gl_stream_name(const SourceOptions& options) {
  const auto [source, parts] = split_parts(options.name);
  const std::string scene(source.substr(3));
  const std::string name =
      scene.empty() ? std::string(scene_names().front()) : std::filesystem::path(scene).stem().string();
  return parts.empty() ? name : name + "-" + std::string(parts);
}

void fit_gl(SourceOptions& options, std::ptrdiff_t sharing, Log& log) {
  const Size size =
      GlSource::largest_size_that_keeps_rate(options, GlSource::usual_share_of_period / static_cast<double>(sharing));
  options.width = size.width;
  options.height = size.height;
  const std::string beside = sharing == 1 ? "" : fmt::format(" beside {} more", sharing - 1);
  log.info(fmt::format("--size auto: {}x{} is the largest size at which this machine renders {} at its rate{}",
                       size.width, size.height, options.name, beside));
}

/// In the order of --help, which means nothing else.
constexpr std::array kinds = {
    SourceKind{.help =
                   "  gl:NAME                   a built-in scene: waves (the default: gl:), aurora, orbit or helix\n"
                   "  gl:NAME:PART,PART         parts of a scene that has some, as gl:helix:1,3\n"
                   "  gl:FILE.frag              a fragment shader in the manner of Shadertoy\n",
               .choices = gl_choices,
               .is_meant_by = is_gl,
               .make = [](const SourceOptions& options, Log&, const IsCancelled&) -> std::unique_ptr<Source> {
                 return std::make_unique<GlSource>(options);
               },
               .stream_name = gl_stream_name,
               .file = [](const std::string& name) { return shader_file(name); },
               .fit = fit_gl,
               .may_have_depth = true},
    SourceKind{.help = "  pattern, pattern:bars     test frames: colour bars that carry marks\n"
                       "  pattern:stamped           test frames in which every line carries a stamp\n",
               .choices = [] { return std::string("pattern|pattern:bars|pattern:stamped"); },
               .is_meant_by = [](const std::string& name) { return name == "pattern" || name.starts_with("pattern:"); },
               .make = [](const SourceOptions& options, Log&, const IsCancelled&) -> std::unique_ptr<Source> {
                 return std::make_unique<PatternSource>(options);
               },
               .stream_name = [](const SourceOptions& options) { return options.name; }},
    SourceKind{.help = "  -                         y4m on standard input, or raw frames with --size and --pix-fmt\n",
               .choices = [] { return std::string("-"); },
               .is_meant_by = [](const std::string& name) { return name == "-"; },
               .make = [](const SourceOptions& options, Log&, const IsCancelled&) -> std::unique_ptr<Source> {
                 return std::make_unique<StdinSource>(options);
               },
               .stream_name = [](const SourceOptions&) { return std::string("stdin"); },
               .may_have_depth = true},
    SourceKind{
        .help = "  anything FFmpeg opens     a file, a URL, v4l2:/dev/video0, x11grab::0, lavfi:testsrc2\n",
        .choices = [] { return std::string("FILE|v4l2:/dev/video0|x11grab::0|lavfi:testsrc2"); },
        .is_meant_by = nullptr,  // whatever no other kind means
        .make = [](const SourceOptions& options, Log& log, const IsCancelled& is_cancelled) -> std::unique_ptr<Source> {
          return std::make_unique<AvSource>(options, log, is_cancelled, open_dma_buf_reader);
        },
        .stream_name =
            [](const SourceOptions& options) { return media_stream_name(options.name, options.input_format); },
        .file = AvSource::file,
        .takes_input_options = true},
};
static_assert(has_one_fallback(kinds));

const SourceKind& kind_of(const std::string& name) {
  return find_source_kind(kinds, name);
}

}  // namespace

std::unique_ptr<Source> make_source(const SourceOptions& options, Log& log, const IsCancelled& is_cancelled) {
  const SourceKind& kind = kind_of(options.name);
  if (options.pixel_format && has_depth(*options.pixel_format) && !kind.may_have_depth) {
    throw Error::usage("--pix-fmt is " + std::string(info(*options.pixel_format).name) + ", and " +
                       quote(options.name) + " has no depth; scenes of gl: and raw frames can have it");
  }
  return kind.make(options, log, is_cancelled);
}

void fit_to_machine(SourceOptions& options, std::span<const SourceOptions> all, Log& log) {
  if (const auto fit = kind_of(options.name).fit; fit != nullptr) {
    fit(options, std::ranges::count(all, fit, [](const SourceOptions& one) { return kind_of(one.name).fit; }), log);
  }
}

bool reads_standard_input(const std::string& source) {
  // FFmpeg's own names for it, and the kernel's.
  constexpr std::array<std::string_view, 6> names = {"-", "pipe:", "pipe:0", "fd:", "/dev/stdin", "/dev/fd/0"};
  return std::ranges::find(names, source) != names.end();
}

std::optional<std::string> file_of_source(const std::string& source) {
  const auto file = kind_of(source).file;
  return file != nullptr && !reads_standard_input(source) ? file(source) : std::nullopt;
}

bool fits_to_machine(const std::string& source) {
  return kind_of(source).fit != nullptr;
}

bool is_libav_source(const std::string& source) {
  return kind_of(source).takes_input_options;
}

void check_hw_accel(const std::string& value) {
  static_cast<void>(parse_hw_accel(value));
}

std::string suggested_stream_name(const SourceOptions& options) {
  return kind_of(options.name).stream_name(options);
}

std::string source_help() {
  std::string text;
  for (const SourceKind& kind : kinds) {
    text += kind.help;
  }
  return text;
}

std::string source_choices() {
  std::string names;
  for (const SourceKind& kind : kinds) {
    names += (names.empty() ? "" : "|") + kind.choices();
  }
  return names;
}

}  // namespace framewire
