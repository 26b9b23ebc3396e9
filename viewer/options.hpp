// The command line of framewire-view.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/text.hpp"
#include "command/command_line.hpp"
#include "command/line_port.hpp"
#include "gl/frame_painter.hpp"
#include "ssh/ssh_command.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/input_options.hpp"
#include "viewer/output_options.hpp"
#include "viewer/quality.hpp"
#include "viewer/scene.hpp"
#include "viewer/source.hpp"

namespace framewire {

/// How the layers over the first one are blended; what is not given is as usual.
struct LayersOver {
  std::optional<Blend> blend{};
  std::optional<Alpha> alpha{};
};

struct ViewerOptions {
  CommonOptions common;               // --frames: received frames of each stream; --duration starts with the program
  SshOptions ssh;                     // of sources that begin with ssh://
  SubscriberOptions session;          // of every stream, without its sender
  MemoryChoice memory;                // main() adds it to `session`
  std::vector<ViewedSource> sources;  // of the scene's layers, in their order
  Scene scene;
  LayersOver layers_over;                 // has been applied to the scene
  std::optional<std::string> scene_file;  // followed while the viewer runs
  std::optional<Wall> wall;               // in place of the scene's
  WaitMode wait = WaitMode::adaptive;     // for frames
  bool is_headless = false;
  std::optional<Size> size;  // of the window, or of the headless picture
  bool is_fullscreen = false;
  std::optional<std::uint32_t> monitor;  // 1 is the primary one
  std::optional<InputOptions> input;     // set: it goes to the sender
  OutputOptions output;                  // --output
  std::optional<std::string> screenshot_file;
  std::optional<std::string> frame_times_file;
  std::optional<PortDescriptors> messages;  // exchanges messages with senders here
  std::optional<Quality> quality;           // empty: good, if a GPU draws
  std::optional<Downscale> downscale;       // of what is drawn fast; empty: area
  bool is_paced = false;                    // frames are shown by their presentation time
  bool is_synchronised = false;             // frames of the same instant are shown together
  bool asks_cadence = false;                // tells the sender when to render
  bool is_low_latency = false;              // frames are shown at once, without vsync
  std::optional<double> refresh_hz;         // of the headless picture; empty: frames are shown as they come
  bool verify = false;
  std::uint64_t most_sets = 0;  // --frames of Layout::depth: how many sets of frames are shown; 0: no limit
};

/// Reads the command line. Nothing after --help or --version, which it prints on stdout. Throws Error (usage) that
/// names the option, its value and the valid values. Main thread.
std::optional<ViewerOptions> parse_options(int argc, const char* const* argv);

/// Throws Error (usage) if a result (--stats, --output …) would overwrite what is shown, the scene, the key, or another
/// result. What a scene file names later, while the viewer runs, is not looked at. parse_options() calls it.
void refuse_shared_files(const ViewerOptions& options);

/// Frames of every stream may lie in memory of this kind. It outlives the program.
void take_memory(ViewerOptions& options, const MemoryKind& kind);

}  // namespace framewire
