// Where frames come from.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

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

  /// How often its input was lost so far; each time it looked for it again. Any thread.
  [[nodiscard]] virtual std::uint64_t losses() const noexcept { return 0; }
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
  std::string stream_name{};                // --name; empty: as sender/stream_names.hpp has it

  // Of what libav opens.
  std::vector<std::pair<std::string, std::string>> input_options{};  // --input-option
  std::string input_format{};                                        // --input-format
  std::int64_t start_ns = 0;                                         // --start
  std::int64_t retry_ns = INT64_MAX;                                 // --retry; INT64_MAX: for ever
};

}  // namespace framewire
