// Whole sessions over rdma with frames in a GPU's memory, and what the two ends say where its memory cannot be reached.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "base/clock.hpp"
#include "frame/test_pattern.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "tests/base/eventually.hpp"
#include "tests/base/logs.hpp"
#include "tests/base/temporary_folder.hpp"
#include "tests/cuda/delayed_writes.hpp"
#include "tests/cuda/dma_buf_verbs.hpp"
#include "tests/cuda/stand_in.hpp"
#include "transport/rdma/addresses.hpp"
#include "transport/session/sender_service.hpp"
#include "transport/session/subscriber.hpp"

namespace framewire::test {
namespace {

namespace stand_in = cuda_stand_in;
namespace verbs = dma_buf_verbs;

constexpr std::uint64_t frame_bytes = 20'000;
constexpr std::uint64_t frames = 50;

class GpuSession : public testing::TestWithParam<std::string> {
 protected:
  GpuSession() { ::setenv("XDG_CONFIG_HOME", folder_.path().c_str(), 1); }
  void SetUp() override {
    stand_in::reset();
    verbs::reset();
    memory_.emplace(choose_cuda_device(cuda_devices(), ""));
  }
  void TearDown() override {
    stop();
    EXPECT_EQ(verbs::living(), 0U);
    memory_.reset();
    stand_in::reset();
    verbs::reset();
  }

  static EndpointOptions endpoint(bool may_choose) {
    EndpointOptions options;
    options.may_choose_link = may_choose;
    options.allowed_links = may_choose ? std::vector{LinkKind::rdma, LinkKind::tcp} : std::vector{LinkKind::rdma};
    options.native_on_loopback = true;
    return options;
  }

  static std::span<std::byte> on_device(const Block& block) {
    return {stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  }

  /// A sender whose frames lie in this memory. With `allows_pull` it goes on until it is stopped.
  void start(const MemoryKind& memory, bool may_choose, bool allows_pull = false) {
    StreamOptions options;
    options.name = "test";
    options.delivery = allows_pull ? Delivery::latest : Delivery::every;
    options.max_frames = allows_pull ? 0 : frames;
    options.allows_pull = allows_pull;
    options.memory = &memory;
    stream_ = std::make_unique<Stream>(options);
    EndpointOptions listening = endpoint(may_choose);
    listening.listen = HostPort{"127.0.0.1", 0};
    service_ = std::make_unique<SenderService>(listening, std::vector<Stream*>{stream_.get()}, "test", log_);
    source_ = std::thread([this] {
      const StreamFormat format{.layout = bytes_layout(frame_bytes), .colour = {}};
      stream_->begin_epoch(format);
      for (std::uint64_t frame = 1; auto slot = stream_->claim(); ++frame) {
        const Block& block = *slot->block();
        const auto bytes = block.host() != nullptr ? block.host()->bytes() : on_device(block);
        write_test_lines(bytes.subspan(slot->offset_in_block_bytes(), frame_bytes), slot->next_sequence());
        stream_->publish(std::move(*slot),
                         {.has_test_pattern = true, .layout = {}, .is_on_device = true, .ready = nullptr});
        if (frame == frames_before_next_epoch_) {
          stream_->begin_epoch(format);
        }
        if (stream_->options().allows_pull) {
          std::this_thread::sleep_for(std::chrono::microseconds(500));
        }
      }
      stream_->finish();
    });
  }

  void stop() {
    if (stream_) {
      stream_->stop();
      source_.join();
      service_->drain(monotonic_ns() + 5 * ns_per_s);
      service_.reset();
      stream_.reset();
    }
  }

  SubscriberOptions dialling(const MemoryKind* memory, bool may_choose) const {
    SubscriberOptions options{.endpoint = endpoint(may_choose), .stream = {}, .delivery = {}};
    options.endpoint.dial = HostPort{"127.0.0.1", service_->port()};
    if (memory != nullptr) {
      options.memory = {memory};
    }
    return options;
  }

  /// Takes frames until the viewer ends. Returns how many came whole.
  static std::uint64_t take_all(Subscriber& subscriber) {
    std::uint64_t whole = 0;
    EXPECT_TRUE(eventually([&] {
      while (const auto frame = subscriber.next()) {
        const Block& block = *frame->block();
        const auto bytes = block.host() != nullptr ? block.host()->bytes() : on_device(block);
        whole += find_torn_line(bytes.subspan(frame->offset_in_block_bytes(), frame_bytes), frame->header().sequence)
                     ? 0U
                     : 1U;
      }
      const SubscriberState state = subscriber.status().state;
      subscriber.wait(monotonic_ns() + 5 * ns_per_ms);
      return state == SubscriberState::finished || state == SubscriberState::failed;
    }));
    return whole;
  }

  TemporaryFolder folder_;
  KeptLog log_;
  std::optional<CudaMemory> memory_;
  std::unique_ptr<Stream> stream_;
  std::unique_ptr<SenderService> service_;
  std::thread source_;
  std::uint64_t frames_before_next_epoch_ = 0;  // 0: there is one epoch
};

std::size_t count_of(const std::string& part, const std::string& text) {
  std::size_t count = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

const std::string why = "cannot reach the memory of the GPU Stand-in 0 with the RDMA device ";

TEST_P(GpuSession, GoesFromGpuToGpu) {
  start(*memory_, false);
  Subscriber viewer(dialling(&*memory_, false), log_);
  EXPECT_EQ(take_all(viewer), frames);
  EXPECT_EQ(viewer.status().state, SubscriberState::finished) << viewer.status().message;
  EXPECT_TRUE(has(viewer.status().start_line, "memory=cuda ")) << viewer.status().start_line;
  EXPECT_TRUE(has(viewer.status().start_line,
                  " ring=registration access=dma-buf (no data-direct: the RDMA device is not of mlx5)"))
      << viewer.status().start_line;
  EXPECT_EQ(viewer.status().memory_access.way, "dma-buf");
  viewer.close("{}");
  stop();
  EXPECT_TRUE(has(log_.text(),
                  " reaches the memory of the GPU Stand-in 0 by DMA-BUF (no data-direct: the RDMA device is not of "
                  "mlx5)"))
      << log_.text();
  EXPECT_TRUE(has(log_.text(), " access=dma-buf (no data-direct: the RDMA device is not of mlx5)"))
      << "the sender's start line: " << log_.text();
}

TEST_P(GpuSession, GoesByDataDirectWhereBothEndsHaveIt) {
  stand_in::set_driver_version(12080);
  memory_.emplace(choose_cuda_device(cuda_devices(), ""));
  verbs::offer_data_direct();
  start(*memory_, false);
  Subscriber viewer(dialling(&*memory_, false), log_);
  EXPECT_EQ(take_all(viewer), frames) << "each is read back, also the last ones";
  EXPECT_EQ(viewer.status().state, SubscriberState::finished) << viewer.status().message;
  EXPECT_TRUE(has(viewer.status().start_line, " ring=registration access=data-direct")) << viewer.status().start_line;
  EXPECT_EQ(viewer.status().memory_access.way, "data-direct");
  EXPECT_EQ(viewer.status().memory_access.passed_over, "");
  viewer.close("{}");
  stop();
  EXPECT_TRUE(has(log_.text(), " reaches the memory of the GPU Stand-in 0 by data-direct")) << log_.text();
  EXPECT_TRUE(has(log_.text(), " access=data-direct")) << "the sender's start line: " << log_.text();
  EXPECT_GT(delayed_writes::reads(), frames / 4) << "one READ may show several frames";
  for (const verbs::Registered& one : verbs::registered()) {
    EXPECT_TRUE(one.is_by_data_direct);
  }
}

/// The start line tells what a trial without writes has shown. Then nothing arrives.
TEST_P(GpuSession, SaysByWhichWayTheRingIsReachedAfterAll) {
  stand_in::set_driver_version(12080);
  memory_.emplace(choose_cuda_device(cuda_devices(), ""));
  verbs::offer_data_direct();
  delayed_writes::show_nothing(true);
  frames_before_next_epoch_ = frames / 2;
  start(*memory_, false);
  Subscriber viewer(dialling(&*memory_, false), log_);
  EXPECT_EQ(take_all(viewer), frames);
  EXPECT_EQ(viewer.status().state, SubscriberState::finished) << viewer.status().message;
  EXPECT_EQ(viewer.status().epochs_begun, 2U);
  EXPECT_TRUE(has(viewer.status().start_line, " access=data-direct")) << viewer.status().start_line;
  EXPECT_EQ(viewer.status().memory_access.way, "dma-buf");
  EXPECT_EQ(viewer.status().memory_access.passed_over, "no data-direct: what a trial wrote did not arrive");
  viewer.close("{}");
  EXPECT_TRUE(eventually([&] { return service_->reports().size() == 1; }));
  EXPECT_EQ(service_->reports().front().memory_access.way, "data-direct") << "the sender's pool is only read";
  stop();
  EXPECT_EQ(count_of(" does not reach the memory of the GPU Stand-in 0 by data-direct: what a trial wrote did not "
                     "arrive; trying dma-buf\n",
                     log_.text()),
            1U)
      << log_.text();
  EXPECT_EQ(count_of(" reaches the memory of the GPU Stand-in 0 by DMA-BUF (no data-direct: what a trial wrote did not "
                     "arrive): access=dma-buf from here on\n",
                     log_.text()),
            1U)
      << log_.text();
  EXPECT_EQ(count_of(" from here on", log_.text()), 1U) << log_.text();
}

/// The start line tells what works for a little of the memory.
TEST_P(GpuSession, SaysByWhichWayThePoolIsReachedAfterAll) {
  stand_in::set_driver_version(12080);
  memory_.emplace(choose_cuda_device(cuda_devices(), ""));
  verbs::offer_data_direct();
  constexpr int of_the_start_line = 1;
  verbs::refuse_data_direct_after(of_the_start_line);
  frames_before_next_epoch_ = frames / 2;
  start(*memory_, false);
  Subscriber viewer(dialling(nullptr, false), log_);
  EXPECT_EQ(take_all(viewer), frames);
  EXPECT_EQ(viewer.status().memory_access.way, "") << "host memory";
  viewer.close("{}");
  EXPECT_TRUE(eventually([&] { return service_->reports().size() == 1; }));
  EXPECT_EQ(service_->reports().front().memory_access.way, "dma-buf");
  EXPECT_EQ(service_->reports().front().memory_access.passed_over,
            "no data-direct: its driver: Cannot allocate memory");
  stop();
  EXPECT_TRUE(has(log_.text(), " access=data-direct\n")) << "the sender's start line: " << log_.text();
  EXPECT_EQ(count_of(" reaches the memory of the GPU Stand-in 0 by DMA-BUF (no data-direct: its driver: Cannot "
                     "allocate memory): access=dma-buf from here on\n",
                     log_.text()),
            1U)
      << log_.text();
}

TEST_P(GpuSession, IsReadByAViewerThatPulls) {
  start(*memory_, false, true);
  SubscriberOptions options = dialling(nullptr, false);
  options.endpoint.pull_interval_ns = ns_per_ms;
  Subscriber viewer(options, log_);
  std::uint64_t pulled = 0;
  EXPECT_TRUE(eventually([&] {
    while (const auto frame = viewer.next()) {
      EXPECT_FALSE(find_torn_line(frame->payload(), frame->header().sequence)) << frame->header().sequence;
      ++pulled;
    }
    viewer.wait(monotonic_ns() + 5 * ns_per_ms);
    return pulled >= 20 || viewer.status().state == SubscriberState::failed;
  })) << viewer.status().message;
  EXPECT_GE(pulled, 20U) << viewer.status().message;
  const auto registered = verbs::registered();
  ASSERT_FALSE(registered.empty());
  EXPECT_EQ(registered.back().access, static_cast<unsigned>(IBV_ACCESS_REMOTE_READ));
  viewer.close("{}");
}

const std::string reasons =
    "no data-direct: the RDMA device is not of mlx5; no DMA-BUF: its driver: Operation not supported; no peer memory: "
    "nvidia-peermem is not loaded";

/// In the open: both start lines say it, with every reason.
TEST_P(GpuSession, GoesByCopiesWhereTheSendersGpuCannotBeReached) {
  verbs::refuse_dma_buf(EOPNOTSUPP);
  start(*memory_, false);
  Subscriber viewer(dialling(nullptr, false), log_);
  EXPECT_EQ(take_all(viewer), frames);
  EXPECT_EQ(viewer.status().state, SubscriberState::finished) << viewer.status().message;
  viewer.close("{}");
  EXPECT_TRUE(eventually([&] { return service_->reports().size() == 1; }));
  EXPECT_EQ(service_->reports().front().memory, "cuda>host");
  EXPECT_EQ(service_->reports().front().memory_access.way, "host");
  EXPECT_TRUE(service_->reports().front().memory_access.passed_over.starts_with(reasons))
      << service_->reports().front().memory_access.passed_over;
  stop();
  EXPECT_TRUE(has(log_.text(), " memory=cuda>host ")) << log_.text();
  EXPECT_TRUE(has(log_.text(), " access=host (" + reasons)) << log_.text();
  EXPECT_FALSE(has(log_.text(), " reaches the memory of ")) << log_.text();
}

TEST_P(GpuSession, GoesByCopiesWhereTheViewersGpuCannotBeReached) {
  verbs::refuse_dma_buf(EOPNOTSUPP);
  start(host_memory(), false);
  Subscriber viewer(dialling(&*memory_, false), log_);
  EXPECT_EQ(take_all(viewer), frames);
  EXPECT_EQ(viewer.status().state, SubscriberState::finished) << viewer.status().message;
  EXPECT_EQ(viewer.status().memory, "host");
  EXPECT_EQ(viewer.status().memory_access.way, "host");
  EXPECT_TRUE(has(viewer.status().start_line, " memory=host ")) << viewer.status().start_line;
  EXPECT_TRUE(has(viewer.status().start_line, " access=host (" + reasons)) << viewer.status().start_line;
  viewer.close("{}");
}

/// A little of the memory is reached at each end, and the whole is not.
TEST_P(GpuSession, TellsTheViewerThatTheSendersPoolCannotBeReached) {
  verbs::refuse_dma_buf_after(1);  // a trial
  start(*memory_, false);
  Subscriber viewer(dialling(nullptr, false), log_);
  EXPECT_EQ(take_all(viewer), 0U);
  EXPECT_EQ(viewer.status().state, SubscriberState::failed);
  EXPECT_TRUE(has(viewer.status().message, why)) << viewer.status().message;
  EXPECT_TRUE(has(viewer.status().message, "its BAR1 window may be too small")) << viewer.status().message;
  viewer.close("{}");
  stop();
  EXPECT_TRUE(has(log_.text(), why)) << log_.text();
}

TEST_P(GpuSession, SaysThatTheViewersRingCannotBeReached) {
  verbs::refuse_dma_buf_after(1);  // a trial
  start(host_memory(), false);
  Subscriber viewer(dialling(&*memory_, false), log_);
  EXPECT_EQ(take_all(viewer), 0U);
  EXPECT_EQ(viewer.status().state, SubscriberState::failed);
  EXPECT_TRUE(has(viewer.status().message, why)) << viewer.status().message;
  viewer.close("{}");
}

/// Another link is no secret: the start line has the reason.
TEST_P(GpuSession, TakesAnotherLinkInTheOpen) {
  constexpr int trials = 1;  // of the sender's memory; then its pool
  verbs::refuse_dma_buf_after(trials);
  start(*memory_, true);
  Subscriber viewer(dialling(nullptr, true), log_);
  EXPECT_EQ(take_all(viewer), frames);
  EXPECT_EQ(viewer.status().state, SubscriberState::finished) << viewer.status().message;
  EXPECT_TRUE(has(viewer.status().start_line, "transport=tcp")) << viewer.status().start_line;
  EXPECT_TRUE(has(viewer.status().start_line, why)) << viewer.status().start_line;
  viewer.close("{}");
}

std::vector<std::string> rdma_here() {
  return rdma_addresses().empty() ? std::vector<std::string>{} : std::vector<std::string>{"rdma"};
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(GpuSession);
INSTANTIATE_TEST_SUITE_P(Whole, GpuSession, testing::ValuesIn(rdma_here()), [](const auto& one) { return one.param; });

}  // namespace
}  // namespace framewire::test
