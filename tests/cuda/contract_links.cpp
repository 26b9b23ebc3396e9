// Links whose frames lie in a GPU's memory, with the stand-in for NVIDIA's driver.
#include "memory/cuda/cuda_memory.hpp"
#include "tests/contract/link_contract.hpp"
#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire::test {
namespace {

std::span<std::byte> on_device(const Block& block) {
  return {cuda_stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
}

/// The device is as it is to be when a link is made, and until the next one is.
std::vector<LinkMaker> links_of(const MemoryKind& memory, bool has_data_direct) {
  std::vector<LinkMaker> makers = link_makers_with(memory, on_device);
  for (LinkMaker& maker : makers) {
    maker.make = [make = maker.make, has_data_direct] {
      dma_buf_verbs::reset();
      if (has_data_direct) {
        dma_buf_verbs::offer_data_direct();
      }
      return make();
    };
  }
  return makers;
}

std::vector<LinkMaker> cuda_links() {
  cuda_stand_in::set_attribute(118, 0);  // rdma has to flush what it writes to such a GPU
  static const CudaMemory memory(choose_cuda_device(cuda_devices(), ""));
  return links_of(memory, false);
}

/// Where writes are seen only after the device has read back.
std::vector<LinkMaker> data_direct_links() {
  cuda_stand_in::set_driver_version(12080);
  static const CudaMemory memory(choose_cuda_device(cuda_devices(), ""));
  std::vector<LinkMaker> links = links_of(memory, true);
  std::erase_if(links, [](const LinkMaker& link) { return !link.name.starts_with("rdma"); });
  return links;
}

INSTANTIATE_TEST_SUITE_P(Cuda, LinkContract, testing::ValuesIn(cuda_links()),
                         [](const auto& link) { return link.param.name; });
INSTANTIATE_TEST_SUITE_P(CudaDataDirect, LinkContract, testing::ValuesIn(data_direct_links()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace framewire::test
