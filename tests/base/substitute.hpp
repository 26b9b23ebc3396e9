// Replaces a function that is called through a pointer. Tests use it for results that no driver gives on demand.
#pragma once

#include <utility>

namespace framewire::test {

/// Replaces `function`, such as glad_glClientWaitSync of OpenGL's table, while it lives.
template <typename Function>
class Substitute {
 public:
  Substitute(Function& function, Function substitute) noexcept
      : function_(function), original_(std::exchange(function, substitute)) {}
  Substitute(const Substitute&) = delete;
  Substitute& operator=(const Substitute&) = delete;
  ~Substitute() { function_ = original_; }

 private:
  Function& function_;
  Function original_;
};

}  // namespace framewire::test
