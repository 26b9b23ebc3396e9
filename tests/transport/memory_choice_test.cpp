#include "transport/session/memory_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "memory/host_block.hpp"

namespace framewire {
namespace {

/// The memory of a GPU, as far as the choice asks.
class GpuMemory final : public MemoryKind {
 public:
  GpuMemory(const DeviceUuid& device, std::vector<DeviceUuid> peers) : device_(device), peers_(std::move(peers)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "gpu"; }
  [[nodiscard]] std::optional<DeviceUuid> device_uuid() const noexcept override { return device_; }
  [[nodiscard]] bool imports_from(const DeviceUuid& device) const noexcept override {
    return MemoryKind::imports_from(device) || std::ranges::find(peers_, device) != peers_.end();
  }
  [[nodiscard]] std::shared_ptr<Block> allocate(const std::string& purpose, std::uint64_t /*size_bytes*/,
                                                const StopCheck& /*stop*/) const override {
    throw Error::failed(purpose);
  }
  [[nodiscard]] std::shared_ptr<Block> allocate_private(const std::string& purpose, std::uint64_t /*size_bytes*/,
                                                        const StopCheck& /*stop*/) const override {
    throw Error::failed(purpose);
  }
  [[nodiscard]] std::shared_ptr<const Block> import(FileDescriptor /*descriptor*/,
                                                    std::uint64_t /*size_bytes*/) const override {
    throw Error::failed("import");
  }

 private:
  const DeviceUuid device_;
  const std::vector<DeviceUuid> peers_;
};

constexpr DeviceUuid first{1};
constexpr DeviceUuid second{2};

OfferedStream offer_of(const MemoryKind& memory) {
  OfferedStream offered;
  offered.memory = std::string(memory.name());
  offered.memory_device = memory_device_of(memory);
  return offered;
}

TEST(MemoryChoice, OfSharedMemoryIsWhatImportsIt) {
  const GpuMemory of_first(first, {});
  const GpuMemory of_second(second, {});
  const GpuMemory reads_first(second, {first});
  const std::vector<const MemoryKind*> wanted{&of_first, &of_second, &reads_first};
  EXPECT_EQ(kinds_over(LinkKind::local, wanted, offer_of(of_first)),
            (std::vector<const MemoryKind*>{&of_first, &reads_first}));
  EXPECT_EQ(kinds_over(LinkKind::local, wanted, offer_of(of_second)),
            (std::vector<const MemoryKind*>{&of_second, &reads_first}));
}

TEST(MemoryChoice, OfOtherLinksIsAny) {
  const GpuMemory of_first(first, {});
  const GpuMemory of_second(second, {});
  const std::vector<const MemoryKind*> wanted{&of_second};
  for (const LinkKind link : {LinkKind::tcp, LinkKind::rdma}) {
    EXPECT_EQ(kinds_over(link, wanted, offer_of(of_first)), wanted) << "each end has its own";
  }
  EXPECT_EQ(kinds_over(LinkKind::local, wanted, offer_of(host_memory())), wanted) << "its kind is not offered";
}

TEST(MemoryChoice, SaysWhereSharedMemoryLiesOnAnotherDevice) {
  const GpuMemory of_first(first, {});
  const GpuMemory reads_first(second, {first});
  EXPECT_EQ(access_to_shared(LinkKind::local, reads_first, offer_of(of_first)).way, "peer-access");
  EXPECT_EQ(access_to_shared(LinkKind::local, of_first, offer_of(of_first)).way, "");
  EXPECT_EQ(access_to_shared(LinkKind::local, host_memory(), offer_of(of_first)).way, "");
  EXPECT_EQ(access_to_shared(LinkKind::rdma, reads_first, offer_of(of_first)).way, "");
}

}  // namespace
}  // namespace framewire
