#include "viewer/options.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <vector>

#include "base/error.hpp"
#include "transport/address.hpp"
#include "viewer/keys.hpp"
#include "viewer/offered_streams.hpp"
#include "viewer/quality_options.hpp"
#include "viewer/scene_checks.hpp"
#include "viewer/scene_file.hpp"
#include "viewer/ssh_options.hpp"

namespace framewire {

namespace {

constexpr std::string_view description =
    "Shows the frames of a sender, in a window or without one; records and measures them\n"
    "Start sender and viewer in any order, and restart either of them: the viewer waits for its sender.\n\n"
    "In the window:\n";  // and the keys

constexpr const char* footer =
    "Examples:\n"
    "  framewire view                             show the sender on this machine\n"
    "  framewire view big/orbit --fullscreen      show the stream 'orbit' of the sender on 'big'\n"
    "  framewire view a b c d                     show the senders on four machines in one window\n"
    "  framewire view big hud --layout overlay    lay one picture over another\n"
    "  framewire view big --layer logo.png --layout overlay\n"
    "                                             lay an image of this machine over a stream\n"
    "  framewire view ssh://big/gl:orbit          start the sender on 'big' by ssh, and end it with the viewer\n"
    "  framewire view 'ssh://big/film.mkv?loop&start=1m'\n"
    "                                             the same, with --loop and --start of framewire send\n"
    "  framewire view --listen '*:5290'           wait for: framewire send --to HERE SOURCE\n"
    "  framewire view --headless --output - | ffplay -\n"
    "                                             write frames as y4m, for another program\n"
    "  framewire view big --headless --duration 2s --screenshot now.png --stats now.json\n"
    "                                             take a screenshot from a script\n"
    "  framewire view big --pull                  read a frame now and then; the sender runs with --allow-pull\n"
    "Exit status:\n"
    "  0  the sender ended, --frames or --duration was reached, or you quit; --stats has the number of frames\n"
    "  1  failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: by the sender, or because there is no key\n"
    "  4  there was no sender for the time of --retry or at the end of --duration, or not one frame came in that "
    "time\n";

/// The options as text, before interpretation.
struct RawOptions {
  RawCommonOptions common;
  std::vector<std::string> hosts;
  std::vector<std::string> layers;
  std::string scene;
  std::string layout;
  std::string blend;
  std::string alpha;
  std::string light;
  std::string wall;
  std::string bezel;
  std::string listen;
  std::string size;
  std::string monitor;
  RawOutputOptions output;
  std::string screenshot;
  std::string frame_times;
  std::string messages;
  std::string delivery;
  std::string retry;
  std::string pull_interval;
  RawSshOptions ssh;
  bool is_headless = false;
  bool is_fullscreen = false;
  bool is_paced = false;
  bool is_synchronised = false;
  bool is_low_latency = false;
  bool asks_cadence = false;
  RawQualityOptions quality;
  std::string refresh;
  RawInputOptions input;
  bool verify = false;
  bool pulls = false;
};

/// The layouts that need no file.
std::string command_line_layouts(std::string_view between, std::string_view before_last) {
  std::string text = layout_names(between, between);
  text.resize(text.rfind(between));  // free is the last one
  const std::size_t last = text.rfind(between);
  return text.replace(last, between.size(), before_last);
}

void describe_source(CLI::App& app, RawOptions& raw) {
  app.add_option(
      "HOST[:PORT][/STREAM]", raw.hosts,
      "a sender, and one of its streams (default localhost:5290, and all of its streams); or "
      "ssh://[USER@]HOST[:PORT]/SOURCE[?OPTION=VALUE&...]: start framewire send SOURCE on HOST by ssh, and end "
      "it with the viewer");
  app.add_option(
         "--layer", raw.layers,
         "also show a source of this machine, as framewire send takes it: gl: is drawn by the viewer, the others "
         "have a sender that the viewer runs; repeat it for more. They come after all HOSTs, in order, and lie over "
         "them. gl: and pattern have the "
         "size of the window at its start, 3840x2160 at most; other options of a layer need --scene (default: "
         "none)")
      ->type_name("FILE|gl:aurora|pattern|v4l2:/dev/video0")
      ->allow_extra_args(false);
  app.add_option("--listen", raw.listen, "wait here for a sender that connects (default: connect to HOST)")
      ->type_name("ADDR:PORT");
  app.add_option(
         "--delivery", raw.delivery,
         "latest: skip frames if late, whatever the sender's --delivery; every: skip nothing, only if the sender has "
         "--delivery every (default: that of the sender)")
      ->type_name("latest|every");
  app.add_option("--retry", raw.retry, "go on this long without a sender (default: for ever)")->type_name("TIME");
  app.add_flag("--pull", raw.pulls,
               "read a frame now and then, over " + names_of_links_that(&LinkTraits::can_be_pulled) +
                   ", from the memory of a sender with --allow-pull (default: the "
                   "sender sends the frames)");
  app.add_option("--pull-interval", raw.pull_interval, "with --pull: time from one read to the next (default 100ms)")
      ->type_name("TIME");
  app.add_option("--messages", raw.messages,
                 "exchange messages with the senders' programs: JSON objects, one a line, over a descriptor that is "
                 "open for reading and writing, or two")
      ->type_name("FD|FD,FD");
  app.add_flag("--verify", raw.verify, "check that no frame changes while it is shown");
}

/// How several streams are put together.
void describe_scene(CLI::App& app, RawOptions& raw) {
  app.add_option("--layout", raw.layout,
                 "where several streams are shown: in cells, side by side, one for each eye, small ones in the first, "
                 "one over the other, or merged by depth: of each pixel the nearest (default grid)")
      ->type_name(command_line_layouts("|", "|"));
  app.add_option("--blend", raw.blend, "with --layout overlay: how each stream is laid over the first (default over)")
      ->type_name(blend_names("|", "|"));
  app.add_option("--alpha", raw.alpha,
                 "with --layout overlay: what the alpha of those streams means (default, if they are laid over: what "
                 "they say, else straight)")
      ->type_name(alpha_names("|", "|"));
  app.add_option("--light", raw.light, "blend values as they are coded, or in proportion to light (default coded)")
      ->type_name("coded|linear");
  app.add_option("--wall", raw.wall,
                 "show one part of a picture that several screens show together: of COLS x ROWS screens the one in "
                 "COL,ROW, counted from 0,0 at the top left (default: the whole picture)")
      ->type_name("COLSxROWS@COL,ROW");
  app.add_option("--bezel", raw.bezel,
                 "with --wall: what is hidden between two screens, across and down, in pixels (default 0x0)")
      ->type_name("WxH");
  app.add_option("--scene", raw.scene,
                 "read streams and their places from a file, and follow its changes; docs/scenes.md describes it")
      ->type_name("FILE.toml");
}

void describe_surface(CLI::App& app, RawOptions& raw) {
  app.add_flag("--headless", raw.is_headless, "open no window; draw into memory");
  app.add_option("--size", raw.size,
                 "size of the window (default 1280x720), or of the picture with --headless (default 960x540)")
      ->type_name("WxH");
  app.add_flag("--fullscreen", raw.is_fullscreen, "start in fullscreen (default: in a window)");
  app.add_option("--monitor", raw.monitor,
                 "monitor to open the window on; 1 is the primary one (default: the window system's choice)")
      ->type_name("N");
}

void describe_files(CLI::App& app, RawOptions& raw) {
  add_output_options(app, raw.output);
  app.add_option("--screenshot", raw.screenshot,
                 "at the end, write the last picture shown; write nothing if no frame came")
      ->type_name("FILE.png");
  app.add_option("--frame-times", raw.frame_times,
                 "at the end, write when each shown frame was begun, sent, received and shown; the last 216000 frames")
      ->type_name("FILE.csv");
}

/// How well frames are drawn, and when they are shown.
void describe_drawing(CLI::App& app, RawOptions& raw) {
  add_quality_options(app, raw.quality);
  const auto paced = app.add_flag(
      "--paced", raw.is_paced,
      "show frames evenly, by their presentation time, delayed by as much as their arrivals vary and the sender's "
      "--slots allow (default: the newest at each refresh of the screen)");
  const auto low_latency =
      app.add_flag("--low-latency", raw.is_low_latency,
                   "show each frame at once, without waiting for the screen's refresh; the picture may tear")
          ->excludes(paced);
  app.add_flag("--sync", raw.is_synchronised,
               "show frames together that their senders began at the same instant: quick streams wait for slow ones, "
               "up to 250 ms and as long as their slots allow (default: each as it comes)")
      ->excludes(low_latency);
  app.add_flag("--cadence", raw.asks_cadence,
               "tell the sender when to render, so that each frame arrives just before the screen needs it; gl: and "
               "pattern can do so, at a rate near the screen's or a part of it (default: they render at times of their "
               "own)")
      ->excludes(low_latency);
  app.add_option("--refresh", raw.refresh,
                 "with --headless: show frames at this rate, as a screen would (default: as they come)")
      ->type_name("HZ");
}

void describe_options(CLI::App& app, RawOptions& raw) {
  describe_source(app, raw);
  add_ssh_options(app, raw.ssh);
  describe_scene(app, raw);
  describe_surface(app, raw);
  add_input_options(app, raw.input);
  describe_drawing(app, raw);
  describe_files(app, raw);
  raw.common.takes_gpu_memory = true;
  add_endpoint_options(app, raw.common);
  add_ring_options(app, raw.common);
  add_spin_option(app, raw.common);
  add_run_options(app, raw.common, "the start");
  app.get_option("--frames")
      ->description(
          "stop after N frames of each stream; with --layout depth, after N merged pictures (default: no limit)");
  app.footer(footer);
}

void read_senders(const RawOptions& raw, ViewerOptions& options) {
  if (!raw.listen.empty()) {
    if (!raw.hosts.empty()) {
      throw Error::usage("both --listen " + quote(raw.listen) + " and HOST " + quote(raw.hosts[0]) +
                         " were given; a viewer either waits for a sender or dials one");
    }
    ViewedSource source{.subscriber = options.session, .peer_text = "a sender on " + raw.listen};
    source.subscriber.endpoint.listen = parse_host_port(raw.listen, default_frame_port);
    options.sources.push_back(std::move(source));
    options.scene.layers.push_back({.source = raw.listen});
    return;
  }
  const bool has_default = raw.hosts.empty() && raw.layers.empty();
  for (const std::string& host : has_default ? std::vector<std::string>{"localhost"} : raw.hosts) {
    options.sources.push_back(parse_source(host, options.session, "HOST"));
    options.scene.layers.push_back({.source = host});
  }
}

/// What lies over other pictures comes last.
void read_sources(const RawOptions& raw, ViewerOptions& options) {
  if (raw.hosts.size() + raw.layers.size() > max_scene_layers) {
    throw Error::usage(std::to_string(raw.hosts.size() + raw.layers.size()) +
                       " HOSTs and layers were given; a viewer shows at most " + std::to_string(max_scene_layers));
  }
  read_senders(raw, options);
  for (const std::string& layer : raw.layers) {
    check_local_source(layer, "--layer");
    if (add_layer(options.scene, {.local = LocalSource{.source = layer}})) {
      options.sources.push_back(source_of(*options.scene.layers.back().local, options.session));
    }
  }
  if (options.sources.empty()) {
    throw Error::usage("--layout depth merges what senders render with what is drawn here; name at least one HOST");
  }
}

/// The value of a word, or nothing if the option was not given.
template <typename Value>
std::optional<Value> read_word(const std::string& word, const std::string& option,
                               std::optional<Value> (*from_name)(std::string_view) noexcept, const std::string& names) {
  if (word.empty()) {
    return std::nullopt;
  }
  const std::optional<Value> value = from_name(word);
  if (!value) {
    throw Error::usage(option + " is " + quote(word) + "; it takes " + names);
  }
  return value;
}

std::optional<Layout> command_line_layout_from_name(std::string_view word) noexcept {
  const std::optional<Layout> layout = layout_from_name(word);
  return layout == Layout::free ? std::nullopt : layout;
}

Layout read_layout(const RawOptions& raw) {
  return read_word(raw.layout, "--layout", command_line_layout_from_name,
                   command_line_layouts(", ", " or ") + "; for boxes of your own write a file for --scene")
      .value_or(Layout::grid);
}

LayersOver read_blending(const RawOptions& raw, Scene& scene) {
  const LayersOver over{.blend = read_word(raw.blend, "--blend", blend_from_name, blend_names()),
                        .alpha = read_word(raw.alpha, "--alpha", alpha_from_name, alpha_names())};
  if ((over.blend || over.alpha) && scene.layout != Layout::overlay) {
    throw Error::usage("--blend and --alpha are for streams that lie over others; add --layout overlay");
  }
  blend_over_first(scene, over);
  if (!raw.light.empty() && raw.light != "coded" && raw.light != "linear") {
    throw Error::usage("--light is " + quote(raw.light) + "; it takes coded or linear");
  }
  scene.blends_linear_light = raw.light == "linear";
  return over;
}

std::optional<Wall> read_wall(const RawOptions& raw) {
  if (raw.wall.empty()) {
    if (!raw.bezel.empty()) {
      throw Error::usage("--bezel " + quote(raw.bezel) + " means nothing without --wall");
    }
    return std::nullopt;
  }
  Wall wall = parse_wall(raw.wall, "--wall");
  if (!raw.bezel.empty()) {
    wall.bezel = parse_bezel(raw.bezel, "--bezel");
  }
  return wall;
}

void read_scene_options(const RawOptions& raw, ViewerOptions& options) {
  options.wall = read_wall(raw);
  if (raw.scene.empty()) {
    options.scene.layout = read_layout(raw);
    read_sources(raw, options);
    options.layers_over = read_blending(raw, options.scene);
  } else {
    if (!raw.hosts.empty() || !raw.layers.empty() || !raw.listen.empty()) {
      throw Error::usage(
          "--scene " + quote(raw.scene) +
          " names the streams to show; leave out HOST, --layer and --listen, or write them into the file");
    }
    if (!raw.layout.empty() || !raw.blend.empty() || !raw.alpha.empty() || !raw.light.empty()) {
      throw Error::usage("--scene " + quote(raw.scene) +
                         " says how streams are shown; leave out --layout, --blend, --alpha and --light, or write them "
                         "into the file");
    }
    options.scene_file = raw.scene;
    options.scene = read_scene(raw.scene);
    options.sources = sources_of(options.scene, options.session);
  }
}

void read_delivery(const RawOptions& raw, SubscriberOptions& subscriber) {
  if (raw.delivery.empty()) {
    return;
  }
  subscriber.delivery = delivery_from_name(raw.delivery);
  if (!subscriber.delivery) {
    throw Error::usage("--delivery is " + quote(raw.delivery) + "; it takes latest or every");
  }
}

void read_pull(const RawOptions& raw, SubscriberOptions& subscriber) {
  constexpr std::int64_t usual_interval_ns = 100'000'000;
  constexpr std::int64_t shortest_interval_ns = 1'000'000;
  if (!raw.pulls) {
    if (!raw.pull_interval.empty()) {
      throw Error::usage("--pull-interval " + quote(raw.pull_interval) + " means nothing without --pull");
    }
    return;
  }
  EndpointOptions& endpoint = subscriber.endpoint;
  if (endpoint.encrypt) {
    throw Error::usage("--pull reads frames over " + names_of_links_that(&LinkTraits::can_be_pulled) +
                       ", which is not encrypted, and --encrypt forbids that; leave out one of them");
  }
  endpoint.allowed_links = links_that(&LinkTraits::can_be_pulled, endpoint.allowed_links);
  if (endpoint.allowed_links.empty()) {
    throw Error::usage("--transport is " + quote(raw.common.transport) + "; with --pull, which reads over " +
                       names_of_links_that(&LinkTraits::can_be_pulled) + ", it takes " +
                       transports_that(&LinkTraits::can_be_pulled));
  }
  if (subscriber.delivery == Delivery::every) {
    throw Error::usage(
        "--delivery is 'every', and --pull reads only the newest frame each time; leave out one of them");
  }
  endpoint.may_choose_link = false;
  endpoint.pull_interval_ns =
      raw.pull_interval.empty() ? usual_interval_ns : parse_duration_ns(raw.pull_interval, "--pull-interval");
  if (endpoint.pull_interval_ns < shortest_interval_ns) {
    throw Error::usage("--pull-interval is " + quote(raw.pull_interval) +
                       "; it takes 1ms or more: for every frame leave out --pull");
  }
}

void read_session(const RawOptions& raw, SubscriberOptions& subscriber) {
  parse_endpoint_options(raw.common, subscriber.endpoint);
  subscriber.confirms_epochs = true;
  read_delivery(raw, subscriber);
  read_pull(raw, subscriber);
  if (!raw.retry.empty()) {
    subscriber.retry_ns = raw.retry == "0" ? 0 : parse_duration_ns(raw.retry, "--retry");
  }
}

std::optional<std::string> given(const std::string& word) {
  return word.empty() ? std::nullopt : std::optional(word);
}

void read_surface(const RawOptions& raw, ViewerOptions& options) {
  options.is_headless = raw.is_headless;
  options.is_fullscreen = raw.is_fullscreen;
  if (raw.is_headless && (raw.is_fullscreen || !raw.monitor.empty())) {
    throw Error::usage(
        "--headless opens no window, so that --fullscreen and --monitor mean nothing; leave one of them out");
  }
  if (!raw.size.empty()) {
    options.size = parse_size(raw.size, "--size");
  }
  if (!raw.monitor.empty()) {
    options.monitor = static_cast<std::uint32_t>(parse_number(raw.monitor, "--monitor", 1, 64));
  }
}

void read_pacing(const RawOptions& raw, ViewerOptions& options) {
  const QualityOptions quality = parse_quality_options(raw.quality);
  options.quality = quality.quality;
  options.downscale = quality.downscale;
  options.is_paced = raw.is_paced;
  options.is_synchronised = raw.is_synchronised;
  options.is_low_latency = raw.is_low_latency;
  options.asks_cadence = raw.asks_cadence;
  if (raw.asks_cadence && raw.is_headless && raw.refresh.empty()) {
    throw Error::usage("--cadence needs a screen's refreshes; with --headless add --refresh HZ");
  }
  if (raw.asks_cadence && raw.pulls) {
    throw Error::usage(
        "--cadence asks the sender to render in time, and --pull must not disturb it; leave out one of them");
  }
  if (raw.is_low_latency && raw.is_headless) {
    throw Error::usage("--low-latency means nothing with --headless, which waits for no screen; leave it out");
  }
  if (raw.refresh.empty()) {
    return;
  }
  if (!raw.is_headless) {
    throw Error::usage("--refresh " + quote(raw.refresh) +
                       " means nothing without --headless: a window follows its screen");
  }
  options.refresh_hz = parse_rate(raw.refresh, "--refresh", "refreshes");
}

ViewerOptions read(const RawOptions& raw) {
  ViewerOptions options;
  options.common = parse_run_options(raw.common);
  read_session(raw, options.session);
  options.memory = parse_memory(raw.common);
  read_scene_options(raw, options);
  if (options.scene.layout == Layout::depth) {
    options.most_sets = std::exchange(options.common.max_frames, 0);
  }
  options.ssh = parse_ssh_options(raw.ssh, options.sources, options.scene_file.has_value());
  options.wait = wait_mode_of(raw.common);
  read_surface(raw, options);
  options.input = read_input_options(raw.input, raw.is_headless);
  read_pacing(raw, options);
  if (const std::string useless = useless_option(options.scene, options); !useless.empty()) {
    throw Error::usage(useless + "; leave out one of them");
  }
  const bool makes_picture = options.sources.size() > 1 || options.scene_file || !options.scene.gl_scenes.empty();
  options.output = parse_output_options(raw.output, makes_picture);
  if (options.output.is_of_stream()) {  // its frames are needed, and not only their picture
    options.sources.front().drawn.reset();
  }
  options.screenshot_file = given(raw.screenshot);
  if (options.screenshot_file && !options.screenshot_file->ends_with(".png")) {
    throw Error::usage("--screenshot is " + quote(*options.screenshot_file) +
                       "; screenshots are PNG files, so the name ends in .png");
  }
  options.frame_times_file = given(raw.frame_times);
  if (!raw.messages.empty()) {
    options.messages = parse_port(raw.messages, "--messages");
  }
  options.verify = raw.verify;
  refuse_shared_files(options);
  return options;
}

}  // namespace

std::optional<ViewerOptions> parse_options(int argc, const char* const* argv) {
  CLI::App app{std::string(description) + key_help(), "framewire-view"};
  RawOptions raw;
  describe_options(app, raw);
  return parse_command_line(app, argc, argv) ? std::optional(read(raw)) : std::nullopt;
}

void take_memory(ViewerOptions& options, const MemoryKind& kind) {
  options.session.memory = {&kind};
  for (ViewedSource& source : options.sources) {
    source.subscriber.memory = options.session.memory;
  }
}

}  // namespace framewire
