// Reads pictures in DMA-BUFs by OpenGL, on a thread of its own.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "gl/dma_buf_image.hpp"
#include "gl/egl_context.hpp"
#include "gl/plane_packer.hpp"
#include "memory/dma_buf_reader.hpp"

namespace framewire {

/// The thread has the context: fences of OpenGL are asked there alone. A picture that is not imported, and all after
/// it, are copied by the processor on the same thread, so that none is lost. If the GPU does not finish for 10 s, the
/// pictures that it has fail. It may still write to their slots where it does so itself: these are never given back.
class GlDmaBufReader final : public DmaBufReader {
 public:
  /// As OpenDmaBufReader.
  static std::unique_ptr<DmaBufReader> open(const std::string& drm_node);

  /// Throws Error (failed) if the context cannot import DMA-BUFs.
  explicit GlDmaBufReader(EglContext context);
  /// `import` does it; for tests.
  GlDmaBufReader(EglContext context, ImportPlane import);
  ~GlDmaBufReader() override;

  [[nodiscard]] std::shared_ptr<Fence> start(std::shared_ptr<DevicePicture> picture, std::shared_ptr<HostBlock> block,
                                             std::uint64_t offset_bytes) override;
  [[nodiscard]] std::string failure() const override;

 private:
  struct Job {
    std::shared_ptr<DevicePicture> picture;
    std::shared_ptr<HostBlock> block;
    std::uint64_t offset_bytes = 0;
    std::shared_ptr<Fence> fence;
  };
  /// What the GPU reads.
  struct Reading {
    Job job;
    std::array<GlTextureView, 2> textures;
    std::int64_t deadline_ns = 0;
  };

  /// What GPUs that hang may still write to, for ever.
  struct Abandoned {
    std::mutex mutex;  // guards what follows
    std::list<Reading> readings;
  };
  static Abandoned& abandoned();

  void run() noexcept;
  bool take_next(std::optional<Job>& next);
  void begin(Job job) noexcept;
  void read_by_gpu(Job& job);
  void follow_oldest(std::int64_t until_ns) noexcept;
  void drain() noexcept;
  [[nodiscard]] bool is_stopping() const;
  void fail(const std::string& reason);

  EglContext context_;
  // The thread's.
  ImportPlane import_;
  std::unique_ptr<PlanePacker> packer_;
  std::list<Reading> readings_;
  std::atomic<std::int64_t> end_ns_ = INT64_MAX;

  mutable std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::deque<Job> waiting_;
  std::string failure_;
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace framewire
