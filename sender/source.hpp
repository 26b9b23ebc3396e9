// The interface of frame sources.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "memory/host_block.hpp"
#include "transport/stream.hpp"

namespace framewire {

/// One source of frames. The main thread constructs it; the constructor throws Error for anything that can be known
/// then (no such file, an unknown format, a shader that does not compile). Then the source thread calls run() once and
/// is its only user.
class Source {
 public:
  virtual ~Source() = default;

  /// One line for the log at start: "gl:aurora, 3840x2160 rgba 60 fps, llvmpipe, readback by pinned memory".
  [[nodiscard]] virtual std::string describe() const = 0;

  /// Opens the stream's input if the source makes something of it. The main thread calls it once, before viewers come.
  /// The inbox outlives the source.
  virtual void take_input(SourceInbox& inbox) { static_cast<void>(inbox); }

  /// Begins epochs, and claims, fills and publishes slots until claim() reports a stop or the input ends. Throws Error
  /// when the input breaks; frames published before that are still sent.
  virtual void run(Stream& stream) = 0;

  /// What decodes the input: "h264 (cuda)"; empty: nothing does. Not while run() runs.
  [[nodiscard]] virtual std::string decoder() const { return {}; }

  /// How often the input was lost and reopening was tried. Any thread.
  [[nodiscard]] virtual std::uint64_t losses() const noexcept { return 0; }
};

/// A source's options from the command line.
struct SourceOptions {
  std::string name;         // SOURCE as given: "gl:aurora", "pattern", "-", a file …
  std::uint32_t width = 0;  // --size; 0: the source's own
  std::uint32_t height = 0;
  double frames_per_s = 0;                    // --fps; 0: the source's own
  std::optional<PixelFormat> pixel_format;    // --pix-fmt
  std::uint16_t slices = 0;                   // --slices; 0: auto
  bool loop = false;                          // --loop
  bool realtime = true;                       // pace by timestamps; false with --delivery every --no-pace
  std::string stream_name{};                  // --name; empty: see sender/stream_names.hpp
  const MemoryKind* memory = &host_memory();  // of the stream's slots; outlives the source

  /// Of the GPU that draws a scene, to copy frames by; empty: it is not used.
  OpenDeviceMemory open_device_memory{};

  // For inputs that libav opens.
  std::vector<std::pair<std::string, std::string>> input_options{};  // --input-option
  std::string input_format{};                                        // --input-format
  std::string hw_accel = "none";                                     // --hwaccel
  std::int64_t start_ns = 0;                                         // --start
  std::int64_t retry_ns = INT64_MAX;                                 // --retry; INT64_MAX: for ever
};

}  // namespace framewire
