#include "gl/gpu_copies.hpp"

#include <exception>
#include <utility>

#include "base/error.hpp"
#include "base/wait.hpp"
#include "gl/device_parts.hpp"
#include "gl/device_uuid.hpp"
#include "gl/wrapped_blocks.hpp"
#include "memory/host_block.hpp"

namespace framewire {

GpuCopies::GpuCopies(const MemoryKind& memory) : memory_(&memory), thread_([this] { run(); }) {}

GpuCopies::GpuCopies(OpenDeviceMemory open)
    : devices_(devices_of_context()), open_(std::move(open)), thread_([this] { run(); }) {}

GpuCopies::~GpuCopies() {
  {
    const std::scoped_lock lock(mutex_);
    is_stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

const MemoryKind* GpuCopies::memory() {
  const MemoryKind* found = nullptr;
  {
    const std::scoped_lock lock(mutex_);
    found = memory_;
  }
  if (found == nullptr || std::exchange(was_tried_, true)) {
    return found;
  }
  if (auto reason = why_gpu_cannot_copy(*found)) {
    refuse(std::move(*reason));
    return nullptr;
  }
  return found;
}

std::shared_ptr<const PreparedMemory> GpuCopies::prepare(const std::shared_ptr<const Block>& host) {
  const std::scoped_lock lock(mutex_);
  if (why_not_) {
    return nullptr;
  }
  std::erase_if(known_, [](const auto& one) { return one.expired(); });
  for (const auto& one : known_) {
    if (auto found = one.lock(); found != nullptr && found->block == host) {
      return found;
    }
  }
  auto made = std::make_shared<PreparedMemory>();
  made->block = host;
  known_.push_back(made);
  waiting_.push_back(made);
  changed_.notify_all();
  return made;
}

void GpuCopies::release(std::shared_ptr<const PreparedMemory> prepared) {
  if (prepared == nullptr) {
    return;
  }
  const std::scoped_lock lock(mutex_);
  released_.push_back(std::move(prepared));
  changed_.notify_all();
}

std::optional<std::string> GpuCopies::why_not() const {
  const std::scoped_lock lock(mutex_);
  return why_not_;
}

void GpuCopies::refuse(std::string reason) {
  const std::scoped_lock lock(mutex_);
  memory_ = nullptr;
  why_not_ = std::move(reason);
  waiting_.clear();
}

void GpuCopies::run() noexcept {
  set_thread_name("fw-gpu-copies");
  open_memory();
  for (;;) {
    std::vector<std::shared_ptr<const PreparedMemory>> released;
    std::shared_ptr<PreparedMemory> next;
    const MemoryKind* memory = nullptr;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock,
                    [&] { return is_stopping_ || !released_.empty() || (!waiting_.empty() && memory_ != nullptr); });
      if (is_stopping_) {
        return;
      }
      released.swap(released_);
      if (memory = memory_; memory != nullptr && !waiting_.empty()) {
        next = std::move(waiting_.front());
        waiting_.pop_front();
      }
    }
    released.clear();
    if (next == nullptr || next.use_count() == 1) {  // nobody uses it any more
      continue;
    }
    try {
      next->keeps = memory->prepare_copies({next->block, next->block->host()});
      next->is_ready.store(true, std::memory_order_release);
    } catch (const std::exception&) {  // this block stays as it is; another may do
    }
  }
}

void GpuCopies::open_memory() noexcept try {
  if (!open_) {
    return;
  }
  owned_ = open_first(devices_, open_);
  if (owned_ == nullptr) {
    refuse("no GPU that CUDA can use draws here");
    return;
  }
  const std::scoped_lock lock(mutex_);
  memory_ = owned_.get();
} catch (const std::exception& error) {
  refuse(error.what());
}

bool gains_by_gpu_copies() noexcept {
  return !WrappedBlocks::takes_host_memory() && GLAD_GL_EXT_memory_object != 0 && GLAD_GL_EXT_memory_object_fd != 0;
}

std::unique_ptr<GpuCopies> make_gpu_copies(const MemoryKind* memory, const OpenDeviceMemory& open) {
  if (memory != nullptr && !WrappedBlocks::why_not(*memory)) {
    return std::make_unique<GpuCopies>(*memory);
  }
  return open && gains_by_gpu_copies() ? std::make_unique<GpuCopies>(open) : nullptr;
}

std::unique_ptr<const MemoryKind> open_first(const std::vector<DeviceUuid>& devices, const OpenDeviceMemory& open) {
  for (const DeviceUuid& device : devices) {
    if (auto found = open(device)) {
      return found;
    }
  }
  return nullptr;
}

}  // namespace framewire
