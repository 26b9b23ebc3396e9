// The command line of framewire-view.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/text.hpp"
#include "command/command_line.hpp"
#include "transport/session/subscriber.hpp"
#include "viewer/quality.hpp"

namespace framewire {

struct ViewerOptions {
  CommonOptions common;  // --frames counts received frames; --duration starts with the program
  SubscriberOptions subscriber;
  WaitMode wait = WaitMode::adaptive;  // for frames
  std::string peer_text;               // the awaited sender: "box:5290", or "a sender on *:5290"
  bool is_headless = false;
  std::optional<Size> size;  // of the window, or of the headless picture
  bool is_fullscreen = false;
  std::optional<std::uint32_t> monitor;    // 1 is the primary one
  std::optional<std::string> output_file;  // "-": stdout
  std::optional<std::string> screenshot_file;
  std::optional<std::string> frame_times_file;
  std::optional<Quality> quality;    // empty: good, if a GPU draws
  bool is_paced = false;             // frames are shown by their presentation time
  bool asks_cadence = false;         // tells the sender when to render
  bool is_low_latency = false;       // frames are shown at once, without vsync
  std::optional<double> refresh_hz;  // of the headless picture; empty: frames are shown as they come
  bool verify = false;
};

/// Reads the command line. Nothing after --help or --version, which it prints on stdout. Throws Error (usage) that
/// names the option, its value and the valid values. Main thread.
std::optional<ViewerOptions> parse_options(int argc, const char* const* argv);

}  // namespace framewire
