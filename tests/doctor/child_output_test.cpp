#include "doctor/child_output.hpp"

#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <fstream>

#include "base/clock.hpp"
#include "tests/base/temporary_folder.hpp"

namespace framewire {
namespace {

/// Runs a shell script as a child program.
ChildOutput run(const std::string& script, std::int64_t timeout_ns = 600 * ns_per_s) {
  const test::TemporaryFolder folder;
  const std::string path = folder.file("script");
  std::ofstream(path) << "#!/bin/sh\n" << script << "\n";
  ::chmod(path.c_str(), 0700);
  return child_output(path, {"first", "second one"}, timeout_ns);
}

TEST(ChildOutput, GivesWhatItPrints) {
  const ChildOutput output = run("echo one; echo two >&2; cat");
  EXPECT_EQ(output.text, "one\n");
  EXPECT_EQ(output.complaint, "two\n");
  EXPECT_EQ(output.exit_status, 0);
  EXPECT_TRUE(output.has_ended_well);
  EXPECT_EQ(output.trouble, "");
}

TEST(ChildOutput, NamesAnExitStatusAndASignal) {
  EXPECT_EQ(run("echo no; exit 3").trouble, "it ended with exit status 3");
  EXPECT_EQ(run("kill -SEGV $$").trouble, "it was ended by signal 11");
}

TEST(ChildOutput, GivesItItsArguments) {
  EXPECT_EQ(run(R"(printf '%s\n' "$@")").text, "first\nsecond one\n");
}

TEST(ChildOutput, HearsBothWhicheverIsLonger) {
  const ChildOutput output = run("i=0; while [ $i -lt 500 ]; do echo $i; echo complaint $i >&2; i=$((i+1)); done");
  EXPECT_TRUE(output.text.ends_with("\n499\n"));
  EXPECT_TRUE(output.complaint.ends_with("complaint 499\n"));
}

TEST(ChildOutput, EndsOneThatHangs) {
  const ChildOutput output = run("exec sleep 1000", 200 * ns_per_ms);
  EXPECT_TRUE(output.is_late);
  EXPECT_EQ(output.trouble, "it did not end within 200 ms");
  EXPECT_NE(run("exec >&-; exec sleep 1000", 200 * ns_per_ms).trouble, "");
}

/// Makes this process and its children see a kernel without pidfd_open(). False if seccomp is not available.
bool forget_pidfd_open() {
  std::array<sock_filter, 4> rules = {{BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                                       BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_pidfd_open, 0, 1),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
                                       BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)}};
  const sock_fprog program{static_cast<unsigned short>(rules.size()), rules.data()};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && ::prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 &&
         ::syscall(SYS_pidfd_open, ::getpid(), 0) < 0;
}

/// Call it in a child process, since the filter cannot be removed. Returns the exit status; 77 means "skip".
int on_an_old_kernel() {
  if (!forget_pidfd_open()) {
    return 77;
  }
  const bool waits = run("echo one; exec >&-; sleep 0.2").has_ended_well;
  const bool ends = run("exec >&-; exec sleep 1000", 200 * ns_per_ms).trouble == "it did not end within 200 ms";
  return waits && ends ? 0 : 1;
}

TEST(ChildOutput, WaitsOnAnOldKernelToo) {
  const pid_t child = ::fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    ::_exit(on_an_old_kernel());
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) {
    GTEST_SKIP() << "this system lets no process forget a call";
  }
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST(ChildOutput, EndsOneThatTalksForEver) {
  const ChildOutput output = run("exec yes");
  EXPECT_EQ(output.trouble, "it says more than 64 KiB");
  EXPECT_LE(output.text.size(), 70000U);
  EXPECT_EQ(run("exec yes >&2").trouble, "it says more than 64 KiB");
}

TEST(ChildOutput, NamesAProgramThatIsNotThere) {
  EXPECT_NE(child_output("/no/such/program", {}, ns_per_s).trouble.find("No such file"), std::string::npos);
}

}  // namespace
}  // namespace framewire
