// Links whose frames lie in a GPU's memory, with the stand-in for NVIDIA's driver.
#include "memory/cuda/cuda_memory.hpp"
#include "tests/contract/link_contract.hpp"
#include "tests/cuda/stand_in.hpp"

namespace framewire::test {
namespace {

std::vector<LinkMaker> cuda_links() {
  cuda_stand_in::set_attribute(118, 0);  // rdma has to flush what it writes to such a GPU
  static const CudaMemory memory(choose_cuda_device(cuda_devices(), ""));
  const auto on_device = [](const Block& block) -> std::span<std::byte> {
    return {cuda_stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  };
  return link_makers_with(memory, on_device);
}

INSTANTIATE_TEST_SUITE_P(Cuda, LinkContract, testing::ValuesIn(cuda_links()),
                         [](const auto& link) { return link.param.name; });

}  // namespace
}  // namespace framewire::test
