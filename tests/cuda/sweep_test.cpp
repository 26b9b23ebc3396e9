// Whatever call to CUDA's driver fails, and whenever: a program gets an error that names the function, or loses a frame
// that is counted; and nothing stays behind.
#include <fcntl.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.hpp"
#include "base/error.hpp"
#include "frame/test_pattern.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "memory/fence_wait.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/cuda/function_versions.hpp"
#include "tests/cuda/stand_in.hpp"
#include "transport/session/frame_copies.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::test {
namespace {

namespace stand_in = cuda_stand_in;

constexpr int unknown_error = 999;
constexpr int out_of_memory = 2;

/// Where these fail, nobody can do more: what they should have ended stays in the driver. So it does where the context
/// cannot be made current for them.
const std::set<std::string> ending{
    "cuCtxPushCurrent", "cuDevicePrimaryCtxRelease", "cuMemAddressFree", "cuMemRelease",
    "cuMemUnmap",       "cuMemHostUnregister",       "cuStreamDestroy",  "cuEventDestroy"};

/// What a program does without.
const std::set<std::string> not_needed{"cuCtxPopCurrent",    "cuDeviceCanAccessPeer",         "cuDeviceGetAttribute",
                                       "cuDriverGetVersion", "cuMemGetHandleForAddressRange", "cuStreamQuery"};

/// One call of a function, in a run.
struct Call {
  std::string function;
  int result;
  int calls_before;

  [[nodiscard]] std::string text() const {
    return "call " + std::to_string(calls_before) + " of " + function + " gives " + std::to_string(result);
  }
};

/// What a run came to.
struct Outcome {
  std::string fault{};  // the first one; empty if there was none
  std::uint64_t frames_skipped = 0;
};

/// Of the run that was: of each function all calls, or the first ones and one in the middle.
constexpr std::size_t all_calls = 40;  // but of cuEventQuery, which is called thousands of times
constexpr std::size_t some_calls = 8;
std::vector<Call> calls_to_fail(int result, std::size_t most) {
  std::vector<Call> chosen;
  for (const auto& [function, count] : stand_in::calls()) {
    for (std::size_t i = 0; i < std::min(count, most); ++i) {
      const std::size_t before = count <= most || i + 1 < most ? i : count / 2;
      chosen.push_back({function, result, static_cast<int>(before)});
    }
  }
  return chosen;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

/// Also without the function's name, where other words say more.
bool names(const std::string& fault, const Call& call) {
  return has(fault, call.function + ": ") ||
         (call.function == "cuMemCreate" && call.result == out_of_memory &&
          has(fault, "not enough memory on the GPU")) ||
         (call.function == "cuInit" && has(fault, "NVIDIA's driver cannot be used: ")) ||
         (call.function == "cuDeviceGetAttribute" && has(fault, "cannot be shared with other processes")) ||
         (call.function == "cuEventQuery" && has(fault, "the GPU did not "));
}

FileDescriptor descriptor_of(const Block& block) {
  return FileDescriptor(::fcntl(block.descriptor(), F_DUPFD_CLOEXEC, 0));
}

/// How often these are called depends on the time: an event is used again once its work has ended.
const std::set<std::string> timed{"cuEventQuery", "cuEventCreate", "cuEventDestroy"};

class CudaSweep : public testing::Test {
 protected:
  CudaSweep() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  void SetUp() override {
    cuda::functions();  // which a process loads once, so that every run has the same calls
    begin();
  }
  void TearDown() override { stand_in::reset(); }

  /// As a process starts, on two GPUs that read each other's memory, and have to be told that RDMA devices wrote.
  static void begin() {
    stand_in::reset();
    stand_in::set_attribute(118, 0);
    stand_in::set_device_count(2);
    stand_in::set_peer_access(true);
  }

  /// What is true of any run in which this call was to fail.
  static void expect_told(const Call& call, const Outcome& outcome) {
    EXPECT_EQ(stand_in::contexts_on_all_threads(), 0U);
    if (!outcome.fault.empty() || !ending.contains(call.function)) {
      EXPECT_EQ(stand_in::objects(), 0U) << outcome.fault;
    }
    if (!outcome.fault.empty()) {
      EXPECT_TRUE(names(outcome.fault, call)) << outcome.fault;
    } else if (stand_in::failures_to_come() != 0) {
      EXPECT_TRUE(timed.contains(call.function)) << "it was called less often than before";
    } else {
      EXPECT_TRUE(outcome.frames_skipped != 0 || ending.contains(call.function) || not_needed.contains(call.function))
          << "nobody was told";
    }
  }

  /// Runs with each of the calls failing.
  template <typename Run>
  static void sweep(const std::vector<Call>& calls, const Run& run) {
    for (const Call& call : calls) {
      begin();
      const testing::ScopedTrace trace(__FILE__, __LINE__, call.text());
      stand_in::fail(call.function.c_str(), call.result, call.calls_before);
      expect_told(call, run());
      stand_in::end_objects();
    }
  }

  TemporaryFolder folder_;
};

// ---- Memory ----

constexpr std::uint64_t block_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t frame_bytes = 100'000;

void finish(const std::shared_ptr<Fence>& fence) {
  if (wait_until_finished(*fence, monotonic_ns() + timeout_ns) != FenceState::done) {
    throw Error::failed("the GPU did not copy");
  }
}

void read_on_other_gpu(const CudaDeviceInfo& gpu, const Block& mine) {
  if (gpu.peers.empty()) {  // its driver did not say that it may
    return;
  }
  const CudaMemory memory(gpu);
  const auto theirs = memory.import(descriptor_of(mine), block_bytes);
  const std::shared_ptr<Block> copy = memory.allocate_private("copies", block_bytes, {});
  const auto into = HostBlock::create("into", block_bytes);
  finish(theirs->copy_to_device(copy, CopyRange::at(0, frame_bytes)));
  finish(copy->copy_to_host(into, CopyRange::at(0, frame_bytes), nullptr));
  EXPECT_FALSE(find_torn_line(into->bytes().first(frame_bytes), 1));
}

Outcome use_memory() {
  try {
    cuda::load_functions();
    const std::vector<CudaDeviceInfo> devices = cuda_devices();
    const CudaMemory memory(devices.at(0));
    const auto mine = memory.allocate("frames", block_bytes, {});
    const auto theirs = memory.import(descriptor_of(*mine), block_bytes);
    const auto from = HostBlock::create("from", block_bytes);
    const auto into = HostBlock::create("into", block_bytes);
    write_test_lines(from->bytes().first(frame_bytes), 1);
    finish(mine->copy_from_host(from, CopyRange::at(0, frame_bytes)));
    mine->make_writes_visible();
    static_cast<void>(mine->registered_as());
    finish(theirs->copy_to_host(into, CopyRange::at(0, frame_bytes), nullptr));
    EXPECT_FALSE(find_torn_line(into->bytes().first(frame_bytes), 1));
    read_on_other_gpu(devices.at(1), *mine);
    return {};
  } catch (const Error& error) {
    return {.fault = error.what()};
  }
}

class CudaSweepOfMemory : public CudaSweep {};

TEST_F(CudaSweepOfMemory, ReachesAllFunctionsButThoseOfErrorsAndOfDecoders) {
  EXPECT_EQ(use_memory().fault, "");
  const auto called = stand_in::calls();
  std::set<std::string> others;
  for (const auto& variant : stand_in::variants) {
    if (!called.contains(variant.name)) {
      others.emplace(variant.name);
    }
  }
  EXPECT_EQ(others, (std::set<std::string>{"cuGetErrorName", "cuGetErrorString", "cuMemGetInfo", "cuMemcpy2DAsync",
                                           "cuStreamQuery"}));
}

TEST_F(CudaSweepOfMemory, WhateverCallFailsIsToldAndLeavesNothing) {
  EXPECT_EQ(use_memory().fault, "");
  sweep(calls_to_fail(unknown_error, all_calls), use_memory);
}

TEST_F(CudaSweepOfMemory, WhateverCallHasNoMemoryIsToldAndLeavesNothing) {
  EXPECT_EQ(use_memory().fault, "");
  sweep(calls_to_fail(out_of_memory, all_calls), use_memory);
}

// ---- Sessions ----

constexpr std::uint64_t frames = 6;

/// How frames go from the source to the viewer.
struct Way {
  LinkKind link;
  bool is_on_device;  // the source puts them where the GPU has them; else into host memory, from where that copies them
  std::uint16_t slices = 1;  // in which the GPU copies them to host memory
  int viewers_gpu = 0;
};

/// A sender and a viewer, each with its own memory of the GPU, as in two programs.
class Session {
 public:
  explicit Session(Way way) : way_(way), stream_(options()), service_(endpoint(), {&stream_}, "test", log_) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() = default;

  Outcome run() {
    std::thread source([this] { produce(); });
    const std::string of_viewer = view();
    stream_.stop();
    source.join();
    EXPECT_TRUE(service_.drain(monotonic_ns() + timeout_ns));
    const std::string fault = source_fault_.empty() ? of_viewer : source_fault_;
    return {.fault = fault, .frames_skipped = count_frames(fault.empty())};
  }

 private:
  StreamOptions options() const {
    StreamOptions options;
    options.name = "test";
    options.delivery = Delivery::every;
    options.slots_per_viewer = 4;
    options.max_viewers = 1;
    options.max_frames = frames;
    options.memory = &senders_;
    options.slices = way_.slices;
    return options;
  }
  EndpointOptions endpoint() const {
    EndpointOptions options;
    options.allowed_links = {way_.link};
    options.listen = HostPort{"127.0.0.1", 0};
    return options;
  }

  static std::span<std::byte> on_device(const Block& block) {
    return {stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  }

  void produce() {
    try {
      stream_.begin_epoch({.layout = bytes_layout(frame_bytes), .colour = {}});
      while (auto slot = stream_.claim()) {
        const auto bytes = way_.is_on_device
                               ? on_device(*slot->block()).subspan(slot->offset_in_block_bytes(), frame_bytes)
                               : slot->bytes();
        write_test_lines(bytes, slot->next_sequence());
        stream_.publish(std::move(*slot),
                        {.has_test_pattern = true, .layout = {}, .is_on_device = way_.is_on_device, .ready = nullptr});
        ++published_;
      }
      stream_.finish();
    } catch (const Error& error) {
      source_fault_ = error.what();
      has_failed_.store(true);
    }
  }

  /// As a program that checks each frame in host memory.
  std::string view() {
    SubscriberOptions options{.endpoint = endpoint(), .stream = {}, .delivery = {}};
    options.endpoint.listen.reset();
    options.endpoint.dial = HostPort{"127.0.0.1", service_.port()};
    options.memory = {&viewers_};
    options.reconnect = false;
    Subscriber subscriber(options, log_);
    std::string fault;
    FrameCopies to_own_gpu;
    FrameCopies to_host;
    EXPECT_TRUE(eventually([&] {
      while (auto frame = subscriber.next()) {
        ++taken_;
        try {
          to_own_gpu.copy(*frame, frame->block()->kind(), {});
          to_host.copy(*frame, host_memory(), {});
          EXPECT_FALSE(find_torn_line(frame->payload(), frame->header().sequence)) << frame->header().sequence;
        } catch (const Error& error) {
          fault = error.what();
        }
      }
      const SubscriberState state = subscriber.status().state;
      subscriber.wait(monotonic_ns() + ns_per_ms);
      return state == SubscriberState::finished || state == SubscriberState::failed || has_failed_.load();
    }));
    if (subscriber.status().state == SubscriberState::failed) {
      fault = subscriber.status().message;
    }
    subscriber.close("{}");
    return fault;
  }

  /// Returns how many were skipped, or aborted when some of their slices had gone.
  std::uint64_t count_frames(bool is_whole) const {
    const auto reports = service_.reports();
    EXPECT_LE(reports.size(), 1U);
    std::uint64_t skipped = 0;
    for (const SessionReport& report : reports) {
      const std::uint64_t of_session = report.counts.frames_skipped + report.counts.frames_aborted;
      skipped += of_session;
      EXPECT_EQ(report.counts.frames_produced, published_);
      EXPECT_EQ(report.counts.frames_produced, of_session + report.counts.frames_sent);
      EXPECT_EQ(report.counts.frames_sent, taken_ + report.frames_lost);
    }
    if (is_whole) {
      EXPECT_EQ(taken_ + skipped, frames);
    }
    return skipped;
  }

  const Way way_;
  KeptLog log_;
  const CudaMemory senders_{choose_cuda_device(cuda_devices(), "")};
  const CudaMemory viewers_{cuda_devices().at(static_cast<std::size_t>(way_.viewers_gpu))};
  Stream stream_;
  SenderService service_;
  std::atomic<bool> has_failed_ = false;
  std::string source_fault_;  // of the source's thread, until that has ended
  std::uint64_t published_ = 0;
  std::uint64_t taken_ = 0;
};

class CudaSweepOfSessions : public CudaSweep, public testing::WithParamInterface<Way> {
 protected:
  static Outcome run() {
    try {
      return Session(GetParam()).run();
    } catch (const Error& error) {
      return {.fault = error.what()};
    }
  }
};

TEST_P(CudaSweepOfSessions, WhateverCallFailsIsToldOrCostsAFrame) {
  EXPECT_EQ(run().fault, "");
  EXPECT_EQ(stand_in::calls().contains("cuMemcpyDtoDAsync"), GetParam().viewers_gpu != 0);
  sweep(calls_to_fail(unknown_error, some_calls), run);
}

TEST_P(CudaSweepOfSessions, WhateverCallHasNoMemoryIsToldOrCostsAFrame) {
  EXPECT_EQ(run().fault, "");
  sweep(calls_to_fail(out_of_memory, some_calls), run);
}

INSTANTIATE_TEST_SUITE_P(Of, CudaSweepOfSessions,
                         testing::Values(Way{LinkKind::local, false}, Way{LinkKind::local, true},
                                         Way{LinkKind::tcp, false}, Way{LinkKind::tcp, true},
                                         Way{LinkKind::tcp, true, 3}, Way{LinkKind::local, true, 1, 1}),
                         [](const auto& one) {
                           return std::string(name(one.param.link)) +
                                  (one.param.is_on_device ? "OfTheGpu" : "OfTheHost") +
                                  (one.param.slices > 1 ? "InSlices" : "") +
                                  (one.param.viewers_gpu != 0 ? "ForAnother" : "");
                         });

}  // namespace
}  // namespace framewire::test
