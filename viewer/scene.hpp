// What a viewer shows, and where.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.hpp"
#include "frame/colour.hpp"
#include "gl/blend.hpp"
#include "viewer/local_source.hpp"

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
  depth,        // one picture of all: of each pixel the nearest
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

/// How far a picture is moved from the middle of its box, in pixels of the surface: to the right, and down.
struct Pan {
  int x = 0;
  int y = 0;
  bool operator==(const Pan&) const = default;
};

/// One stream in the picture.
struct SceneLayer {
  std::string source{};  // as on the command line: "box:5290/orbit"; empty: it is local
  std::optional<LocalSource> local{};
  std::optional<Box> box{};   // of Layout::free; none: the whole canvas
  std::optional<Box> crop{};  // the part of the picture that is shown, in its own pixels; none: all of it
  Fit fit = Fit::contain;
  Blend blend = Blend::over;
  Alpha alpha = Alpha::opaque;
  bool says_alpha = false;  // the user has said it; else usual_alpha() has, and the stream is asked: alpha_of()
  double opacity = 1;       // 0 to 1
  bool is_hidden = false;
  /// Set: a pixel of the picture is one of the surface, whatever `fit` says. No scene file has it, only the user.
  std::optional<Pan> one_to_one{};
  bool operator==(const SceneLayer&) const = default;
};

/// What a scene file may have.
constexpr std::size_t max_scene_layers = 64;

/// A value.
struct Scene {
  Layout layout = Layout::grid;
  std::optional<Size> canvas{};          // none: as large as the surface, or as the wall
  std::optional<Wall> wall{};            // none: the surface shows the whole canvas
  bool blends_linear_light = false;      // else the values as they are coded
  std::vector<SceneLayer> layers{};      // from the back to the front
  std::vector<std::string> gl_scenes{};  // of Layout::depth: drawn by the viewer itself, behind the layers where equal
  bool operator==(const Scene&) const = default;
};

/// Adds a layer in front of the others. With Layout::depth, one that the viewer draws itself goes into
/// Scene::gl_scenes. Returns whether it is a layer.
bool add_layer(Scene& scene, SceneLayer layer);

/// What the user has selected in a scene. A value.
struct Selection {
  std::size_t layer = 0;     // the panel is about it; the first stream's, if the user has selected none
  bool is_outlined = false;  // the layer has a frame
  bool operator==(const Selection&) const = default;
};

/// Whether a scene is one picture that fills the surface: a single stream without a scene of its own. It may be
/// one_to_one.
bool is_one_picture(const Scene& scene);

/// The words for these values, in scene files and on the command line: "stereo-side".
std::string_view name(Layout layout) noexcept;
std::string_view name(Blend blend) noexcept;
std::string_view name(Alpha alpha) noexcept;
std::string_view name(Fit fit) noexcept;
/// Nothing for any other word.
std::optional<Layout> layout_from_name(std::string_view word) noexcept;
std::optional<Blend> blend_from_name(std::string_view word) noexcept;
std::optional<Alpha> alpha_from_name(std::string_view word) noexcept;
std::optional<Fit> fit_from_name(std::string_view word) noexcept;
/// All words of a kind: "contain, cover or fill" in a message; layout_names("|", "|") for an option's type_name.
std::string layout_names(std::string_view between = ", ", std::string_view before_last = " or ");
std::string blend_names(std::string_view between = ", ", std::string_view before_last = " or ");
std::string alpha_names(std::string_view between = ", ", std::string_view before_last = " or ");
std::string fit_names(std::string_view between = ", ", std::string_view before_last = " or ");

/// The alpha of a layer that does not say it: straight for what lies over another picture in Layout::overlay by
/// Blend::over, which shows nothing of that picture otherwise. Other blends need no alpha: black adds nothing.
/// `index` counts the scene's layers from 0.
Alpha usual_alpha(Layout layout, std::size_t index, Blend blend) noexcept;
/// The alpha of a layer whose stream says `stream` of its own: where it counts, and the user has not said what it
/// means, the stream knows.
Alpha alpha_of(const SceneLayer& layer, AlphaMode stream) noexcept;

/// The following parsers throw Error (usage); `what` names the option or key in it.
/// "3x2@1,0": a wall of 3x2 screens, and the column and row of this one, counted from 0,0. No bezel.
Wall parse_wall(std::string_view text, std::string_view what);
/// "3x2" alone. Each 1 … 64.
Size parse_screens(std::string_view text, std::string_view what);
/// "1,0" alone: sets the screen of `wall`, whose columns and rows are known.
void parse_screen(std::string_view text, std::string_view what, Wall& wall);
/// "40x30". Each 0 … 32768.
Size parse_bezel(std::string_view text, std::string_view what);

}  // namespace framewire
