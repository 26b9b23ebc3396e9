#include "rdpipe/pipeline_result.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace framewire {
namespace {

const std::vector<Stage> three = parse_stages({"a:one", "b:two", "c:three"});

StageOutcome status(int number) {
  return {.ending = ChildExit{.status = number}, .reader_closed = number == 141};
}
StageOutcome by_signal(int number) {
  return {.ending = ChildExit{.signal = number}, .reader_closed = number == SIGPIPE};
}

TEST(PipelineResult, IsTheLastFailure) {
  EXPECT_EQ(pipeline_result_of(three, {.stages = {status(0), status(0), status(0)}}).status, 0);
  const PipelineResult result = pipeline_result_of(three, {.stages = {status(3), status(4), status(0)}});
  EXPECT_EQ(result.status, 4);
  ASSERT_EQ(result.messages.size(), 2U);
  EXPECT_EQ(result.messages[0], "stage 1 (a: 'one') ended with status 3");
  EXPECT_EQ(pipeline_result_of(three, {.stages = {by_signal(SIGKILL), status(0), status(0)}}).status, 137);
}

TEST(PipelineResult, AReaderThatHasEnoughIsNoFailure) {
  const PipelineResult well = pipeline_result_of(three, {.stages = {by_signal(SIGPIPE), status(141), status(0)}});
  EXPECT_EQ(well.status, 0);
  EXPECT_TRUE(well.messages.empty());
  const PipelineResult failed = pipeline_result_of(three, {.stages = {by_signal(SIGPIPE), status(0), status(5)}});
  EXPECT_EQ(failed.status, 5);
  EXPECT_EQ(failed.messages.size(), 1U) << "that the first had no reader any more is no news";
}

TEST(PipelineResult, TheReaderOfOurOwnOutputMayLeaveQuietly) {
  const PipelineResult result = pipeline_result_of(
      three, {.stages = {by_signal(SIGPIPE), by_signal(SIGPIPE), by_signal(SIGPIPE)}, .reader_left = true});
  EXPECT_EQ(result.status, 141);
  EXPECT_TRUE(result.messages.empty());
}

TEST(PipelineResult, SigpipeForAnotherReasonIsAFailure) {
  StageOutcome alone = by_signal(SIGPIPE);
  alone.reader_closed = false;
  const PipelineResult result = pipeline_result_of(three, {.stages = {alone, status(0), status(0)}});
  EXPECT_EQ(result.status, 141);
  EXPECT_EQ(result.messages.size(), 1U);
}

TEST(PipelineResult, WithoutACommandTheReaderThatLeftCountsAsWell) {
  EXPECT_EQ(pipeline_result_of(parse_stages({"a:<file"}), {.stages = {{}}, .reader_left = true}).status, 141);
}

TEST(PipelineResult, WhatWasStoppedIsNotToBlame) {
  StageOutcome stopped = by_signal(SIGTERM);
  stopped.was_stopped = true;
  const PipelineResult result = pipeline_result_of(three, {.stages = {stopped, by_signal(SIGSEGV), {}}});
  EXPECT_EQ(result.status, 139);
  ASSERT_EQ(result.messages.size(), 1U);
  EXPECT_NE(result.messages[0].find("stage 2 (b: 'two') was ended by signal 11"), std::string::npos);
}

TEST(PipelineResult, OwnFailuresAndInterruptionsHaveTheirStatuses) {
  const PipelineResult failed = pipeline_result_of(three, {.stages = {status(3), {}, {}}, .fault = "no way"});
  EXPECT_EQ(failed.status, own_failure_status);
  EXPECT_EQ(failed.messages.back(), "no way");
  const PipelineResult interrupted =
      pipeline_result_of(three, {.stages = {status(3), {}, {}}, .fault = "no way", .interrupted_by = SIGINT});
  EXPECT_EQ(interrupted.status, 130);
  EXPECT_EQ(interrupted.messages.size(), 1U);
}

}  // namespace
}  // namespace framewire
