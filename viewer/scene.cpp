#include "viewer/scene.hpp"

#include <array>
#include <charconv>
#include <utility>

#include "base/error.hpp"

namespace framewire {

namespace {

template <typename Value>
struct SceneWord {
  Value value;
  std::string_view word;
};

constexpr std::array<SceneWord<Layout>, 8> layout_words = {{{Layout::grid, "grid"},
                                                            {Layout::side, "side"},
                                                            {Layout::stereo_side, "stereo-side"},
                                                            {Layout::stereo_top, "stereo-top"},
                                                            {Layout::pip, "pip"},
                                                            {Layout::overlay, "overlay"},
                                                            {Layout::depth, "depth"},
                                                            {Layout::free, "free"}}};
constexpr std::array<SceneWord<Blend>, 4> blend_words = {
    {{Blend::over, "over"}, {Blend::add, "add"}, {Blend::multiply, "multiply"}, {Blend::screen, "screen"}}};
constexpr std::array<SceneWord<Alpha>, 3> alpha_words = {
    {{Alpha::opaque, "opaque"}, {Alpha::straight, "straight"}, {Alpha::premultiplied, "premultiplied"}}};
constexpr std::array<SceneWord<Fit>, 3> fit_words = {
    {{Fit::contain, "contain"}, {Fit::cover, "cover"}, {Fit::fill, "fill"}}};

template <typename Value, std::size_t count>
std::string_view word_for(const std::array<SceneWord<Value>, count>& words, Value value) noexcept {
  for (const SceneWord<Value>& each : words) {
    if (each.value == value) {
      return each.word;
    }
  }
  return "?";
}

template <typename Value, std::size_t count>
std::optional<Value> value_for(const std::array<SceneWord<Value>, count>& words, std::string_view word) noexcept {
  for (const SceneWord<Value>& each : words) {
    if (each.word == word) {
      return each.value;
    }
  }
  return std::nullopt;
}

template <typename Value, std::size_t count>
std::string joined_words(const std::array<SceneWord<Value>, count>& words, std::string_view between,
                         std::string_view before_last) {
  std::string all(words[0].word);
  for (std::size_t i = 1; i < count; ++i) {
    all += i + 1 < count ? between : before_last;
    all += words.at(i).word;
  }
  return all;
}

constexpr std::uint32_t max_screens_a_side = 64;
constexpr std::uint32_t max_bezel_pixels = 32768;

/// "3x2": two numbers from `low` to `high`.
std::optional<Size> number_pair(std::string_view text, char separator, std::uint32_t low, std::uint32_t high) {
  const auto middle = text.find(separator);
  if (middle == std::string_view::npos) {
    return std::nullopt;
  }
  const auto read = [&](std::string_view digits, std::uint32_t& number) {
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return error == std::errc{} && end == digits.data() + digits.size() && number >= low && number <= high;
  };
  Size pair;
  const bool is_good = read(text.substr(0, middle), pair.width) && read(text.substr(middle + 1), pair.height);
  return is_good ? std::optional(pair) : std::nullopt;
}

/// Whether `text` is a screen of `wall`, whose column and row are set then.
bool read_screen(std::string_view text, Wall& wall) {
  const auto screen = number_pair(text, ',', 0, max_screens_a_side - 1);
  if (!screen || screen->width >= wall.columns || screen->height >= wall.rows) {
    return false;
  }
  wall.column = screen->width;
  wall.row = screen->height;
  return true;
}

std::string screens_of(const Wall& wall) {
  return "COLUMN,ROW, from 0,0 to " + std::to_string(wall.columns - 1) + "," + std::to_string(wall.rows - 1);
}

}  // namespace

bool add_layer(Scene& scene, SceneLayer layer) {
  if (scene.layout == Layout::depth && layer.local && layer.local->source.starts_with("gl:") &&
      layer.local->options.empty()) {
    scene.gl_scenes.push_back(std::move(layer.local->source));
    return false;
  }
  scene.layers.push_back(std::move(layer));
  return true;
}

bool is_one_picture(const Scene& scene) {
  return scene.layers.size() == 1 && scene.layout != Layout::depth && !scene.wall && !scene.canvas &&
         scene.layers[0] == SceneLayer{.source = scene.layers[0].source,
                                       .local = scene.layers[0].local,
                                       .says_alpha = scene.layers[0].says_alpha,
                                       .one_to_one = scene.layers[0].one_to_one};
}

std::string_view name(Layout layout) noexcept {
  return word_for(layout_words, layout);
}

std::string_view name(Blend blend) noexcept {
  return word_for(blend_words, blend);
}

std::string_view name(Alpha alpha) noexcept {
  return word_for(alpha_words, alpha);
}

std::string_view name(Fit fit) noexcept {
  return word_for(fit_words, fit);
}

std::optional<Layout> layout_from_name(std::string_view word) noexcept {
  return value_for(layout_words, word);
}

std::optional<Blend> blend_from_name(std::string_view word) noexcept {
  return value_for(blend_words, word);
}

std::optional<Alpha> alpha_from_name(std::string_view word) noexcept {
  return value_for(alpha_words, word);
}

std::optional<Fit> fit_from_name(std::string_view word) noexcept {
  return value_for(fit_words, word);
}

std::string layout_names(std::string_view between, std::string_view before_last) {
  return joined_words(layout_words, between, before_last);
}

std::string blend_names(std::string_view between, std::string_view before_last) {
  return joined_words(blend_words, between, before_last);
}

std::string alpha_names(std::string_view between, std::string_view before_last) {
  return joined_words(alpha_words, between, before_last);
}

std::string fit_names(std::string_view between, std::string_view before_last) {
  return joined_words(fit_words, between, before_last);
}

Alpha usual_alpha(Layout layout, std::size_t index, Blend blend) noexcept {
  return layout == Layout::overlay && index > 0 && blend == Blend::over ? Alpha::straight : Alpha::opaque;
}

Alpha alpha_of(const SceneLayer& layer, AlphaMode stream) noexcept {
  const bool asks_stream = layer.alpha == Alpha::straight && !layer.says_alpha;
  return asks_stream && stream == AlphaMode::premultiplied ? Alpha::premultiplied : layer.alpha;
}

Wall parse_wall(std::string_view text, std::string_view what) {
  const auto at = text.find('@');
  const auto screens = number_pair(text.substr(0, at), 'x', 1, max_screens_a_side);
  Wall wall;
  if (screens) {
    wall.columns = screens->width;
    wall.rows = screens->height;
  }
  if (!screens || at == std::string_view::npos) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       "; it takes COLUMNSxROWS@COLUMN,ROW, as in 3x2@0,0 for the screen at the top left");
  }
  if (!read_screen(text.substr(at + 1), wall)) {
    throw Error::usage(std::string(what) + " is " + quote(text) + "; after " + std::string(text.substr(0, at + 1)) +
                       " it takes " + screens_of(wall));
  }
  return wall;
}

Size parse_screens(std::string_view text, std::string_view what) {
  const auto screens = number_pair(text, 'x', 1, max_screens_a_side);
  if (!screens) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       "; it takes COLUMNSxROWS, each 1 to 64, as in 3x2 for six screens");
  }
  return *screens;
}

void parse_screen(std::string_view text, std::string_view what, Wall& wall) {
  if (!read_screen(text, wall)) {
    throw Error::usage(std::string(what) + " is " + quote(text) + "; it takes " + screens_of(wall));
  }
}

Size parse_bezel(std::string_view text, std::string_view what) {
  const auto bezel = number_pair(text, 'x', 0, max_bezel_pixels);
  if (!bezel) {
    throw Error::usage(std::string(what) + " is " + quote(text) +
                       "; it takes WIDTHxHEIGHT in pixels, each 0 to 32768, as in 40x30");
  }
  return *bezel;
}

}  // namespace framewire
