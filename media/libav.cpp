#include "media/libav.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>

#include "base/error.hpp"

namespace framewire::libav {

namespace {

/// libav has one log callback per process and passes it no user pointer, so messages are assigned by thread.
thread_local Messages* current_messages = nullptr;

/// The counter of the logging decoder, if it is ours. The contexts of its threads are copies with the same `opaque`.
std::atomic<std::uint64_t>* counter_of(void* object) noexcept {
  if (object == nullptr || *static_cast<const AVClass**>(object) != avcodec_get_class()) {
    return nullptr;
  }
  auto* owner = static_cast<DecoderOwner*>(static_cast<AVCodecContext*>(object)->opaque);
  return owner != nullptr ? &owner->complaints : nullptr;
}

}  // namespace

Frame make_frame() {
  Frame frame(av_frame_alloc());
  if (!frame) {
    throw Error::failed("out of memory for a frame of libav");
  }
  return frame;
}

Packet make_packet() {
  Packet packet(av_packet_alloc());
  if (!packet) {
    throw Error::failed("out of memory for a packet of libav");
  }
  return packet;
}

void prepare() {
  static std::once_flag once;
  std::call_once(once, [] { av_log_set_callback(Messages::receive); });
}

std::string error_text(int code) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(code, text.data(), text.size());
  return text.data();
}

Messages::Messages() noexcept {
  current_messages = this;
}
Messages::~Messages() {
  current_messages = nullptr;
}

std::string Messages::reason(int code) const {
  return last_.empty() ? error_text(code) : last_;
}

void Messages::receive(void* object, int level, const char* format, va_list arguments) {
  if (level > AV_LOG_ERROR) {
    return;
  }
  if (std::atomic<std::uint64_t>* count = counter_of(object); count != nullptr) {
    ++*count;
  }
  if (current_messages == nullptr) {
    return;
  }
  std::array<char, 240> text{};
  std::vsnprintf(text.data(), text.size(), format, arguments);
  std::string line(text.data());
  while (!line.empty() && (line.back() == '\n' || line.back() == '.' || line.back() == ' ')) {
    line.pop_back();
  }
  if (!line.empty()) {
    current_messages->last_ = std::move(line);
  }
}

}  // namespace framewire::libav
