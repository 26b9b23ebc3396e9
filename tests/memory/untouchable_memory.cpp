#include "tests/memory/untouchable_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <utility>

#include "base/bytes.hpp"

namespace framewire::test {

namespace {

constexpr std::byte poison{0xa5};

/// Address space without access rights.
class Unreadable {
 public:
  explicit Unreadable(std::uint64_t size_bytes)
      : size_bytes_(size_bytes),
        address_(::mmap(nullptr, size_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) {
    if (address_ == MAP_FAILED) {
      throw Error::from_errno("map a block that cannot be touched", errno);
    }
  }
  ~Unreadable() { ::munmap(address_, size_bytes_); }
  Unreadable(const Unreadable&) = delete;
  Unreadable& operator=(const Unreadable&) = delete;
  [[nodiscard]] std::uint64_t address() const noexcept { return reinterpret_cast<std::uint64_t>(address_); }

 private:
  const std::uint64_t size_bytes_;
  void* const address_;
};

}  // namespace

/// One thread that does the waiting work in an order of its own.
class UntouchableMemory::Device {
 public:
  explicit Device(std::uint64_t seed) : random_(seed), thread_([this] { run(); }) {}
  ~Device() {
    {
      const std::scoped_lock lock(mutex_);
      is_stopping_ = true;
      is_holding_ = false;
    }
    changed_.notify_all();
    thread_.join();
  }
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  void add(std::function<void()> work, std::shared_ptr<Fence> fence, FenceState state) {
    {
      const std::scoped_lock lock(mutex_);
      waiting_.push_back({std::move(work), std::move(fence), state});
    }
    changed_.notify_all();
  }
  void break_down() {
    const std::scoped_lock lock(mutex_);
    is_broken_ = true;
  }
  void hold() {
    const std::scoped_lock lock(mutex_);
    is_holding_ = true;
  }
  std::size_t held() {
    const std::scoped_lock lock(mutex_);
    return waiting_.size();
  }
  void end_held(std::size_t index, std::optional<FenceState> state) {
    std::unique_lock lock(mutex_);
    end(lock, waiting_.begin() + static_cast<std::ptrdiff_t>(index), state);
  }

 private:
  struct Work {
    std::function<void()> work;
    std::shared_ptr<Fence> fence;
    FenceState state;
  };

  void run() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return !is_holding_ && (is_stopping_ || !waiting_.empty()); });
      if (waiting_.empty()) {
        return;
      }
      const auto delay = std::chrono::microseconds(random_() % 2000);
      lock.unlock();
      std::this_thread::sleep_for(delay);  // more work comes meanwhile, so that there is an order to change
      lock.lock();
      if (!is_holding_ && !waiting_.empty()) {
        end(lock, waiting_.begin() + static_cast<std::ptrdiff_t>(random_() % waiting_.size()), std::nullopt);
      }
    }
  }

  void end(std::unique_lock<std::mutex>& lock, std::vector<Work>::iterator chosen, std::optional<FenceState> wanted) {
    const Work next = std::move(*chosen);
    waiting_.erase(chosen);
    const FenceState state = wanted ? *wanted : is_broken_ ? FenceState::failed : next.state;
    lock.unlock();
    if (state == FenceState::done) {
      next.work();
    }
    next.fence->finish(state);
    lock.lock();
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::mt19937_64 random_;
  std::vector<Work> waiting_;
  bool is_stopping_ = false;
  bool is_broken_ = false;
  bool is_holding_ = false;
  std::thread thread_;
};

namespace {

class UntouchableBlock final : public Block, public std::enable_shared_from_this<UntouchableBlock> {
 public:
  UntouchableBlock(const UntouchableMemory& kind, std::shared_ptr<HostBlock> pages)
      : Block(pages->size_bytes()), kind_(kind), pages_(std::move(pages)), product_side_(pages_->size_bytes()) {}

  [[nodiscard]] const MemoryKind& kind() const noexcept override { return kind_; }
  [[nodiscard]] int descriptor() const noexcept override { return pages_->descriptor(); }
  [[nodiscard]] RegisteredAs registered_as() const noexcept override {
    return {.address = product_side_.address(), .pinned = pages_->bytes().data()};
  }
  [[nodiscard]] std::shared_ptr<Fence> copy_to_host(std::shared_ptr<HostBlock> into, CopyRange range,
                                                    std::shared_ptr<Fence> after) const override {
    if (kind_.refuses_copies()) {
      throw Error::failed("the device takes no more work");
    }
    auto fence = std::make_shared<Fence>();
    std::ranges::fill(into->bytes().subspan(range.to_offset_bytes, range.size_bytes), poison);
    kind_.count_copy();
    const auto start = [self = shared_from_this(), into, range, fence](FenceState filled) {
      self->kind_.run_later(
          [self, into, range] {
            copy_bytes(self->pages_->bytes().subspan(range.from_offset_bytes, range.size_bytes),
                       into->bytes().subspan(range.to_offset_bytes));
          },
          fence, filled);
    };
    if (after != nullptr) {
      after->when_finished(start);
    } else {
      start(FenceState::done);
    }
    return fence;
  }

  [[nodiscard]] std::shared_ptr<Fence> copy_from_host(std::shared_ptr<const HostBlock> from, CopyRange range) override {
    if (kind_.refuses_copies()) {
      throw Error::failed("the device takes no more work");
    }
    auto fence = std::make_shared<Fence>();
    std::ranges::fill(pages().subspan(range.to_offset_bytes, range.size_bytes), poison);
    kind_.count_copy_from_host();
    kind_.run_later(
        [self = shared_from_this(), from, range] {
          copy_bytes(from->bytes().subspan(range.from_offset_bytes, range.size_bytes),
                     self->pages().subspan(range.to_offset_bytes));
        },
        fence);
    return fence;
  }

  [[nodiscard]] std::span<std::byte> pages() const noexcept { return pages_->bytes(); }

 private:
  const UntouchableMemory& kind_;
  const std::shared_ptr<HostBlock> pages_;
  const Unreadable product_side_;
};

}  // namespace

UntouchableMemory::UntouchableMemory(std::string name, std::uint64_t seed)
    : name_(std::move(name)), device_(std::make_unique<Device>(seed)) {}

UntouchableMemory::~UntouchableMemory() = default;

std::shared_ptr<Block> UntouchableMemory::allocate(const std::string& purpose, std::uint64_t size_bytes,
                                                   const StopCheck& stop) const {
  return std::make_shared<UntouchableBlock>(*this, HostBlock::create(purpose, size_bytes, stop));
}

std::shared_ptr<Block> UntouchableMemory::allocate_private(const std::string& purpose, std::uint64_t size_bytes,
                                                           const StopCheck& stop) const {
  return std::make_shared<UntouchableBlock>(*this, HostBlock::create_private(purpose, size_bytes, stop));
}

std::shared_ptr<const Block> UntouchableMemory::import(FileDescriptor descriptor, std::uint64_t size_bytes) const {
  if (refuses_imports_.load()) {
    throw Error::failed("the device imports no memory");
  }
  return std::make_shared<const UntouchableBlock>(*this, HostBlock::map_read_only(std::move(descriptor), size_bytes));
}

std::span<std::byte> UntouchableMemory::on_device(const Block& block) {
  return dynamic_cast<const UntouchableBlock&>(block).pages();
}

void UntouchableMemory::run_later(std::function<void()> work, const std::shared_ptr<Fence>& fence,
                                  FenceState state) const {
  device_->add(std::move(work), fence, state);
}

void UntouchableMemory::refuse_imports() const {
  refuses_imports_.store(true);
}

void UntouchableMemory::refuse_copies(std::uint64_t but_for) const {
  most_copies_.store(copies() + copies_from_host() + but_for);
}

bool UntouchableMemory::refuses_copies() const {
  return copies() + copies_from_host() >= most_copies_.load();
}

void UntouchableMemory::hold() const {
  device_->hold();
}

std::size_t UntouchableMemory::held() const {
  return device_->held();
}

void UntouchableMemory::end_held(std::size_t index, std::optional<FenceState> state) const {
  device_->end_held(index, state);
}

void UntouchableMemory::lose() const {
  is_lost_.store(true);
  device_->break_down();
}

std::optional<std::string> UntouchableMemory::failure() const {
  return is_lost_.load() ? std::optional<std::string>("the device is lost") : std::nullopt;
}

void UntouchableMemory::break_down() const {
  device_->break_down();
}

}  // namespace framewire::test
