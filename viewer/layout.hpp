// Where the layers of a scene lie on a surface.
#pragma once

#include <cstddef>
#include <vector>

#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "viewer/fit.hpp"
#include "viewer/scene.hpp"

namespace framewire {

/// The boxes of a scene's layers, in its order, in pixels of the surface. A box may lie partly or wholly outside, at
/// most 2^24 pixels from the surface's corner. A box that rounds to nothing, or has a side that is no number, is {}.
///   - Layout::grid: the number of columns is the root of the number of layers, rounded up, unless another number makes
///     pictures of 16:9 larger by more than an eighth. The last row is in the middle.
///   - Layout::pip: the first layer fills the canvas. Each other one is a quarter as wide and high, or as much smaller
///     as needed for all of them. They stand in columns over the right edge, filled from below, 1/40 of the height
///     from each other and from the edges.
///   - A hidden layer's box is {}, and the layout leaves no room for it. But in pip and stereo layouts the first layers
///     keep their parts: when the large picture or the left eye's is hidden, its place is empty.
///   - Layout::depth: every layer takes part, also one that is hidden, and has the whole canvas.
///   - The canvas is shown as large as it fits, undistorted and in the middle. Without a canvas it is the surface.
///     Nor if one of its sides is 0.
///   - With a wall, the canvas covers all screens and what is between them, and the surface shows this screen's part.
///   - Edges are rounded to whole pixels, each on its own: boxes that share an edge leave no gap.
std::vector<PictureRectangle> lay_out(const Scene& scene, Size surface);

/// The canvas of a scene as a surface sees it: what is at `position` on the canvas lies at (x, y) + scale * position.
struct CanvasView {
  double width = 0;  // of the canvas, in its own pixels
  double height = 0;
  double x = 0;
  double y = 0;
  double scale = 1;
};
/// No side of `surface` is 0.
CanvasView view_canvas(const Scene& scene, Size surface) noexcept;

/// Where a picture lies, and what is seen of it.
struct PicturePlace {
  PictureRectangle picture;  // all of it, also what is outside its box or cropped
  PictureRectangle visible;  // the part of its box that it covers
  bool operator==(const PicturePlace&) const = default;
};

/// Fills `box` with the picture of a layer, as the layer says. Empty if a side of an argument or of the crop is 0. What
/// the crop has outside the frame is left out. Without a crop, Fit::contain places the picture as fit() does.
/// `sample_aspect_ratio`: as fit() has it; it does not count for one_to_one. A picture that is one_to_one and larger
/// than its box is not moved further than its edge. With Layout::stereo_side and stereo_top, the picture is fitted into
/// a box twice as wide or high, and then squeezed.
PicturePlace place(const SceneLayer& layer, Layout layout, Size frame, Rational sample_aspect_ratio,
                   const PictureRectangle& box) noexcept;

/// The pictures of a stream.
struct PictureShape {
  Size size{};  // 0x0: not known yet
  Rational sample_aspect_ratio{1, 1};
};

/// What of the surface is a layer's for a user: its box, or the least part of it in which the picture lies as it does
/// now where a layout has made the box larger than that. Of a hidden layer, what would be its if it were shown. {} if
/// there is no such place.
PictureRectangle outline_of(const Scene& scene, std::size_t index, const PictureShape& picture, Size surface);

}  // namespace framewire
