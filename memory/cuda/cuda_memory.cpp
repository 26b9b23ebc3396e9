#include "memory/cuda/cuda_memory.hpp"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "memory/fence_wait.hpp"
#include "memory/out_of_memory.hpp"

namespace framewire {

namespace {

constexpr std::int64_t longest_clear_ns = 10 * ns_per_s;

/// For work that takes milliseconds, while a program sets up.
void wait_for_end(Fence& fence, const StopCheck& stop, const std::string& purpose) {
  const FenceState state = wait_until_finished(fence, monotonic_ns() + longest_clear_ns, stop);
  if (state == FenceState::pending && stop && stop()) {
    throw AllocationStopped(purpose);
  }
  if (state != FenceState::done) {
    throw Error::failed("the GPU did not clear the memory for " + purpose);
  }
}

std::shared_ptr<const CudaDevice> device_that_shares(const CudaDeviceInfo& info) {
  if (!info.shares_memory) {
    throw Error::failed("the memory of the GPU " + info.name +
                        " cannot be shared with other processes: CUDA's virtual memory management with descriptors is "
                        "missing here");
  }
  return std::make_shared<const CudaDevice>(info);
}

/// "NVIDIA H200 (0000:3b:00.0)": two GPUs of a machine may have the same name.
template <typename Gpu>
std::string label_of(const Gpu& gpu) {
  return gpu.name + " (" + gpu.pci_address + ")";
}

}  // namespace

// ---- Blocks ----

CudaBlock::CudaBlock(const CudaMemory& kind, std::unique_ptr<const CudaMapping> mapping, std::uint64_t size_bytes,
                     FileDescriptor exported, bool is_shared)
    : Block(size_bytes),
      kind_(kind),
      mapping_(std::move(mapping)),
      exported_(std::move(exported)),
      is_shared_(is_shared) {}

CudaBlock::~CudaBlock() = default;

const MemoryKind& CudaBlock::kind() const noexcept {
  return kind_;
}

OpaqueMemory CudaBlock::for_opengl() const {
  if (is_on_other_device()) {
    throw Error::failed("OpenGL cannot import the memory of another GPU, " + label_of(*mapping_->peer()));
  }
  FileDescriptor descriptor = duplicate(exported_.get());
  if (!descriptor.valid()) {
    throw Error::from_errno("duplicate the descriptor of a GPU's memory", errno);
  }
  return {.descriptor = std::move(descriptor), .size_bytes = size_bytes()};
}

RegisteredAs CudaBlock::registered_as() const {
  const CudaDeviceInfo& gpu = kind_.device()->info();
  RegisteredAs as{.address = address(), .device = "the GPU " + gpu.name};
  as.export_for_data_direct = [this] { return export_for_data_direct(); };
  // CUDA's order of writes and its flush know one way of writes, and where there are more, neither says anything
  // (cuda.h, at cuFlushGPUDirectRDMAWrites).
  as.needs_read_back = gpu.shares_page_tables || (!gpu.orders_rdma_writes && !gpu.flushes_rdma_writes);
  if (!gpu.exports_dma_buf) {
    as.no_dma_buf = "the GPU exports none";
  } else {
    try {
      as.dma_buf = mapping_->export_dma_buf(DmaBufMapping::any);
    } catch (const Error& error) {
      as.no_dma_buf = error.what();
    }
  }
  if (!gpu.takes_gpu_direct_rdma) {
    as.not_pinned = "nvidia-peermem cannot pin this GPU's memory";
  } else if (!kind_.has_peer_memory()) {
    as.not_pinned = "nvidia-peermem is not loaded";
  } else {
    as.pinned = reinterpret_cast<void*>(address());
  }
  return as;
}

FileDescriptor CudaBlock::export_for_data_direct() const {
  const CudaDeviceInfo& gpu = kind_.device()->info();
  if (!gpu.exports_dma_buf) {
    throw Error::failed("the GPU exports no DMA-BUF");
  }
  if (!gpu.knows_pcie_mapping) {
    throw Error::failed("the GPU's driver is older than CUDA 12.8");
  }
  return mapping_->export_dma_buf(DmaBufMapping::by_pcie);
}

void CudaBlock::make_writes_visible() const {
  const CudaDevice& gpu = *kind_.device();
  if (gpu.info().orders_rdma_writes || !gpu.info().flushes_rdma_writes) {
    return;
  }
  try {
    const CurrentContext current(gpu);
    cuda::require(gpu.functions().cuFlushGPUDirectRDMAWrites(cuda::flush_target_current_context, cuda::flush_to_owner),
                  "cuFlushGPUDirectRDMAWrites");
  } catch (const Error&) {
    kind_.work().look_for_loss();
    throw;
  }
}

std::shared_ptr<Fence> CudaBlock::copy_to_host(std::shared_ptr<HostBlock> into, CopyRange range,
                                               std::shared_ptr<Fence> after) const {
  const std::shared_ptr<const Kept> keeps = kept_by_copy(into);
  std::byte* const to = into->bytes().data();
  auto fence = std::make_shared<Fence>();
  if (after == nullptr) {
    start_copy(to, range, fence, keeps);
    return fence;
  }
  after->when_finished([self = shared_from_this(), to, range, fence, keeps](FenceState filled) {
    if (filled != FenceState::done) {
      fence->finish(FenceState::failed);
      return;
    }
    try {
      self->start_copy(to, range, fence, keeps);
    } catch (const std::exception&) {
      fence->finish(FenceState::failed);
    }
  });
  return fence;
}

void CudaBlock::start_copy(std::byte* into, CopyRange range, const std::shared_ptr<Fence>& fence,
                           const std::shared_ptr<const Kept>& keeps) const {
  const auto copy = [&](cuda::Stream stream) {
    cuda::require(kind_.device()->functions().cuMemcpyDtoHAsync(
                      into + range.to_offset_bytes, address() + range.from_offset_bytes, range.size_bytes, stream),
                  "cuMemcpyDtoHAsync");
  };
  kind_.work().start(copy, fence, keeps);
}

std::shared_ptr<Fence> CudaBlock::copy_from_host(std::shared_ptr<const HostBlock> from, CopyRange range) {
  const std::byte* const bytes = from->bytes().data();
  const std::shared_ptr<const Kept> keeps = kept_by_copy(std::move(from));
  auto fence = std::make_shared<Fence>();
  const auto copy = [&](cuda::Stream stream) {
    cuda::require(kind_.device()->functions().cuMemcpyHtoDAsync(
                      address() + range.to_offset_bytes, bytes + range.from_offset_bytes, range.size_bytes, stream),
                  "cuMemcpyHtoDAsync");
  };
  kind_.work().start(copy, fence, keeps);
  return fence;
}

std::shared_ptr<Fence> CudaBlock::copy_to_device(const std::shared_ptr<Block>& into, CopyRange range) const {
  const cuda::Address to = dynamic_cast<const CudaBlock&>(*into).address();
  const auto keeps = std::make_shared<const Kept>(Kept{.block = shared_from_this(), .other_end = into});
  auto fence = std::make_shared<Fence>();
  const auto copy = [&](cuda::Stream stream) {
    cuda::require(kind_.device()->functions().cuMemcpyDtoDAsync(
                      to + range.to_offset_bytes, address() + range.from_offset_bytes, range.size_bytes, stream),
                  "cuMemcpyDtoDAsync");
  };
  kind_.work().start(copy, fence, keeps);
  return fence;
}

/// Copies of memory that is not registered are slower, and block the thread that starts them. So a failure is one of
/// the whole copy.
std::shared_ptr<const CudaBlock::Kept> CudaBlock::kept_by_copy(std::shared_ptr<const HostBlock> host) const {
  std::shared_ptr<CudaHostRegistration> registration;
  {
    const std::scoped_lock lock(mutex_);
    if (registration_ == nullptr || registration_->host() != host.get()) {
      registration_ = CudaHostRegistration::find_or_create(kind_.device(), std::move(host));
    }
    registration = registration_;
  }
  try {
    registration->require();
  } catch (const Error&) {
    kind_.work().look_for_loss();
    throw;
  }
  return std::make_shared<Kept>(Kept{.block = shared_from_this(), .other_end = std::move(registration)});
}

// ---- The kind ----

CudaMemory::CudaMemory(const CudaDeviceInfo& device, SystemFiles files)
    : device_(device_that_shares(device)),
      files_(std::move(files)),
      granularity_bytes_(CudaMapping::granularity_bytes(*device_)),
      work_(device_) {}

std::optional<std::string> CudaMemory::failure() const {
  const cuda::Result said = work_.loss();
  if (said == cuda::Result::success) {
    return std::nullopt;
  }
  return "the GPU " + device_->info().name + " is lost: " + cuda::words_of(said) +
         "; see dmesg for an Xid, then start this program again";
}

std::string CudaMemory::take_note() const {
  const std::scoped_lock lock(mutex_);
  return notes_taken_ < notes_.size() ? notes_[notes_taken_++] : std::string();
}

bool CudaMemory::imports_from(const DeviceUuid& device) const noexcept {
  return MemoryKind::imports_from(device) ||
         std::ranges::find(device_->info().peers, device, &CudaPeer::uuid_bytes) != device_->info().peers.end();
}

bool CudaMemory::has_peer_memory() const {
  return files_.exists("/sys/module/nvidia_peermem/version");
}

std::uint64_t CudaMemory::whole_bytes(std::uint64_t size_bytes) const {
  const std::uint64_t units = size_bytes / granularity_bytes_ + (size_bytes % granularity_bytes_ != 0 ? 1 : 0);
  if (size_bytes == 0 || units > UINT64_MAX / granularity_bytes_) {
    throw Error::failed("a block of " + format_bytes(size_bytes) + " cannot be allocated on a GPU");
  }
  return units * granularity_bytes_;
}

std::shared_ptr<Block> CudaMemory::allocate(const std::string& purpose, std::uint64_t size_bytes,
                                            const StopCheck& stop) const {
  return make(purpose, size_bytes, true, stop);
}

std::shared_ptr<Block> CudaMemory::allocate_private(const std::string& purpose, std::uint64_t size_bytes,
                                                    const StopCheck& stop) const {
  return make(purpose, size_bytes, false, stop);
}

/// Cleared, because a viewer maps all of it: also what this process had there before.
std::shared_ptr<CudaBlock> CudaMemory::make(const std::string& purpose, std::uint64_t size_bytes, bool is_shared,
                                            const StopCheck& stop) const try {
  const std::uint64_t whole = whole_bytes(size_bytes);
  auto mapping = std::make_unique<const CudaMapping>(device_, whole);
  FileDescriptor exported = mapping->export_descriptor();
  auto block = std::make_shared<CudaBlock>(*this, std::move(mapping), whole, std::move(exported), is_shared);
  const auto fence = std::make_shared<Fence>();
  const auto clear = [&](cuda::Stream stream) {
    cuda::require(device_->functions().cuMemsetD8Async(block->address(), 0, whole, stream), "cuMemsetD8Async");
  };
  work_.start(clear, fence, block);
  wait_for_end(*fence, stop, purpose);
  return block;
} catch (const AllocationStopped&) {
  throw;
} catch (const OutOfMemory& error) {
  throw OutOfMemory("memory for " + purpose + ": " + error.what());
} catch (const Error& error) {
  work_.look_for_loss();
  require_device();
  throw error.with_context("memory for " + purpose);
}

std::shared_ptr<const void> CudaMemory::prepare_copies(const std::shared_ptr<const HostBlock>& host) const {
  auto registration = CudaHostRegistration::find_or_create(device_, host);
  registration->require();
  return registration;
}

void CudaMemory::note(const std::string& text) const {
  const std::scoped_lock lock(mutex_);
  if (std::ranges::find(notes_, text) == notes_.end()) {
    notes_.push_back(text);
  }
}

std::shared_ptr<const Block> CudaMemory::import(FileDescriptor descriptor, std::uint64_t size_bytes) const try {
  const std::uint64_t whole = whole_bytes(size_bytes);
  auto mapping = std::make_unique<const CudaMapping>(device_, whole, descriptor);
  if (const std::string& why = mapping->why_writable(); !why.empty()) {
    note("maps the sender's memory for writing, too, because the driver of the GPU " + device_->info().name +
         " refuses to map it for reading only: " + why);
  }
  if (const CudaPeer* const peer = mapping->peer()) {
    note("reads frames of the GPU " + label_of(*peer) + " on the GPU " + label_of(device_->info()) +
         ", by peer access");
  }
  return std::make_shared<const CudaBlock>(*this, std::move(mapping), whole, std::move(descriptor), false);
} catch (const Error& error) {
  work_.look_for_loss();
  require_device();
  throw error.with_context("the sender's memory cannot be mapped on the GPU " + device_->info().name);
}

}  // namespace framewire
