// The refresh of a screen with which a picture was seen.
#pragma once

#include <cstdint>

namespace framewire {

struct SeenRefresh {
  std::int64_t at_ns = 0;    // monotonic
  std::uint64_t number = 0;  // by the screen's own count
  bool operator==(const SeenRefresh&) const = default;
};

/// The same of one of a surface's pictures, which are counted from 1.
struct PictureRefresh {
  std::uint64_t picture = 0;
  SeenRefresh refresh{};
};

}  // namespace framewire
