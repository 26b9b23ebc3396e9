// gpu_cuda_probe: what CUDA allows on this machine that streams of GPU memory need. Prints one line for each question;
// one that fails says why, and the others go on. Part of scripts/gpu-check.
#include "tests/gpu/cuda_probe.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>

#include "memory/host_block.hpp"
#include "tests/gpu/cuda_importer.hpp"
#include "tests/gpu/cuda_memory.hpp"
#include "tests/gpu/median_time.hpp"

namespace framewire {

Words test_words(std::size_t count, std::uint32_t number) {
  Words words(count);
  for (std::size_t i = 0; i < count; ++i) {
    words[i] = (static_cast<std::uint32_t>(i) + number * 977U + 1U) * 2654435761U;
  }
  return words;
}

std::string require_test_words(const Words& words, std::uint32_t number) {
  const Words expected = test_words(words.size(), number);
  const auto [wrong, right] = std::ranges::mismatch(words, expected);
  if (wrong != words.end()) {
    throw Error::failed("word " + std::to_string(wrong - words.begin()) + " is " + std::to_string(*wrong) +
                        ", and not " + std::to_string(*right));
  }
  return "exact";
}

std::string in_ms(double milliseconds) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.3f ms", milliseconds);
  return text.data();
}

namespace {

// CUmemRangeHandleType, and flags of cuMemHostRegister.
constexpr int dma_buf = 1;
constexpr unsigned registered_read_only = 8;

struct Attribute {
  const char* name;
  int number;  // CUdevice_attribute
};
constexpr std::array attributes = {
    Attribute{"GPU_DIRECT_RDMA_SUPPORTED", 116},
    Attribute{"GPU_DIRECT_RDMA_WITH_CUDA_VMM_SUPPORTED", 110},
    Attribute{"GPU_DIRECT_RDMA_FLUSH_WRITES_OPTIONS (1: host, 2: stream)", 117},
    Attribute{"GPU_DIRECT_RDMA_WRITES_ORDERING (0: none, 100: owner, 200: all)", 118},
    Attribute{"DMA_BUF_SUPPORTED", 124},
    Attribute{"PAGEABLE_MEMORY_ACCESS_USES_HOST_PAGE_TABLES", 100},
    Attribute{"VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED", 102},
    Attribute{"HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED", 103},
    Attribute{"HOST_REGISTER_SUPPORTED", 99},
    Attribute{"READ_ONLY_HOST_REGISTER_SUPPORTED", 113},
    Attribute{"CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM", 91},
    Attribute{"ASYNC_ENGINE_COUNT", 40},
};

std::string uuid_of(const CudaDriver& cuda) {
  std::array<unsigned char, 16> bytes{};
  cuda.call("cuDeviceGetUuid_v2", bytes.data(), cuda.device());
  std::string text = "GPU-";
  for (const unsigned char byte : bytes) {
    std::array<char, 3> digits{};
    std::snprintf(digits.data(), digits.size(), "%02x", byte);
    text += digits.data();
  }
  return text;
}

void ask_about_device(const CudaDriver& cuda) {
  ask("device", [&] {
    std::array<char, 100> name{};
    std::array<char, 20> address{};
    cuda.call("cuDeviceGetName", name.data(), static_cast<int>(name.size()), cuda.device());
    cuda.call("cuDeviceGetPCIBusId", address.data(), static_cast<int>(address.size()), cuda.device());
    return std::string(name.data()) + ", " + uuid_of(cuda) + ", PCI " + address.data();
  });
  for (const Attribute& attribute : attributes) {
    ask(attribute.name, [&] {
      int value = 0;
      cuda.call("cuDeviceGetAttribute", &value, attribute.number, cuda.device());
      return std::to_string(value);
    });
  }
}

void fill(const CudaDriver& cuda, const ProbedMemory& memory) {
  const Words words = test_words(memory.size_bytes() / sizeof(std::uint32_t));
  cuda.call("cuMemcpyHtoD_v2", memory.address(), words.data(), memory.size_bytes());
}

void ask_about_sharing(const CudaDriver& cuda, const CudaImporter& importer, ProbedMemory::Use use) {
  const std::string kind = use == ProbedMemory::Use::gpu ? "cuMemCreate" : "cuMemCreate for RDMA";
  ask(kind + ", granularity in bytes", [&] { return std::to_string(ProbedMemory::granularity_bytes(cuda, use)); });
  const auto ask_importer = [&](ImporterTask task, const char* question) {
    ask(kind + question, [&] {
      const ProbedMemory memory(cuda, ProbedMemory::size_for(cuda, probed_bytes, use), use);
      fill(cuda, memory);
      return importer.answer(task, memory.export_descriptor(), memory.size_bytes());
    });
  };
  ask_importer(ImporterTask::compare_read_only, ", read by another process that maps it read-only");
  ask_importer(ImporterTask::compare_and_change, ", another process may map it for writing, too");
}

/// Ends the importer's use of CUDA if the driver kept its word.
void ask_about_protection(const CudaDriver& cuda, const CudaImporter& importer) {
  ask("a write through a read-only mapping", [&] {
    constexpr auto use = ProbedMemory::Use::gpu;
    const ProbedMemory memory(cuda, ProbedMemory::size_for(cuda, probed_bytes, use), use);
    fill(cuda, memory);
    std::string text = importer.answer(ImporterTask::write_read_only, memory.export_descriptor(), memory.size_bytes());
    Words words(memory.size_bytes() / sizeof(std::uint32_t));
    cuda.call("cuMemcpyDtoH_v2", words.data(), memory.address(), memory.size_bytes());
    return text + "; after it the memory is " + require_test_words(words);
  });
}

std::string export_dma_buf(const CudaDriver& cuda, CudaAddress address, std::size_t size_bytes,
                           std::uint64_t flags = 0) {
  int number = -1;
  cuda.call("cuMemGetHandleForAddressRange", static_cast<void*>(&number), address, size_bytes, dma_buf, flags);
  const FileDescriptor descriptor(number);
  const off_t size = ::lseek(descriptor.get(), 0, SEEK_END);
  return size < 0 ? "exported" : "exported, " + std::to_string(size) + " bytes";
}

void ask_about_dma_buf(const CudaDriver& cuda) {
  for (const auto use : {ProbedMemory::Use::gpu, ProbedMemory::Use::gpu_and_rdma}) {
    ask(std::string("dma-buf of cuMemCreate") + (use == ProbedMemory::Use::gpu ? "" : " for RDMA"), [&] {
      const ProbedMemory memory(cuda, ProbedMemory::size_for(cuda, probed_bytes, use), use);
      return export_dma_buf(cuda, memory.address(), memory.size_bytes());
    });
  }
  ask("dma-buf of cuMemCreate for RDMA, mapped by PCIe", [&] {  // as data-direct needs it
    constexpr std::uint64_t mapped_by_pcie = 1;
    const auto use = ProbedMemory::Use::gpu_and_rdma;
    const ProbedMemory memory(cuda, ProbedMemory::size_for(cuda, probed_bytes, use), use);
    return export_dma_buf(cuda, memory.address(), memory.size_bytes(), mapped_by_pcie);
  });
  constexpr std::size_t page = 4096;
  ask_about("dma-buf of cuMemAlloc", [&] {
    const CudaAllocation memory(cuda, std::size_t{4} << 20U);
    const auto ask_range = [&](const std::string& range, std::size_t offset_bytes, std::size_t size_bytes) {
      ask("dma-buf of cuMemAlloc, " + range,
          [&] { return export_dma_buf(cuda, memory.address() + offset_bytes, size_bytes); });
    };
    ask_range("all of it", 0, std::size_t{4} << 20U);
    ask_range("its second page", page, page);
    ask_range("from 256 bytes behind a page's beginning", 256, page);
    ask_range("a page and 256 bytes", 0, page + 256);
  });
}

/// The sender's pool, as a viewer on this machine maps it.
void ask_about_pools(const CudaDriver& cuda) {
  for (const unsigned flags : {0U, registered_read_only}) {
    ask(std::string("registering a read-only mapping of a memfd") + (flags == 0 ? "" : ", as read-only"), [&] {
      const auto pool = HostBlock::create("gpu check", probed_bytes);
      const Words words = test_words(probed_bytes / sizeof(std::uint32_t));
      std::memcpy(pool->bytes().data(), words.data(), probed_bytes);
      const auto mapped =
          HostBlock::map_read_only(FileDescriptor(::fcntl(pool->memfd(), F_DUPFD_CLOEXEC, 0)), probed_bytes);
      const CudaRegistration registration(cuda, mapped->bytes(), flags);
      const CudaAllocation copy(cuda, probed_bytes);
      const double milliseconds = median_ms([&] {
        cuda.call("cuMemcpyHtoD_v2", copy.address(), static_cast<const void*>(mapped->bytes().data()), probed_bytes);
      });
      Words seen(words.size());
      cuda.call("cuMemcpyDtoH_v2", seen.data(), copy.address(), probed_bytes);
      return require_test_words(seen) + ", " + in_ms(milliseconds) + " to the device";
    });
  }
}

int run() {
  const CudaImporter importer;
  std::optional<CudaDriver> cuda;
  try {
    cuda.emplace();
  } catch (const Error& error) {
    std::printf("CUDA: no: %s\n", error.what());
    return 0;
  }
  ask_about_device(*cuda);
  ask_about_sharing(*cuda, importer, ProbedMemory::Use::gpu);
  ask_about_sharing(*cuda, importer, ProbedMemory::Use::gpu_and_rdma);
  ask_about_dma_buf(*cuda);
  ask_about_pools(*cuda);
  ask_about_protection(*cuda, importer);
  ask_about("OpenGL", [&] { ask_about_gl(*cuda); });
  return 0;
}

}  // namespace
}  // namespace framewire

int main() {
  try {
    return framewire::run();
  } catch (const framewire::Error& error) {
    std::fprintf(stderr, "gpu_cuda_probe: %s\n", error.what());
    return 1;
  }
}
