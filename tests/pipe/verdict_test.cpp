#include "pipe/verdict.hpp"

#include <gtest/gtest.h>

#include <csignal>

namespace framewire {
namespace {

const std::vector<Stage> three = parse_stages({"a:one", "b:two", "c:three"});

StageEnd status(int number) {
  return {.ending = Ending{.status = number}, .was_let_go = number == 141};
}
StageEnd by_signal(int number) {
  return {.ending = Ending{.signal = number}, .was_let_go = number == SIGPIPE};
}

TEST(Verdict, IsTheLastFailure) {
  EXPECT_EQ(verdict_of(three, {.stages = {status(0), status(0), status(0)}}).status, 0);
  const Verdict verdict = verdict_of(three, {.stages = {status(3), status(4), status(0)}});
  EXPECT_EQ(verdict.status, 4);
  ASSERT_EQ(verdict.sentences.size(), 2U);
  EXPECT_EQ(verdict.sentences[0], "stage 1 (a: 'one') ended with status 3");
  EXPECT_EQ(verdict_of(three, {.stages = {by_signal(SIGKILL), status(0), status(0)}}).status, 137);
}

TEST(Verdict, AReaderThatHasEnoughIsNoFailure) {
  const Verdict well = verdict_of(three, {.stages = {by_signal(SIGPIPE), status(141), status(0)}});
  EXPECT_EQ(well.status, 0);
  EXPECT_TRUE(well.sentences.empty());
  const Verdict failed = verdict_of(three, {.stages = {by_signal(SIGPIPE), status(0), status(5)}});
  EXPECT_EQ(failed.status, 5);
  EXPECT_EQ(failed.sentences.size(), 1U) << "that the first had no reader any more is no news";
}

TEST(Verdict, TheReaderOfOurOwnOutputMayLeaveQuietly) {
  const Verdict verdict =
      verdict_of(three, {.stages = {by_signal(SIGPIPE), by_signal(SIGPIPE), by_signal(SIGPIPE)}, .reader_left = true});
  EXPECT_EQ(verdict.status, 141);
  EXPECT_TRUE(verdict.sentences.empty());
}

TEST(Verdict, SigpipeForAnotherReasonIsAFailure) {
  StageEnd alone = by_signal(SIGPIPE);
  alone.was_let_go = false;
  const Verdict verdict = verdict_of(three, {.stages = {alone, status(0), status(0)}});
  EXPECT_EQ(verdict.status, 141);
  EXPECT_EQ(verdict.sentences.size(), 1U);
}

TEST(Verdict, WithoutACommandTheReaderThatLeftCountsAsWell) {
  EXPECT_EQ(verdict_of(parse_stages({"a:<file"}), {.stages = {{}}, .reader_left = true}).status, 141);
}

TEST(Verdict, WhatWasStoppedIsNotToBlame) {
  StageEnd stopped = by_signal(SIGTERM);
  stopped.was_stopped = true;
  const Verdict verdict = verdict_of(three, {.stages = {stopped, by_signal(SIGSEGV), {}}});
  EXPECT_EQ(verdict.status, 139);
  ASSERT_EQ(verdict.sentences.size(), 1U);
  EXPECT_NE(verdict.sentences[0].find("stage 2 (b: 'two') was ended by signal 11"), std::string::npos);
}

TEST(Verdict, OwnFailuresAndInterruptionsHaveTheirStatuses) {
  const Verdict failed = verdict_of(three, {.stages = {status(3), {}, {}}, .fault = "no way"});
  EXPECT_EQ(failed.status, own_failure_status);
  EXPECT_EQ(failed.sentences.back(), "no way");
  const Verdict interrupted =
      verdict_of(three, {.stages = {status(3), {}, {}}, .fault = "no way", .interrupted_by = SIGINT});
  EXPECT_EQ(interrupted.status, 130);
  EXPECT_EQ(interrupted.sentences.size(), 1U);
}

}  // namespace
}  // namespace framewire
