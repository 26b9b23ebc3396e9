// What a scene looks like, computed on the processor from what docs/scenes.md says. Shares no code with viewer/ and
// gl/.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace framewire::test {

/// A frame: R, G, B, A of every pixel, top row first.
struct ReferenceFrame {
  int width = 0;
  int height = 0;
  std::vector<std::uint8_t> values{};
};

/// x, y, width, height.
using ReferenceBox = std::array<double, 4>;

/// Keys of a layer, with their words. Empty ones are left out of the scene's file: the default counts.
struct ReferenceLayer {
  std::optional<ReferenceBox> box{};  // `at` and `size`
  std::optional<ReferenceBox> crop{};
  std::string fit{};
  std::string blend{};
  std::string alpha{};
  double opacity = 1;
  bool hidden = false;
};

struct ReferenceWall {
  std::array<int, 2> screens{1, 1};
  std::array<int, 2> screen{0, 0};
  std::array<int, 2> bezel{0, 0};
};

/// Keys of a scene. The order of the members is that of the file.
struct ReferenceScene {
  std::string layout{};
  std::optional<std::array<int, 2>> canvas{};
  std::string light{};
  std::optional<ReferenceWall> wall{};
  std::vector<ReferenceLayer> layers{};
};

/// The file of a scene.
std::string text_of(const ReferenceScene& scene);

/// What a pixel has to be, from 0 to 255.
struct ReferenceColour {
  std::array<double, 3> value{};
  double tolerance = 0;  // half a step, and what drivers may round more often than once
};

/// What a driver adds when it scales a picture.
struct ReferenceTolerance {
  double same_size = 0;  // a picture that is not scaled
  double scaled = 0;
};

/// The pixels of a surface, top row first. `frames` are those of the scene's layers. An enlarged frame is interpolated
/// linearly; in a shrunk one each pixel is the mean of what it covers.
std::vector<ReferenceColour> picture_of(const ReferenceScene& scene, std::span<const ReferenceFrame> frames, int width,
                                        int height, const ReferenceTolerance& tolerance);

}  // namespace framewire::test
