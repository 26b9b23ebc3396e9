#include "media/av_open.hpp"

extern "C" {
#include <libavdevice/avdevice.h>
}

#include <algorithm>
#include <array>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "media/camera_modes.hpp"
#include "media/hw_decoder.hpp"
#include "media/input_name.hpp"
#include "media/picture_buffers.hpp"

namespace framewire::libav {

namespace {

constexpr std::int64_t open_limit_ns = 30 * ns_per_s;

/// Only inputs need devices and the network: a program that only writes files does not load their libraries.
void prepare_input() {
  static std::once_flag once;
  std::call_once(once, [] {
    prepare();
    avdevice_register_all();
    avformat_network_init();
  });
}

/// The arguments of avformat_open_input.
struct Address {
  std::string url;
  const AVInputFormat* format = nullptr;  // null: libav detects it
  bool is_file = false;
  bool is_fifo = false;
};

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
  return std::ranges::find(names, name) != names.end();
}

bool is_device(const AVInputFormat& format) noexcept {
  return format.priv_class != nullptr && AV_IS_INPUT_DEVICE(format.priv_class->category);
}

std::string_view protocol_of(const std::string& url) {
  const char* protocol = avio_find_protocol_name(url.c_str());
  return protocol != nullptr ? protocol : "";
}

bool is_network_protocol(std::string_view protocol) {
  return !protocol.empty() &&
         !is_one_of(protocol, {"file", "pipe", "fd", "data", "concat", "concatf", "subfile", "cache", "crypto", "md5"});
}

bool exists(const std::string& name) {
  std::error_code ignored;
  return std::filesystem::exists(name, ignored);
}

Address file_address(const std::string& name, const AVInputFormat* format = nullptr) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(name, ignored);
  if (std::filesystem::is_directory(status)) {
    throw Error::failed("cannot open " + quote(name) + ": it is a directory; name a file in it");
  }
  return {"file:" + name, format, true, std::filesystem::is_fifo(status)};
}

/// An existing file of that name takes precedence, then a protocol ("rtsp://…", although there is a format rtsp too),
/// then an input format.
Address find_address(const std::string& name) {
  if (exists(name)) {
    return file_address(name);
  }
  const auto prefix = split_prefix(name);
  if (!prefix) {
    return file_address(name);
  }
  const bool is_url = prefix->second.starts_with("//");
  if (is_url || !protocol_of(name).empty()) {
    if (protocol_of(name).empty() && av_find_input_format(prefix->first.c_str()) == nullptr) {
      throw Error::usage("cannot open " + quote(name) + ": this libav knows no protocol " + quote(prefix->first) +
                         "; ffmpeg -protocols lists those that it knows");
    }
    return {name, nullptr, false};
  }
  if (const AVInputFormat* format = av_find_input_format(prefix->first.c_str()); format != nullptr) {
    return {prefix->second, format, false};
  }
  throw Error::usage("there is no source " + quote(name) + ": " + quote(prefix->first) +
                     " is no input format or device here; a SOURCE is gl:NAME, pattern, -, a file, a URL or a device");
}

/// The same for a given format. Formats that open no file, such as devices, get the name unchanged.
Address find_address(const AvInputOptions& options) {
  if (options.format.empty()) {
    return find_address(options.name);
  }
  const AVInputFormat* format = av_find_input_format(options.format.c_str());
  if (format == nullptr) {
    throw Error::usage("--input-format is " + quote(options.format) +
                       ", which this libav does not know; ffmpeg -formats and ffmpeg -devices list what it knows");
  }
  const bool is_url = !exists(options.name) && split_prefix(options.name) && !protocol_of(options.name).empty();
  const bool opens_no_file = (format->flags & AVFMT_NOFILE) != 0;
  return opens_no_file || is_url ? Address{options.name, format} : file_address(options.name, format);
}

bool is_camera(const Address& address) {
  return address.format != nullptr && std::string_view(address.format->name).find("v4l2") != std::string_view::npos;
}

/// By default a camera keeps its last mode, often 640x480.
void choose_camera_mode(const AvInputOptions& options, const Address& address, Dictionary& dictionary) {
  const std::vector<CameraMode> modes = camera_modes(address.url);
  const CameraMode* mode = choose_camera_mode(modes, options.frames_per_s);
  if (mode == nullptr) {
    return;
  }
  dictionary.set("video_size", std::to_string(mode->size.width) + "x" + std::to_string(mode->size.height));
  dictionary.set("input_format", mode->format);
  if (mode->frames_per_s > 0 && options.frames_per_s == 0) {
    constexpr double max_frames_per_s = 60;
    dictionary.set("framerate", std::to_string(std::min(mode->frames_per_s, max_frames_per_s)));
  }
}

bool has_option(const AvInputOptions& options, std::string_view key) {
  return std::ranges::any_of(options.options, [&](const auto& option) { return option.first == key; });
}

void set_options(const AvInputOptions& options, const Address& address, Dictionary& dictionary) {
  if (is_camera(address) && options.size.width == 0 && !has_option(options, "video_size") &&
      !has_option(options, "input_format")) {
    choose_camera_mode(options, address, dictionary);
  }
  if (is_one_of(protocol_of(address.url), {"http", "https"})) {
    // A file continues where it was cut off. Endless inputs are reopened instead (AvRead::lost).
    dictionary.set("reconnect", "1");
    dictionary.set("reconnect_delay_max", "4");
  }
  if (options.size.width != 0) {
    dictionary.set("video_size", std::to_string(options.size.width) + "x" + std::to_string(options.size.height));
  }
  if (options.frames_per_s > 0) {
    dictionary.set("framerate", std::to_string(options.frames_per_s));
  }
  // Not for devices: most refuse a format that they lack. Their own format is converted.
  if (options.pixel_format && (address.format == nullptr || !is_device(*address.format))) {
    dictionary.set("pixel_format", std::string(info(*options.pixel_format).name));
  }
  for (const auto& [key, value] : options.options) {
    dictionary.set(key, value);
  }
}

/// The requested options that are still in `dictionary`.
Dictionary unused_options(const AvInputOptions& options, const Dictionary& dictionary) {
  Dictionary unused;
  for (const auto& [key, value] : options.options) {
    if (dictionary.has(key)) {
      unused.set(key, value);
    }
  }
  return unused;
}

Error open_error(const AvInputOptions& options, const Address& address, const Interrupt& interrupt,
                 const Messages& messages, int code) {
  const std::string start = "cannot open " + quote(options.name, 200) + ": ";
  if (interrupt.is_cancelled()) {
    return Error::failed(start + "it was stopped before there was an answer");
  }
  if (interrupt.is_late()) {
    return Error::failed(start + "no answer within 30 s; look whether it is running and can be reached");
  }
  if (code == AVERROR(ENOENT) && address.is_file) {
    return Error::failed(start + "there is no such file; a SOURCE is gl:NAME, pattern, -, or a file, URL or device");
  }
  if (code == AVERROR(ENOENT) && is_camera(address)) {
    return Error::failed(start + "there is no such device; `ls /dev/video*` shows the cameras");
  }
  const bool needs_size = messages.last().find("icture size") != std::string::npos ||
                          messages.last().find("ideo size") != std::string::npos;
  if (needs_size && options.size.width == 0) {
    return Error::failed(start + "raw frames do not say their size; say --size WxH (and --pix-fmt NAME, --fps N)");
  }
  if (code == AVERROR_INVALIDDATA) {
    return Error::failed(start + "it is not a video that libav knows, or it is damaged (" + messages.reason(code) +
                         "); `ffprobe` shows what is inside");
  }
  std::string why = error_text(code);
  if (!messages.last().empty() && messages.last().find(why) == std::string::npos) {
    why += " (" + messages.last() + ")";
  } else if (!messages.last().empty()) {
    why = messages.last();
  }
  if (messages.last().find("open display") != std::string::npos) {
    why += "; x11grab::0 is the display :0, see $DISPLAY";
  }
  return Error::failed(start + why);
}

void classify(const Address& address, OpenedInput& input) {
  const AVFormatContext& context = *input.context;
  const std::string_view format = context.iformat->name;
  const std::string_view protocol = protocol_of(address.url);
  const bool is_session = is_one_of(format, {"rtsp", "sdp", "rtp", "sap"});
  input.is_device = is_device(*context.iformat) && format != "lavfi";  // lavfi makes frames on demand: it can be paced
  input.is_network = is_session || is_network_protocol(protocol);
  const bool has_no_end = context.duration == AV_NOPTS_VALUE && (context.pb == nullptr || context.pb->seekable == 0);
  input.is_live = input.is_device || is_session ||
                  is_one_of(protocol, {"udp", "udplite", "rtp", "srtp", "srt", "rist", "rtmp", "rtmps", "rtmpt",
                                       "rtmpe", "mmsh", "mmst"}) ||
                  (input.is_network && has_no_end);
  // A connection closed by a dying server looks like a regular end. Playlists mark their end.
  const bool has_parts = is_one_of(format, {"hls", "dash"});
  input.ends_by_closing = input.is_network && input.is_live && !has_parts;
  input.can_seek = context.pb == nullptr || context.pb->seekable != 0 || has_parts;
}

}  // namespace

bool Interrupt::is_late() const noexcept {
  const std::int64_t deadline_ns = deadline_ns_;
  return deadline_ns != 0 && monotonic_ns() > deadline_ns;
}

int OpenedInput::io_error() const noexcept {
  const AVIOContext* io = context->pb;
  return io != nullptr && io->error < 0 && io->error != AVERROR_EOF ? io->error : 0;
}

int Interrupt::check(void* self) noexcept {
  const auto* interrupt = static_cast<const Interrupt*>(self);
  return interrupt->is_asked() ? 1 : 0;
}

OpenedInput open_input(const AvInputOptions& options, Interrupt& interrupt, Log& log) {
  prepare_input();
  const Address address = find_address(options);
  Dictionary dictionary;
  set_options(options, address, dictionary);
  const bool asked_for_rate = dictionary.has("framerate");
  OpenedInput input;
  if (address.is_fifo) {
    input.fifo = std::make_unique<FifoInput>(options.name, interrupt);
    log.info(quote(options.name, 200) + " is a named pipe; it begins when somebody writes into it");
  }
  AVFormatContext* raw = avformat_alloc_context();
  if (raw == nullptr) {
    throw Error::failed("out of memory for opening " + quote(options.name));
  }
  raw->interrupt_callback = interrupt.callback();
  if (input.fifo) {
    raw->pb = input.fifo->context();
    raw->flags |= AVFMT_FLAG_CUSTOM_IO;
  }
  if (is_camera(address)) {
    raw->flags |=
        AVFMT_FLAG_NONBLOCK;  // a stalled camera would block in the driver, which does not check the interrupt
  }
  // Waits without limit for the writer of a pipe.
  interrupt.set_deadline_ns(address.is_fifo ? 0 : monotonic_ns() + open_limit_ns);
  Messages messages;
  int code = avformat_open_input(&raw, address.url.c_str(), address.format, dictionary.get());
  if (code < 0) {
    throw open_error(options, address, interrupt, messages, code);
  }
  input.context.reset(raw);
  input.unused_options = unused_options(options, dictionary);
  code = avformat_find_stream_info(raw, nullptr);
  if (code < 0 || interrupt.is_cancelled()) {
    throw open_error(options, address, interrupt, messages, code);
  }
  input.takes_frame_rate = asked_for_rate && !dictionary.has("framerate");
  classify(address, input);
  if (input.is_network && !input.is_live && input.io_error() != 0) {
    throw open_error(options, address, interrupt, messages, input.io_error());  // parts may be missing in between
  }
  interrupt.set_deadline_ns(0);
  return input;
}

namespace {

/// The names in a dictionary, between quotation marks.
std::string names_in(Dictionary& dictionary) {
  std::string names;
  const AVDictionaryEntry* entry = nullptr;
  while ((entry = av_dict_get(*dictionary.get(), "", entry, AV_DICT_IGNORE_SUFFIX)) != nullptr) {
    names += (names.empty() ? "" : " and ") + quote(entry->key);
  }
  return names;
}

void choose_threads(AVCodecContext& decoder, const AVStream& stream, bool is_live) {
  decoder.thread_count = static_cast<int>(std::clamp(std::thread::hardware_concurrency(), 1U, 16U));
  if (is_live) {
    // Frame threads delay pictures by one per thread, which is bad for live inputs. Beyond HD one thread is too slow
    // for most codecs, so a few threads are used.
    constexpr int hd_pixels = 1920 * 1088;
    constexpr int live_threads = 4;
    const bool is_beyond_hd =
        stream.codecpar->width > 0 && stream.codecpar->height > hd_pixels / stream.codecpar->width;
    decoder.thread_type = is_beyond_hd ? decoder.thread_type : FF_THREAD_SLICE;
    decoder.thread_count = std::min(decoder.thread_count, live_threads);
    decoder.flags |= AV_CODEC_FLAG_LOW_DELAY;
  }
}

}  // namespace

CodecContext open_decoder(const std::string& name, const AVStream& stream, const OpenedInput& input,
                          DecoderOwner& owner, const AVCodec* codec) {
  const std::string codec_name = avcodec_get_name(stream.codecpar->codec_id);
  const bool is_on_device = codec != nullptr;
  codec = is_on_device ? codec : avcodec_find_decoder(stream.codecpar->codec_id);
  if (codec == nullptr) {
    throw Error::failed("cannot play " + quote(name) + ": this libav has no decoder for " + codec_name +
                        "; convert it first, for instance to H.264");
  }
  CodecContext decoder(avcodec_alloc_context3(codec));
  if (!decoder || avcodec_parameters_to_context(decoder.get(), stream.codecpar) < 0) {
    throw Error::failed("out of memory for decoding " + quote(name));
  }
  decoder->opaque = &owner;
  decoder->pkt_timebase = stream.time_base;
  choose_threads(*decoder, stream, input.is_live);
  Dictionary options = input.unused_options.copy();
  if (is_on_device) {
    owner.hardware->attach(*decoder);
    options.remove("threads");
  } else {
    PictureBuffers::attach(*decoder);
  }
  const Messages messages;
  if (const int code = avcodec_open2(decoder.get(), codec, options.get()); code < 0) {
    throw Error::failed("cannot play " + quote(name) + ": its " + codec_name + " stream cannot be decoded (" +
                        messages.reason(code) + ")");
  }
  if (const std::string unused = names_in(options); !unused.empty()) {
    const std::string format = input.context->iformat->name;
    throw Error::usage("--input-option gives " + unused + ", which the input format " + format +
                       ", its protocol and the decoder " + codec->name + " do not know; see ffmpeg -h demuxer=" +
                       format.substr(0, format.find(',')) + " and decoder=" + codec->name);
  }
  return decoder;
}

int find_video(const std::string& name, AVFormatContext& context) {
  const int index = av_find_best_stream(&context, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  if (index < 0) {
    const bool has_audio = av_find_best_stream(&context, AVMEDIA_TYPE_AUDIO, -1, -1, nullptr, 0) >= 0;
    throw Error::failed("cannot play " + quote(name) + ": there is no video in it" +
                        (has_audio ? ", only sound, which framewire does not carry" : ""));
  }
  for (unsigned i = 0; i < context.nb_streams; ++i) {
    context.streams[i]->discard = static_cast<int>(i) == index ? AVDISCARD_DEFAULT : AVDISCARD_ALL;
  }
  return index;
}

}  // namespace framewire::libav
