#include "doctor/child_output.hpp"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "base/clock.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

/// Runs a shell script as a program.
ChildOutput run(const std::string& script, std::int64_t timeout_ns = 600 * ns_per_s) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("script");
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  ::chmod(path.c_str(), 0700);
  return child_output(path, timeout_ns);
}

TEST(ChildOutput, GivesWhatItPrints) {
  const ChildOutput output = run("echo one; echo two >&2; cat");
  EXPECT_EQ(output.text, "one\n");
  EXPECT_TRUE(output.has_ended_well);
  EXPECT_EQ(output.trouble, "");
}

TEST(ChildOutput, NamesAnExitStatusAndASignal) {
  EXPECT_EQ(run("echo no; exit 3").trouble, "it ended with exit status 3");
  EXPECT_EQ(run("kill -SEGV $$").trouble, "it was ended by signal 11");
}

TEST(ChildOutput, EndsOneThatHangs) {
  const ChildOutput output = run("exec sleep 1000", 200 * ns_per_ms);
  EXPECT_EQ(output.trouble, "it did not end within 200 ms");
  EXPECT_NE(run("exec >&-; exec sleep 1000", 200 * ns_per_ms).trouble, "");
}

TEST(ChildOutput, EndsOneThatTalksForEver) {
  const ChildOutput output = run("exec yes");
  EXPECT_EQ(output.trouble, "it says more than 64 KiB");
  EXPECT_LE(output.text.size(), 70000U);
}

TEST(ChildOutput, NamesAProgramThatIsNotThere) {
  EXPECT_NE(child_output("/no/such/program", ns_per_s).trouble, "");
}

}  // namespace
}  // namespace framewire
