#include "gl/gpu_download.hpp"

#include <exception>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "memory/fence_wait.hpp"

namespace framewire {

namespace {

constexpr std::int64_t longest_copies_ns = 2 * ns_per_s;

const MemoryKind& tried(const MemoryKind& memory) {
  if (const auto reason = why_gpu_cannot_copy(memory)) {
    throw Error::failed(*reason);
  }
  return memory;
}

FenceState finished(Fence& fence, std::int64_t deadline_ns) noexcept {
  try {
    return wait_until_finished(fence, deadline_ns);
  } catch (const std::exception&) {  // no memory to wait with
    return fence.state();
  }
}

}  // namespace

GpuDownload::GpuDownload(const MemoryKind& memory, std::uint64_t picture_bytes)
    : parts_(tried(memory), "the readback of frames", picture_bytes) {
  for (Picture& picture : pictures_) {
    picture.copies.reserve(max_slices);
  }
}

void GpuDownload::settle() noexcept {
  const std::int64_t deadline_ns = monotonic_ns() + longest_copies_ns;
  for (const Picture& picture : pictures_) {
    for (const Copy& copy : picture.copies) {
      if (copy.fence != nullptr) {
        finished(*copy.fence, deadline_ns);
      }
    }
  }
}

void GpuDownload::begin(std::size_t part, std::shared_ptr<HostBlock> slot, std::uint64_t offset_bytes) noexcept {
  Picture& picture = pictures_.at(part);
  picture.slot = std::move(slot);
  picture.offset_bytes = offset_bytes;
  picture.copies.clear();
}

void GpuDownload::copy(std::size_t part, ByteRange range) noexcept {
  Picture& picture = pictures_.at(part);
  Copy& copy = picture.copies.emplace_back(Copy{.fence = {}, .range = range});
  try {
    copy.fence = parts_.block()->copy_to_host(picture.slot,
                                              {.from_offset_bytes = offset_bytes(part) + range.offset_bytes,
                                               .to_offset_bytes = picture.offset_bytes + range.offset_bytes,
                                               .size_bytes = range.size_bytes},
                                              nullptr);
  } catch (const std::exception&) {  // wait() finds no fence
  }
}

FenceState GpuDownload::wait(std::size_t part, std::size_t index, std::int64_t deadline_ns) noexcept {
  const Picture& picture = pictures_.at(part);
  const Copy& copy = picture.copies.at(index);
  const FenceState state = copy.fence == nullptr ? FenceState::failed : finished(*copy.fence, deadline_ns);
  if (state == FenceState::failed) {
    has_failed_ = true;
    copy_by_opengl(picture, part, copy.range);
    return find_gl_loss() ? FenceState::failed : FenceState::done;
  }
  return state;
}

void GpuDownload::copy_by_opengl(const Picture& picture, std::size_t part, ByteRange range) const noexcept {
  glGetNamedBufferSubData(parts_.buffer(), static_cast<GLintptr>(offset_bytes(part) + range.offset_bytes),
                          static_cast<GLsizeiptr>(range.size_bytes),
                          picture.slot->bytes().data() + picture.offset_bytes + range.offset_bytes);
}

}  // namespace framewire
