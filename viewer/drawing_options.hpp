// How the viewer draws.
#pragma once

#include <cstdint>
#include <optional>

#include "frame/frame_layout.hpp"
#include "gl/frame_painter.hpp"
#include "memory/block.hpp"
#include "viewer/quality.hpp"

namespace framewire {

class Recorder;

struct DrawingOptions {
  std::optional<Quality> quality;           // none: good, if a GPU draws
  Downscale downscale = Downscale::area;    // of what is drawn fast
  bool asks_cadence = false;                // tell the senders when to render
  bool tells_places = false;                // Drawing::seen()
  const MemoryKind* memory = nullptr;       // of a device, where frames may lie; outlives the drawing; null: none
  OpenDeviceMemory open_device_memory{};    // of the GPU that draws, to copy frames by; empty: it is not used
  bool verify = false;                      // check that no frame changes while it is held
  std::uint64_t most_sets = 0;              // of Layout::depth that are shown; 0: no limit
  std::int64_t first_draw_delay_ns = 0;     // of the first picture without a frame
  Recorder* recorder = nullptr;             // records the pictures; outlives the drawing; null: they are not recorded
  std::optional<Rational> recorded_rate{};  // of the recording; none: it follows from the streams
};

}  // namespace framewire
