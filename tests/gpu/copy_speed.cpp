// gpu_copy_speed [WIDTH HEIGHT]: how long a picture takes between the GPU and host memory, by each method that the
// programs have, and by CUDA's copy to and from the same registered memory. Prints one JSON object. Part of
// scripts/gpu-check.
#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "gl/device_uuid.hpp"
#include "gl/egl_context.hpp"
#include "gl/frame_texture.hpp"
#include "gl/gl.hpp"
#include "gl/gpu_copies.hpp"
#include "gl/offscreen_target.hpp"
#include "gl/readback.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "memory/host_block.hpp"
#include "tests/gpu/cuda_driver.hpp"
#include "tests/gpu/cuda_memory.hpp"
#include "tests/gpu/median_time.hpp"

namespace framewire {
namespace {

std::int64_t in_ten_seconds() {
  return monotonic_ns() + 10 * ns_per_s;
}

void require_finished(Readback& readback) {
  if (!readback.wait_finished(in_ten_seconds())) {
    throw Error::failed("the GPU did not copy a frame within ten seconds");
  }
}

class Results {
 public:
  void add(const std::string& what, double milliseconds) {
    std::printf("%s\"%s\": %.4f", is_first_ ? "" : ", ", what.c_str(), milliseconds);
    is_first_ = false;
  }
  void note(const std::string& what, const std::string& text) {
    std::printf("%s\"%s\": \"%s\"", is_first_ ? "" : ", ", what.c_str(), text.c_str());
    is_first_ = false;
  }

 private:
  bool is_first_ = true;
};

void measure_readback(Size size, const MemoryKind* gpu, Results& results) {
  const OffscreenTarget target(size);
  target.bind();
  const auto draw = [] {
    glClearColor(0.25F, 0.5F, 0.75F, 1.0F);
    glClear(GL_COLOR_BUFFER_BIT);
  };
  for (const ReadbackMethod method :
       {ReadbackMethod::pinned_memory, ReadbackMethod::gpu_copy, ReadbackMethod::persistent_buffer}) {
    for (const std::uint16_t slices : {std::uint16_t{1}, std::uint16_t{8}}) {
      const std::string row = "readback, " + std::string(name(method)) + ", slices " + std::to_string(slices);
      try {
        Readback readback(size.width, size.height, method, slices, gpu);
        const auto block = HostBlock::create("gpu check", readback.size_bytes() * 2);
        const auto begin = [&](std::size_t slot) {
          const std::size_t offset_bytes = slot * readback.size_bytes();
          draw();
          readback.begin(block, offset_bytes, block->bytes().subspan(offset_bytes, readback.size_bytes()));
        };
        results.add(row, median_ms([&] {
                      begin(0);
                      require_finished(readback);
                    }));
        std::size_t next = 0;
        begin(next++ % 2);
        results.add(row + ", two in flight", median_ms([&] {
                      begin(next++ % 2);
                      require_finished(readback);
                    }));
        require_finished(readback);
      } catch (const Error& error) {
        results.note(row, error.what());
      }
    }
  }
}

/// By copies of the GPU, once they are prepared.
void measure_gpu_upload(const FrameView& view, const MemoryKind* gpu, Results& results) {
  const std::string row = "upload, " + std::string(name(UploadMethod::gpu_copy));
  if (gpu == nullptr) {
    return results.note(row, "CUDA has not the GPU that draws");
  }
  GpuCopies copies(*gpu);
  FrameTexture texture({}, &copies);
  const std::int64_t deadline_ns = in_ten_seconds();
  while (texture.method() != UploadMethod::gpu_copy && !copies.why_not() && monotonic_ns() < deadline_ns) {
    texture.upload(view);
    texture.wait_upload_done(in_ten_seconds());
  }
  if (texture.method() != UploadMethod::gpu_copy) {
    return results.note(row, copies.why_not().value_or("the frame's memory cannot be prepared"));
  }
  results.add(row, median_ms([&] {
                texture.upload(view);
                glFinish();  // the frame's memory is free before that
              }));
}

void measure_upload(Size size, const MemoryKind* gpu, Results& results) {
  const FrameLayout layout = packed_layout(PixelFormat::rgba, size.width, size.height);
  const std::shared_ptr<const Block> block = HostBlock::create("gpu check", layout.size_bytes);
  const FrameView view{
      .layout = layout, .colour = {}, .payload = block->host()->bytes().first(layout.size_bytes), .block = &block};
  for (const UploadMethod method :
       {UploadMethod::pinned_memory, UploadMethod::persistent_buffer, UploadMethod::client_pointer}) {
    const std::string row = std::string("upload, ") + name(method);
    try {
      FrameTexture texture(method);
      results.add(row, median_ms([&] {
                    texture.upload(view);
                    texture.wait_upload_done(in_ten_seconds());
                  }));
    } catch (const Error& error) {
      results.note(row, error.what());
    }
  }
  measure_gpu_upload(view, gpu, results);
}

/// The memory of the GPU that draws; null: CUDA does not have it.
std::unique_ptr<const CudaMemory> gpu_memory(Results& results) {
  try {
    const std::vector<DeviceUuid> here = devices_of_context();
    for (const CudaDeviceInfo& device : cuda_devices()) {
      if (std::ranges::find(here, device.uuid_bytes) != here.end()) {
        return std::make_unique<const CudaMemory>(device);
      }
    }
  } catch (const Error& error) {
    results.note("GPU copies", error.what());
  }
  return nullptr;
}

void measure_cuda(Size size, Results& results) {
  try {
    const std::size_t size_bytes = std::size_t{size.width} * size.height * 4;
    const CudaDriver cuda;
    const auto block = HostBlock::create("gpu check", size_bytes);
    const std::span<std::byte> memory = block->bytes().first(size_bytes);
    const CudaRegistration registration(cuda, memory, 0);
    const CudaAllocation device(cuda, size_bytes);
    results.add("readback, cuMemcpyDtoH",
                median_ms([&] { cuda.call("cuMemcpyDtoH_v2", memory.data(), device.address(), size_bytes); }));
    results.add("upload, cuMemcpyHtoD",
                median_ms([&] { cuda.call("cuMemcpyHtoD_v2", device.address(), memory.data(), size_bytes); }));
  } catch (const Error& error) {
    results.note("cuda", error.what());
  }
}

int run(Size size) {
  EglContext context = EglContext::create();
  context.make_current();
  std::printf("{");
  Results results;
  results.note("renderer", gl_renderer());
  results.note("version", reinterpret_cast<const char*>(glGetString(GL_VERSION)));
  const std::unique_ptr<const CudaMemory> gpu = gpu_memory(results);
  measure_readback(size, gpu.get(), results);
  measure_upload(size, gpu.get(), results);
  measure_cuda(size, results);
  std::printf("}\n");
  return 0;
}

}  // namespace
}  // namespace framewire

int main(int argc, char** argv) {
  framewire::Size size{3840, 2160};
  if (argc == 3) {
    size = {static_cast<std::uint32_t>(std::strtoul(argv[1], nullptr, 10)),
            static_cast<std::uint32_t>(std::strtoul(argv[2], nullptr, 10))};
  }
  try {
    return framewire::run(size);
  } catch (const framewire::Error& error) {
    std::fprintf(stderr, "gpu_copy_speed: %s\n", error.what());
    return 1;
  }
}
