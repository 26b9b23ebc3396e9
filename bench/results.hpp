// A client's results so far, and the rows that it left out.
#pragma once

#include <string>
#include <vector>

#include "bench/client.hpp"
#include "bench/row.hpp"

namespace framewire {

/// Main thread.
class Results {
 public:
  /// `may_leave_out`: the user did not ask for RDMA by name, so rows without RDMA may be left out.
  Results(std::vector<RowPlan> plans, bool may_leave_out);

  [[nodiscard]] const std::vector<RowPlan>& plans() const noexcept { return plans_; }
  /// False for a plan that was left out.
  [[nodiscard]] bool is_wanted(std::size_t plan) const noexcept { return !is_left_out_[plan]; }

  void add(std::size_t plan, RowResult result) { results_of_plans_[plan].push_back(std::move(result)); }
  /// Records a row that could not begin. If the server has no such transport, or nothing answers there, all rows of
  /// that transport are left out. Any other fault concerns this row only, and makes status() a failure. Throws `why`
  /// when the user asked for that transport, or when it should always be there.
  void leave_out(std::size_t plan, const CannotBegin& why);

  /// The median of every plan that was measured at least once.
  [[nodiscard]] std::vector<RowResult> rows() const;
  /// What was left out and why: one message each.
  [[nodiscard]] const std::vector<std::string>& omissions() const noexcept { return omissions_; }
  /// Failed when rows are missing that this server and this machine should support.
  [[nodiscard]] ExitStatus status() const noexcept { return status_; }

 private:
  std::vector<RowPlan> plans_;
  const bool may_leave_out_;
  std::vector<std::vector<RowResult>> results_of_plans_;
  std::vector<bool> is_left_out_;
  std::vector<std::string> omissions_;
  ExitStatus status_ = ExitStatus::ok;
};

}  // namespace framewire
