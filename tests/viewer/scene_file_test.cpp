#include "viewer/scene_file.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/error.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

Scene scene_from(std::string_view text) {
  return parse_scene(text, "s.toml");
}

/// The error of a text, without "s.toml:".
std::string scene_error(std::string_view text) {
  try {
    scene_from(text);
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    const std::string what = error.what();
    EXPECT_TRUE(what.starts_with("s.toml:")) << what;
    EXPECT_EQ(printable(what), what);
    return what.substr(7);
  }
  return "none";
}

/// The error of a layer whose source stands before `line`, which is the third of the file.
std::string layer_error(const std::string& line) {
  return scene_error("[[layer]]\nsource = \"a\"\n" + line + "\n");
}

/// The error of a line before a good layer.
std::string top_error(const std::string& line) {
  return scene_error(line + "\n[[layer]]\nsource = \"a\"\n");
}

SceneLayer layer_from(const std::string& lines) {
  return scene_from("[[layer]]\nsource = \"a\"\n" + lines).layers.at(0);
}

TEST(SceneFile, ReadsEveryKey) {
  const Scene scene = scene_from(R"(# a wall of six screens
layout = "free"
canvas = "1920x1080"
light = "linear"
[wall]
screens = "3x2"
screen = "1,0"
bezel = "40x30"
[[layer]]
source = "box:5290/orbit"
at = [-10, 0.5]
size = [1280, 720]
crop = [0, 0, 640, 360.25]
fit = "cover"
blend = "screen"
alpha = "premultiplied"
opacity = 0.5
hidden = true
[[layer]]
source = "[::1]:5290"
)");
  Scene expected;
  expected.layout = Layout::free;
  expected.canvas = Size{1920, 1080};
  expected.wall = Wall{.columns = 3, .rows = 2, .column = 1, .row = 0, .bezel = {40, 30}};
  expected.blends_linear_light = true;
  expected.layers.resize(2);
  SceneLayer& layer = expected.layers[0];
  layer.source = "box:5290/orbit";
  layer.box = Box{-10, 0.5, 1280, 720};
  layer.crop = Box{0, 0, 640, 360.25};
  layer.fit = Fit::cover;
  layer.blend = Blend::screen;
  layer.alpha = Alpha::premultiplied;
  layer.says_alpha = true;
  layer.opacity = 0.5;
  layer.is_hidden = true;
  expected.layers[1].source = "[::1]:5290";
  EXPECT_EQ(scene, expected);
}

TEST(SceneFile, HasDefaults) {
  Scene expected;
  expected.layers.resize(1);
  expected.layers[0].source = "a";
  EXPECT_EQ(scene_from("[[layer]]\nsource = 'a'"), expected);
  EXPECT_EQ(scene_from("\xef\xbb\xbflayer = [{ source = 'a' }]\r\n"), expected) << "a byte order mark, inline, CR LF";
  EXPECT_EQ(scene_from("light = 'coded'\n[[layer]]\nsource = 'a'"), expected);
}

TEST(SceneFile, IsFreeIfALayerHasABox) {
  EXPECT_EQ(scene_from("[[layer]]\nsource='a'\n[[layer]]\nsource='b'\nsize=[10, 20]").layout, Layout::free);
  EXPECT_EQ(layer_from("size = [10, 20]").box, (Box{0, 0, 10, 20}));
  EXPECT_EQ(scene_from("layout = 'pip'\n[[layer]]\nsource='a'\nsize=[10, 20]").layout, Layout::pip);
}

TEST(SceneFile, AlphaIsStraightAboveTheFirstLayerOfAnOverlay) {
  const std::string layers =
      "[[layer]]\nsource='a'\n[[layer]]\nsource='b'\n[[layer]]\nsource='c'\nblend='add'\n"
      "[[layer]]\nsource='d'\nalpha='opaque'\n";
  const Scene scene = scene_from("layout = 'overlay'\n" + layers);
  EXPECT_EQ(scene.layers[0].alpha, Alpha::opaque);
  EXPECT_EQ(scene.layers[1].alpha, Alpha::straight);
  EXPECT_EQ(scene.layers[2].alpha, Alpha::opaque) << "black adds nothing";
  EXPECT_EQ(scene.layers[3].alpha, Alpha::opaque);
  for (const SceneLayer& layer : scene_from(layers).layers) {
    EXPECT_EQ(layer.alpha, Alpha::opaque);
  }
}

TEST(SceneFile, TakesWholeNumbersAndFractions) {
  EXPECT_EQ(layer_from("opacity = 1").opacity, 1);
  EXPECT_EQ(layer_from("opacity = 0").opacity, 0);
  EXPECT_EQ(layer_from("opacity = 2.5e-1").opacity, 0.25);
  EXPECT_EQ(layer_from("at = [-1000000, 1e6]\nsize = [1, 1e6]").box, (Box{-1e6, 1e6, 1, 1e6}));
}

TEST(SceneFile, NamesEveryWord) {
  for (const char* word : {"grid", "side", "stereo-side", "stereo-top", "pip", "overlay", "free"}) {
    const Scene scene = scene_from("layout = '" + std::string(word) + "'\n[[layer]]\nsource = 'a'");
    EXPECT_EQ(name(scene.layout), word);
    EXPECT_EQ(layout_from_name(word), scene.layout);
  }
  for (const char* word : {"over", "add", "multiply", "screen"}) {
    EXPECT_EQ(name(layer_from("blend = '" + std::string(word) + "'").blend), word);
  }
  for (const char* word : {"opaque", "straight", "premultiplied"}) {
    EXPECT_EQ(name(layer_from("alpha = '" + std::string(word) + "'").alpha), word);
  }
  for (const char* word : {"contain", "cover", "fill"}) {
    EXPECT_EQ(name(layer_from("fit = '" + std::string(word) + "'").fit), word);
  }
  EXPECT_EQ(layout_names("|", "|"), "grid|side|stereo-side|stereo-top|pip|overlay|depth|free");
  EXPECT_EQ(layout_from_name("Grid"), std::nullopt);
  EXPECT_EQ(fit_from_name(""), std::nullopt);
}

TEST(SceneFile, SaysWhereTheSyntaxIsWrong) {
  EXPECT_TRUE(top_error("layout = ").starts_with("1:10: not TOML: Error while parsing")) << top_error("layout = ");
  EXPECT_TRUE(layer_error("opacity = 0,5").starts_with("3:12: not TOML: ")) << layer_error("opacity = 0,5");
  EXPECT_TRUE(layer_error("hidden = yes").starts_with("3:")) << layer_error("hidden = yes");
  EXPECT_TRUE(layer_error("source = 'b'").starts_with("3:")) << layer_error("source = 'b'");
  EXPECT_TRUE(layer_error("fit = 'cover").starts_with("3:")) << "no end of the string";
  EXPECT_TRUE(scene_error("[=]").starts_with("1:2: not TOML: ")) << "toml++ would assert";
}

TEST(SceneFile, NamesTheKeysWhenOneIsUnknown) {
  EXPECT_EQ(top_error("layuot = 'grid'"),
            "1:1: 'layuot' is no key of a scene; it has layout, canvas, light, wall and layer");
  EXPECT_EQ(
      layer_error("  opaciti = 1"),
      "3:3: 'opaciti' is no key of a layer; it has source, local, options, at, size, crop, fit, blend, alpha, opacity "
      "and hidden");
  EXPECT_EQ(top_error("[wall]\nscreens='2x1'\ncolumn = 1"),
            "3:1: 'column' is no key of a wall; it has screens, screen and bezel");
  EXPECT_EQ(top_error("\"\\u001b[2J\" = 1"),
            "1:1: '\\x1b[2J' is no key of a scene; it has layout, canvas, light, wall and layer");
}

TEST(SceneFile, ReportsTheFirstErrorOfTheFile) {
  EXPECT_TRUE(top_error("zebra = 1\nalpha = 2").starts_with("1:1: 'zebra'"));
  EXPECT_TRUE(layer_error("opacity = 2\nfit = 'no'").starts_with("3:11: opacity"));
}

TEST(SceneFile, SaysWhichWordsThereAre) {
  const std::string layouts = "grid, side, stereo-side, stereo-top, pip, overlay, depth or free";
  EXPECT_EQ(top_error("layout = 'gird'"), "1:10: layout is 'gird'; it takes " + layouts);
  EXPECT_EQ(top_error("layout = 3"), "1:10: layout is 3; it takes " + layouts);
  EXPECT_EQ(top_error("layout = ['grid']"), "1:10: layout is an array; it takes " + layouts);
  EXPECT_EQ(top_error("light = 'gamma'"), "1:9: light is 'gamma'; it takes coded or linear");
  EXPECT_EQ(top_error("light = true"), "1:9: light is true; it takes coded or linear");
  EXPECT_EQ(layer_error("fit = 'stretch'"), "3:7: fit is 'stretch'; it takes contain, cover or fill");
  EXPECT_EQ(layer_error("blend = 1.5"), "3:9: blend is 1.5; it takes over, add, multiply or screen");
  EXPECT_EQ(layer_error("blend = 1979-05-27"), "3:9: blend is a date or time; it takes over, add, multiply or screen");
  EXPECT_EQ(layer_error("alpha = {}"), "3:9: alpha is a table; it takes opaque, straight or premultiplied");
}

TEST(SceneFile, SaysWhatACanvasTakes) {
  const std::string takes = "; it takes WIDTHxHEIGHT, each 1 to 32768, as in 3840x2160";
  EXPECT_EQ(top_error("canvas = '0x10'"), "1:10: canvas is '0x10'" + takes);
  EXPECT_EQ(top_error("canvas = '1920x32769'"), "1:10: canvas is '1920x32769'" + takes);
  EXPECT_EQ(top_error("canvas = [1920, 1080]"),
            "1:10: canvas is an array; it takes WIDTHxHEIGHT in quotation marks, as in \"1920x1080\"");
}

TEST(SceneFile, SaysWhatAWallTakes) {
  EXPECT_EQ(top_error("wall = '3x2'"), "1:8: wall is '3x2'; it takes a table, [wall]");
  EXPECT_EQ(top_error("[wall]\nbezel = '1x1'"), "1:1: this wall has no screens; write them as in screens = \"3x2\"");
  EXPECT_EQ(top_error("[wall]\nscreens = '65x1'"),
            "2:11: screens is '65x1'; it takes COLUMNSxROWS, each 1 to 64, as in 3x2 for six screens");
  EXPECT_EQ(top_error("[wall]\nscreens = 6"),
            "2:11: screens is 6; it takes COLUMNSxROWS in quotation marks, as in \"3x2\"");
  EXPECT_EQ(top_error("[wall]\nscreen = '3,0'\nscreens = '3x2'"),
            "2:10: screen is '3,0'; it takes COLUMN,ROW, from 0,0 to 2,1");
  EXPECT_EQ(top_error("[wall]\nscreens = '3x2'\nscreen = 1"),
            "3:10: screen is 1; it takes COLUMN,ROW in quotation marks, as in \"1,0\"");
  EXPECT_EQ(top_error("[wall]\nscreens = '3x2'\nbezel = '-1x0'"),
            "3:9: bezel is '-1x0'; it takes WIDTHxHEIGHT in pixels, each 0 to 32768, as in 40x30");
  EXPECT_EQ(scene_from("wall.screens = '3x2'\n[[layer]]\nsource='a'").wall, (Wall{.columns = 3, .rows = 2}));
}

TEST(SceneFile, SaysWhatNumbersItTakes) {
  EXPECT_EQ(layer_error("opacity = 1.5"), "3:11: opacity is 1.5; it takes a number from 0 to 1");
  EXPECT_EQ(layer_error("opacity = -1"), "3:11: opacity is -1; it takes a number from 0 to 1");
  EXPECT_EQ(layer_error("opacity = nan"), "3:11: opacity is nan; it takes a number from 0 to 1");
  EXPECT_EQ(layer_error("opacity = 'half'"), "3:11: opacity is 'half'; it takes a number from 0 to 1");
  EXPECT_EQ(layer_error("hidden = 1"), "3:10: hidden is 1; it takes true or false");
  EXPECT_EQ(layer_error("at = 3"), "3:6: at is 3; it takes [X, Y]");
  EXPECT_EQ(layer_error("at = [1, 2, 3]"), "3:6: at has 3 values; it takes [X, Y]");
  EXPECT_EQ(layer_error("at = [1, 'left']"), "3:10: at[1] is 'left'; it takes a number from -1000000 to 1000000");
  EXPECT_EQ(layer_error("at = [inf, 0]"), "3:7: at[0] is inf; it takes a number from -1000000 to 1000000");
  EXPECT_EQ(layer_error("at = [0, 0]"), "3:6: at is given without size; add size = [WIDTH, HEIGHT]");
  EXPECT_EQ(layer_error("size = [0, 5]"), "3:9: size[0] is 0; it takes a number from 1 to 1000000");
  EXPECT_EQ(layer_error("size = [5, 9223372036854775807]"),
            "3:12: size[1] is 9223372036854775807; it takes a number from 1 to 1000000");
  EXPECT_EQ(layer_error("crop = [-1, 0, 5, 5]"), "3:9: crop[0] is -1; it takes a number from 0 to 32768");
  EXPECT_EQ(layer_error("crop = [0, 0, 5, 0.5]"), "3:18: crop[3] is 0.5; it takes a number from 1 to 32768");
  EXPECT_EQ(layer_error("crop = [0, 0]"), "3:8: crop has 2 values; it takes [X, Y, WIDTH, HEIGHT]");
  EXPECT_EQ(layer_error("crop = []"), "3:8: crop has 0 values; it takes [X, Y, WIDTH, HEIGHT]");
}

TEST(SceneFile, NeedsSources) {
  const std::string takes = "; it takes HOST[:PORT][/STREAM], as in \"box:5290/orbit\"";
  EXPECT_EQ(scene_error("[[layer]]\nsource = 'a'\n  [[layer]]\nfit = 'fill'"),
            "3:3: this layer has no source; write one as in source = \"box:5290/orbit\" or local = \"film.mkv\"");
  EXPECT_EQ(scene_error("[[layer]]\nsource = ''"), "2:10: source is ''" + takes);
  EXPECT_EQ(scene_error("[[layer]]\nsource = 5290"), "2:10: source is 5290" + takes);
  EXPECT_EQ(scene_error("[[layer]]\nsource = \"a\\u0000b\""), "2:10: source is 'a\\x00b'" + takes);
  EXPECT_EQ(scene_error("[[layer]]\nsource = '" + std::string(1025, 'a') + "'"),
            "2:10: source is '" + std::string(80, 'a') + "…'" + takes);
}

TEST(SceneFile, SaysWhereASourceIsWrong) {
  const auto error = [](const std::string& source) { return scene_error("[[layer]]\nsource = '" + source + "'\n"); };
  EXPECT_EQ(
      error("box:99999/a"),
      "2:10: source: 'box:99999' is no address; it takes HOST, HOST:PORT, [IPv6]:PORT or :PORT, with a port up to "
      "65535");
  EXPECT_EQ(error("box:0"), "2:10: source: 'box:0' names port 0, where nobody listens; leave it out for port 5290");
  EXPECT_EQ(error("*:5290"),
            "2:10: source is '*:5290': all addresses cannot be dialled; name one, or wait for a sender with --listen "
            "*:5290");
  EXPECT_EQ(error("box/"),
            "2:10: source is 'box/': no stream is named after the slash; write HOST/STREAM, or HOST for the first");
  EXPECT_EQ(scene_error("[[layer]]\nsource = 'a'\n[[layer]]\n  opacity = 0.5\n  source = 'b/'\n").substr(0, 6),
            "5:12: ");
}

TEST(SceneFile, HasLocalSources) {
  const Scene scene = parse_scene("[[layer]]\nlocal = 'film.mkv'\noptions = ['--fps', '30', '--loop']", "a/b/c.toml");
  EXPECT_EQ(scene.layers.at(0).source, "");
  EXPECT_EQ(scene.layers.at(0).local,
            (LocalSource{.source = "film.mkv", .options = {"--fps", "30", "--loop"}, .folder = "a/b/"}));
  EXPECT_EQ(scene_from("[[layer]]\noptions = []\nlocal = 'gl:'").layers.at(0).local, LocalSource{.source = "gl:"});
  EXPECT_EQ(parse_scene("[[layer]]\nlocal = 'x'", "/c.toml").layers.at(0).local->folder, "/");
}

TEST(SceneFile, ChecksLocalSources) {
  const std::string takes = "; it takes what framewire send takes, as in \"film.mkv\" or \"gl:aurora\"";
  EXPECT_EQ(scene_error("[[layer]]\nlocal = ''"), "2:9: local is ''" + takes);
  EXPECT_EQ(scene_error("[[layer]]\nlocal = 7"), "2:9: local is 7" + takes);
  EXPECT_EQ(scene_error("[[layer]]\nlocal = '-'"),
            "2:9: local is '-', and a layer has no standard input; name a file, a named pipe, a device or a scene");
  EXPECT_EQ(scene_error("[[layer]]\nlocal = 'x'\nsource = 'a'"),
            "1:1: this layer has both source and local; leave out one of them");
  EXPECT_EQ(scene_error("[[layer]]\nsource = 'a'\noptions = []"),
            "3:11: options are for what the viewer sends itself; add local, or leave them out");
  EXPECT_EQ(scene_error("[[layer]]\nlocal = 'x'\noptions = '--loop'"),
            "3:11: options is '--loop'; it takes an array of words, as in [\"--fps\", \"30\", \"--loop\"]");
  EXPECT_EQ(scene_error("[[layer]]\nlocal = 'x'\noptions = ['--fps', 30]"),
            "3:21: a word of options is 30; it takes a word, as in \"--loop\"");
  EXPECT_TRUE(scene_error("[[layer]]\nlocal = 'x'\noptions = ['--listen', '*:1']")
                  .starts_with("3:11: options has '--listen', which is not for layers; they take --size, --fps, "));
}

TEST(SceneFile, NeedsLayers) {
  EXPECT_EQ(scene_error(""), "1:1: the scene has no layer; begin one with [[layer]]");
  EXPECT_EQ(scene_error("layer = []"), "1:1: the scene has no layer; begin one with [[layer]]");
  EXPECT_EQ(scene_error("[layer]\nsource = 'a'"),
            "1:1: layer is a table; it takes an array of tables; begin each layer with [[layer]]");
  EXPECT_EQ(scene_error("layer = ['a']"),
            "1:10: layer is 'a'; it takes an array of tables; begin each layer with [[layer]]");
}

TEST(SceneFile, HasAtMost64Layers) {
  std::string text;
  for (std::size_t i = 0; i < max_scene_layers; ++i) {
    text += "[[layer]]\nsource = 'a'\n";
  }
  EXPECT_EQ(scene_from(text).layers.size(), max_scene_layers);
  EXPECT_EQ(scene_error(text + "[[layer]]\nsource = 'a'\n"), "129:1: one layer too many; a scene takes at most 64");
}

TEST(SceneFile, HasAtMostAMebibyte) {
  const std::string layer = "[[layer]]\nsource = 'a'\n#";
  EXPECT_EQ(scene_from(layer + std::string((1 << 20) - layer.size(), ' ')).layers.size(), 1U);
  EXPECT_EQ(scene_error(layer + std::string((1 << 20) - layer.size() + 1, ' ')),
            "1:1: the scene has 1048577 bytes; it takes at most 1048576");
}

TEST(SceneFile, TakesOnlyAsciiOutsideComments) {
  const std::string takes = " stands outside a comment; a scene takes only ASCII there";
  EXPECT_EQ(layer_error("fit = “fill”"), "3:7: '“'" + takes);
  EXPECT_EQ(layer_error("wall\u048a = 1"), "3:5: '\u048a'" + takes);
  EXPECT_EQ(layer_error("fit = -27T\"\u048a\""), "3:12: '\u048a'" + takes) << "undefined behaviour in toml++";
  EXPECT_EQ(layer_error("fit = \"\\\"é\" é"), "3:10: 'é'" + takes);
  EXPECT_EQ(layer_error("fit = \"\\\"\" \x01"), "3:12: '\\x01'" + takes);
  EXPECT_EQ(scene_error("[\x7f]"), "1:2: '\\x7f'" + takes);
  EXPECT_EQ(scene_error("\x89PNG"), "1:1: '\\x89'" + takes);
  EXPECT_EQ(scene_error("\xef\xbb\xbf\xc3"), "1:1: '\\xc3'" + takes);
  EXPECT_TRUE(layer_error("# \xff").find(": not TOML: ") != std::string::npos)
      << layer_error("# \xff") << "but comments are UTF-8";
  EXPECT_EQ(layer_error("fit = 'fill' # “no” '''\n# é"), "none");
  EXPECT_EQ(scene_from("[[layer]]\nsource = \"\\u00fc\\\"\"").layers.at(0).source, "ü\"");
}

TEST(SceneFile, TakesNoStringOfSeveralLines) {
  const std::string takes =
      ": three quotation marks begin a string of several lines; a scene takes strings of one line";
  EXPECT_EQ(layer_error("fit = '''fill'''"), "3:7" + takes);
  EXPECT_EQ(layer_error("fit = \"\"\"\nfill\"\"\""), "3:7" + takes);
  EXPECT_EQ(layer_error("fit = \"'''\""), "3:7: fit is '''''; it takes contain, cover or fill");
}

TEST(SceneFile, StandsDeepTables) {
  std::string text = "a";
  for (int i = 0; i < 4096; ++i) {
    text += ".a";
  }
  EXPECT_TRUE(scene_error(text + " = 1").starts_with("1:1: 'a' is no key")) << "all of it is freed";
  EXPECT_EQ(scene_error(text + ".a = 1"), "1:8194: more than 4096 dots outside quotation marks; a scene takes fewer");
  EXPECT_EQ(scene_from("# " + std::string(5000, '.') + "\n[[layer]]\nsource = 'a'").layers.size(), 1U);
  EXPECT_TRUE(scene_error("a = " + std::string(500'000, '[')).starts_with("1:")) << "arrays";
}

class SceneFileOnDisk : public testing::Test {
 protected:
  static std::string error_of(const std::string& file) {
    try {
      read_scene(file);
    } catch (const Error& error) {
      return error.what();
    }
    return "none";
  }
  test::TemporaryFolder folder_;
  std::string file_ = folder_.file("a.toml");
};

TEST_F(SceneFileOnDisk, IsRead) {
  std::ofstream(file_) << "layout = 'pip'\n[[layer]]\nsource = 'a'\n";
  EXPECT_EQ(read_scene(file_).layout, Layout::pip);
  std::ofstream(file_) << "layout = 'pip'\n";
  EXPECT_EQ(error_of(file_), file_ + ":1:1: the scene has no layer; begin one with [[layer]]");
}

TEST_F(SceneFileOnDisk, SaysWhyItCannotBeRead) {
  EXPECT_EQ(error_of(file_), "cannot open the scene '" + file_ + "': No such file or directory");
  EXPECT_EQ(error_of(folder_.path()), "cannot read the scene '" + folder_.path() + "': it is no regular file");
  EXPECT_EQ(error_of("/dev/zero"), "cannot read the scene '/dev/zero': it is no regular file");
}

TEST_F(SceneFileOnDisk, APipeDoesNotBlock) {
  ASSERT_EQ(::mkfifo(file_.c_str(), 0600), 0);
  EXPECT_EQ(error_of(file_), "cannot read the scene '" + file_ + "': it is no regular file");
}

TEST_F(SceneFileOnDisk, IsNotReadIfItIsTooLong) {
  std::ofstream(file_) << "#";
  ASSERT_EQ(::truncate(file_.c_str(), off_t{1} << 40), 0);
  EXPECT_EQ(error_of(file_),
            "cannot read the scene '" + file_ + "': it has more than the 1048576 bytes that a scene takes");
}

TEST(SceneWords, AWallOnTheCommandLine) {
  EXPECT_EQ(parse_wall("3x2@2,1", "--wall"), (Wall{.columns = 3, .rows = 2, .column = 2, .row = 1}));
  EXPECT_EQ(parse_bezel("0x30", "--bezel"), (Size{0, 30}));
  const auto expect_error = [](const char* text, const std::string& end) {
    try {
      parse_wall(text, "--wall");
      ADD_FAILURE() << text;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::usage);
      EXPECT_EQ(error.what(), "--wall is " + quote(text) + end);
    }
  };
  for (const char* text : {"", "3x2", "0x2@0,0", "65x1@0,0", "3,2@1,0", "99999999999x1@0,0"}) {
    expect_error(text, "; it takes COLUMNSxROWS@COLUMN,ROW, as in 3x2@0,0 for the screen at the top left");
  }
  for (const char* text :
       {"3x2@", "3x2@3,0", "3x2@0,2", "3x2@1", "3x2@1,0,", "3x2@-1,0", "3x2@1x0", "3x2@1,0@", "3x2@1,99999999999"}) {
    expect_error(text, "; after 3x2@ it takes COLUMN,ROW, from 0,0 to 2,1");
  }
  expect_error("64x1@64,0", "; after 64x1@ it takes COLUMN,ROW, from 0,0 to 63,0");
  for (const char* text : {"", "x", "1x", "x1", "1", "1x32769", "1x1x1", " 1x1"}) {
    EXPECT_THROW(parse_bezel(text, "--bezel"), Error) << text;
  }
}

}  // namespace
}  // namespace framewire
