// The main function of a program whose tests run in simulated worlds: each test is the first thread of a world of its
// own, made by the same functions as in any other program. FRAMEWIRE_SEED is the first seed, and FRAMEWIRE_SEEDS says
// with how many each test runs.
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "tests/sim/cm_model.hpp"
#include "tests/sim/descriptors.hpp"
#include "tests/sim/plan.hpp"
#include "tests/sim/sockets.hpp"
#include "tests/sim/verbs_model.hpp"
#include "tests/sim/world.hpp"

namespace framewire::sim {
namespace {

/// What a real machine's sockets have: tests count on that.
constexpr std::size_t usual_capacity_bytes = std::size_t{2} << 20;

/// Tests of what only a real machine has: limits of descriptors and of buffers, TLS whose records cannot be changed
/// unnoticed, and sockets that are none.
constexpr const char* for_real_machines =
    "-Credits.*:Encryption.AHostInTheMiddleSeesNothingOfIt:Encryption.WhatItChangesIsNeverDelivered:"
    "HostileLocalSender.WakesByASocketAlone:HostileSender.WhoNeverReadsItsCreditsIsLost:"
    "MessageChannel.APeerThat*:Preamble.LooksWithoutTakingAnything:SessionAcceptor.RestsWhileThereAreNoDescriptors:"
    "UntrustedSender.ThatGivesUpFramesKeepsNobodyInOneCall";

class InWorlds final : public testing::EmptyTestEventListener {
 public:
  explicit InWorlds(std::uint64_t first_seed) : first_seed_(first_seed) {}

  void OnTestIterationStart(const testing::UnitTest&, int iteration) override {
    seed_ = first_seed_ + static_cast<std::uint64_t>(iteration);
  }

  void OnTestStart(const testing::TestInfo&) override {
    world_ = World::enter(seed_);
    make_devices(*world_, 0);
    Network::get().least_capacity_bytes = usual_capacity_bytes;
    world_->allow_spinning();  // some tests do
  }

  void OnTestEnd(const testing::TestInfo& test) override {
    const bool has_failed = test.result()->Failed();
    EXPECT_TRUE(has_failed || open_descriptors() == 0) << "descriptors are left open";
    clear_connections();
    clear_devices();
    clear_descriptors();
    world_->leave();
    world_.reset();
    EXPECT_FALSE(has_failed) << "FRAMEWIRE_SEED=" << seed_ << " repeats it";
  }

 private:
  const std::uint64_t first_seed_;
  std::uint64_t seed_ = 0;
  std::unique_ptr<World> world_;
};

}  // namespace
}  // namespace framewire::sim

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  const auto [first, count] = framewire::sim::chosen_seeds(1);
  if (GTEST_FLAG_GET(filter) == "*") {
    GTEST_FLAG_SET(filter, framewire::sim::for_real_machines);
  }
  GTEST_FLAG_SET(repeat, static_cast<int>(count));
  testing::UnitTest::GetInstance()->listeners().Append(new framewire::sim::InWorlds(first));
  return RUN_ALL_TESTS();
}
