// How a picture is laid over others.
#pragma once

namespace framewire {

/// How a layer is laid over what is below it. With s and d the values of source and destination from 0 to 1, and s
/// already multiplied by its alpha a:
enum class Blend {
  over,      // s + d (1 - a)
  add,       // s + d, at most 1
  multiply,  // s d + d (1 - a)
  screen,    // s + d (1 - s)
};

/// Which values s and d are.
enum class BlendValues {
  coded,         // as a picture has them
  linear_light,  // decoded by the curve of sRGB, in proportion to the light
};

/// What the alpha of a frame means.
enum class Alpha {
  opaque,         // nothing: it counts as 1
  straight,       // the colours are to be multiplied by it
  premultiplied,  // the colours have been multiplied by it
};

}  // namespace framewire
