// Findings: the lines of the doctor's report.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace framewire {

/// ok: as it should be. note: good to know; nothing is broken. warning: it works, but slower or less well than this
/// machine could. problem: what was asked for does not work.
enum class Level { ok, note, warning, problem };

/// One checked item. A value type.
struct Finding {
  // Empty by default, so that a finding names only the fields it has.
  std::string area{};  // "RDMA"
  std::string name{};  // "mlx5_0 port 1"
  Level level = Level::ok;
  std::string value{};                 // what was found, in a few words
  std::string text{};                  // what that means and what to do, in sentences; often empty for ok
  std::vector<std::string> details{};  // lines for --verbose
  std::vector<std::string> remedy{};   // the commands that fix it, ready to type; empty if no command does
};

using Findings = std::vector<Finding>;

constexpr std::string_view name(Level level) noexcept {
  switch (level) {
    case Level::ok:
      return "ok";
    case Level::note:
      return "note";
    case Level::warning:
      return "warning";
    case Level::problem:
      return "problem";
  }
  return "unknown";
}

inline bool has_problem(const Findings& findings) noexcept {
  return std::ranges::find(findings, Level::problem, &Finding::level) != findings.end();
}

}  // namespace framewire
