#include "gl/gpu_stopwatch.hpp"

#include <algorithm>

namespace framewire {

void GpuStopwatch::begin() noexcept {
  query_ = GlTimeQuery::create();  // a pending one must not be begun again
  glBeginQuery(GL_TIME_ELAPSED, query_.id());
  is_pending_ = false;
}

void GpuStopwatch::end() noexcept {
  glEndQuery(GL_TIME_ELAPSED);
  is_pending_ = true;
}

std::optional<std::int64_t> GpuStopwatch::take() noexcept {
  GLint is_available = GL_FALSE;
  if (is_pending_) {
    glGetQueryObjectiv(query_.id(), GL_QUERY_RESULT_AVAILABLE, &is_available);
  }
  if (is_available == GL_FALSE) {
    return std::nullopt;
  }
  GLuint64 passed_ns = 0;
  glGetQueryObjectui64v(query_.id(), GL_QUERY_RESULT, &passed_ns);
  is_pending_ = false;
  return static_cast<std::int64_t>(std::min<GLuint64>(passed_ns, INT64_MAX / 4));
}

}  // namespace framewire
