#include "media/png.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "base/text.hpp"
#include "frame/frame_layout.hpp"
#include "media/av_format.hpp"
#include "media/libav.hpp"

namespace framewire {

namespace {

using namespace libav;

/// The whole PNG file, or an error with libav's reason.
Packet encode(std::uint32_t width, std::uint32_t height, std::span<const std::byte> rgba) {
  const FrameLayout layout = packed_layout(PixelFormat::rgba, width, height);
  if (rgba.size() < layout.size_bytes) {
    throw Error::failed("a picture of " + std::to_string(width) + "x" + std::to_string(height) + " has more than " +
                        std::to_string(rgba.size()) + " bytes");
  }
  prepare();
  const AVCodec* codec = avcodec_find_encoder(AV_CODEC_ID_PNG);
  CodecContext encoder(codec != nullptr ? avcodec_alloc_context3(codec) : nullptr);
  if (!encoder) {
    throw Error::failed("this libav has no PNG encoder");
  }
  encoder->width = static_cast<int>(width);
  encoder->height = static_cast<int>(height);
  encoder->pix_fmt = AV_PIX_FMT_RGBA;
  encoder->time_base = {1, 1};
  encoder->compression_level = 1;  // fast: a screenshot must not delay the viewer
  const Frame frame = make_frame();
  describe_memory(layout, rgba.data(), *frame);
  Packet packet = make_packet();
  Messages messages;
  int code = avcodec_open2(encoder.get(), codec, nullptr);
  code = code < 0 ? code : avcodec_send_frame(encoder.get(), frame.get());
  code = code < 0 ? code : avcodec_send_frame(encoder.get(), nullptr);
  code = code < 0 ? code : avcodec_receive_packet(encoder.get(), packet.get());
  if (code < 0) {
    throw Error::failed(messages.reason(code));
  }
  return packet;
}

void write_all(int fd, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count = ::write(fd, bytes.data(), bytes.size());
    if (count < 0 && errno != EINTR) {
      throw Error::failed(errno_text(errno));
    }
    bytes = bytes.subspan(count > 0 ? static_cast<std::size_t>(count) : 0);
  }
}

/// Two simultaneous screenshots of the same name collide in the temporary file; O_EXCL makes this an error.
void write_beside_and_rename(const std::string& path, std::span<const std::byte> bytes) {
  const std::string beside = path + "." + std::to_string(::getpid()) + ".part";
  FileDescriptor file(::open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666));
  if (!file.valid()) {
    throw Error::failed(errno_text(errno));
  }
  try {
    write_all(file.get(), bytes);
    if (::rename(beside.c_str(), path.c_str()) != 0) {
      throw Error::failed(errno_text(errno));
    }
  } catch (const Error&) {
    ::unlink(beside.c_str());
    throw;
  }
}

}  // namespace

std::optional<std::string> write_png(const std::string& path, std::uint32_t width, std::uint32_t height,
                                     std::span<const std::byte> rgba) noexcept {
  try {
    const Packet packet = encode(width, height, rgba);
    write_beside_and_rename(path,
                            {reinterpret_cast<const std::byte*>(packet->data), static_cast<std::size_t>(packet->size)});
    return std::nullopt;
  } catch (const std::exception& error) {
    return "cannot write the screenshot " + quote(path, 200) + ": " + error.what();
  }
}

}  // namespace framewire
