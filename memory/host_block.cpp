#include "memory/host_block.hpp"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/bytes.hpp"
#include "base/error.hpp"
#include "base/text.hpp"
#include "memory/out_of_memory.hpp"

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace framewire {

namespace {

/// The size of a huge page on x86-64, and on arm64 with 4 KiB pages. A block aligned to it can use huge pages from its
/// first byte.
constexpr std::uint64_t huge_page_bytes = std::uint64_t{2} << 20;

std::uint64_t page_bytes() noexcept {
  return static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

OutOfMemory no_room(const std::string& name, std::uint64_t size_bytes) {
  const AvailableMemory available = available_memory();
  return OutOfMemory("not enough memory for " + name + ": " + format_bytes(size_bytes) + " are needed and " +
                     format_bytes(available.bytes) + " are free" +
                     (available.limited_by.empty() ? "" : " below the limit of " + available.limited_by) +
                     "; take smaller frames or messages, fewer slots or fewer viewers");
}

OutOfMemory cannot_map(std::uint64_t size_bytes, int error_number) {
  rlimit limit{};
  if (error_number != ENOMEM || ::getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) {
    return OutOfMemory(Error::from_errno("map " + format_bytes(size_bytes) + " of memory", error_number).what());
  }
  return OutOfMemory("cannot map " + format_bytes(size_bytes) + " of memory: this process may have only " +
                     format_bytes(limit.rlim_cur) + " of address space; raise that by 'ulimit -v unlimited'");
}

/// Rounds `size_bytes` up to whole pages, and throws if there is too little memory. Checked before allocating:
/// overcommitted memory would end in the OOM killer, not in an error.
std::uint64_t room_for(const std::string& name, std::uint64_t size_bytes) {
  const std::uint64_t whole_bytes = round_up(size_bytes, page_bytes());
  const std::uint64_t available_bytes = available_memory_bytes();
  if (size_bytes == 0 || whole_bytes < size_bytes || (available_bytes != 0 && whole_bytes > available_bytes)) {
    throw no_room(name, size_bytes);
  }
  return whole_bytes;
}

/// Reserves address space for `whole_bytes` and a guard on either side; not accessible yet.
std::span<std::byte> reserve(std::uint64_t whole_bytes) {
  const std::uint64_t alignment_bytes = whole_bytes >= huge_page_bytes ? huge_page_bytes : page_bytes();
  const std::uint64_t reserved_bytes = whole_bytes + alignment_bytes + page_bytes();
  void* address = ::mmap(nullptr, reserved_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (address == MAP_FAILED) {
    throw cannot_map(whole_bytes, errno);
  }
  return {static_cast<std::byte*>(address), reserved_bytes};
}

/// The block within its reserved range: at least one page from either end.
std::span<std::byte> inside(std::span<std::byte> reserved, std::uint64_t whole_bytes) noexcept {
  const auto begin = reinterpret_cast<std::uintptr_t>(reserved.data());
  const std::uint64_t alignment_bytes = whole_bytes >= huge_page_bytes ? huge_page_bytes : page_bytes();
  return reserved.subspan(round_up(begin + page_bytes(), alignment_bytes) - begin, whole_bytes);
}

/// Maps `memfd`, or private memory, over `bytes` of the reserved range.
void map_over(std::span<std::byte> bytes, int memfd, int protection) {
  const int kind = memfd >= 0 ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  if (::mmap(bytes.data(), bytes.size(), protection, kind | MAP_FIXED, memfd, 0) == MAP_FAILED) {
    throw cannot_map(bytes.size(), errno);
  }
  // A hint only: fewer TLB misses if the kernel grants it.
  ::madvise(bytes.data(), bytes.size(), MADV_HUGEPAGE);
}

/// Allocates memory for a part of a memfd. Returns 0 or an errno value.
int allocate(int memfd, std::uint64_t offset_bytes, std::uint64_t size_bytes) {
  int error_number = EINTR;
  while (error_number == EINTR) {
    error_number = ::posix_fallocate(memfd, static_cast<off_t>(offset_bytes), static_cast<off_t>(size_bytes));
  }
  return error_number;
}

/// Allocates all of `block` in steps, and calls `stop` between them: one call for gigabytes would delay the end of the
/// program.
void populate(const HostBlock& block, const std::string& name, std::uint64_t size_bytes, const StopCheck& stop) {
  const std::span<std::byte> bytes = block.bytes();
  for (std::uint64_t offset = 0; offset < bytes.size(); offset += allocation_chunk_bytes) {
    if (stop && stop()) {
      throw AllocationStopped(name);
    }
    const auto chunk = bytes.subspan(offset, std::min<std::uint64_t>(allocation_chunk_bytes, bytes.size() - offset));
    if (block.memfd() >= 0) {
      if (const int error_number = allocate(block.memfd(), offset, chunk.size()); error_number != 0) {
        throw error_number == ENOSPC || error_number == ENOMEM
            ? no_room(name, size_bytes)
            : Error::from_errno("allocate shared memory for " + name, error_number);
      }
    }
    // Fill the page tables now, not by faults while frames flow. A reader that maps our memfd needs no such call: one
    // fault maps 16 pages, and mapping all at once would take longer. Kernels before 5.14 do not know this advice.
    if (::madvise(chunk.data(), chunk.size(), MADV_POPULATE_WRITE) != 0 && block.memfd() < 0) {
      if (errno != EINVAL) {
        throw no_room(name, size_bytes);
      }
      std::ranges::fill(chunk, std::byte{0});
    }
  }
}

}  // namespace

HostBlock::HostBlock(FileDescriptor memfd, std::span<std::byte> reserved, std::uint64_t size_bytes,
                     bool is_read_only) noexcept
    : Block(size_bytes),
      memfd_(std::move(memfd)),
      reserved_(reserved),
      bytes_(inside(reserved, size_bytes)),
      is_read_only_(is_read_only) {}

HostBlock::~HostBlock() {
  ::munmap(reserved_.data(), reserved_.size());
}

std::shared_ptr<HostBlock> HostBlock::create(const std::string& name, std::uint64_t size_bytes, const StopCheck& stop) {
  return make(name, size_bytes, false, stop);
}

std::shared_ptr<HostBlock> HostBlock::create_shared_writable(const std::string& name, std::uint64_t size_bytes) {
  return make(name, size_bytes, true, {});
}

std::shared_ptr<HostBlock> HostBlock::create_private(const std::string& name, std::uint64_t size_bytes,
                                                     const StopCheck& stop) {
  const std::uint64_t whole_bytes = room_for(name, size_bytes);
  std::shared_ptr<HostBlock> block(new HostBlock(FileDescriptor(), reserve(whole_bytes), whole_bytes, false));
  map_over(block->bytes(), -1, PROT_READ | PROT_WRITE);
  populate(*block, name, size_bytes, stop);
  return block;
}

std::shared_ptr<HostBlock> HostBlock::make(const std::string& name, std::uint64_t size_bytes, bool others_may_write,
                                           const StopCheck& stop) {
  const std::uint64_t whole_bytes = room_for(name, size_bytes);
  const std::string whole_name = "framewire " + name;
  auto memfd =
      FileDescriptor::from([&] { return ::memfd_create(whole_name.c_str(), MFD_CLOEXEC | MFD_ALLOW_SEALING); });
  if (!memfd.valid()) {
    throw Error::from_errno("create shared memory for " + name, errno);
  }
  if (::ftruncate(memfd.get(), static_cast<off_t>(whole_bytes)) != 0) {
    throw Error::from_errno("size shared memory for " + name, errno);
  }
  std::shared_ptr<HostBlock> block(new HostBlock(std::move(memfd), reserve(whole_bytes), whole_bytes, false));
  map_over(block->bytes(), block->memfd(), PROT_READ | PROT_WRITE);
  populate(*block, name, size_bytes, stop);
  const int seals = F_SEAL_SHRINK | F_SEAL_GROW | (others_may_write ? 0 : F_SEAL_FUTURE_WRITE) | F_SEAL_SEAL;
  if (::fcntl(block->memfd(), F_ADD_SEALS, seals) != 0) {
    throw Error::from_errno("seal shared memory for " + name, errno);
  }
  return block;
}

std::shared_ptr<HostBlock> HostBlock::map_read_only(FileDescriptor memfd, std::uint64_t size_bytes) {
  return map(std::move(memfd), size_bytes, true);
}

std::shared_ptr<HostBlock> HostBlock::map_writable(FileDescriptor memfd, std::uint64_t size_bytes) {
  return map(std::move(memfd), size_bytes, false);
}

std::shared_ptr<HostBlock> HostBlock::map(FileDescriptor memfd, std::uint64_t size_bytes, bool read_only) {
  const int seals = ::fcntl(memfd.get(), F_GET_SEALS);
  if (seals < 0 || (seals & F_SEAL_SHRINK) == 0) {
    throw Error::failed("the peer offered shared memory whose size is not sealed; it is not used");
  }
  struct stat status {};
  if (::fstat(memfd.get(), &status) != 0 || status.st_size < 0 ||
      static_cast<std::uint64_t>(status.st_size) < size_bytes || size_bytes == 0) {
    throw Error::failed("the peer offered shared memory of " + std::to_string(status.st_size) + " bytes where " +
                        std::to_string(size_bytes) + " were announced; it is not used");
  }
  // Huge pages would be mapped beyond the reserved range, and neither they nor holes are sure to have memory: to touch
  // them could raise a signal.
  struct statfs filesystem {};
  if (::fstatfs(memfd.get(), &filesystem) != 0 || filesystem.f_type != TMPFS_MAGIC ||
      static_cast<std::uint64_t>(status.st_blocks) * 512 < size_bytes) {
    throw Error::failed("the peer offered memory of huge pages, or not all of it is there; it is not used");
  }
  const std::uint64_t whole_bytes = round_up(size_bytes, page_bytes());
  std::shared_ptr<HostBlock> block(new HostBlock(std::move(memfd), reserve(whole_bytes), whole_bytes, read_only));
  map_over(block->bytes(), block->memfd(), read_only ? PROT_READ : PROT_READ | PROT_WRITE);
  return block;
}

void HostBlock::copy_in_place(std::uint64_t offset_bytes, std::uint64_t size_bytes) const {
  const std::span<std::byte> range = bytes_.subspan(offset_bytes, round_up(size_bytes, page_bytes()));
  void* const copy = ::mmap(nullptr, range.size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (copy == MAP_FAILED) {
    throw cannot_map(range.size(), errno);
  }
  std::memcpy(copy, range.data(), range.size());
  // One call takes the place of the old pages: a thread that reads them meanwhile finds one or the other.
  if (::mprotect(copy, range.size(), PROT_READ) != 0 ||
      ::mremap(copy, range.size(), range.size(), MREMAP_MAYMOVE | MREMAP_FIXED, range.data()) == MAP_FAILED) {
    const int why = errno;
    ::munmap(copy, range.size());
    throw cannot_map(range.size(), why);
  }
}

RegisteredAs HostBlock::registered_as() const noexcept {
  return {.address = reinterpret_cast<std::uint64_t>(bytes_.data()), .pinned = bytes_.data()};
}

/// The processor is the device: the copy is made here.
std::shared_ptr<Fence> HostBlock::copy_to_host(std::shared_ptr<HostBlock> into, CopyRange range,
                                               std::shared_ptr<Fence> after) const {
  auto fence = std::make_shared<Fence>();
  const auto copy = [from = shared_from_this(), into = std::move(into), range, fence](FenceState filled) {
    if (filled == FenceState::done) {
      copy_bytes(from->bytes().subspan(range.from_offset_bytes, range.size_bytes),
                 into->bytes().subspan(range.to_offset_bytes));
    }
    fence->finish(filled);
  };
  if (after != nullptr) {
    after->when_finished(copy);
  } else {
    copy(FenceState::done);
  }
  return fence;
}

std::shared_ptr<Fence> HostBlock::copy_from_host(std::shared_ptr<const HostBlock> from, CopyRange range) {
  return from->copy_to_host(shared_from_this(), range, nullptr);
}

OpaqueMemory Block::for_opengl() const {
  throw Error::failed("OpenGL cannot import memory of the kind " + quote(kind().name()));
}

std::shared_ptr<Fence> Block::copy_to_device(const std::shared_ptr<Block>& /*into*/, CopyRange /*range*/) const {
  throw Error::failed("no device copies memory of the kind " + quote(kind().name()) + " within it");
}

void MemoryKind::require_device() const {
  if (const std::optional<std::string> why = failure()) {
    throw Error::failed(*why);
  }
}

std::shared_ptr<const void> MemoryKind::prepare_copies(const std::shared_ptr<const HostBlock>& /*host*/) const {
  return nullptr;
}

// ---- Host memory as a kind ----

std::span<const std::byte> Payload::bytes() const noexcept {
  return block->host()->bytes().subspan(offset_bytes, size_bytes);
}

namespace {

class HostMemory final : public MemoryKind {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "host"; }
  [[nodiscard]] std::shared_ptr<Block> allocate(const std::string& purpose, std::uint64_t size_bytes,
                                                const StopCheck& stop) const override {
    return HostBlock::create(purpose, size_bytes, stop);
  }
  [[nodiscard]] std::shared_ptr<Block> allocate_private(const std::string& purpose, std::uint64_t size_bytes,
                                                        const StopCheck& stop) const override {
    return HostBlock::create_private(purpose, size_bytes, stop);
  }
  [[nodiscard]] std::shared_ptr<const Block> import(FileDescriptor descriptor,
                                                    std::uint64_t size_bytes) const override {
    return HostBlock::map_read_only(std::move(descriptor), size_bytes);
  }
};

}  // namespace

const MemoryKind& host_memory() noexcept {
  static const HostMemory memory;
  return memory;
}

const MemoryKind& HostBlock::kind() const noexcept {
  return host_memory();
}

}  // namespace framewire
