#include "gl/readback.hpp"

#include <algorithm>
#include <cassert>
#include <cstring>
#include <string>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"

namespace framewire {

namespace {

constexpr int readbacks_to_measure = 10;

/// Whether GL's writes to `buffer` appear in the wrapped memory. Overwrites the slot's first bytes.
bool takes_writes(GLuint buffer, std::uint64_t offset_bytes, std::span<std::byte> slot) noexcept {
  const std::size_t count = std::min<std::size_t>(slot.size(), 64);
  std::array<std::byte, 64> sent{};
  for (std::size_t i = 0; i < count; ++i) {
    sent.at(i) = ~slot[i];  // differs from the present content
  }
  glNamedBufferSubData(buffer, static_cast<GLintptr>(offset_bytes), static_cast<GLsizeiptr>(count), sent.data());
  glFinish();
  return std::memcmp(slot.data(), sent.data(), count) == 0 && glGetError() == GL_NO_ERROR;
}

}  // namespace

std::string_view name(ReadbackMethod method) noexcept {
  switch (method) {
    case ReadbackMethod::pinned_memory:
      return "pinned memory";
    case ReadbackMethod::gpu_copy:
      return "GPU copies";
    case ReadbackMethod::persistent_buffer:
      return "persistent buffers";
    case ReadbackMethod::device_memory:
      return "GPU memory";
  }
  return "unknown";
}

Readback::Readback(std::uint32_t width, std::uint32_t height, std::optional<ReadbackMethod> wanted,
                   std::uint16_t slices, const MemoryKind* device)
    : size_{width, height},
      slices_(possible_slices(size_bytes(), slices)),
      method_(wanted.value_or(ReadbackMethod::pinned_memory)) {
  require_drawable(size_);
  for (Entry& entry : entries_) {
    entry.fences.resize(slices_);
  }
  choose_method(wanted, device);
}

/// Copies by the GPU are the best where there is `device`: nobody names it where pinned memory would do.
void Readback::choose_method(std::optional<ReadbackMethod> wanted, const MemoryKind* device) {
  if (wanted == ReadbackMethod::gpu_copy && device == nullptr) {
    throw Error::failed("copies by the GPU need its memory; read back by persistent buffers");
  }
  if (device != nullptr && wanted.value_or(ReadbackMethod::gpu_copy) == ReadbackMethod::gpu_copy) {
    try {
      download_ = std::make_unique<GpuDownload>(*device, size_bytes());
      method_ = ReadbackMethod::gpu_copy;
      return;
    } catch (const std::exception&) {
      if (wanted) {
        throw;
      }
    }
  }
  if (method_ == ReadbackMethod::pinned_memory && !WrappedBlocks::takes_host_memory()) {
    if (wanted) {
      throw Error::failed("the OpenGL driver (" + gl_renderer() +
                          ") has no GL_AMD_pinned_memory; read back by persistent buffers");
    }
    method_ = ReadbackMethod::persistent_buffer;
  }
  if (method_ == ReadbackMethod::pinned_memory && !wanted) {
    // Tests memory of the same kind as slots, because some drivers pin only anonymous memory. So the method is known at
    // start.
    const auto sample = HostBlock::create("readback test", 4096);
    if (pinned_buffer(sample, 0, sample->bytes()) == 0) {
      method_ = ReadbackMethod::persistent_buffer;
    }
  }
  if (method_ == ReadbackMethod::persistent_buffer && !map_buffers()) {
    throw Error::failed("the OpenGL driver has no memory for three frames of " + format_bytes(size_bytes()) +
                        "; take a smaller --size");
  }
}

void Readback::settle() noexcept {
  if (download_) {
    download_->settle();
  }
}

Readback::~Readback() {
  if (count_ > 0) {
    glFinish();  // after this the slots belong to others
  }
}

void Readback::begin(const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes, std::span<std::byte> slot,
                     const ReadbackSource* source) noexcept {
  assert(count_ < max_in_flight && slot.size() >= size_bytes());
  const std::size_t index = (oldest_ + count_) % max_in_flight;
  const bool can_pin = method_ == ReadbackMethod::pinned_memory;
  const GLuint pinned = can_pin ? pinned_buffer(block, offset_bytes, slot) : 0;
  Entry& entry = entries_[index];
  entry.slot = slot.first(size_bytes());
  entry.must_copy = false;
  entry.is_gpu_copy = method_ == ReadbackMethod::gpu_copy && block != nullptr;
  if (entry.is_gpu_copy) {
    download_->begin(index, block, offset_bytes);
    begin(entry, download_->buffer(), download_->offset_bytes(index), slices_, source);
  } else if (pinned != 0) {
    begin(entry, pinned, offset_bytes, slices_, source);
  } else if (map_buffers()) {
    method_ = ReadbackMethod::persistent_buffer;
    entry.must_copy = true;
    begin(entry, mapped_[index].buffer.id(), 0, slices_, source);
  } else {
    // No memory for buffers: slow, but correct.
    begin(entry, 0, reinterpret_cast<std::uintptr_t>(slot.data()), slices_, source);
  }
}

bool Readback::begin_on_device(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                               const ReadbackSource* source) noexcept {
  assert(count_ < max_in_flight);
  const GLuint buffer = wrapped_.find_or_wrap(block, offset_bytes, size_bytes());
  if (buffer == 0) {
    return false;
  }
  method_ = ReadbackMethod::device_memory;
  Entry& entry = entries_[(oldest_ + count_) % max_in_flight];
  entry.slot = {};
  entry.must_copy = entry.is_gpu_copy = false;
  begin(entry, buffer, offset_bytes, 1, source);
  return true;
}

void Readback::begin(Entry& entry, GLuint buffer, std::uintptr_t target, std::uint16_t slices,
                     const ReadbackSource* source) noexcept {
  entry.begun_ns = monotonic_ns();
  entry.slices = slices;
  entry.slices_done = 0;
  read_slices(buffer, target, entry, source);
  glFlush();  // otherwise the commands wait in the driver until polled
  ++count_;
  if (measured_ < readbacks_to_measure) {
    issuing_ns_ += monotonic_ns() - entry.begun_ns;
  }
}

bool Readback::wait_finished(std::int64_t deadline_ns) noexcept {
  const std::size_t before = count_;
  while (wait_slice(deadline_ns)) {
    if (count_ < before) {
      return true;
    }
  }
  return false;
}

bool Readback::wait_slice(std::int64_t deadline_ns) noexcept {
  if (count_ == 0 || has_failed_) {
    return false;
  }
  Entry& entry = entries_[oldest_];
  const GpuWait result =
      entry.is_gpu_copy ? wait_gpu_copy(entry, deadline_ns) : entry.fences[entry.slices_done].wait(deadline_ns);
  has_failed_ = result == GpuWait::failed;
  if (result != GpuWait::done) {
    return false;
  }
  if (entry.must_copy) {
    const ByteRange slice = slice_range(size_bytes(), entry.slices, entry.slices_done);
    std::memcpy(entry.slot.data() + slice.offset_bytes, mapped_[oldest_].bytes + slice.offset_bytes, slice.size_bytes);
  }
  if (++entry.slices_done == entry.slices) {
    finish_oldest();
  }
  return true;
}

/// The GPU copies each slice once OpenGL has written it, also those behind the one that is waited for.
GpuWait Readback::wait_gpu_copy(Entry& entry, std::int64_t deadline_ns) noexcept {
  const auto start_written = [&](std::int64_t until_ns) {
    const auto next = static_cast<std::uint16_t>(download_->started(oldest_));
    const GpuWait written = next == entry.slices ? GpuWait::pending : entry.fences[next].wait(until_ns);
    if (written == GpuWait::done) {
      download_->copy(oldest_, slice_range(size_bytes(), entry.slices, next));
    }
    return written;
  };
  if (download_->started(oldest_) == entry.slices_done) {
    if (const GpuWait written = start_written(deadline_ns); written != GpuWait::done) {
      return written;
    }
  }
  while (start_written(0) == GpuWait::done) {
  }
  const FenceState copied = download_->wait(oldest_, entry.slices_done, deadline_ns);
  if (download_->has_failed()) {
    method_ = ReadbackMethod::persistent_buffer;
  }
  switch (copied) {
    case FenceState::done:
      return GpuWait::done;
    case FenceState::pending:
      return GpuWait::pending;
    case FenceState::failed:
      break;
  }
  return GpuWait::failed;
}

void Readback::finish_oldest() noexcept {
  const Entry& entry = entries_[oldest_];
  if (measured_ < readbacks_to_measure) {
    ++measured_;
    total_ns_ += monotonic_ns() - entry.begun_ns;
  }
  oldest_ = (oldest_ + 1) % max_in_flight;
  --count_;
}

bool Readback::is_synchronous() const noexcept {
  return measured_ == readbacks_to_measure && issuing_ns_ * 2 > total_ns_;
}

GLuint Readback::pinned_buffer(const std::shared_ptr<HostBlock>& block, std::uint64_t offset_bytes,
                               std::span<std::byte> slot) noexcept {
  const GLuint buffer = wrapped_.find_or_wrap(block, offset_bytes, slot.size());
  if (buffer != 0 && buffer != trusted_) {
    if (!takes_writes(buffer, offset_bytes, slot)) {
      return 0;
    }
    trusted_ = buffer;
  }
  return buffer;
}

/// Creates the three buffers if they do not exist.
bool Readback::map_buffers() noexcept {
  constexpr GLbitfield access = GL_MAP_READ_BIT | GL_MAP_PERSISTENT_BIT | GL_MAP_COHERENT_BIT;
  const auto size = static_cast<GLsizeiptr>(size_bytes());
  drop_gl_errors();
  for (Mapped& mapped : mapped_) {
    if (mapped.bytes != nullptr) {
      continue;
    }
    mapped.buffer = GlBuffer::create();
    // Client storage, because the CPU reads it and reading video memory is slow.
    glNamedBufferStorage(mapped.buffer.id(), size, nullptr, access | GL_CLIENT_STORAGE_BIT);
    const bool has_memory = glGetError() == GL_NO_ERROR;
    mapped.bytes = static_cast<const std::byte*>(glMapNamedBufferRange(mapped.buffer.id(), 0, size, access));
    if (mapped.bytes == nullptr || !has_memory) {
      mapped.bytes = nullptr;
      drop_gl_errors();
      return false;
    }
  }
  return true;
}

/// Each slice by the rows that complete it, and a fence behind them. `target` is an offset into the buffer, or without
/// one an address; GL takes both as a pointer.
void Readback::read_slices(GLuint buffer, std::uintptr_t target, Entry& entry,
                           const ReadbackSource* source) const noexcept {
  const bool is_written = source != nullptr && buffer != 0 && source->can_write(target);
  if (source != nullptr && !is_written) {
    source->draw_bytes();
  }
  glBindBuffer(GL_PIXEL_PACK_BUFFER, buffer);
  glPixelStorei(GL_PACK_ALIGNMENT, 4);
  glPixelStorei(GL_PACK_ROW_LENGTH, 0);
  std::uint32_t row = 0;
  for (std::uint16_t i = 0; i < entry.slices; ++i) {
    const std::uint32_t end = rows_until(entry, i);
    if (end > row && is_written) {
      source->write_rows(buffer, target, row, end);
    } else if (end > row) {
      glReadPixels(0, static_cast<GLint>(row), static_cast<GLsizei>(size_.width), static_cast<GLsizei>(end - row),
                   GL_RGBA, GL_UNSIGNED_BYTE, reinterpret_cast<void*>(target + row * row_bytes()));
    }
    entry.fences[i] = GlFence::insert();
    row = end;
  }
  glBindBuffer(GL_PIXEL_PACK_BUFFER, 0);
}

/// How many rows there are up to the one in which the slice ends.
std::uint32_t Readback::rows_until(const Entry& entry, std::uint16_t slice) const noexcept {
  return static_cast<std::uint32_t>((slice_range(size_bytes(), entry.slices, slice).end_bytes() + row_bytes() - 1) /
                                    row_bytes());
}

}  // namespace framewire
