// Where frames come from.
#pragma once

#include <memory>
#include <string>

#include "transport/stream.hpp"

namespace framewire {

/// One source of frames. Constructed on the main thread (which throws Error for what can be known then: no such file,
/// an unknown format, a shader that does not compile); run() is called once, on the source thread, which alone uses it
/// from then on.
class Source {
 public:
  virtual ~Source() = default;

  /// One line for the start: "gl:aurora, 3840x2160 rgba 60 fps, llvmpipe, readback by pinned memory".
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Begins epochs and claims, fills and publishes slots until claim() says stop or the input ends. Throws Error when
  /// the input breaks: what was published before still goes out.
  virtual void run(Stream& stream) = 0;
};

/// What the command line says of a source.
struct SourceOptions {
  std::string name;         // SOURCE as given: "gl:aurora", "pattern", "-", a file …
  std::uint32_t width = 0;  // --size; 0: the source's own
  std::uint32_t height = 0;
  double frames_per_s = 0;                  // --fps; 0: the source's own
  std::optional<PixelFormat> pixel_format;  // --pix-fmt
  bool loop = false;                        // --loop
  bool realtime = true;                     // pace by timestamps; off under --delivery every with --no-pace
};

}  // namespace framewire
