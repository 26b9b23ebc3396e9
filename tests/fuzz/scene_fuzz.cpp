// Scene files, and where their layers lie.
//
// Input: the sides of a surface and of a frame, two bytes each, and the text of the file.
#include <cstdio>

#include "tests/fuzz/fuzz.hpp"
#include "viewer/layout.hpp"
#include "viewer/scene_file.hpp"

namespace framewire::fuzz {
namespace {

std::string in_file(double value) {
  std::string text(32, '\0');
  text.resize(static_cast<std::size_t>(std::snprintf(text.data(), text.size(), "%.17g", value)));
  return text.find_first_of(".e") == std::string::npos ? text + ".0" : text;
}

std::string in_file(Size size) {
  return '"' + std::to_string(size.width) + 'x' + std::to_string(size.height) + "\"\n";
}

std::string in_file(const std::string& words) {
  std::string text = "\"";
  for (const char character : words) {
    text += character == '"' || character == '\\' ? std::string("\\") + character : std::string(1, character);
  }
  return text + '"';
}

std::string source_in_file(const SceneLayer& layer) {
  if (!layer.local) {
    return "source = " + in_file(layer.source);
  }
  std::string text = "local = " + in_file(layer.local->source) + "\noptions = [";
  for (const std::string& option : layer.local->options) {
    text += in_file(option) + ", ";
  }
  return text + ']';
}

std::string in_file(const SceneLayer& layer) {
  std::string text = "[[layer]]\n" + source_in_file(layer);
  text += "\nopacity = " + in_file(layer.opacity) + "\nhidden = " + (layer.is_hidden ? "true" : "false");
  text += "\nfit = '" + std::string(name(layer.fit)) + "'\nblend = '" + std::string(name(layer.blend)) + "'\n";
  if (layer.says_alpha) {
    text += "alpha = '" + std::string(name(layer.alpha)) + "'\n";
  }
  if (const auto& box = layer.box) {
    text += "at = [" + in_file(box->x) + ", " + in_file(box->y) + "]\nsize = [" + in_file(box->width) + ", " +
            in_file(box->height) + "]\n";
  }
  if (const auto& crop = layer.crop) {
    text += "crop = [" + in_file(crop->x) + ", " + in_file(crop->y) + ", " + in_file(crop->width) + ", " +
            in_file(crop->height) + "]\n";
  }
  return text;
}

std::string in_file(const Scene& scene) {
  std::string text = "layout = '" + std::string(name(scene.layout)) + "'\nlight = '" +
                     (scene.blends_linear_light ? "linear" : "coded") + "'\n";
  if (scene.canvas) {
    text += "canvas = " + in_file(*scene.canvas);
  }
  if (const auto& wall = scene.wall) {
    text += "[wall]\nscreens = " + in_file(Size{wall->columns, wall->rows}) + "bezel = " + in_file(wall->bezel) +
            "screen = '" + std::to_string(wall->column) + ',' + std::to_string(wall->row) + "'\n";
  }
  for (const SceneLayer& layer : scene.layers) {
    text += in_file(layer);
  }
  return text;
}

bool is_within(const PictureRectangle& part, const PictureRectangle& whole) {
  return part.x >= whole.x && part.y >= whole.y && part.x + part.width <= whole.x + whole.width &&
         part.y + part.height <= whole.y + whole.height;
}

void check_layout(Scene scene, Size surface, Size frame) {
  constexpr int farthest = 1 << 24;
  constexpr PictureRectangle everywhere{-farthest, -farthest, 2 * farthest, 2 * farthest};
  for (const Layout layout : {scene.layout, Layout::grid, Layout::side, Layout::stereo_side, Layout::pip}) {
    scene.layout = layout;
    const auto boxes = lay_out(scene, surface);
    require(boxes.size() == scene.layers.size(), "every layer has a box");
    for (std::size_t i = 0; i < boxes.size(); ++i) {
      const SceneLayer& layer = scene.layers[i];
      require(is_within(boxes[i], everywhere), "a box is not too far away");
      require(!layer.is_hidden || boxes[i] == PictureRectangle{}, "a hidden layer has no box");
      const PicturePlace at = place(layer, layout, frame, {surface.height, frame.width}, boxes[i]);
      require(at == PicturePlace{} || is_within(at.visible, boxes[i]), "a picture is seen in its box");
      require(at.picture.width >= 0 && at.picture.height >= 0, "a picture has sides");
    }
  }
}

void check_scene(std::string_view text, Size surface, Size frame) {
  succeeds([&] {
    const Scene scene = parse_scene(text, "scene.toml");
    require(!scene.layers.empty() && scene.layers.size() <= max_scene_layers, "a scene has 1 to 64 layers");
    for (const SceneLayer& layer : scene.layers) {
      require(layer.opacity >= 0 && layer.opacity <= 1, "an opacity is from 0 to 1");
      require(layer.source.empty() == layer.local.has_value(), "a layer has one source");
      require_printable(layer.local ? layer.local->source : layer.source);
    }
    require(parse_scene(in_file(scene), "scene.toml") == scene, "a scene comes back as it went");
    check_layout(scene, surface, frame);
  });
}

}  // namespace

std::vector<std::string> seeds() {
  const std::string sizes = bytes_of(std::uint16_t{1920}) + bytes_of(std::uint16_t{1080}) +
                            bytes_of(std::uint16_t{640}) + bytes_of(std::uint16_t{480});
  const std::string layer = "[[layer]]\nsource = \"a\"\n";
  return {sizes + layer,
          sizes + "layout = 'pip'\nlight = \"linear\"\n" + layer + layer + layer,
          sizes + "canvas = \"1920x1080\"\n[wall]\nscreens = \"3x2\"\nscreen = \"1,0\"\nbezel = \"40x30\"\n" + layer +
              "at = [-10, 0.5]\nsize = [1280, 720]\ncrop = [0, 0, 640, 360]\nhidden = false\n",
          sizes + "layout = 'overlay' # all\nlayer = [{ source = 'a' }, { source = \"b\\u0041\", opacity = 0.5, " +
              "blend = 'screen', alpha = 'premultiplied', fit = 'cover', hidden = true }]\n",
          sizes + "wall.screens = '2x1'\n" + layer + "\"fit\" = 'fill'\nat = [\n0,\n1e3, # x\n]\nsize = [0x10, 1_0]\n",
          sizes + layer + "opacity = 1979-05-27T07:32:00Z\n",
          sizes + "[[layer]]\nlocal = \"film.mkv\"\noptions = [\"--fps\", \"30\", \"--loop\"]\n",
          sizes + layer + "opacity = nan\nat = [[inf]]\n"};
}

}  // namespace framewire::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace framewire;
  fuzz::Input input(data, size);
  const auto take_size = [&] {
    const auto width = input.take<std::uint16_t>();
    return Size{width, input.take<std::uint16_t>()};
  };
  const Size surface = take_size();
  const Size frame = take_size();
  fuzz::check_scene(input.take_text(), surface, frame);
  return 0;
}
