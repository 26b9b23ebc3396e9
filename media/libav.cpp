#include "media/libav.hpp"

#include <array>
#include <cstdarg>
#include <cstdio>
#include <mutex>
#include <utility>

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

Messages::Messages() noexcept : outer_(std::exchange(current_messages, this)) {}
Messages::~Messages() {
  current_messages = outer_;
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
  const int length = std::vsnprintf(text.data(), text.size(), format, arguments);
  const bool is_cut = length >= static_cast<int>(text.size());
  current_messages->add(std::string(text.data()) + (is_cut ? "\n" : ""));
}

/// libav writes some lines in parts.
void Messages::add(std::string text) {
  const bool ends_line = text.ends_with('\n');
  if (is_open_) {
    text.insert(0, last_);
  }
  const bool is_first = first_.empty() || (is_open_ && first_ == last_);
  while (!text.empty() && (text.back() == '\n' || (ends_line && (text.back() == '.' || text.back() == ' ')))) {
    text.pop_back();
  }
  constexpr std::size_t longest_line = 400;
  is_open_ = !ends_line && !text.empty() && text.size() < longest_line;
  if (text.empty()) {
    return;
  }
  if (is_first) {
    first_ = text;
  }
  last_ = std::move(text);
}

}  // namespace framewire::libav
