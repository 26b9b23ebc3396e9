#include "tests/viewer/scene_reference.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <sstream>

namespace framewire::test {

namespace {

// ---- The file ----

void write_key(std::ostream& text, const char* key, const std::string& word) {
  if (!word.empty()) {
    text << key << " = \"" << word << "\"\n";
  }
}

std::string pair_of(const std::array<int, 2>& numbers, const char* between) {
  return std::to_string(numbers[0]) + between + std::to_string(numbers[1]);
}

void write_layer(std::ostream& text, const ReferenceLayer& layer) {
  text << "[[layer]]\nsource = \"box\"\n";
  if (layer.box) {
    const auto& [x, y, width, height] = *layer.box;
    text << "at = [" << x << ", " << y << "]\nsize = [" << width << ", " << height << "]\n";
  }
  if (layer.crop) {
    const auto& [x, y, width, height] = *layer.crop;
    text << "crop = [" << x << ", " << y << ", " << width << ", " << height << "]\n";
  }
  write_key(text, "fit", layer.fit);
  write_key(text, "blend", layer.blend);
  write_key(text, "alpha", layer.alpha);
  text << "opacity = " << layer.opacity << "\nhidden = " << (layer.hidden ? "true" : "false") << "\n";
}

// ---- Where the layers go ----

double half_up(double number) {
  return std::floor(number + 0.5);
}

/// Edges of a part of a plane.
struct Edges {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;

  [[nodiscard]] double width() const { return right - left; }
  [[nodiscard]] double height() const { return bottom - top; }
};

/// How the surface sees the canvas: as large as it fits, in the middle of the wall.
struct SeenCanvas {
  double width, height, zoom, left, top;

  SeenCanvas(const ReferenceScene& scene, int screen_width, int screen_height) {
    const ReferenceWall wall = scene.wall.value_or(ReferenceWall{});
    const double wall_width = wall.screens[0] * screen_width + (wall.screens[0] - 1) * wall.bezel[0];
    const double wall_height = wall.screens[1] * screen_height + (wall.screens[1] - 1) * wall.bezel[1];
    width = scene.canvas ? (*scene.canvas)[0] : wall_width;
    height = scene.canvas ? (*scene.canvas)[1] : wall_height;
    zoom = std::min(wall_width / width, wall_height / height);
    left = (wall_width - zoom * width) / 2 - wall.screen[0] * (screen_width + wall.bezel[0]);
    top = (wall_height - zoom * height) / 2 - wall.screen[1] * (screen_height + wall.bezel[1]);
  }

  /// In whole pixels of the surface.
  [[nodiscard]] Edges seen(const Edges& part) const {
    return {half_up(left + zoom * part.left), half_up(top + zoom * part.top), half_up(left + zoom * part.right),
            half_up(top + zoom * part.bottom)};
  }
};

/// How wide pictures of 16:9 are in a grid.
double width_of_pictures(int count, int columns, const SeenCanvas& canvas) {
  const int rows = (count + columns - 1) / columns;
  return std::min(canvas.width / columns, canvas.height / rows * 16 / 9);
}

int columns_of(int count, const SeenCanvas& canvas) {
  const int root = static_cast<int>(std::ceil(std::sqrt(count)));
  int best = root;
  for (int columns = 1; columns <= count; ++columns) {
    if (width_of_pictures(count, columns, canvas) > width_of_pictures(count, best, canvas)) {
      best = columns;
    }
  }
  const double gain = width_of_pictures(count, best, canvas) / width_of_pictures(count, root, canvas);
  return gain > 1 + 1.0 / 8 ? best : root;
}

Edges cell_of(int number, int count, int columns, const SeenCanvas& canvas) {
  const int rows = (count + columns - 1) / columns;
  const int row = number / columns;
  const int in_this_row = row + 1 < rows ? columns : count - (rows - 1) * columns;
  const double cell_width = canvas.width / columns;
  const double cell_height = canvas.height / rows;
  const double row_left = (canvas.width - in_this_row * cell_width) / 2;
  const double left = row_left + (number - row * columns) * cell_width;
  return {left, row * cell_height, left + cell_width, (row + 1) * cell_height};
}

/// The small pictures of `pip`: a quarter of the canvas, a fortieth of its height from each other and from its edges.
Edges small_picture(int number, const SeenCanvas& canvas) {
  const double gap = canvas.height / 40;
  const double width = canvas.width / 4, height = canvas.height / 4;
  const int in_a_column = static_cast<int>((canvas.height - gap) / (height + gap));
  const int column = number / in_a_column;
  const double right = canvas.width - gap - column * (width + gap);
  const double bottom = canvas.height - gap - (number % in_a_column) * (height + gap);
  return {right - width, bottom - height, right, bottom};
}

bool is_stereo(const std::string& layout) {
  return layout == "stereo-side" || layout == "stereo-top";
}

std::string layout_of(const ReferenceScene& scene) {
  const bool has_box =
      std::ranges::any_of(scene.layers, [](const ReferenceLayer& layer) { return layer.box.has_value(); });
  return !scene.layout.empty() ? scene.layout : has_box ? "free" : "grid";
}

/// Hidden layers that keep their places, so that those behind them do not move up.
bool keeps_place(const ReferenceScene& scene, std::size_t index) {
  const bool keeps = (is_stereo(scene.layout) && index < 2) || (scene.layout == "pip" && index == 0);
  return keeps || !scene.layers[index].hidden;
}

/// The part of the canvas that a layer gets; nothing if it gets none.
std::optional<Edges> part_of(const ReferenceScene& scene, std::size_t index, const SeenCanvas& canvas) {
  int number = 0, count = 0;
  for (std::size_t i = 0; i < scene.layers.size(); ++i) {
    number += i < index && keeps_place(scene, i) ? 1 : 0;
    count += keeps_place(scene, i) ? 1 : 0;
  }
  const Edges all{0, 0, canvas.width, canvas.height};
  const std::string layout = layout_of(scene);
  if (scene.layers[index].hidden || (is_stereo(layout) && number > 1)) {
    return std::nullopt;
  }
  if (layout == "grid") {
    return cell_of(number, count, columns_of(count, canvas), canvas);
  }
  if (layout == "side" || layout == "stereo-side") {
    const int columns = layout == "side" ? count : 2;
    return Edges{canvas.width * number / columns, 0, canvas.width * (number + 1) / columns, canvas.height};
  }
  if (layout == "stereo-top") {
    return Edges{0, canvas.height * number / 2, canvas.width, canvas.height * (number + 1) / 2};
  }
  if (layout == "pip") {
    return number == 0 ? all : small_picture(number - 1, canvas);
  }
  if (const auto& box = scene.layers[index].box; layout == "free" && box) {
    return Edges{(*box)[0], (*box)[1], (*box)[0] + (*box)[2], (*box)[1] + (*box)[3]};
  }
  return all;
}

// ---- How a picture fills its box ----

/// A picture in its box: the part `shown` of the frame fills `at` on the surface, of which `box` is seen.
struct Placed {
  Edges shown;
  Edges at;
  Edges box;

  [[nodiscard]] bool covers(int x, int y) const {
    return x >= std::max(at.left, box.left) && x < std::min(at.right, box.right) && y >= std::max(at.top, box.top) &&
           y < std::min(at.bottom, box.bottom);
  }
};

Placed place_in(const Edges& box, const ReferenceLayer& layer, const std::string& layout, const ReferenceFrame& frame) {
  Placed placed{{0, 0, double{1} * frame.width, double{1} * frame.height}, box, box};
  if (layer.crop) {
    const auto& [x, y, width, height] = *layer.crop;
    placed.shown = {std::max(x, 0.0), std::max(y, 0.0), std::min(x + width, placed.shown.right),
                    std::min(y + height, placed.shown.bottom)};
  }
  if (layer.fit == "fill") {
    return placed;
  }
  // For one eye a picture is fitted into a box of the usual shape, and squeezed afterwards.
  const double squeezed_x = layout == "stereo-side" ? 2 : 1, squeezed_y = layout == "stereo-top" ? 2 : 1;
  const double zoom_x = box.width() * squeezed_x / placed.shown.width();
  const double zoom_y = box.height() * squeezed_y / placed.shown.height();
  const double zoom = layer.fit == "cover" ? std::max(zoom_x, zoom_y) : std::min(zoom_x, zoom_y);
  const double width = half_up(placed.shown.width() * zoom / squeezed_x);
  const double height = half_up(placed.shown.height() * zoom / squeezed_y);
  placed.at.left = box.left + std::floor((box.width() - width) / 2);
  placed.at.top = box.top + std::floor((box.height() - height) / 2);
  placed.at.right = placed.at.left + width;
  placed.at.bottom = placed.at.top + height;
  return placed;
}

// ---- The colours of a picture ----

/// Of a picture at a pixel, from 0 to 1: its colours, which are multiplied by its alpha, and that.
struct Sample {
  std::array<double, 3> colour{};
  double alpha = 0;
};

/// What a pixel covers of a frame on one axis: one of the frame's pixels at least, since those are interpolated.
struct Covered {
  double from, to;

  Covered(int pixel, double at, double at_length, double shown, double shown_length, int frame_length) {
    const double step = shown_length / at_length;
    const double middle = shown + (pixel + 0.5 - at) * step;
    from = std::max(middle - std::max(step, 1.0) / 2, 0.0);
    to = std::min(middle + std::max(step, 1.0) / 2, double{1} * frame_length);
  }
  [[nodiscard]] double share_of(int pixel) const {
    return std::max(std::min(pixel + 1.0, to) - std::max(double{1} * pixel, from), 0.0) / (to - from);
  }
};

Sample sample_of(const ReferenceFrame& frame, const Placed& placed, const std::string& alpha, int x, int y) {
  const Covered across(x, placed.at.left, placed.at.width(), placed.shown.left, placed.shown.width(), frame.width);
  const Covered down(y, placed.at.top, placed.at.height(), placed.shown.top, placed.shown.height(), frame.height);
  Sample sample;
  for (int row = static_cast<int>(down.from); row < std::ceil(down.to); ++row) {
    for (int column = static_cast<int>(across.from); column < std::ceil(across.to); ++column) {
      const double share = across.share_of(column) * down.share_of(row);
      const std::uint8_t* pixel = &frame.values.at(
          (static_cast<std::size_t>(row) * static_cast<std::size_t>(frame.width) + static_cast<std::size_t>(column)) *
          4);
      const double own_alpha = alpha == "opaque" ? 1 : pixel[3] / 255.0;
      for (std::size_t i = 0; i < 3; ++i) {
        sample.colour.at(i) += share * pixel[i] / 255.0 * (alpha == "straight" ? own_alpha : 1);
      }
      sample.alpha += share * own_alpha;
    }
  }
  return sample;
}

// ---- How layers are blended ----

/// IEC 61966-2-1, the curve of sRGB.
double to_light(double coded) {
  return coded > 0.04045 ? std::pow((coded + 0.055) / 1.055, 2.4) : coded / 12.92;
}
double to_code(double light) {
  return light > 0.0031308 ? 1.055 * std::pow(light, 1 / 2.4) - 0.055 : 12.92 * light;
}

/// The table of docs/scenes.md.
double laid_over(const std::string& blend, double s, double a, double d) {
  if (blend == "add") {
    return std::min(s + d, 1.0);
  }
  if (blend == "multiply") {
    return s * d + d * (1 - a);
  }
  return blend == "screen" ? s + d * (1 - s) : s + d * (1 - a);
}

/// A layer with its defaults.
struct Laid {
  ReferenceLayer how;
  bool in_light = false;
  double picture_tolerance = 0;

  void over(ReferenceColour& below, const Sample& sample) const {
    for (std::size_t i = 0; i < 3; ++i) {
      const double coded = sample.colour.at(i);
      const double s = !in_light ? coded : sample.alpha == 0 ? 0 : to_light(coded / sample.alpha) * sample.alpha;
      const double d = below.value.at(i) / 255;
      const double sum = laid_over(how.blend, s * how.opacity, sample.alpha * how.opacity, in_light ? to_light(d) : d);
      below.value.at(i) = 255 * (in_light ? to_code(sum) : sum);
    }
    const bool hides_all_below = how.blend == "over" && how.alpha == "opaque" && how.opacity == 1;
    below.tolerance = hides_all_below ? picture_tolerance : below.tolerance + picture_tolerance + of_blending();
  }

  /// What gl/blender.hpp promises: correctly rounded coded values without opacity, else one step beside that.
  [[nodiscard]] double of_blending() const { return !in_light && how.opacity == 1 ? 0.503 : 1.4999; }
};

Laid laid(const ReferenceScene& scene, std::size_t index) {
  ReferenceLayer how = scene.layers[index];
  how.blend = how.blend.empty() ? "over" : how.blend;
  if (how.alpha.empty()) {
    how.alpha = scene.layout == "overlay" && index > 0 && how.blend == "over" ? "straight" : "opaque";
  }
  return {.how = how, .in_light = scene.light == "linear"};
}

/// A picture that is multiplied by its alpha is kept in 8 bits before it is blended.
Sample rounded(Sample sample) {
  for (double& value : sample.colour) {
    value = half_up(255 * value) / 255;
  }
  return sample;
}

}  // namespace

std::string text_of(const ReferenceScene& scene) {
  std::ostringstream text;
  write_key(text, "layout", scene.layout);
  if (scene.canvas) {
    write_key(text, "canvas", pair_of(*scene.canvas, "x"));
  }
  write_key(text, "light", scene.light);
  if (scene.wall) {
    text << "[wall]\n";
    write_key(text, "screens", pair_of(scene.wall->screens, "x"));
    write_key(text, "screen", pair_of(scene.wall->screen, ","));
    write_key(text, "bezel", pair_of(scene.wall->bezel, "x"));
  }
  for (const ReferenceLayer& layer : scene.layers) {
    write_layer(text, layer);
  }
  return text.str();
}

std::vector<ReferenceColour> picture_of(const ReferenceScene& scene, std::span<const ReferenceFrame> frames, int width,
                                        int height, const ReferenceTolerance& tolerance) {
  std::vector<ReferenceColour> picture(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  const SeenCanvas canvas(scene, width, height);
  for (std::size_t i = 0; i < scene.layers.size(); ++i) {
    const std::optional<Edges> part = part_of(scene, i, canvas);
    if (!part || scene.layers[i].opacity == 0) {
      continue;
    }
    Laid layer = laid(scene, i);
    const Placed placed = place_in(canvas.seen(*part), layer.how, scene.layout, frames[i]);
    const bool is_scaled = placed.at.width() != placed.shown.width() || placed.at.height() != placed.shown.height();
    layer.picture_tolerance = is_scaled ? tolerance.scaled : tolerance.same_size;
    layer.picture_tolerance += is_scaled && layer.how.alpha == "straight" ? 0.6 : 0;  // rounded as a mean
    for (int y = 0; y < height; ++y) {
      for (int x = 0; x < width; ++x) {
        if (placed.covers(x, y)) {
          const Sample sample = sample_of(frames[i], placed, layer.how.alpha, x, y);
          layer.over(
              picture.at(static_cast<std::size_t>(y) * static_cast<std::size_t>(width) + static_cast<std::size_t>(x)),
              is_scaled ? sample : rounded(sample));
        }
      }
    }
  }
  return picture;
}

}  // namespace framewire::test
