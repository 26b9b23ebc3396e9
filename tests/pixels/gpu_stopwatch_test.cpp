#include "gl/gpu_stopwatch.hpp"

#include "gl/offscreen_target.hpp"
#include "tests/pixels/gl_test.hpp"

namespace framewire {
namespace {

class GpuStopwatchTest : public GlTest {};

TEST_F(GpuStopwatchTest, TellsEachMeasurementOnceTheGpuIsThatFar) {
  const OffscreenTarget target({64, 64});
  GpuStopwatch stopwatch;
  EXPECT_FALSE(stopwatch.take()) << "nothing was measured";
  for (int i = 0; i < 2; ++i) {
    stopwatch.begin();
    target.bind();
    glClear(GL_COLOR_BUFFER_BIT);
    stopwatch.end();
    EXPECT_TRUE(stopwatch.is_pending());
    glFinish();
    const auto passed_ns = stopwatch.take();
    ASSERT_TRUE(passed_ns);
    EXPECT_GE(*passed_ns, 0);
    EXPECT_FALSE(stopwatch.is_pending());
    EXPECT_FALSE(stopwatch.take());
  }
}

TEST_F(GpuStopwatchTest, AMeasurementThatNobodyTakesIsGivenUp) {
  GpuStopwatch stopwatch;
  for (int i = 0; i < 3; ++i) {
    stopwatch.begin();
    stopwatch.end();
  }
  glFinish();
  EXPECT_TRUE(stopwatch.take());
  EXPECT_FALSE(stopwatch.take());
}

}  // namespace
}  // namespace framewire
