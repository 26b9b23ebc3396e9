#include "gl/shader_program.hpp"

#include <string>

#include "gl/offscreen_target.hpp"
#include "shaders/embedded.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

constexpr std::string_view vertex =
    "#version 450 core\nvoid main() { gl_Position = vec4(gl_VertexID == 1 ? 3 : -1, gl_VertexID == 2 ? 3 : -1, 0, 1); "
    "}\n";

/// The message of the ShaderError for this fragment shader; empty if it compiles.
std::string failure(std::string_view fragment, int first_user_line) {
  try {
    const ShaderProgram program("mine.frag", vertex, fragment, first_user_line);
    return {};
  } catch (const ShaderError& error) {
    EXPECT_EQ(error.status(), ExitStatus::failed);
    return error.what();
  }
}

class ShaderProgramTest : public GlTest {};

TEST_F(ShaderProgramTest, CompilesAndFindsUniforms) {
  const ShaderProgram program("good.frag", vertex,
                              "#version 450 core\nuniform vec4 tint;\nout vec4 c;\nvoid main() { c = tint; }\n");
  EXPECT_GE(program.uniform("tint"), 0);
  EXPECT_EQ(program.uniform("nothing"), -1);
  EXPECT_NE(program.id(), 0U);
}

TEST_F(ShaderProgramTest, AComputeShaderIsAProgramOfItsOwn) {
  const std::string before = "#version 450 core\nlayout(local_size_x = 1) in;\nuniform int count;\n";
  const std::string main = "layout(std430, binding = 0) buffer Out { int words[]; };\nvoid main() { words[0] = ";
  const ShaderProgram program = ShaderProgram::of_compute("good.glsl", before + main + "count; }\n");
  EXPECT_GE(program.uniform("count"), 0);
  try {
    const ShaderProgram bad = ShaderProgram::of_compute("bad.glsl", before + main + "missing; }\n");
    FAIL();
  } catch (const ShaderError& error) {
    EXPECT_NE(std::string(error.what()).find("the compute shader 'bad.glsl' does not compile:"), std::string::npos)
        << error.what();
    EXPECT_NE(std::string(error.what()).find("bad.glsl:5: "), std::string::npos) << error.what();
  }
}

TEST_F(ShaderProgramTest, ErrorsShowTheLineThatTheyName) {
  const std::string text = failure("#version 450 core\nout vec4 c;\nvoid main() {\n\tc = vec4(missing);\n}\n", 0);
  EXPECT_NE(text.find("mine.frag:4: "), std::string::npos) << text;
  EXPECT_NE(text.find("c = vec4(missing);"), std::string::npos) << text;
  EXPECT_NE(text.find("missing"), std::string::npos) << text;
}

TEST_F(ShaderProgramTest, LinesAreCountedFromTheUsersFirst) {
  const std::string prelude = "#version 450 core\nout vec4 c;\n";
  const std::string text = failure(prelude + "void main() {\n  c = nonsense;\n}\n", 2);
  EXPECT_NE(text.find("mine.frag:2: "), std::string::npos) << text;
  EXPECT_NE(text.find("c = nonsense;"), std::string::npos) << text;
}

TEST_F(ShaderProgramTest, LinkErrorsAreShaderErrors) {
  const std::string text =
      failure("#version 450 core\nin vec3 absent;\nout vec4 c;\nvoid main() { c = vec4(absent, 1.0); }\n", 0);
  EXPECT_NE(text.find("does not link"), std::string::npos) << text;
}

TEST(ShaderLog, UnderstandsTheDriversWaysToNameALine) {
  constexpr std::string_view source = "first\nsecond\nthird\n";
  const std::string expected = "  a.frag:2: error: odd\n    | second";
  EXPECT_EQ(describe_shader_log("a.frag", source, "0:2(5): error: odd\n", 0), expected);
  EXPECT_EQ(describe_shader_log("a.frag", source, "0(2) : error: odd\n", 0), expected);
  EXPECT_EQ(describe_shader_log("a.frag", source, "ERROR: 0:2: error: odd\n", 0), expected);
  EXPECT_EQ(describe_shader_log("a.frag", source, "0:3(1): error: odd\n", 1), "  a.frag:2: error: odd\n    | third");
  EXPECT_EQ(describe_shader_log("a.frag", source, "0:1(1): error: odd\n", 1),
            "  a.frag:built-in lines: error: odd\n    | first");
  EXPECT_EQ(describe_shader_log("a.frag", source, "0:2(1): error: odd\n0:2(5): error: even\n0:3(1): error: odd\n", 0),
            "  a.frag:2: error: odd\n  a.frag:2: error: even\n    | second\n  a.frag:3: error: odd\n    | third")
      << "a line is shown once, behind all that is said of it";
}

TEST(ShaderLog, PassesOtherTextOnWithoutControlCharacters) {
  EXPECT_EQ(describe_shader_log("a", "x", "something\x1b[31m else", 0), "  something\\x1b[31m else");
  EXPECT_EQ(describe_shader_log("a", "x", "0:99(1): error: odd", 0), "  a:99: error: odd");
  EXPECT_EQ(describe_shader_log("a", "x", "0:99999999999(1): error: odd", 0), "  0:99999999999(1): error: odd");
  EXPECT_EQ(describe_shader_log("a", "x", "", 0), "");
}

TEST(EmbeddedShaders, AreFoundByTheirPath) {
  ASSERT_TRUE(find_embedded_shader("frame.frag").has_value());
  EXPECT_NE(find_embedded_shader("frame.vert")->find("#version 450 core"), std::string_view::npos);
  EXPECT_FALSE(find_embedded_shader("no such file").has_value());
  for (const EmbeddedShader& shader : embedded_shaders()) {
    EXPECT_FALSE(shader.source.empty()) << shader.name;
  }
}

class OffscreenTargetTest : public GlTest {};

TEST_F(OffscreenTargetTest, RefusesSizesThatTheDriverDoesNotTake) {
  EXPECT_THROW(OffscreenTarget({0, 10}), Error);
  EXPECT_THROW(OffscreenTarget({1U << 20, 10}), Error);
}

TEST_F(OffscreenTargetTest, ReadsTheTopRowFirst) {
  const OffscreenTarget target({4, 3});
  target.bind();
  glClearColor(0, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glEnable(GL_SCISSOR_TEST);
  glScissor(0, 2, 4, 1);  // the top row in GL
  glClearColor(1, 0, 0, 1);
  glClear(GL_COLOR_BUFFER_BIT);
  glDisable(GL_SCISSOR_TEST);
  std::array<std::byte, 4 * 3 * 4> pixels{};
  target.read_rgba(pixels);
  EXPECT_EQ(pixels[0], std::byte{255});
  EXPECT_EQ(pixels[16], std::byte{0});
  EXPECT_EQ(pixels[32], std::byte{0});
  target.read_rgba(pixels, OffscreenTarget::RowOrder::top_down);
  EXPECT_EQ(pixels[0], std::byte{0});
  EXPECT_EQ(pixels[32], std::byte{255});
}

}  // namespace
}  // namespace framewire
