#include "viewer/quality_options.hpp"

#include <CLI/CLI.hpp>

#include "base/error.hpp"
#include "base/text.hpp"

namespace framewire {

namespace {

std::optional<Quality> read_quality(const std::string& text) {
  if (text.empty() || text == "auto") {
    return std::nullopt;
  }
  for (const Quality quality : {Quality::fast, Quality::good}) {
    if (text == name(quality)) {
      return quality;
    }
  }
  throw Error::usage("--quality is " + quote(text) + "; it takes fast, good or auto");
}

std::optional<Downscale> read_downscale(const std::string& text, std::optional<Quality> quality) {
  if (text.empty()) {
    return std::nullopt;
  }
  if (text != "area" && text != "bilinear") {
    throw Error::usage("--downscale is " + quote(text) + "; it takes area or bilinear");
  }
  if (quality == Quality::good) {
    throw Error::usage("--downscale " + quote(text) +
                       " means nothing with --quality good, which has filters of its own; leave out one of them");
  }
  return text == "area" ? Downscale::area : Downscale::bilinear;
}

}  // namespace

void add_quality_options(CLI::App& app, RawQualityOptions& raw) {
  app.add_option("--quality", raw.quality,
                 "fast: average what is shrunk; good: better filters, tone and gamut mapping; auto: good if a GPU "
                 "draws (default auto; HDR is always drawn well)")
      ->type_name("fast|good|auto");
  app.add_option("--downscale", raw.downscale,
                 "how fast quality shrinks: area averages all that a pixel covers; bilinear takes one sample, which is "
                 "cheaper without a GPU, and loses fine detail (default area)")
      ->type_name("area|bilinear");
}

QualityOptions parse_quality_options(const RawQualityOptions& raw) {
  QualityOptions options{.quality = read_quality(raw.quality)};
  options.downscale = read_downscale(raw.downscale, options.quality);
  return options;
}

}  // namespace framewire
