// Putting another function in the place of one of OpenGL's, for what no driver does on demand.
#pragma once

#include <utility>

#include "gl/gl.hpp"

namespace framewire {

/// Replaces `function`, an entry of glad's table such as glad_glClientWaitSync, while it lives.
template <typename Function>
class GlSubstitute {
 public:
  GlSubstitute(Function& function, Function substitute) noexcept
      : function_(function), original_(std::exchange(function, substitute)) {}
  GlSubstitute(const GlSubstitute&) = delete;
  GlSubstitute& operator=(const GlSubstitute&) = delete;
  ~GlSubstitute() { function_ = original_; }

 private:
  Function& function_;
  Function original_;
};

}  // namespace framewire
