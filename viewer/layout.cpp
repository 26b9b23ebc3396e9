#include "viewer/layout.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace framewire {

namespace {

/// Of a box on the canvas. Boxes that share an edge have the same number there.
struct CanvasEdges {
  double left = 0;
  double top = 0;
  double right = 0;
  double bottom = 0;
};

/// The nearest whole number, and always the upper one of two that are equally near, whatever rounding came before: two
/// screens of a wall must agree. Values beyond `farthest`, and those that are no number, become that.
int nearest_pixel(double position, double farthest) noexcept {
  constexpr double rounding_error = 1e-6;
  const double nearest = std::floor(position + 0.5 + rounding_error);
  return static_cast<int>(nearest > -farthest ? std::min(nearest, farthest) : -farthest);
}

PictureRectangle pixels_between(const CanvasEdges& edges, double farthest) noexcept {
  const int left = nearest_pixel(edges.left, farthest);
  const int top = nearest_pixel(edges.top, farthest);
  const int right = nearest_pixel(edges.right, farthest);
  const int bottom = nearest_pixel(edges.bottom, farthest);
  return right > left && bottom > top ? PictureRectangle{left, top, right - left, bottom - top} : PictureRectangle{};
}

PictureRectangle seen_pixels(const CanvasView& view, const CanvasEdges& on_canvas) noexcept {
  constexpr double farthest = 1 << 24;  // floats have whole numbers up to here
  return pixels_between({view.x + view.scale * on_canvas.left, view.y + view.scale * on_canvas.top,
                         view.x + view.scale * on_canvas.right, view.y + view.scale * on_canvas.bottom},
                        farthest);
}

}  // namespace

CanvasView view_canvas(const Scene& scene, Size surface) noexcept {
  Wall wall = scene.wall.value_or(Wall{});
  wall.columns = std::max(wall.columns, 1U);
  wall.rows = std::max(wall.rows, 1U);
  const double across = double{1} * surface.width + wall.bezel.width;  // from one screen to the next
  const double down = double{1} * surface.height + wall.bezel.height;
  const double all_width = across * wall.columns - wall.bezel.width;
  const double all_height = down * wall.rows - wall.bezel.height;
  CanvasView view{.width = all_width,
                  .height = all_height,
                  .x = -across * std::min(wall.column, wall.columns - 1),
                  .y = -down * std::min(wall.row, wall.rows - 1)};
  if (scene.canvas && scene.canvas->width > 0 && scene.canvas->height > 0) {
    view.width = scene.canvas->width;
    view.height = scene.canvas->height;
    view.scale = std::min(all_width / view.width, all_height / view.height);
    view.x += (all_width - view.width * view.scale) / 2;
    view.y += (all_height - view.height * view.scale) / 2;
  }
  return view;
}

namespace {

/// How wide a picture of 16:9 becomes in a cell of a grid.
double width_in_grid(std::size_t count, std::size_t columns, const CanvasView& canvas) noexcept {
  const std::size_t rows = (count + columns - 1) / columns;
  return std::min(canvas.width / static_cast<double>(columns), canvas.height / static_cast<double>(rows) * 16 / 9);
}

std::size_t columns_for(std::size_t count, const CanvasView& canvas) noexcept {
  std::size_t root = 1;
  while (root * root < count) {
    ++root;
  }
  std::size_t best = root;
  constexpr double worth_it = 9.0 / 8;  // a screen of 16:10 keeps the columns of one of 16:9
  double best_width = worth_it * width_in_grid(count, root, canvas);
  for (std::size_t columns = 1; columns <= count; ++columns) {
    const double width = width_in_grid(count, columns, canvas);
    if (width > best_width) {
      best = columns;
      best_width = width;
    }
  }
  return best;
}

CanvasEdges grid_cell(std::size_t index, std::size_t count, std::size_t columns, const CanvasView& canvas) noexcept {
  const std::size_t rows = (count + columns - 1) / columns;
  const std::size_t row = index / columns;
  const std::size_t in_row = std::min(columns, count - row * columns);
  // In halves of a cell, since an incomplete row stands in the middle.
  const std::size_t left = 2 * (index % columns) + columns - in_row;
  const auto x = [&](std::size_t halves) {
    return canvas.width * static_cast<double>(halves) / static_cast<double>(2 * columns);
  };
  const auto y = [&](std::size_t cells) {
    return canvas.height * static_cast<double>(cells) / static_cast<double>(rows);
  };
  return {x(left), y(row), x(left + 2), y(row + 1)};
}

/// The small pictures of Layout::pip: each is 1/part of the canvas wide and high.
struct SmallPictures {
  double part = 4;
  std::size_t rows = 1;

  static double margin(const CanvasView& canvas) noexcept { return canvas.height / 40; }

  static SmallPictures for_count(std::size_t count, const CanvasView& canvas) noexcept {
    constexpr double smallest = 64;
    constexpr double rounding_error = 1e-9;
    const double margin = SmallPictures::margin(canvas);
    const auto number_in = [&](double side, double part) {
      return std::floor((side - margin) / (side / part + margin) + rounding_error);
    };
    SmallPictures small;
    while (small.part < smallest &&
           number_in(canvas.width, small.part) * number_in(canvas.height, small.part) < static_cast<double>(count)) {
      ++small.part;
    }
    small.rows = static_cast<std::size_t>(std::clamp(number_in(canvas.height, small.part), 1.0, smallest));
    return small;
  }

  [[nodiscard]] CanvasEdges at(std::size_t index, const CanvasView& canvas) const noexcept {
    const double gap = margin(canvas);
    const double width = canvas.width / part;
    const double height = canvas.height / part;
    const std::size_t column = index / rows;
    const std::size_t row = index % rows;
    const double right = canvas.width - gap - static_cast<double>(column) * (width + gap);
    const double bottom = canvas.height - gap - static_cast<double>(row) * (height + gap);
    return {right - width, bottom - height, right, bottom};
  }
};

/// Where a layer goes: `index` counts those before it, and `count` all, that take part in the layout.
class Arrangement {
 public:
  Arrangement(Layout layout, std::size_t count, const CanvasView& canvas) noexcept
      : layout_(layout), canvas_(canvas), count_(count) {
    if (layout == Layout::grid) {
      columns_ = columns_for(count, canvas);
    } else if (layout == Layout::pip) {
      small_ = SmallPictures::for_count(count - 1, canvas);
    }
  }

  [[nodiscard]] CanvasEdges edges(const SceneLayer& layer, std::size_t index) const noexcept {
    switch (layout_) {
      case Layout::grid:
        return grid_cell(index, count_, columns_, canvas_);
      case Layout::side:
        return grid_cell(index, count_, count_, canvas_);
      case Layout::stereo_side:
        return index < 2 ? grid_cell(index, 2, 2, canvas_) : CanvasEdges{};
      case Layout::stereo_top:
        return index < 2 ? grid_cell(index, 2, 1, canvas_) : CanvasEdges{};
      case Layout::pip:
        return index == 0 ? whole() : small_.at(index - 1, canvas_);
      case Layout::free:
        return layer.box ? CanvasEdges{layer.box->x, layer.box->y, layer.box->x + layer.box->width,
                                       layer.box->y + layer.box->height}
                         : whole();
      case Layout::depth:
      case Layout::overlay:
        break;
    }
    return whole();
  }

 private:
  [[nodiscard]] CanvasEdges whole() const noexcept { return {0, 0, canvas_.width, canvas_.height}; }

  Layout layout_;
  CanvasView canvas_;
  std::size_t count_;
  std::size_t columns_ = 1;
  SmallPictures small_;
};

/// A picture that is merged by depth has no parts to hide.
bool is_hidden_in(const Scene& scene, std::size_t index) noexcept {
  return scene.layers[index].is_hidden && scene.layout != Layout::depth;
}

/// Whether the layer has a place in the layout, although it may be hidden in it.
bool takes_part(const Scene& scene, std::size_t index) noexcept {
  const bool is_stereo = scene.layout == Layout::stereo_side || scene.layout == Layout::stereo_top;
  const std::size_t kept = is_stereo ? 2 : scene.layout == Layout::pip ? 1 : 0;
  return index < kept || !is_hidden_in(scene, index);
}

/// The part of a frame that a layer shows, in its pixels.
CanvasEdges cropped(const SceneLayer& layer, Size frame) noexcept {
  const double width = frame.width;
  const double height = frame.height;
  const Box crop = layer.crop.value_or(Box{0, 0, width, height});
  return {std::max(crop.x, 0.0), std::max(crop.y, 0.0), std::min(crop.x + crop.width, width),
          std::min(crop.y + crop.height, height)};
}

/// The sides of a picture in a box. `aspect`: any width and height of its shape.
struct PictureSides {
  double width = 0;
  double height = 0;
};

PictureSides filling(const PictureRectangle& box, Fit fit, PictureSides aspect) noexcept {
  PictureSides sides{double{1} * box.width, double{1} * box.height};
  const auto rounded = [](double side) { return std::max(std::floor(side + 0.5), 1.0); };
  const bool is_wider_than_box = sides.width * aspect.height <= sides.height * aspect.width;
  if (fit == Fit::fill) {
    return sides;
  }
  if (is_wider_than_box == (fit == Fit::contain)) {
    sides.height = rounded(sides.width * aspect.height / aspect.width);
  } else {
    sides.width = rounded(sides.height * aspect.width / aspect.height);
  }
  return sides;
}

/// Where a picture begins in its box, which leaves `room` beside it, or lacks that much if that is negative.
double panned(double centred, double pan, double room) noexcept {
  return room < 0 ? std::clamp(centred + pan, room, 0.0) : centred;
}

PictureSides shape_of(const CanvasEdges& crop, Rational sample_aspect_ratio, Layout layout) noexcept {
  if (sample_aspect_ratio.numerator == 0 || sample_aspect_ratio.denominator == 0) {
    sample_aspect_ratio = {1, 1};
  }
  return {(crop.right - crop.left) * sample_aspect_ratio.numerator * (layout == Layout::stereo_top ? 2 : 1),
          (crop.bottom - crop.top) * sample_aspect_ratio.denominator * (layout == Layout::stereo_side ? 2 : 1)};
}

}  // namespace

std::vector<PictureRectangle> lay_out(const Scene& scene, Size surface) {
  std::vector<PictureRectangle> boxes(scene.layers.size());
  std::size_t count = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    count += takes_part(scene, i) ? 1U : 0U;
  }
  if (count == 0 || surface.width == 0 || surface.height == 0) {
    return boxes;
  }
  const CanvasView view = view_canvas(scene, surface);
  const Arrangement arrangement(scene.layout, count, view);
  std::size_t index = 0;
  for (std::size_t i = 0; i < boxes.size(); ++i) {
    if (!is_hidden_in(scene, i)) {
      boxes[i] = seen_pixels(view, arrangement.edges(scene.layers[i], index));
    }
    index += takes_part(scene, i) ? 1U : 0U;
  }
  return boxes;
}

PicturePlace place(const SceneLayer& layer, Layout layout, Size frame, Rational sample_aspect_ratio,
                   const PictureRectangle& box) noexcept {
  const CanvasEdges crop = cropped(layer, frame);
  const double crop_width = crop.right - crop.left;
  const double crop_height = crop.bottom - crop.top;
  if (!(crop_width > 0) || !(crop_height > 0) || is_empty(box)) {
    return {};
  }
  const PictureSides sides =
      layer.one_to_one ? PictureSides{std::max(std::floor(crop_width), 1.0), std::max(std::floor(crop_height), 1.0)}
                       : filling(box, layer.fit, shape_of(crop, sample_aspect_ratio, layout));
  const Pan pan = layer.one_to_one.value_or(Pan{});
  const double left = box.x + panned(std::floor((box.width - sides.width) / 2), pan.x, box.width - sides.width);
  const double top = box.y + panned(std::floor((box.height - sides.height) / 2), pan.y, box.height - sides.height);
  const double scale_x = layer.one_to_one ? 1 : sides.width / crop_width;
  const double scale_y = layer.one_to_one ? 1 : sides.height / crop_height;
  constexpr double farthest = 1 << 29;  // sides are differences, and have to be int
  PicturePlace placed;
  placed.picture =
      pixels_between({left - crop.left * scale_x, top - crop.top * scale_y, left + (frame.width - crop.left) * scale_x,
                      top + (frame.height - crop.top) * scale_y},
                     farthest);
  placed.visible = common_part(pixels_between({left, top, left + sides.width, top + sides.height}, farthest), box);
  return placed;
}

PictureRectangle outline_of(const Scene& scene, std::size_t index, const PictureShape& picture, Size surface) {
  Scene shown = scene;
  shown.layers[index].is_hidden = false;
  const PictureRectangle box = lay_out(shown, surface)[index];
  const SceneLayer& layer = shown.layers[index];
  if (scene.layout == Layout::free || layer.one_to_one) {
    return box;
  }
  const auto visible_in = [&](const PictureRectangle& of) {
    return place(layer, scene.layout, picture.size, picture.sample_aspect_ratio, of).visible;
  };
  const PictureRectangle visible = visible_in(box);
  if (is_empty(visible)) {
    return box;
  }
  // The sides of a picture are rounded, so that it may need a box that is a pixel larger than itself.
  for (const auto& [wider, higher] : {std::pair(0, 0), std::pair(0, 1), std::pair(1, 0)}) {
    const PictureRectangle around{visible.x, visible.y, visible.width + wider, visible.height + higher};
    if (visible_in(around) == visible) {
      return around;
    }
  }
  return visible;
}

}  // namespace framewire
