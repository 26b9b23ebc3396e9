// What a client has measured so far, and what it could not.
#pragma once

#include <string>
#include <vector>

#include "bench/client.hpp"
#include "bench/row.hpp"

namespace framewire {

/// Main thread.
class Results {
 public:
  /// `may_leave_out`: nobody asked for RDMA by name, so that a bench goes on without.
  Results(std::vector<RowPlan> plans, bool may_leave_out);

  [[nodiscard]] const std::vector<RowPlan>& plans() const noexcept { return plans_; }
  /// False for what has been left out.
  [[nodiscard]] bool is_wanted(std::size_t plan) const noexcept { return !is_left_out_[plan]; }

  void add(std::size_t plan, RowResult result) { results_of_plans_[plan].push_back(std::move(result)); }
  /// A row that could not begin. Where there is no RDMA to the server, by its word or because nothing answers, all
  /// rows of that transport are left out. Any other fault is this row's own, and one that should not be. Throws `why`
  /// when that row was asked for.
  void leave_out(std::size_t plan, const CannotBegin& why);

  /// Of every plan that was measured at all the median.
  [[nodiscard]] std::vector<RowResult> rows() const;
  /// What was left out and why, a sentence each.
  [[nodiscard]] const std::vector<std::string>& omissions() const noexcept { return omissions_; }
  /// Failed when rows are missing that this server and this machine should have had.
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
