#include "gl/shader_scene.hpp"

#include <gtest/gtest.h>

#include <fstream>

#include "base/error.hpp"
#include "gl/scene_renderer.hpp"
#include "gl/shader_program.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

constexpr Size small{96, 54};

class GlSceneTest : public GlTest {
 protected:
  std::string write(const std::string& file_name, const std::string& text) const {
    std::ofstream(path(file_name), std::ios::binary) << text;
    return path(file_name);
  }

  [[nodiscard]] std::string path(const std::string& file_name) const { return folder_.file(file_name); }

  /// Returns the error message of loading and compiling.
  static std::string error_of(const std::string& source) {
    try {
      const SceneRenderer renderer(load_scene(source), small, PixelFormat::rgba);
    } catch (const Error& error) {
      return error.what();
    }
    return {};
  }

  static void expect_in(const std::string& part, const std::string& whole) {
    EXPECT_NE(whole.find(part), std::string::npos) << whole;
  }

 private:
  test::TemporaryFolder folder_;
};

TEST_F(GlSceneTest, TheFirstSceneIsTheDefault) {
  EXPECT_EQ(load_scene("gl:").name, scene_names().front());
  EXPECT_EQ(load_scene("gl:" + std::string(scene_names().front())).text, load_scene("gl:").text);
  EXPECT_EQ(scene_names().size(), 4U);
}

TEST_F(GlSceneTest, PartsAreNumberedBehindTheName) {
  EXPECT_EQ(load_scene("gl:helix").parts, ShaderScene::all_parts);
  EXPECT_EQ(load_scene("gl:helix:1").parts, 1U);
  EXPECT_EQ(load_scene("gl:helix:1,3").parts, 5U);
  EXPECT_EQ(load_scene("gl:helix:1,3").name, "helix");
  const std::string file =
      write("two:2.frag", "void mainImage(out vec4 c, in vec2 p) { int i = 1; c = vec4(hasPart(i) || hasPart(2)); }");
  EXPECT_EQ(load_scene("gl:" + file).parts, ShaderScene::all_parts) << "a colon in a file's name";
  EXPECT_EQ(load_scene("gl:" + file + ":7").parts, 64U) << "what the shader asks for is not known";
  EXPECT_EQ(load_scene("gl:" + file + ":32").parts, 0x80000000U);
  for (const char* wrong : {"gl:helix:0", "gl:helix:33", "gl:helix:1,,2", "gl:helix:,", "gl:helix:99999999999"}) {
    EXPECT_THROW(load_scene(wrong), Error) << wrong;
  }
}

TEST_F(GlSceneTest, APartThatTheSceneDoesNotHaveIsRefused) {
  const auto message_of = [](const std::string& source) -> std::string {
    try {
      load_scene(source);
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), ExitStatus::usage);
      return error.what();
    }
    return "";
  };
  expect_in("it has 1, 2, 3", message_of("gl:helix:9"));
  expect_in("it has 1, 2, 3", message_of("gl:helix:1,9"));
  expect_in("the scene has none", message_of("gl:waves:1"));
}

TEST_F(GlSceneTest, AnUnknownNameListsTheScenes) {
  try {
    load_scene("gl:plsama");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.status(), ExitStatus::usage);
    const std::string message = error.what();
    expect_in("'plsama'", message);
    for (const std::string_view scene : scene_names()) {
      expect_in(std::string(scene), message);
    }
  }
}

TEST_F(GlSceneTest, AFileInTheMannerOfShadertoyIsTaken) {
  const std::string file =
      write("good.frag",
            "#version 300 es\n"
            "vec3 tint(vec2 p) { return vec3(p, dFdy(p.y)); }\n"
            "void mainImage(out vec4 fragColor, in vec2 fragCoord) {\n"
            "  vec2 uv = fragCoord / iResolution.xy;\n"
            "  vec4 n = texture(iChannel0, uv) + texture(iChannel3, uv + iChannelResolution[1].xy);\n"
            "  fragColor = vec4(tint(uv) * sin(iTime + iTimeDelta + float(iFrame) + iFrameRate), 1.0) + n;\n"
            "  fragColor += iMouse * 0.1 + iDate * 0.0001;\n"
            "}");  // no newline at the end
  EXPECT_EQ(error_of("gl:" + file), "");
}

/// docs/shadertoy.md lists them.
TEST_F(GlSceneTest, EveryInputOfShadertoyIsThere) {
  const std::string file =
      write("inputs.frag",
            "// with a comment before the version\n/* and\nanother */ #version 300 es\n"
            "precision highp float;\n"
            "void mainImage(out vec4 fragColor, in vec2 fragCoord) {\n"
            "  float sum = iResolution.z + iTime + iTimeDelta + iFrameRate + float(iFrame) + iMouse.w + iDate.w + "
            "iSampleRate;\n"
            "  for (int i = 0; i < 4; ++i) sum += iChannelTime[i] + iChannelResolution[i].x;\n"
            "  vec2 uv = fragCoord / iResolution.xy;\n"
            "  fragColor = vec4(sum) + texture(iChannel0, uv) + textureLod(iChannel1, uv, 1.0) + texelFetch(iChannel2, "
            "ivec2(0), 0) + texture(iChannel3, uv, -1.0) + float(HW_PERFORMANCE);\n"
            "}\n");
  EXPECT_EQ(error_of("gl:" + file), "");
}

TEST_F(GlSceneTest, TheDateHasFractionsOfASecond) {
  const std::array<float, 4> whole = scene_date(std::chrono::system_clock::time_point(std::chrono::seconds(1'000'000)));
  const std::array<float, 4> later =
      scene_date(std::chrono::system_clock::time_point(std::chrono::milliseconds(1'000'000'250)));
  EXPECT_EQ(whole.at(0), 1970.0F);
  EXPECT_EQ(whole.at(1), 0.0F);
  EXPECT_EQ(later.at(3) - whole.at(3), 0.25F);
}

TEST_F(GlSceneTest, AFileWithLineEndsOfWindowsIsTaken) {
  EXPECT_EQ(
      error_of("gl:" + write("dos.frag", "void mainImage(out vec4 c, in vec2 p) {\r\n  c = vec4(p, 0, 1);\r\n}\r\n")),
      "");
}

TEST_F(GlSceneTest, CompileErrorsNameTheFilesOwnLines) {
  const std::string file = write("bad.frag",
                                 "// a comment\n"
                                 "void mainImage(out vec4 c, in vec2 p) {\n"
                                 "  c = vec4(p, missing_name, 1.0);\n"
                                 "}\n");
  const std::string message = error_of("gl:" + file);
  expect_in("bad.frag:3: ", message);
  expect_in("missing_name", message);
  expect_in("| " + std::string("  c = vec4(p, missing_name, 1.0);"), message);
  EXPECT_THROW(SceneRenderer(load_scene("gl:" + file), small, PixelFormat::rgba), ShaderError);
}

TEST_F(GlSceneTest, ALineWithAVersionKeepsItsNumber) {
  const std::string file =
      write("version.frag", "\n#version 450\nvoid mainImage(out vec4 c, in vec2 p) { c = wrong; }\n");
  expect_in("version.frag:3: ", error_of("gl:" + file));
}

TEST_F(GlSceneTest, AMainImageInACommentOnlyDoesNotLink) {
  expect_in("mainImage", error_of("gl:" + write("comment.frag", "// mainImage\n")));
}

TEST_F(GlSceneTest, AMissingFileIsOneError) {
  const std::string message = error_of("gl:" + path("absent.frag"));
  expect_in("absent.frag", message);
  expect_in("No such file", message);
}

TEST_F(GlSceneTest, AFolderIsNoShader) {
  expect_in("is not a file", error_of("gl:" + path("")));
}

TEST_F(GlSceneTest, AFileWithoutMainImageSaysWhatItNeeds) {
  const std::string message = error_of("gl:" + write("other.frag", "void main() {}\n"));
  expect_in("other.frag", message);
  expect_in("void mainImage(out vec4 fragColor, in vec2 fragCoord)", message);
  expect_in("mainImage", error_of("gl:" + write("empty.frag", "")));
}

TEST_F(GlSceneTest, ALargeFileIsRefusedBeforeItIsCompiled) {
  const std::string text = "void mainImage(out vec4 c, in vec2 p) { c = vec4(1.0); }\n//";
  expect_in("1 MiB", error_of("gl:" + write("large.frag", text + std::string(std::size_t{1} << 20, 'x'))));
  expect_in("not a file", error_of("gl:/dev/zero"));
}

TEST_F(GlSceneTest, ABinaryFileIsRefused) {
  expect_in("not a text file", error_of("gl:" + write("binary.frag", std::string("mainImage\0\1\2", 12))));
}

}  // namespace
}  // namespace framewire
