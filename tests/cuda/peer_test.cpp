// Memory of one GPU that another one reads, as where a sender and its viewer have different GPUs of one machine.
#include <fcntl.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.hpp"
#include "memory/cuda/cuda_memory.hpp"
#include "tests/base/eventually.hpp"
#include "tests/cuda/stand_in.hpp"
#include "transport/session/frame_copies.hpp"

namespace framewire {
namespace {

namespace stand_in = test::cuda_stand_in;
using test::eventually;

constexpr std::uint64_t granule_bytes = std::uint64_t{2} << 20;
constexpr std::uint64_t frame_bytes = 100'000;
constexpr std::byte unfinished{0xa5};

/// Knows which frames were given back.
class Link final : public ReceiverLink {
 public:
  [[nodiscard]] LinkKind kind() const noexcept override { return LinkKind::local; }
  LinkDescription begin_epoch(std::uint32_t, std::uint64_t, std::uint32_t, const LinkDescription&) override {
    return {};
  }
  std::optional<IncomingFrame> poll() noexcept override { return std::nullopt; }
  bool arm() noexcept override { return true; }
  [[nodiscard]] int descriptor() const noexcept override { return -1; }
  [[nodiscard]] LinkState state() const noexcept override { return LinkState::open; }
  [[nodiscard]] std::string fault() const override { return {}; }
  void return_credit(const FrameHeader& header) noexcept override {
    const std::scoped_lock lock(mutex_);
    returned_.push_back(header.sequence);
  }

  [[nodiscard]] std::vector<std::uint64_t> returned() const {
    const std::scoped_lock lock(mutex_);
    return returned_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<std::uint64_t> returned_;
};

/// The sender's GPU is the second one, the viewer's the first one.
class CudaPeers : public testing::Test {
 protected:
  void SetUp() override {
    stand_in::reset();
    stand_in::set_device_count(2);
    stand_in::set_peer_access(true);
    before_ = stand_in::objects();
    use_gpus();
  }
  void TearDown() override {
    stand_in::hold_work(false);
    stand_in::lose_device(0);
    theirs_.reset();
    viewers_.reset();
    senders_.reset();
    EXPECT_EQ(stand_in::objects(), before_);
    EXPECT_EQ(stand_in::contexts_on_all_threads(), 0U);
    stand_in::reset();
  }

  /// As CUDA says now what they are.
  void use_gpus() {
    theirs_.reset();
    const std::vector<CudaDeviceInfo> gpus = cuda_devices();
    viewers_.emplace(gpus.at(0));
    senders_.emplace(gpus.at(1));
    theirs_ = senders_->allocate("3 frame slots", 2 * granule_bytes, {});
  }

  static std::span<std::byte> on_device(const Block& block) {
    return {stand_in::memory_at(dynamic_cast<const CudaBlock&>(block).address()), block.size_bytes()};
  }
  [[nodiscard]] FileDescriptor descriptor() const {
    return FileDescriptor(::fcntl(theirs_->descriptor(), F_DUPFD_CLOEXEC, 0));
  }
  [[nodiscard]] std::shared_ptr<const Block> import() const {
    return viewers_->import(descriptor(), 2 * granule_bytes);
  }
  [[nodiscard]] std::string fault_of_importing() const {
    try {
      static_cast<void>(import());
      return {};
    } catch (const Error& error) {
      return error.what();
    }
  }

  /// A frame with bytes of its own, as the viewer gets it.
  ReceivedFrame frame_in(const std::shared_ptr<const Block>& block, std::uint64_t offset_bytes,
                         std::uint64_t sequence) {
    std::ranges::fill(on_device(*theirs_).subspan(offset_bytes, frame_bytes), static_cast<std::byte>(sequence));
    IncomingFrame frame{.block = block, .offset_in_block_bytes = offset_bytes};
    frame.header.sequence = sequence;
    frame.header.layout = bytes_layout(frame_bytes);
    return {std::move(frame), link_, 1};
  }
  static bool has_bytes_of(const ReceivedFrame& frame, std::uint64_t sequence) {
    return std::ranges::all_of(on_device(*frame.block()).subspan(frame.offset_in_block_bytes(), frame_bytes),
                               [&](std::byte byte) { return byte == static_cast<std::byte>(sequence); });
  }

  std::size_t before_ = 0;
  std::optional<CudaMemory> senders_;
  std::optional<CudaMemory> viewers_;
  std::shared_ptr<Block> theirs_;
  std::shared_ptr<Link> link_ = std::make_shared<Link>();
};

bool never() {
  return false;
}

TEST_F(CudaPeers, AreKnownByTheirUuids) {
  EXPECT_TRUE(viewers_->imports_from(*viewers_->device_uuid()));
  EXPECT_TRUE(viewers_->imports_from(*senders_->device_uuid()));
  EXPECT_FALSE(viewers_->imports_from(DeviceUuid{1, 2, 3}));
  stand_in::set_peer_access(false);
  use_gpus();
  EXPECT_TRUE(viewers_->imports_from(*viewers_->device_uuid()));
  EXPECT_FALSE(viewers_->imports_from(*senders_->device_uuid()));
}

TEST_F(CudaPeers, MapEachOthersMemory) {
  const auto mapped = import();
  EXPECT_TRUE(mapped->is_on_other_device());
  EXPECT_EQ(&mapped->kind(), &*viewers_);
  EXPECT_LT(mapped->descriptor(), 0);
  EXPECT_THROW(static_cast<void>(mapped->for_opengl()), Error) << "that of the viewer's GPU does not import it";
  EXPECT_FALSE(theirs_->is_on_other_device());
  EXPECT_FALSE(senders_->import(descriptor(), granule_bytes)->is_on_other_device());
}

TEST_F(CudaPeers, CopyEachOthersMemoryToTheirOwn) {
  const auto mapped = import();
  std::ranges::fill(on_device(*theirs_), std::byte{7});
  std::shared_ptr<Block> mine = viewers_->allocate_private("copies", 2 * granule_bytes, {});
  EXPECT_FALSE(mine->is_on_other_device());
  EXPECT_TRUE(mine->for_opengl().descriptor.valid());
  const auto fence = mapped->copy_to_device(
      mine, {.from_offset_bytes = 4096, .to_offset_bytes = granule_bytes, .size_bytes = frame_bytes});
  ASSERT_TRUE(eventually([&] { return fence->state() == FenceState::done; }));
  const auto bytes = on_device(*mine);
  EXPECT_EQ(bytes[granule_bytes - 1], std::byte{0});
  EXPECT_TRUE(std::ranges::equal(bytes.subspan(granule_bytes, frame_bytes), on_device(*theirs_).first(frame_bytes)));
  EXPECT_EQ(bytes[granule_bytes + frame_bytes], std::byte{0});
}

TEST_F(CudaPeers, CopyEachOthersMemoryToTheHost) {
  const auto mapped = import();
  std::ranges::fill(on_device(*theirs_), std::byte{7});
  const auto into = HostBlock::create("copies", granule_bytes);
  const auto fence = mapped->copy_to_host(into, CopyRange::at(0, frame_bytes), nullptr);
  ASSERT_TRUE(eventually([&] { return fence->state() == FenceState::done; }));
  EXPECT_TRUE(std::ranges::equal(into->bytes().first(frame_bytes), on_device(*theirs_).first(frame_bytes)));
}

/// Who does not wait for the fence reads poison; and the GPU has both blocks until then.
TEST_F(CudaPeers, HaveCopiedOnceTheFenceIsFinished) {
  auto mapped = import();
  std::shared_ptr<Block> mine = viewers_->allocate_private("copies", granule_bytes, {});
  std::byte* const seen = on_device(*mine).data();
  stand_in::hold_work(true);
  const auto fence = mapped->copy_to_device(mine, CopyRange::at(0, frame_bytes));
  EXPECT_EQ(fence->state(), FenceState::pending);
  EXPECT_EQ(*seen, unfinished);
  const std::weak_ptr<const Block> watched_source = std::exchange(mapped, nullptr);
  const std::weak_ptr<Block> watched_copy = std::exchange(mine, nullptr);
  EXPECT_FALSE(watched_source.expired());
  EXPECT_FALSE(watched_copy.expired());
  stand_in::hold_work(false);
  EXPECT_TRUE(eventually([&] { return watched_source.expired() && watched_copy.expired(); }));
  EXPECT_EQ(fence->state(), FenceState::done);
}

TEST_F(CudaPeers, AreNamedOnceInTheLog) {
  EXPECT_EQ(viewers_->take_note(), "");
  stand_in::fail("cuMemSetAccess", 801);
  static_cast<void>(import());
  static_cast<void>(import());
  EXPECT_TRUE(viewers_->take_note().starts_with("maps the sender's memory for writing, too"));
  EXPECT_EQ(viewers_->take_note(),
            "reads frames of the GPU Stand-in 1 (0000:3c:00.0) on the GPU Stand-in 0 (0000:3b:00.0), by peer access");
  EXPECT_EQ(viewers_->take_note(), "");
  static_cast<void>(senders_->import(descriptor(), granule_bytes));
  EXPECT_EQ(senders_->take_note(), "") << "it is its own";
}

// ---- Where it fails ----

TEST_F(CudaPeers, AreRefusedWhereTheDriverMapsTheirMemoryNotAfterAll) {
  const std::string begin = "the sender's memory cannot be mapped on the GPU Stand-in 0: ";
  stand_in::set_peer_access(false);
  EXPECT_EQ(fault_of_importing(), begin + "cuMemSetAccess: error 101");
  stand_in::set_peer_access(true);
  const std::size_t before = stand_in::objects();
  for (const std::string function : {"cuMemGetAllocationPropertiesFromHandle", "cuMemAddressReserve", "cuMemMap"}) {
    stand_in::fail(function.c_str(), 999);
    EXPECT_EQ(fault_of_importing(), begin + function + ": CUDA_ERROR_UNKNOWN");
    EXPECT_EQ(stand_in::objects(), before) << function;
  }
  EXPECT_EQ(viewers_->take_note(), "");
  EXPECT_EQ(fault_of_importing(), "");
}

TEST_F(CudaPeers, ThatThisProcessDoesNotSeeAreRefused) {
  stand_in::set_device_count(3);
  const CudaMemory third(cuda_devices().at(2));
  const auto block = third.allocate("3 frame slots", granule_bytes, {});
  stand_in::set_device_count(2);  // as CUDA_VISIBLE_DEVICES does
  EXPECT_THROW(static_cast<void>(
                   viewers_->import(FileDescriptor(::fcntl(block->descriptor(), F_DUPFD_CLOEXEC, 0)), granule_bytes)),
               Error);
  stand_in::set_device_count(3);
}

TEST_F(CudaPeers, TellOfACopyThatFailsAndOfALoss) {
  const auto mapped = import();
  const std::shared_ptr<Block> mine = viewers_->allocate_private("copies", granule_bytes, {});
  for (const char* const function : {"cuMemcpyDtoDAsync", "cuEventRecord"}) {
    stand_in::fail(function, 999);
    EXPECT_THROW(static_cast<void>(mapped->copy_to_device(mine, CopyRange::at(0, frame_bytes))), Error) << function;
  }
  EXPECT_EQ(viewers_->failure(), std::nullopt);
  stand_in::hold_work(true);
  const auto fence = mapped->copy_to_device(mine, CopyRange::at(0, frame_bytes));
  stand_in::lose_device(214);
  EXPECT_TRUE(eventually([&] { return fence->state() == FenceState::failed; }));
  EXPECT_NE(viewers_->failure(), std::nullopt);
}

// ---- Frames ----

TEST_F(CudaPeers, HaveEachFrameInAPlaceOfItsOwnUntilItIsReleased) {
  const auto mapped = import();
  FrameCopies copies;
  std::vector<ReceivedFrame> frames;
  for (const std::uint64_t sequence : {std::uint64_t{1}, std::uint64_t{2}}) {
    frames.push_back(frame_in(mapped, sequence * granule_bytes / 2, sequence));
    ASSERT_TRUE(copies.copy(frames.back(), *viewers_, never));
    EXPECT_FALSE(frames.back().block()->is_on_other_device());
    EXPECT_TRUE(frames.back().payload().empty());
  }
  EXPECT_EQ(frames.front().block(), frames.back().block()) << "OpenGL imports it once";
  std::ranges::fill(on_device(*theirs_), std::byte{0});
  EXPECT_TRUE(has_bytes_of(frames.front(), 1));
  EXPECT_TRUE(has_bytes_of(frames.back(), 2));
  EXPECT_TRUE(link_->returned().empty()) << "the slot guards the frame's place in the copy";
  frames.clear();
  EXPECT_EQ(link_->returned(), (std::vector<std::uint64_t>{1, 2}));
}

TEST_F(CudaPeers, GiveTheFrameBackAfterTheCopyForWhomIsInterrupted) {
  const auto mapped = import();
  FrameCopies copies;
  {
    ReceivedFrame first = frame_in(mapped, 0, 1);
    ASSERT_TRUE(copies.copy(first, *viewers_, never));
  }
  stand_in::hold_work(true);
  {
    ReceivedFrame frame = frame_in(mapped, 0, 2);
    EXPECT_FALSE(copies.copy(frame, *viewers_, [] { return true; }));
  }
  EXPECT_EQ(link_->returned(), std::vector<std::uint64_t>{1}) << "the GPU still reads it";
  stand_in::hold_work(false);
  EXPECT_TRUE(eventually([&] { return link_->returned().size() == 2; }));
}

TEST_F(CudaPeers, GiveTheFrameBackWhereTheRoomForCopiesIsInterrupted) {
  const auto mapped = import();
  stand_in::hold_work(true);
  {
    ReceivedFrame frame = frame_in(mapped, 0, 1);
    EXPECT_FALSE(FrameCopies().copy(frame, *viewers_, [] { return true; }));
  }
  EXPECT_EQ(link_->returned(), std::vector<std::uint64_t>{1});
}

TEST_F(CudaPeers, SayWhereThereIsNoRoomForCopies) {
  const auto mapped = import();
  stand_in::set_free_bytes(granule_bytes);
  ReceivedFrame frame = frame_in(mapped, 0, 1);
  try {
    FrameCopies().copy(frame, *viewers_, never);
    ADD_FAILURE() << "no error";
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()),
              "memory for copies of the frames in cuda memory: not enough memory on the GPU Stand-in 0: 4.2 MB are "
              "needed, and 2.1 MB of 1.1 GB are free");
  }
}

}  // namespace
}  // namespace framewire
