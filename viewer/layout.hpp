// Where the layers of a scene lie on a surface.
#pragma once

#include <vector>

#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "viewer/fit.hpp"
#include "viewer/scene.hpp"

namespace framewire {

/// The boxes of a scene's layers, in its order, in pixels of the surface. A box may lie partly or wholly outside. A
/// hidden layer's box is empty, and the layout leaves no room for it.
///   - The canvas is shown as large as it fits, undistorted and in the middle. Without a canvas it is the surface.
///   - With a wall, the canvas covers all screens and what is between them, and the surface shows this screen's part.
///   - Edges are rounded to whole pixels, each on its own: boxes that share an edge leave no gap.
std::vector<PictureRectangle> lay_out(const Scene& scene, Size surface);

/// Where a picture lies, and what is seen of it.
struct PlacedPicture {
  PictureRectangle picture;  // all of it, also what is outside its box or cropped
  PictureRectangle visible;  // the part of its box that it covers
  bool operator==(const PlacedPicture&) const = default;
};

/// Fills `box` with the picture of a layer, as the layer says. Empty if a side of an argument or of the crop is 0.
/// `sample_aspect_ratio`: as fit() has it. With Layout::stereo_side and stereo_top, the picture is fitted into a box
/// twice as wide or high, and then squeezed.
PlacedPicture place(const SceneLayer& layer, Layout layout, Size frame, Rational sample_aspect_ratio,
                    const PictureRectangle& box) noexcept;

}  // namespace framewire
