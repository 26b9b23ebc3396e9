// What a GPU does meanwhile: copies that are started, and a thread that sees when they have ended.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <mutex>
#include <thread>

#include "memory/cuda/device.hpp"
#include "memory/fence.hpp"

namespace framewire {

/// One stream of a GPU, and the events of what was put into it. Any thread.
///
/// A thread of its own asks the events (cuEventQuery): a call that waits for one has no end if the GPU hangs, and an
/// event that another process shares is gone with that process.
class CudaWork {
 public:
  /// Throws Error.
  explicit CudaWork(std::shared_ptr<const CudaDevice> device);
  /// Waits for what the GPU still does, at most 2 s; the fences of the rest fail. So for what the end of those fences
  /// starts.
  ~CudaWork();
  CudaWork(const CudaWork&) = delete;
  CudaWork& operator=(const CudaWork&) = delete;

  /// `enqueue` puts work into the stream, with the device's context current. `fence` is finished, on the thread of this
  /// object, once the GPU has done that and all before it; `keeps` lives so long. The fence fails, once the stream is
  /// idle, if the driver could not say whether the work has ended. Throws Error, also what `enqueue` throws; then the
  /// fence is left as it is, and up to 200 ms have gone to wait until the stream is idle: some work may have begun.
  /// `keeps` lives as long as this object then, and where the driver says nothing of the stream either.
  void start(const std::function<void(cuda::Stream)>& enqueue, std::shared_ptr<Fence> fence,
             std::shared_ptr<const void> keeps);

  /// A call that concerns this GPU has failed: asks the driver whether the GPU is lost. Any other failure says nothing
  /// of the work to come.
  void look_for_loss() const noexcept { static_cast<void>(ask_stream()); }
  /// What the driver says of a GPU that is lost; `success`: it is not, as far as failures have told. Any thread.
  [[nodiscard]] cuda::Result loss() const noexcept { return loss_.load(); }

  /// For a library that puts work of its own into the stream, before what start() puts there. It outlives that work.
  [[nodiscard]] cuda::Stream stream() const noexcept { return stream_; }

 private:
  struct Item {
    cuda::Event event = nullptr;
    std::shared_ptr<Fence> fence;
    std::shared_ptr<const void> keeps;
    bool has_failed = false;  // the driver did not say how it is, once
  };
  using Items = std::list<Item>;  // to move one between lists needs no memory

  void begin(const std::function<void(cuda::Stream)>& enqueue, std::shared_ptr<Fence> fence,
             std::shared_ptr<const void> keeps);
  /// `not_ready`: the GPU has work of the stream. Notes a loss.
  cuda::Result ask_stream() const noexcept;
  void await_idle(std::int64_t longest_ns) const noexcept;
  [[nodiscard]] Items take_free();
  void run() noexcept;
  void finish_ended(Items& pending) noexcept;
  void give_up(Items& pending, Items::iterator item) noexcept;
  void finish(Items& pending, Items::iterator item, FenceState state) noexcept;

  const std::shared_ptr<const CudaDevice> device_;
  cuda::Stream stream_ = nullptr;
  mutable std::atomic<cuda::Result> loss_ = cuda::Result::success;  // the first one that is found stays
  std::mutex mutex_;                                                // guards what follows
  std::condition_variable changed_;
  Items started_;  // since the thread looked
  Items free_;     // their events are reused
  Items unknown_;  // nobody can tell when they end
  bool is_stopping_ = false;
  std::thread thread_;
};

}  // namespace framewire
