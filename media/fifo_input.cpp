#include "media/fifo_input.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/pipe.hpp"
#include "base/text.hpp"
#include "base/wait.hpp"
#include "media/av_open.hpp"

namespace framewire::libav {

namespace {

constexpr int buffer_bytes = 1 << 16;
constexpr std::int64_t poll_interval_ns = 100 * ns_per_ms;  // for the interrupt

}  // namespace

FifoInput::FifoInput(const std::string& path, const Interrupt& interrupt)
    : fd_(::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)), interrupt_(&interrupt) {
  if (!fd_.valid()) {
    throw Error::failed("cannot open " + quote(path, 200) + ": " + errno_text(errno));
  }
  enlarge_pipe(fd_.get());
  auto* buffer = static_cast<std::uint8_t*>(av_malloc(buffer_bytes));
  context_ = buffer != nullptr ? avio_alloc_context(buffer, buffer_bytes, 0, this, read, nullptr, nullptr) : nullptr;
  if (context_ == nullptr) {
    av_free(buffer);
    throw Error::failed("out of memory for opening " + quote(path, 200));
  }
}

FifoInput::~FifoInput() {
  av_freep(&context_->buffer);  // libav may have replaced it
  avio_context_free(&context_);
}

int FifoInput::read(void* self, std::uint8_t* buffer, int size) noexcept {
  const auto& input = *static_cast<const FifoInput*>(self);
  for (;;) {
    if (input.interrupt_->is_asked()) {
      return AVERROR_EXIT;
    }
    // Polls first: before the first writer opens the pipe, read() reports an end of file but poll() waits.
    if (!wait_for(input.fd_.get(), POLLIN, monotonic_ns() + poll_interval_ns)) {
      continue;
    }
    const ssize_t got = ::read(input.fd_.get(), buffer, static_cast<std::size_t>(size));
    if (got > 0) {
      return static_cast<int>(got);
    }
    if (got == 0) {
      return AVERROR_EOF;
    }
    if (errno != EINTR && errno != EAGAIN) {
      return AVERROR(errno);
    }
  }
}

}  // namespace framewire::libav
