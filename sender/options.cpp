#include "sender/options.hpp"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <cmath>

#include "base/error.hpp"
#include "base/text.hpp"
#include "command/named_files.hpp"
#include "sender/source_factory.hpp"
#include "sender/stream_names.hpp"
#include "transport/address.hpp"
#include "transport/pool.hpp"
#include "transport/session/endpoint.hpp"
#include "transport/session/messages.hpp"
#include "transport/slice_count.hpp"

namespace framewire {

namespace {

std::string description() {
  return "Sends frames to viewers: a scene, a film, a device, a pattern or standard input\n"
         "Viewers on this machine read the frames without a copy. Other machines get them uncompressed. Audio is not "
         "sent.\n\n"
         "SOURCE is one of:\n" +
         source_help();
}

constexpr const char* examples =
    "Examples:\n"
    "  framewire send gl:                                 the default scene, 3840x2160 at 60 fps\n"
    "  framewire send --loop film.mkv                     repeat a film\n"
    "  framewire send --name left --name right gl:aurora film.mkv  two streams: framewire view HOST/left and "
    "HOST/right\n"
    "  framewire send --input-option rtsp_transport=tcp rtsp://camera/live  a network camera; the option is "
    "FFmpeg's -rtsp_transport tcp\n"
    "  framewire send --to box:5290 gl:orbit              connect to a viewer that runs: framewire view "
    "--listen '*:5290'\n"
    "  ffmpeg -i film.mkv -f yuv4mpegpipe - | framewire send -  send what another program decodes\n"
    "Exit status:\n"
    "  0  every source came to its end, or Ctrl-C ended it\n"
    "  1  failed\n"
    "  2  the command line is wrong\n"
    "  3  refused: by the viewer, or because there is no key\n";

/// "yuv420p|nv12|…".
std::string pixel_format_choices() {
  std::string names = pixel_format_names();
  for (std::size_t at = names.find(", "); at != std::string::npos; at = names.find(", ", at)) {
    names.replace(at, 2, "|");
  }
  return names;
}

struct RawOptions {
  RawCommonOptions common;
  std::vector<std::string> sources, names, input_options;
  std::string input_format, hw_accel, start, retry;
  std::string listen, to, size, fps, pixel_format, delivery, slots, slices, viewers, events, messages;
  bool loop = false;
  bool allows_pull = false;
  bool no_fixed_rate = false;
};

void describe_options(CLI::App& app, RawOptions& raw) {
  app.add_option("SOURCE", raw.sources,
                 "what to send; each SOURCE becomes a stream, and all options but --name hold for each")
      ->type_name(source_choices())
      ->required();
  app.add_option("--listen", raw.listen, "wait here for viewers (default *:5290; without a key localhost:5290)")
      ->type_name("ADDR:PORT");
  app.add_option("--to", raw.to, "connect to a viewer that listens, port 5290 unless given (default: wait for viewers)")
      ->type_name("HOST:PORT");
  app.add_option("--size", raw.size,
                 "frame size (default 3840x2160 for gl: and pattern, else the input's; raw frames need it); auto: the "
                 "largest at which gl: keeps its rate")
      ->type_name("WxH|auto");
  app.add_option("--fps", raw.fps, "frames per second (default 60 for gl: and pattern, else the input's)")
      ->type_name("N");
  app.add_option(
         "--pix-fmt", raw.pixel_format,
         "pixel format by FFmpeg's name (default rgba for gl: and pattern, else the input's; raw frames need it)")
      ->type_name(pixel_format_choices());
  app.add_option("--delivery", raw.delivery,
                 "latest: slow viewers skip frames; every: the source waits for the slowest viewer (default latest)")
      ->type_name("latest|every");
  app.add_option("--slots", raw.slots,
                 "frames that one viewer may hold; view --paced and --sync may need more (default 3)")
      ->type_name("N");
  app.add_option("--slices", raw.slices,
                 "slices of a frame from gl:, pattern or standard input, or that a GPU copies to host memory; each "
                 "leaves while the next is made (default auto: one for every 4 MiB)")
      ->type_name("N|auto");
  app.add_option("--viewers", raw.viewers, "largest number of viewers of a stream (default 4)")->type_name("N");
  app.add_flag("--allow-pull", raw.allows_pull,
               "let viewers with --pull read frames from this memory over " +
                   names_of_links_that(&LinkTraits::can_be_pulled) + "; they do not count for --viewers");
  app.add_flag("--loop", raw.loop, "start a file again at its end (default: stop)");
  app.add_flag("--no-pace", raw.no_fixed_rate, "send as fast as possible (default: at the rate of the timestamps)");
  app.add_option("--name", raw.names,
                 "name of the stream; repeat it for each SOURCE in order (default: name of the file, scene or device)")
      ->type_name("NAME")
      ->allow_extra_args(false);
  app.add_option("-f,--input-format", raw.input_format, "input format, as ffmpeg -f (default: libav detects it)")
      ->type_name("FORMAT");
  app.add_option("--input-option", raw.input_options,
                 "option for libav's format, protocol or decoder, as ffmpeg -KEY VALUE; repeat it for more options")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  app.add_option("--hwaccel", raw.hw_accel,
                 "decode on a GPU, as ffmpeg -hwaccel: cuda (NVDEC) or vaapi; auto: on the first that can, else on the "
                 "processor (default none)")
      ->type_name("none|auto|cuda[:GPU]|vaapi[:DEVICE]");
  app.add_option("--start", raw.start,
                 "start a recording at this time, as in 90, 1m or 1:02:03.5 (default: its beginning)")
      ->type_name("TIME");
  app.add_option("--retry", raw.retry, "try this long to reopen a network input that was lost (default: for ever)")
      ->type_name("TIME");
}

void describe_exchange_options(CLI::App& app, RawOptions& raw) {
  app.add_option("--events", raw.events,
                 "write the viewers' input to this open descriptor, a line of JSON for each event; -: to standard "
                 "output (default: only gl: takes input)")
      ->type_name("FD|-");
  app.add_option("--messages", raw.messages,
                 "exchange messages with the viewers' programs: JSON objects, one a line, over a descriptor that is "
                 "open for reading and writing, or two")
      ->type_name("FD|FD,FD");
}

double read_rate(const std::string& text) {
  double rate = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rate);
  if (error != std::errc{} || end != text.data() + text.size() || !(rate >= 0.1) || rate > 1000) {
    throw Error::usage("--fps is " + quote(text) + "; it takes frames per second from 0.1 to 1000, as in 60 or 59.94");
  }
  return rate;
}

std::uint16_t read_slices(const std::string& text) {
  std::uint16_t slices = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), slices);
  if (error != std::errc{} || end != text.data() + text.size() || slices == 0 || slices > max_slices_of_source) {
    throw Error::usage("--slices is " + quote(text) + "; it takes auto, or a number from 1 to " +
                       std::to_string(max_slices_of_source));
  }
  return slices;
}

/// "90", "1m", "2:03.5", "1:02:03".
std::int64_t read_start(const std::string& text) {
  if (text == "0") {
    return 0;
  }
  if (text.find(':') == std::string::npos) {
    return parse_duration_ns(text, "--start");
  }
  double total_s = 0;
  int parts = 0;
  for (std::size_t from = 0; from <= text.size(); ++parts) {
    const std::size_t to = std::min(text.find(':', from), text.size());
    double number = -1;
    const auto [end, error] = std::from_chars(text.data() + from, text.data() + to, number);
    const bool is_last = to == text.size();
    if (error != std::errc{} || end != text.data() + to || !(number >= 0) || parts > 2 || (parts > 0 && number >= 60) ||
        number > 100'000 || (!is_last && number != std::floor(number))) {
      throw Error::usage("--start is " + quote(text) + "; it takes a time as in 90, 2.5s, 3m, 2:03.5 or 1:02:03");
    }
    total_s = total_s * 60 + number;
    from = to + 1;
  }
  return std::llround(total_s * 1e9);
}

/// Reads the options that only libav inputs use.
void read_input_words(const RawOptions& raw, SourceOptions& common) {
  for (const std::string& option : raw.input_options) {
    const std::size_t equals = option.find('=');
    if (equals == 0 || equals == std::string::npos) {
      throw Error::usage("--input-option is " + quote(option) + "; it takes KEY=VALUE, as in rtsp_transport=tcp");
    }
    common.input_options.emplace_back(option.substr(0, equals), option.substr(equals + 1));
  }
  common.input_format = raw.input_format;
  if (!raw.hw_accel.empty()) {
    check_hw_accel(raw.hw_accel);
    common.hw_accel = raw.hw_accel;
  }
  common.start_ns = raw.start.empty() ? 0 : read_start(raw.start);
  if (!raw.retry.empty()) {
    common.retry_ns = raw.retry == "0" ? 0 : parse_duration_ns(raw.retry, "--retry");
  }
  const char* option = !raw.input_options.empty()  ? "--input-option"
                       : !raw.input_format.empty() ? "--input-format"
                       : !raw.hw_accel.empty()     ? "--hwaccel"
                       : !raw.start.empty()        ? "--start"
                       : !raw.retry.empty()        ? "--retry"
                                                   : nullptr;
  if (option != nullptr && std::ranges::none_of(raw.sources, is_libav_source)) {
    throw Error::usage(std::string(option) + " is for files, URLs and devices, and no SOURCE is one; leave it out");
  }
}

/// Refuses SOURCEs that cannot be sent together.
void check_sources(const RawOptions& raw) {
  if (raw.sources.size() > max_offered_streams) {
    throw Error::usage(std::to_string(raw.sources.size()) + " SOURCEs were given; one sender offers at most " +
                       std::to_string(max_offered_streams) + " streams");
  }
  if (std::ranges::count_if(raw.sources, reads_standard_input) > 1) {
    throw Error::usage("several SOURCEs are standard input ('-'), which only one can read; leave the others out");
  }
  if (!raw.to.empty() && raw.sources.size() > 1) {
    throw Error::usage("--to takes one SOURCE, and " + std::to_string(raw.sources.size()) +
                       " were given: a viewer that listens shows one stream; start a sender for each");
  }
}

void name_streams(const RawOptions& raw, SenderOptions& options) {
  if (raw.names.size() > raw.sources.size()) {
    throw Error::usage("--name was given " + std::to_string(raw.names.size()) + " times for " +
                       std::to_string(raw.sources.size()) + (raw.sources.size() == 1 ? " SOURCE" : " SOURCEs") +
                       "; each SOURCE takes one, in turn");
  }
  std::vector<StreamNaming> namings;
  for (std::size_t i = 0; i < options.sources.size(); ++i) {
    const SourceOptions& source = options.sources[i];
    namings.push_back({i < raw.names.size() ? raw.names[i] : "", suggested_stream_name(source)});
  }
  const std::vector<std::string> names = stream_names(namings);
  for (std::size_t i = 0; i < names.size(); ++i) {
    options.sources[i].stream_name = names[i];
  }
}

void parse_source_options(const RawOptions& raw, SenderOptions& options) {
  check_sources(raw);
  SourceOptions common;
  read_input_words(raw, common);
  if (raw.size == "auto") {
    options.size_is_auto = true;
    if (std::ranges::none_of(raw.sources, fits_to_machine)) {
      throw Error::usage("--size auto is for scenes of gl:, and no SOURCE is one; give a size, or leave it out");
    }
  } else if (!raw.size.empty()) {
    const Size size = parse_size(raw.size, "--size");
    common.width = size.width;
    common.height = size.height;
  }
  if (!raw.fps.empty()) {
    common.frames_per_s = read_rate(raw.fps);
  }
  if (!raw.pixel_format.empty()) {
    common.pixel_format = pixel_format_from_name(raw.pixel_format);
    if (!common.pixel_format || *common.pixel_format == PixelFormat::bytes) {
      throw Error::usage("--pix-fmt is " + quote(raw.pixel_format) + "; it takes " + pixel_format_names());
    }
  }
  if (raw.loop && std::ranges::none_of(raw.sources, is_libav_source) &&
      std::ranges::none_of(raw.sources, reads_standard_input)) {
    throw Error::usage("--loop is for files, and no SOURCE is one; leave it out");
  }
  common.slices = raw.slices.empty() || raw.slices == "auto" ? std::uint16_t{0} : read_slices(raw.slices);
  common.loop = raw.loop;
  common.realtime = !raw.no_fixed_rate;
  for (const std::string& name : raw.sources) {
    options.sources.push_back(common);
    options.sources.back().name = name;
  }
  name_streams(raw, options);
}

void read_endpoint(const RawOptions& raw, SenderOptions& options) {
  if (!raw.listen.empty() && !raw.to.empty()) {
    throw Error::usage("both --listen " + quote(raw.listen) + " and --to " + quote(raw.to) +
                       " were given; a sender either waits for viewers or dials one");
  }
  if (!raw.to.empty()) {
    options.endpoint.dial = parse_dialled(raw.to, default_frame_port);
  } else if (!raw.listen.empty()) {
    options.endpoint.listen = parse_host_port(raw.listen, default_frame_port);
  }
  parse_endpoint_options(raw.common, options.endpoint);
  options.memory = parse_memory(raw.common);
}

/// Checks the pool size now, so that an excessive value fails before the source's first format is known.
void check_pool_size(const SenderOptions& options) {
  constexpr std::uint32_t most = max_pool_slots - pool_slots_for(0, 0);
  if (pool_slots_for(options.max_viewers, options.slots_per_viewer) > max_pool_slots) {
    throw Error::usage("--slots " + std::to_string(options.slots_per_viewer) + " for each of --viewers " +
                       std::to_string(options.max_viewers) + " makes " +
                       std::to_string(options.slots_per_viewer * options.max_viewers) + " frames in memory, and " +
                       std::to_string(most) + " are the most; take less of either");
  }
}

/// Whether --stats would overwrite what is sent, or the key.
void refuse_shared_files(const SenderOptions& options) {
  NamedFiles files;
  for (const SourceOptions& source : options.sources) {
    if (reads_standard_input(source.name)) {
      files.uses("SOURCE", source.name, STDIN_FILENO);
    } else if (const auto file = file_of_source(source.name)) {
      files.uses("SOURCE", source.name, *file);
    }
  }
  files.uses_key(key_file_of(options.endpoint));
  files.uses("--events", options.events.value_or(PortDescriptors{}));
  files.uses("--messages", options.messages.value_or(PortDescriptors{}));
  if (options.common.stats_file) {
    files.writes("--stats", *options.common.stats_file);
  }
  files.require_distinct();
}

}  // namespace

std::optional<SenderOptions> parse_sender_options(int argc, const char* const* argv) {
  CLI::App app{description(), "framewire-send"};
  RawOptions raw;
  describe_options(app, raw);
  describe_exchange_options(app, raw);
  raw.common.takes_gpu_memory = true;
  add_endpoint_options(app, raw.common);
  add_run_options(app, raw.common, "the first frame");
  app.footer(examples);
  if (!parse_command_line(app, argc, argv)) {
    return std::nullopt;
  }
  SenderOptions options;
  parse_source_options(raw, options);
  read_endpoint(raw, options);
  if (!raw.delivery.empty()) {
    options.delivery = delivery_from_name(raw.delivery);
    if (!options.delivery) {
      throw Error::usage("--delivery is " + quote(raw.delivery) + "; it takes latest or every");
    }
  }
  if (!raw.slots.empty()) {
    options.slots_per_viewer = static_cast<std::uint32_t>(parse_number(raw.slots, "--slots", 1, 64));
  }
  if (!raw.viewers.empty()) {
    options.max_viewers = static_cast<std::uint32_t>(parse_number(raw.viewers, "--viewers", 1, max_stream_viewers));
  }
  options.allows_pull = raw.allows_pull;
  if (raw.allows_pull && options.endpoint.encrypt) {
    throw Error::usage("--allow-pull lets viewers read frames over " + names_of_links_that(&LinkTraits::can_be_pulled) +
                       ", which is not encrypted, and --encrypt forbids that; leave out one of them");
  }
  if (raw.allows_pull && !first_link_that(&LinkTraits::can_be_pulled, options.endpoint.allowed_links)) {
    throw Error::usage("--transport is " + quote(raw.common.transport) + "; with --allow-pull, which is for " +
                       names_of_links_that(&LinkTraits::can_be_pulled) + ", it takes " +
                       transports_that(&LinkTraits::can_be_pulled));
  }
  if (!raw.events.empty()) {
    options.events = parse_output_port(raw.events, "--events");
  }
  if (!raw.messages.empty()) {
    options.messages = parse_port(raw.messages, "--messages");
  }
  // Viewers on this machine also pull by the link's own listener.
  options.endpoint.native_on_loopback = raw.allows_pull;
  check_pool_size(options);
  options.common = parse_run_options(raw.common);
  refuse_shared_files(options);
  return options;
}

}  // namespace framewire
