// gpu_stream_speed [FRAME_BYTES [FRAMES]]: the bandwidth of a stream of frames in a GPU's memory, between two programs
// of this machine, beside plain copies within that GPU. The sender's GPU fills each frame by such a copy, and the
// viewer takes it where it is: so the difference is what the stream costs. Prints one JSON object. Part of
// scripts/gpu-check.
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "base/file_descriptor.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "memory/fence_wait.hpp"
#include "tests/base/logs.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire {
namespace {

constexpr std::uint32_t slots = 8;
constexpr std::size_t runs = 7;  // of either kind, in turn
constexpr std::uint64_t last_of_run = 1;
constexpr std::int64_t longest_wait_ns = 20 * ns_per_s;  // for a run, or for the other program

struct Plan {
  std::uint64_t frame_bytes = std::uint64_t{3840} * 2160 * 4;
  std::uint64_t frames = 300;  // of a run
};

/// Carries values from one program to the other.
template <typename Value>
class ValuePipe {
 public:
  ValuePipe() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
      throw Error::from_errno("make a pipe", errno);
    }
    reader_ = FileDescriptor(ends[0]);
    writer_ = FileDescriptor(ends[1]);
  }
  void put(const Value& value) {
    if (::write(writer_.get(), &value, sizeof value) != static_cast<ssize_t>(sizeof value)) {
      throw Error::from_errno("write to a pipe", errno);
    }
  }
  /// Nothing: the other program has ended.
  std::optional<Value> take() {
    writer_ = FileDescriptor();
    Value value{};
    return ::read(reader_.get(), &value, sizeof value) == static_cast<ssize_t>(sizeof value) ? std::optional(value)
                                                                                             : std::nullopt;
  }

 private:
  FileDescriptor reader_;
  FileDescriptor writer_;
};

/// When the last frame of a run came.
struct LastFrame {
  std::int64_t received_ns = 0;
  bool is_on_gpu = false;
};

// ---- The viewer ----

void view(std::uint16_t port, ValuePipe<LastFrame>& last_frames) {
  const CudaMemory memory(cuda_devices().at(0));
  test::KeptLog log;
  EndpointOptions endpoint;
  endpoint.allowed_links = {LinkKind::local};
  endpoint.dial = HostPort{"127.0.0.1", port};
  Subscriber subscriber({.endpoint = endpoint, .stream = {}, .delivery = {}, .memory = {&memory}}, log);
  for (;;) {
    while (auto frame = subscriber.next()) {
      if (frame->header().user_tag == last_of_run) {
        last_frames.put({frame->received_ns(), subscriber.status().memory == memory.name()});
      }
    }
    subscriber.wait(monotonic_ns() + 100 * ns_per_ms);
  }
}

// ---- The sender ----

/// A copy of one frame within the GPU: as one row after the other, which is how CUDA takes it from a decoder, too.
cuda::Copy2D frame_copy(cuda::Address to, cuda::Address from, std::uint64_t frame_bytes) {
  constexpr std::size_t row_bytes = 15'360;  // of 3840 pixels
  const std::size_t width_bytes = frame_bytes % row_bytes == 0 ? row_bytes : frame_bytes;
  return {.from = {.device = from, .pitch_bytes = width_bytes},
          .to = {.device = to, .pitch_bytes = width_bytes},
          .row_bytes = width_bytes,
          .rows = frame_bytes / width_bytes};
}

class Sender {
 public:
  Sender(const CudaMemory& memory, Plan plan)
      : memory_(memory),
        plan_(plan),
        source_(allocate("a frame", 1)),
        targets_(allocate("frames", slots)),
        stream_({.name = "speed",
                 .delivery = Delivery::every,
                 .slots_per_viewer = slots,
                 .max_viewers = 1,
                 .memory = &memory_}),
        service_(endpoint(), {&stream_}, "gpu_stream_speed", log_) {
    stream_.begin_epoch({.layout = bytes_layout(plan_.frame_bytes), .colour = {}});
  }
  Sender(const Sender&) = delete;
  Sender& operator=(const Sender&) = delete;
  ~Sender() { stream_.stop(); }

  [[nodiscard]] std::uint16_t port() const { return service_.port(); }

  /// GB/s of copies that the GPU makes one after the other, without a stream.
  double copy_plainly() {
    const std::int64_t begun_ns = monotonic_ns();
    const auto done = std::make_shared<Fence>();
    memory_.work().start(
        [&](cuda::Stream stream) {
          for (std::uint64_t i = 0; i < plan_.frames; ++i) {
            copy_frame(targets_->address() + i % slots * plan_.frame_bytes, stream);
          }
        },
        done, targets_);
    if (wait_until_finished(*done, monotonic_ns() + longest_wait_ns) != FenceState::done) {
      throw Error::failed("the GPU did not make its copies");
    }
    return gigabytes_per_second(monotonic_ns() - begun_ns);
  }

  /// GB/s of frames that come to the viewer.
  double stream_frames(ValuePipe<LastFrame>& last_frames) {
    const std::int64_t begun_ns = monotonic_ns();
    for (std::uint64_t i = 0; i < plan_.frames; ++i) {
      auto slot = stream_.claim({.deadline_ns = monotonic_ns() + longest_wait_ns});
      if (!slot) {
        throw Error::failed("the viewer takes no frames: " + log_.text());
      }
      const auto& block = dynamic_cast<const CudaBlock&>(*slot->block());
      const auto ready = std::make_shared<Fence>();
      memory_.work().start(
          [&](cuda::Stream stream) { copy_frame(block.address() + slot->offset_in_block_bytes(), stream); }, ready,
          slot->block());
      stream_.publish(
          std::move(*slot),
          {.user_tag = i + 1 == plan_.frames ? last_of_run : 0, .layout = {}, .is_on_device = true, .ready = ready});
    }
    const std::optional<LastFrame> last = last_frames.take();
    if (!last) {
      throw Error::failed("the viewer ended");
    }
    if (!last->is_on_gpu) {
      throw Error::failed("the viewer gets the frames in host memory");
    }
    return gigabytes_per_second(last->received_ns - begun_ns);
  }

 private:
  static EndpointOptions endpoint() {
    EndpointOptions options;
    options.allowed_links = {LinkKind::local};
    options.listen = HostPort{"127.0.0.1", 0};
    return options;
  }

  std::shared_ptr<const CudaBlock> allocate(const std::string& purpose, std::uint64_t frames) const {
    return std::dynamic_pointer_cast<const CudaBlock>(
        memory_.allocate_private(purpose, frames * plan_.frame_bytes, [] { return false; }));
  }

  void copy_frame(cuda::Address to, cuda::Stream stream) const {
    const cuda::Copy2D copy = frame_copy(to, source_->address(), plan_.frame_bytes);
    cuda::require(memory_.device()->functions().cuMemcpy2DAsync(&copy, stream), "cuMemcpy2DAsync");
  }

  [[nodiscard]] double gigabytes_per_second(std::int64_t took_ns) const {
    return static_cast<double>(plan_.frames * plan_.frame_bytes) /
           static_cast<double>(std::max<std::int64_t>(took_ns, 1));
  }

  const CudaMemory& memory_;
  const Plan plan_;
  const std::shared_ptr<const CudaBlock> source_;
  const std::shared_ptr<const CudaBlock> targets_;
  test::KeptLog log_;
  Stream stream_;
  SenderService service_;
};

double median(std::vector<double> values) {
  std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2));
  return values.at(values.size() / 2);
}

int measure(Plan plan, ValuePipe<std::uint16_t>& port, ValuePipe<LastFrame>& last_frames) {
  const CudaMemory memory(cuda_devices().at(0));
  Sender sender(memory, plan);
  port.put(sender.port());
  std::vector<double> plain;
  std::vector<double> streamed;
  std::vector<double> ratios;
  sender.stream_frames(last_frames);  // the viewer connects, and memory is touched
  for (std::size_t i = 0; i < runs; ++i) {
    plain.push_back(sender.copy_plainly());
    streamed.push_back(sender.stream_frames(last_frames));
    ratios.push_back(streamed.back() / plain.back());
  }
  std::printf(R"({"frame_bytes": %llu, "frames": %llu, "copies, GB/s": %.2f, "stream, GB/s": %.2f, "ratio": %.3f})"
              "\n",
              static_cast<unsigned long long>(plan.frame_bytes), static_cast<unsigned long long>(plan.frames),
              median(plain), median(streamed), median(ratios));
  return 0;
}

/// A program of its own, with a context of CUDA of its own. The destructor ends it.
class Viewer {
 public:
  /// Before this program has threads.
  Viewer(ValuePipe<std::uint16_t>& port, ValuePipe<LastFrame>& last_frames) : id_(::fork()) {
    if (id_ < 0) {
      throw Error::from_errno("start a viewer", errno);
    }
    if (id_ == 0) {
      ::prctl(PR_SET_PDEATHSIG, SIGKILL);
      view_until_killed(port, last_frames);
    }
  }
  Viewer(const Viewer&) = delete;
  Viewer& operator=(const Viewer&) = delete;
  ~Viewer() {
    ::kill(id_, SIGKILL);
    ::waitpid(id_, nullptr, 0);
  }

 private:
  [[noreturn]] static void view_until_killed(ValuePipe<std::uint16_t>& port,
                                             ValuePipe<LastFrame>& last_frames) noexcept {
    try {
      if (const auto number = port.take()) {
        view(*number, last_frames);
      }
    } catch (const Error& error) {
      std::fprintf(stderr, "gpu_stream_speed: the viewer: %s\n", error.what());
    }
    ::_exit(1);
  }

  const pid_t id_;
};

int run(Plan plan) {
  ::setenv("XDG_CONFIG_HOME", "/nonexistent", 1);  // no key of this machine has an effect
  ValuePipe<std::uint16_t> port;
  ValuePipe<LastFrame> last_frames;
  const Viewer viewer(port, last_frames);
  return measure(plan, port, last_frames);
}

}  // namespace
}  // namespace framewire

int main(int argc, char** argv) {
  framewire::Plan plan;
  if (argc > 1) {
    plan.frame_bytes = std::strtoull(argv[1], nullptr, 10);
  }
  if (argc > 2) {
    plan.frames = std::strtoull(argv[2], nullptr, 10);
  }
  if (argc > 3 || plan.frame_bytes == 0 || plan.frames == 0) {
    std::fprintf(stderr, "usage: gpu_stream_speed [FRAME_BYTES [FRAMES]]\n");
    return 2;
  }
  try {
    return framewire::run(plan);
  } catch (const framewire::Error& error) {
    std::fprintf(stderr, "gpu_stream_speed: %s\n", error.what());
    return 1;
  }
}
