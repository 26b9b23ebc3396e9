#include "gl/device_parts.hpp"

#include <algorithm>
#include <array>
#include <cstddef>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "memory/fence_wait.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

constexpr std::uint64_t page_bytes = 4096;
constexpr std::int64_t longest_wait_ns = 2 * ns_per_s;

std::uint64_t whole_pages(std::uint64_t bytes) noexcept {
  return (bytes + page_bytes - 1) / page_bytes * page_bytes;
}

/// A GPU that hangs does not clear the memory.
std::shared_ptr<Block> allocate(const MemoryKind& memory, const std::string& purpose, std::uint64_t size_bytes) {
  const std::int64_t deadline_ns = monotonic_ns() + longest_wait_ns;
  return memory.allocate_private(purpose, size_bytes, [deadline_ns] { return monotonic_ns() >= deadline_ns; });
}

GLuint require_buffer(WrappedBlocks& wrapped, const std::shared_ptr<Block>& block) {
  const GLuint buffer = wrapped.find_or_wrap(block, 0, block->size_bytes());
  if (buffer == 0) {
    throw Error::failed("OpenGL does not import the GPU's memory: " + wrapped.refusal());
  }
  return buffer;
}

bool is_finished(Fence& fence, std::int64_t deadline_ns) {
  return wait_until_finished(fence, deadline_ns) == FenceState::done;
}

constexpr std::size_t trial_bytes = 64;
using Sample = std::array<std::byte, trial_bytes>;

Sample sample(std::uint8_t first) noexcept {
  Sample bytes{};
  std::ranges::generate(bytes, [next = first]() mutable { return std::byte{next++}; });
  return bytes;
}

}  // namespace

DeviceParts::DeviceParts(const MemoryKind& memory, const std::string& purpose, std::uint64_t part_bytes)
    : part_bytes_(whole_pages(part_bytes)),
      block_(allocate(memory, purpose, part_bytes_ * count)),
      buffer_(require_buffer(wrapped_, block_)) {}

std::optional<std::string> why_gpu_cannot_copy(const MemoryKind& memory) try {
  if (auto reason = WrappedBlocks::why_not(memory)) {
    return reason;
  }
  const auto host = HostBlock::create("a trial of the GPU's copies", trial_bytes);
  const DeviceParts parts(memory, "a trial of the GPU's copies", trial_bytes);
  const auto there = CopyRange{.to_offset_bytes = parts.offset_bytes(1), .size_bytes = trial_bytes};
  const auto back = CopyRange{.from_offset_bytes = parts.offset_bytes(1), .size_bytes = trial_bytes};
  const auto offset = static_cast<GLintptr>(parts.offset_bytes(1));
  drop_gl_errors();
  const Sample sent = sample(1);
  std::ranges::copy(sent, host->bytes().begin());
  Sample seen{};
  const std::int64_t deadline_ns = monotonic_ns() + longest_wait_ns;
  const bool came = is_finished(*parts.block()->copy_from_host(host, there), deadline_ns);
  glGetNamedBufferSubData(parts.buffer(), offset, trial_bytes, seen.data());
  if (!came || seen != sent) {
    return "OpenGL does not see what the GPU copied from host memory";
  }
  const Sample written = sample(101);
  glNamedBufferSubData(parts.buffer(), offset, trial_bytes, written.data());
  glFinish();
  const bool went = is_finished(*parts.block()->copy_to_host(host, back, nullptr), deadline_ns);
  if (!went || !std::ranges::equal(host->bytes().first(trial_bytes), written) || glGetError() != GL_NO_ERROR) {
    return "the GPU does not copy to host memory what OpenGL wrote";
  }
  return std::nullopt;
} catch (const std::exception& error) {
  return error.what();
}

}  // namespace framewire
