#include "gl/gpu_copies.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <utility>

#include "base/error.hpp"
#include "base/wait.hpp"
#include "gl/device_parts.hpp"
#include "gl/device_uuid.hpp"
#include "gl/wrapped_blocks.hpp"
#include "memory/host_block.hpp"

namespace framewire {

namespace {

constexpr std::chrono::seconds longest_end{1};

}  // namespace

struct GpuCopies::Shared {
  std::vector<DeviceUuid> devices;  // of the context
  OpenDeviceMemory open;
  std::unique_ptr<const MemoryKind> owned;

  std::mutex mutex;  // guards what follows
  std::condition_variable changed;
  const MemoryKind* memory = nullptr;
  std::optional<std::string> why_not;
  std::vector<std::weak_ptr<PreparedMemory>> known;
  std::deque<std::weak_ptr<PreparedMemory>> waiting;  // expired: nobody uses it any more
  std::vector<std::shared_ptr<const PreparedMemory>> released;
  bool is_stopping = false;
  bool has_ended = false;
};

GpuCopies::GpuCopies(const MemoryKind& memory) : shared_(std::make_shared<Shared>()) {
  shared_->memory = &memory;
  thread_ = std::thread([shared = shared_] { run(*shared); });
}

GpuCopies::GpuCopies(OpenDeviceMemory open) : shared_(std::make_shared<Shared>()) {
  shared_->devices = devices_of_context();
  shared_->open = std::move(open);
  thread_ = std::thread([shared = shared_] { run(*shared); });
}

GpuCopies::~GpuCopies() {
  std::unique_lock lock(shared_->mutex);
  shared_->is_stopping = true;
  shared_->changed.notify_all();
  const bool has_ended = shared_->changed.wait_for(lock, longest_end, [&] { return shared_->has_ended; });
  lock.unlock();
  if (has_ended) {
    thread_.join();
  } else {
    thread_.detach();
  }
}

const MemoryKind* GpuCopies::memory() {
  const MemoryKind* found = nullptr;
  {
    const std::scoped_lock lock(shared_->mutex);
    found = shared_->memory;
  }
  if (found == nullptr || std::exchange(was_tried_, true)) {
    return found;
  }
  if (const auto reason = why_gpu_cannot_copy(*found)) {
    refuse(*reason);
    return nullptr;
  }
  return found;
}

std::shared_ptr<const PreparedMemory> GpuCopies::prepare(const std::shared_ptr<const Block>& host) {
  const std::scoped_lock lock(shared_->mutex);
  if (shared_->why_not) {
    return nullptr;
  }
  std::erase_if(shared_->known, [](const auto& one) { return one.expired(); });
  for (const auto& one : shared_->known) {
    if (auto found = one.lock(); found != nullptr && found->block == host) {
      return found;
    }
  }
  auto made = std::make_shared<PreparedMemory>();
  made->block = host;
  shared_->known.push_back(made);
  shared_->waiting.push_back(made);
  shared_->changed.notify_all();
  return made;
}

void GpuCopies::release(std::shared_ptr<const PreparedMemory> prepared) {
  if (prepared == nullptr || !prepared->is_ready.load(std::memory_order_acquire)) {
    return;  // nothing of it takes long
  }
  const std::scoped_lock lock(shared_->mutex);
  shared_->released.push_back(std::move(prepared));
  shared_->changed.notify_all();
}

void GpuCopies::refuse(const std::string& reason) {
  const std::scoped_lock lock(shared_->mutex);
  shared_->memory = nullptr;
  shared_->why_not = shared_->why_not.value_or(reason);
  shared_->waiting.clear();
}

std::optional<std::string> GpuCopies::why_not() const {
  const std::scoped_lock lock(shared_->mutex);
  return shared_->why_not;
}

// ---- The thread "fw-gpu-copies" ----

void GpuCopies::run(Shared& shared) noexcept {
  set_thread_name("fw-gpu-copies");
  open_memory(shared);
  std::unique_lock lock(shared.mutex);
  for (;;) {
    shared.changed.wait(lock, [&] {
      return shared.is_stopping || !shared.released.empty() || (!shared.waiting.empty() && shared.memory != nullptr);
    });
    if (shared.is_stopping) {
      break;
    }
    auto released = std::exchange(shared.released, {});
    std::shared_ptr<PreparedMemory> next;
    const MemoryKind* const memory = shared.memory;
    if (memory != nullptr && !shared.waiting.empty()) {
      next = shared.waiting.front().lock();
      shared.waiting.pop_front();
    }
    lock.unlock();
    released.clear();
    if (next != nullptr) {
      try {
        next->keeps = memory->prepare_copies({next->block, next->block->host()});
        next->is_ready.store(true, std::memory_order_release);
      } catch (const std::exception&) {  // this block stays as it is; another may do
      }
      next.reset();
    }
    lock.lock();
  }
  shared.has_ended = true;
  shared.changed.notify_all();
}

void GpuCopies::open_memory(Shared& shared) noexcept {
  if (!shared.open) {
    return;
  }
  std::string reason = "no GPU that CUDA can use draws here";
  try {
    shared.owned = open_first(shared.devices, shared.open);
  } catch (const std::exception& error) {
    reason = error.what();
  }
  const std::scoped_lock lock(shared.mutex);
  if (shared.owned == nullptr) {
    shared.why_not = std::move(reason);
    return;
  }
  shared.memory = shared.owned.get();
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
