#include "sender/source_factory.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "sender/sources/gl/gl_source.hpp"
#include "sender/sources/media/av_source.hpp"
#include "sender/sources/media/pattern_source.hpp"
#include "sender/sources/media/stdin_source.hpp"

namespace framewire {

namespace {

bool is_gl(const std::string& name) {
  return name.starts_with("gl:");
}
bool is_pattern(const std::string& name) {
  return name == "pattern" || name.starts_with("pattern:");
}

}  // namespace

std::unique_ptr<Source> make_source(const SourceOptions& options, Log& log, const std::function<bool()>& is_cancelled) {
  if (is_gl(options.name)) {
    return std::make_unique<GlSource>(options);
  }
  if (is_pattern(options.name)) {
    return std::make_unique<PatternSource>(options);
  }
  if (options.name == "-") {
    return std::make_unique<StdinSource>(options);
  }
  return std::make_unique<AvSource>(options, log, is_cancelled);
}

void fit_to_machine(SourceOptions& options, Log& log) {
  if (!is_gl(options.name)) {
    return;
  }
  const Size size = GlSource::largest_size_that_keeps_rate(options);
  options.width = size.width;
  options.height = size.height;
  log.info(fmt::format("--size auto: {}x{} is the largest size at which this machine renders {} at its rate",
                       size.width, size.height, options.name));
}

std::string stream_name(const std::string& source) {
  if (source == "-") {
    return "stdin";
  }
  if (is_gl(source)) {
    const std::string scene = source.substr(3);
    return scene.empty() ? "gl" : std::filesystem::path(scene).filename().string();
  }
  const std::string file = std::filesystem::path(source).filename().string();
  return file.empty() ? source : file;
}

}  // namespace framewire
