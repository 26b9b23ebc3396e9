// What a viewer shows, and where.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "gl/blend.hpp"

namespace framewire {

/// How a picture fills a box of another shape.
enum class Fit {
  contain,  // all of it is seen; the rest of the box is empty
  cover,    // the box is full; what lies outside is not seen
  fill,     // it is distorted
};

/// A rectangle in pixels of a canvas. x and y are its top left corner, counted from the canvas's top left.
struct Box {
  double x = 0;
  double y = 0;
  double width = 0;
  double height = 0;
  bool operator==(const Box&) const = default;
};

/// Where the layers go.
enum class Layout {
  grid,         // cells of one size, in rows
  side,         // side by side
  stereo_side,  // the first for the left eye, the second for the right one: each squeezed into its half of the width
  stereo_top,   // the same with the upper and the lower half of the height
  pip,          // the first one large, the others small over its right edge
  overlay,      // all in the same place
  free,         // each in its own box
};

/// A canvas that several screens show together.
struct Wall {
  std::uint32_t columns = 1;
  std::uint32_t rows = 1;
  std::uint32_t column = 0;  // of this screen, from the left
  std::uint32_t row = 0;     // from the top
  /// Between the pictures of two neighbours, in pixels of a screen: what the frames of the screens hide.
  Size bezel{0, 0};
  bool operator==(const Wall&) const = default;
};

/// One stream in the picture.
struct SceneLayer {
  std::string source;       // as on the command line: "box:5290/orbit"
  std::optional<Box> box;   // of Layout::free; none: the whole canvas
  std::optional<Box> crop;  // the part of the picture that is shown, in its own pixels; none: all of it
  Fit fit = Fit::contain;
  Blend blend = Blend::over;
  Alpha alpha = Alpha::opaque;
  double opacity = 1;  // 0 to 1
  bool is_hidden = false;
  bool operator==(const SceneLayer&) const = default;
};

/// A value.
struct Scene {
  Layout layout = Layout::grid;
  std::optional<Size> canvas;        // none: as large as the surface, or as the wall
  std::optional<Wall> wall;          // none: the surface shows the whole canvas
  bool blends_linear_light = false;  // else the values as they are coded
  std::vector<SceneLayer> layers;    // from the back to the front
  bool operator==(const Scene&) const = default;
};

}  // namespace framewire
